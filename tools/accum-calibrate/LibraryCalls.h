// SPDX-License-Identifier: Apache-2.0
// Calls of the runtime's library, as a program makes them: activations that were written just now, weights
// that were used a while ago, the strides of emitted programs.
#pragma once
#include "compiler/Planner/Time/TimeTables.h"
#include "runtime/system/Status.h"
#include "tools/accum-calibrate/Sample.h"
#include <array>
#include <cstdint>
#include <memory>

namespace accum::calibrate {

class LibraryCalls {
public:
  /// Slug `no-onednn`; `memory` where the operands of the largest point have no place.
  static runtime::Expected<LibraryCalls> open();

  /// Seconds of a call (a name of Grid) in that arithmetic at a point of its table.
  runtime::Expected<Sample> time(const std::string &call, const std::string &dtype,
                                 const std::array<int64_t, 3> &point, planner::Operands operands);
  /// Seconds of a product of few rows whose weights take turns with others, `bytes` in all.
  runtime::Expected<Sample> product(int64_t bytes);
  /// Seconds of a product of many rows, or with `adds` of a weight gradient, whose activations take turns
  /// with others, `bytes` in all; at least those of `time`.
  runtime::Expected<Sample> manyRows(bool adds, int64_t bytes);
  /// Activations that such a product moves.
  static int64_t manyRowsBytes(bool adds);
  /// The most and the least that `product` tells apart: what near and far tables are measured with.
  static int64_t nearBytes();
  static int64_t farBytes();
  /// Seconds of a fixed product, the mean of some milliseconds: how fast the machine is at the moment.
  double reference();
  /// Starting and joining the threads, with nothing to do.
  Sample launch();
  /// The norm of gradients: of `elements` elements.
  Sample norm(int64_t elements);
  /// Copying between two ranges of `bytes` bytes, as a program's copies are.
  Sample copy(int64_t bytes);

private:
  /// A range that operands walk through, so that none is the one of the run before.
  struct Ring {
    float *begin;
    int64_t size, next = 0; ///< elements
    float *take(int64_t elements);
    /// Of `elements` numbers of f32, or of bf16, which take half of the room.
    float *take(int64_t elements, int32_t dtype);
  };
  /// `ring`, `away`: elements that weights, or what is added to, and activations at least walk through.
  runtime::Expected<Sample> gemm(char a, char b, int32_t dtype, const std::array<int64_t, 3> &point,
                                 int64_t ring, int64_t away, int turns);
  Sample beside(const std::function<void()> &body, int turns);
  runtime::Expected<Sample> attention(bool backward, bool causal, int32_t dtype,
                                      const std::array<int64_t, 3> &point);
  // What was written is never read: sums would grow without end. Each holds its largest operand.
  Ring activations(int64_t elements) const;
  Ring weights(int64_t elements) const;
  Ring results(int64_t elements) const;

  struct Unmap {
    void operator()(float *data) const;
  };
  std::unique_ptr<float, Unmap> pool;
  int64_t turned = 0; ///< where the ring of weights is
};

} // namespace accum::calibrate
