// SPDX-License-Identifier: Apache-2.0
// Rules: sequences of tensors with known positions, which unoptimised exports use to take apart a split.
#include "compiler/Import/rules/Pieces.h"

using namespace mlir;

namespace accum::import {

static GraphValue sequenceOf(std::vector<GraphValue> items) {
  GraphValue result;
  result.items = std::make_shared<const std::vector<GraphValue>>(std::move(items));
  result.refusal =
      std::make_shared<const Refusal>(Refusal{"unsupported", "uses a sequence of tensors as a tensor", {}});
  return result;
}

static const std::vector<GraphValue> &itemsOf(Binder &node, int64_t i) {
  if (!node.input(i).items)
    refuseMalformed("reads `" + node.node.inputs[i] + "`, which is not a sequence");
  return *node.input(i).items;
}

/// Sizes of the pieces along an axis of `size`: a list, equal pieces with a smaller last one, or ones.
static SmallVector<int64_t> pieceSizes(Binder &node, const Extent &axis) {
  int64_t size = axis.count;
  SmallVector<int64_t> sizes = node.has(1) ? givenSizes(node, axis) : SmallVector<int64_t>{1};
  bool isList = node.has(1) && node.input(1).rank() == 1;
  if (!isList && (sizes.size() != 1 || sizes[0] < 1))
    refuseMalformed("splits into pieces of no size");
  if (!isList) {
    int64_t each = sizes[0];
    sizes.clear();
    for (int64_t start = 0; start < size; start += each)
      sizes.push_back(std::min(each, size - start));
  }
  int64_t sum = 0;
  for (int64_t piece : sizes)
    sum = piece < 0 || sum > size ? size + 1 : sum + piece;
  if (sum != size)
    refuseMalformed("splits an axis of " + std::to_string(size) + " into pieces of another sum");
  return sizes;
}

static void splitToSequence(Binder &node) {
  const GraphValue x = node.input(0);
  int64_t axis = node.axis(node.integer("axis", 0), x.rank());
  if (x.shape[axis].batched && !node.has(1))
    refuseCrossBatch("takes the samples of the batch one by one");
  bool keep = node.has(1) || node.integer("keepdims", 1) != 0;
  SmallVector<int64_t> from(x.shape.size(), 0), by(x.shape.size(), 1);
  std::vector<GraphValue> items;
  for (int64_t size : pieceSizes(node, x.shape[axis])) {
    Shape target(x.shape);
    target[axis].count = size;
    GraphValue piece = slice(node.emit, x, from, by, target);
    items.push_back(keep ? piece : reshape(node.emit, piece, dropAxes(target, {axis})));
    from[axis] += size;
  }
  node.set(0, sequenceOf(std::move(items)));
}

static void sequenceConstruct(Binder &node) {
  std::vector<GraphValue> items;
  for (int64_t i = 0; i < node.inputCount(); ++i)
    items.push_back(node.input(i));
  node.set(0, sequenceOf(std::move(items)));
}

static void sequenceAt(Binder &node) {
  const std::vector<GraphValue> &items = itemsOf(node, 0);
  SmallVector<int64_t> position = node.integers(1);
  auto size = static_cast<int64_t>(items.size());
  if (position.size() != 1 || position[0] < -size || position[0] >= size)
    refuseMalformed("reads outside of a sequence of " + std::to_string(size));
  node.set(0, items[position[0] < 0 ? position[0] + size : position[0]]);
}

static void concatFromSequence(Binder &node) {
  const std::vector<GraphValue> &items = itemsOf(node, 0);
  if (items.empty())
    refuseMalformed("concatenates an empty sequence");
  bool stacks = node.integer("new_axis", 0) != 0;
  int64_t axis = node.axis(node.integer("axis", 0), items[0].rank() + (stacks ? 1 : 0));
  std::vector<GraphValue> operands;
  SmallVector<const GraphValue *> pointers;
  for (const GraphValue &item : items) {
    Shape target(item.shape);
    if (item.rank() != items[0].rank())
      refuseMalformed("concatenates tensors of different rank");
    if (stacks)
      target.insert(target.begin() + axis, Extent::fixed(1));
    operands.push_back(reshape(node.emit, item, target));
  }
  for (const GraphValue &operand : operands)
    pointers.push_back(&operand);
  node.set(0, concat(node.emit, pointers, axis));
}

void addSequenceRules(RuleTable &table) {
  table.add("SplitToSequence", 11, splitToSequence, "axis keepdims");
  table.add("SequenceConstruct", 11, sequenceConstruct);
  table.add("SequenceAt", 11, sequenceAt);
  table.add("ConcatFromSequence", 11, concatFromSequence, "axis new_axis");
}

} // namespace accum::import
