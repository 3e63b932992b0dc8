// SPDX-License-Identifier: Apache-2.0
// The running maximum and sum of a softmax over tiles of keys.
#pragma once

#include "passes/Codegen/Cuda/ThreadCode.h"

namespace accum::codegen {

/// Of a thread's rows: the largest score and the sum of weights so far, one of each for a row, and y, still
/// to be divided by the sum, of which each thread has its part.
struct RunningSoftmax {
  Values top, sum, y;

  Values packed() const {
    Values all = top;
    llvm::append_range(all, sum);
    llvm::append_range(all, y);
    return all;
  }
  static RunningSoftmax unpack(mlir::ValueRange values, int64_t rows) {
    return {Values(values.take_front(rows)), Values(values.slice(rows, rows)),
            Values(values.drop_front(2 * rows))};
  }
};

} // namespace accum::codegen
