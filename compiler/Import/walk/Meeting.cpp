// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/walk/Meeting.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {

/// Whether the model's inputs reach it.
static bool dependsOnSamples(Value value) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(value, &slice, options);
  return isa<BlockArgument>(value) || llvm::any_of(slice, [](Operation *op) {
           return llvm::any_of(op->getOperands(), llvm::IsaPred<BlockArgument>);
         });
}

/// A plain tensor of its whole shape; null where it is none.
static Value plainValue(const GraphValue &value, Emitter &emit) {
  if (value.selection || value.items)
    return {};
  try {
    return value.whole(emit);
  } catch (const Refusal &) {
    return {};
  }
}

namespace {
enum class Found { Nothing, Entry, NoTensor };
} // namespace

/// What is known, the same for all samples, or asked for its shape only is computed again after the cut.
static Found look(const GraphValue &value, Emitter &emit, Entry &entry) {
  bool isKnown = value.content.has_value() || (!value.value && !value.selection && !value.items);
  if (isKnown || (value.value && !value.selection && !dependsOnSamples(value.value)))
    return Found::Nothing;
  entry.value = plainValue(value, emit);
  entry.dtype = value.dtype;
  return entry.value ? Found::Entry : Found::NoTensor;
}

/// False where a value had to be forgotten, so that more nodes are without a result.
static bool collect(const Graph &graph, ArrayRef<std::string> outputs, GraphWalk &walk, Emitter &emit,
                    std::vector<Entry> &entries) {
  std::set<std::string> needed = neededValues(graph, outputs), seen;
  entries.clear();
  auto isMissing = [&](const std::string &name) {
    return !name.empty() && needed.count(name) > 0 && walk.values.find(name) == walk.values.end();
  };
  for (const Node &node : graph.nodes) {
    if (llvm::none_of(node.outputs, isMissing))
      continue;
    for (const std::string &name : readsOf(node)) {
      auto known = walk.values.find(name);
      if (known == walk.values.end() || !seen.insert(name).second)
        continue;
      Entry entry{name, DType::Undefined, {}};
      Found found = look(known->second, emit, entry);
      if (found == Found::NoTensor) {
        walk.values.erase(known);
        return false;
      }
      if (found == Found::Entry)
        entries.push_back(entry);
    }
  }
  return true;
}

std::vector<Entry> entriesOf(const Graph &graph, ArrayRef<std::string> outputs, GraphWalk &walk,
                             Emitter &emit) {
  std::vector<Entry> entries;
  while (!collect(graph, outputs, walk, emit, entries))
    ;
  return entries;
}

Shape atBatch(Shape shape, int64_t batch) {
  for (Extent &extent : shape)
    if (extent.batched)
      extent = Extent::fixed(extent.count * batch);
  return shape;
}

Shape perBatch(Shape shape, int64_t batch) {
  shape[0] = Extent::ofBatch(shape[0].count / batch);
  return shape;
}

} // namespace accum::import
