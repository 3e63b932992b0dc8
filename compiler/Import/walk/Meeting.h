// SPDX-License-Identifier: Apache-2.0
// What enters the nodes of a graph where samples meet.
#pragma once
#include "compiler/Import/walk/GraphWalk.h"

namespace accum::import {

/// A value that enters them, as a walk over the nodes before them has computed it.
struct Entry {
  std::string name;
  DType dtype = DType::Undefined;
  mlir::Value value;
  Shape shape() const { return shapeOf(value); }
};

/// On an argument of the function that computes the rest, a unit attribute: a trained parameter reaches it.
inline constexpr llvm::StringLiteral kTrainedEntry = "accum.trained_entry";

/// The values that depend on the samples and that nodes without a result read, of those that `outputs` need;
/// in the order in which they are first read. A value that is no plain tensor (rows of a selection, an index
/// over the whole batch) does not enter: `walk` forgets it, and what made it belongs to these nodes as well.
std::vector<Entry> entriesOf(const Graph &graph, llvm::ArrayRef<std::string> outputs, GraphWalk &walk,
                             Emitter &emit);

/// With N for the batch.
Shape atBatch(Shape shape, int64_t batch);
/// `shape` is led by multiples of N samples: as a multiple of the batch.
Shape perBatch(Shape shape, int64_t batch);

} // namespace accum::import
