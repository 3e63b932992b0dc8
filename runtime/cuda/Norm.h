// SPDX-License-Identifier: Apache-2.0
// The sum of squares of values on the card, in double and in a fixed order, by three launches of our own
// kernels (norm.c): one partial sum a thread, then one a thread of a single block, then one.
#ifndef ACCUM_RUNTIME_CUDA_NORM_H
#define ACCUM_RUNTIME_CUDA_NORM_H

#include "runtime/cuda/KernelModule.h"
#include "runtime/files/DType.h"

namespace accum::runtime::cuda {

class Norm {
public:
  /// What it works in.
  static constexpr uint64_t kBytes = uint64_t((512 * 256) + 256 + 32) * sizeof(double);

  explicit Norm(ComputeStream &compute) : compute(compute), module(compute.driver) {}
  Status load();
  /// Puts the launches on the stream; the result, a double, is at `area` afterwards.
  Status launch(Address values, uint64_t n, DType dtype, Address area);

private:
  Status start(Function function, unsigned blocks, unsigned threads, Address from, uint64_t n, Address to);

  ComputeStream &compute;
  LoadedModule module;
  Function narrow = nullptr, wide = nullptr, sums = nullptr;
};

} // namespace accum::runtime::cuda
#endif
