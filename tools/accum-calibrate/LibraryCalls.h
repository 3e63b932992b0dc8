// SPDX-License-Identifier: Apache-2.0
// Calls of the runtime's library, as a program makes them: fresh operands, the strides of emitted programs.
#pragma once
#include "runtime/Status.h"
#include "tools/accum-calibrate/Sample.h"
#include <array>
#include <cstdint>
#include <memory>

namespace accum::calibrate {

class LibraryCalls {
public:
  /// Slug `no-onednn`; `memory` where the operands of the largest point have no place.
  static runtime::Expected<LibraryCalls> open();

  /// Seconds of a call (a name of Grid) at a point of its table.
  runtime::Expected<Sample> time(const std::string &call, const std::array<int64_t, 3> &point);
  /// Starting and joining the threads, with nothing to do.
  Sample launch();
  /// The norm of gradients: of `elements` elements.
  Sample norm(int64_t elements);
  /// Copying between two ranges of `bytes` bytes, as a program's copies are.
  Sample copy(int64_t bytes);

private:
  runtime::Expected<Sample> gemm(char a, char b, const std::array<int64_t, 3> &point);
  runtime::Expected<Sample> attention(bool backward, bool causal, const std::array<int64_t, 3> &point);
  /// The next elements of the inputs, or of what is written, so that operands are not those of the run
  /// before. What was written is never an input: sums would grow without end.
  const float *input(int64_t elements);
  float *output(int64_t elements);

  struct Unmap {
    void operator()(float *data) const;
  };
  std::unique_ptr<float, Unmap> pool;
  int64_t nextInput = 0, nextOutput = 0;
};

} // namespace accum::calibrate
