// SPDX-License-Identifier: Apache-2.0
// Rules: operators that give a value another shape.
#include "compiler/Import/lost/GradientMarks.h"
#include "compiler/Import/walk/BakedIn.h"
#include "compiler/Import/walk/Binder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {

static void identity(Binder &node) {
  const GraphValue x = node.input(0);
  if (isDetach(node.node) && x.value && isFloat(x.dtype))
    return node.set(0, GraphValue(x.dtype, node.emit.detach(x.whole(node.emit))));
  node.set(0, x);
}

static void shape(Binder &node) {
  const Shape &extents = node.input(0).shape;
  int64_t rank = node.input(0).rank();
  auto clamp = [&](int64_t place) { return std::clamp<int64_t>(place < 0 ? place + rank : place, 0, rank); };
  int64_t start = clamp(node.integer("start", 0)), end = clamp(node.integer("end", rank));
  std::vector<Element> elements;
  for (int64_t d = start; d < end; ++d)
    elements.push_back(extents[d].batched ? Element::integer(0, 0, extents[d].count)
                                          : Element::integer(extents[d].count));
  auto count = static_cast<int64_t>(elements.size());
  node.set(0, Content::dense(DType::Int64, {Extent::fixed(count)}, std::move(elements)));
}

static void size(Binder &node) {
  Volume volume = volumeOf(node.input(0).shape);
  if (volume.power > 1)
    refuseCrossBatch("counts pairs of samples");
  node.set(0, Content::scalar(DType::Int64, volume.power == 0 ? Element::integer(volume.count)
                                                              : Element::integer(0, 0, volume.count)));
}

/// The extent that stands for -1 so that `target` has as many elements as `input`.
static Extent inferred(const Shape &input, const Shape &target, int64_t unknown) {
  Shape row = dropAxes(target, {unknown});
  requireSane(row);
  Volume whole = volumeOf(input), rest = volumeOf(row);
  int power = whole.power - rest.power;
  if (rest.count != 0 && whole.count % rest.count == 0 && (power == 0 || power == 1))
    return {whole.count / rest.count, power == 1};
  std::string change = "cuts " + toString(input) + " into rows of " + toString(row);
  if (whole.power == 0 && rest.power == 0)
    refuseMalformed(change + ", which do not fill it");
  refuseCrossBatch(change + ": a row would mix samples");
}

/// The target of a Reshape: 0 copies the input's extent (unless allowzero), -1 is what remains.
static Shape reshapeTarget(const Shape &input, const Content &wanted, bool allowZero) {
  Shape target;
  int64_t unknown = -1;
  wanted.forEach([&](const Element &e) {
    bool copies = e.isConstant() && e.constant == 0 && !allowZero;
    auto place = static_cast<int64_t>(target.size());
    if (e.isConstant() && e.constant == -1) {
      if (unknown >= 0)
        refuseMalformed("has two extents of -1");
      unknown = place;
      target.push_back(Extent::fixed(1));
    } else if (copies && place >= static_cast<int64_t>(input.size())) {
      refuseMalformed("copies an extent that its input does not have");
    } else {
      target.push_back(copies ? input[place] : extentOf(e));
    }
  });
  if (unknown >= 0)
    target[unknown] = inferred(input, target, unknown);
  return target;
}

static void reshapeRule(Binder &node) {
  const GraphValue &x = node.input(0);
  node.set(0, reshape(node.emit, x,
                      reshapeTarget(x.shape, node.integerContent(1), node.integer("allowzero", 0) != 0)));
}

/// Product of extents as one extent.
static Extent merged(ArrayRef<Extent> extents) {
  Volume volume = volumeOf(extents);
  if (volume.power > 1)
    refuseCrossBatch("joins two batch axes");
  return {volume.count, volume.power == 1};
}

static void flatten(Binder &node) {
  const GraphValue &x = node.input(0);
  int64_t split = node.integer("axis", 1);
  split = split < 0 ? split + x.rank() : split;
  if (split < 0 || split > x.rank())
    refuseMalformed("flattens at an axis outside of the rank");
  ArrayRef<Extent> extents(x.shape);
  node.set(0, reshape(node.emit, x, {merged(extents.take_front(split)), merged(extents.drop_front(split))}));
}

static SmallVector<int64_t> axesOf(Binder &node, int64_t rank) {
  SmallVector<int64_t> axes = node.has(1) ? node.integers(1) : node.integerList("axes");
  return node.axes(axes, rank);
}

static void squeeze(Binder &node) {
  const GraphValue &x = node.input(0);
  SmallVector<int64_t> axes = axesOf(node, x.rank());
  if (!node.has(1) && !node.hasAttribute("axes"))
    for (int64_t d = 0; d < x.rank(); ++d)
      if (x.shape[d].isOne())
        axes.push_back(d);
  for (int64_t axis : axes) {
    if (x.shape[axis].batched)
      refuseCrossBatch("squeezes the batch axis: the graph was made for one sample");
    if (!x.shape[axis].isOne())
      refuseMalformed("squeezes an axis of " + std::to_string(x.shape[axis].count) + " elements");
  }
  node.set(0, reshape(node.emit, x, dropAxes(x.shape, axes)));
}

static void unsqueeze(Binder &node) {
  const GraphValue &x = node.input(0);
  auto count = static_cast<int64_t>((node.has(1) ? node.integers(1) : node.integerList("axes")).size());
  SmallVector<int64_t> axes = axesOf(node, x.rank() + count);
  Shape target(x.shape);
  for (int64_t axis : axes)
    target.insert(target.begin() + axis, Extent::fixed(1));
  node.set(0, reshape(node.emit, x, target));
}

static void transposeRule(Binder &node) {
  const GraphValue &x = node.input(0);
  SmallVector<int64_t> reversed, perm;
  for (int64_t d = x.rank(); d-- > 0;)
    reversed.push_back(d);
  // ONNX counts from the front; the TorchScript exporter writes some of permute's axes from the back.
  for (int64_t axis : node.integerList("perm", reversed))
    perm.push_back(node.axis(axis, x.rank()));
  if (static_cast<int64_t>(node.axes(perm, x.rank()).size()) != x.rank())
    refuseMalformed("perm does not name every axis");
  node.set(0, transpose(node.emit, x, perm));
}

static void expand(Binder &node) {
  const GraphValue &x = node.input(0);
  Shape wanted = shapeFrom(node.integerContent(1));
  Extent left, right;
  std::optional<Shape> target = broadcast(x.shape, wanted, &left, &right);
  if (!target && left.batched != right.batched)
    refuseBakedIn("expands " + toString(x.shape) + " to " + toString(wanted));
  if (!target)
    refuseMalformed("expands " + toString(x.shape) + " to " + toString(wanted));
  node.set(0, broadcastTo(node.emit, x, *target));
}

static void concatRule(Binder &node) {
  SmallVector<const GraphValue *> inputs;
  int64_t rank = node.input(0).rank(), axis = node.axis(node.integer("axis", 0), rank);
  for (int64_t i = 0; i < node.inputCount(); ++i) {
    const GraphValue &input = node.input(i);
    if (input.rank() != rank)
      refuseMalformed("concatenates tensors of different rank");
    bool isEmpty = !input.shape[axis].batched && input.shape[axis].count == 0;
    if (!isEmpty || (i + 1 == node.inputCount() && inputs.empty()))
      inputs.push_back(&input);
  }
  node.set(0, concat(node.emit, inputs, axis));
}

/// [.., e, ..] repeated k times along an axis: insert an axis of k before it, then join both.
static GraphValue repeat(Emitter &emit, const GraphValue &x, int64_t axis, Extent times) {
  if (times.isOne())
    return x;
  if (x.shape[axis].isOne()) {
    Shape target(x.shape);
    target[axis] = times;
    return broadcastTo(emit, x, target);
  }
  Extent extent = x.shape[axis];
  if (times.batched && extent.batched)
    refuseCrossBatch("repeats the batch by the batch size");
  Shape split(x.shape), target(x.shape);
  split.insert(split.begin() + axis, Extent::fixed(1));
  GraphValue unsqueezed = reshape(emit, x, split);
  split[axis] = times;
  requireSane(split);
  target[axis] = {extent.count * times.count, extent.batched || times.batched};
  return reshape(emit, broadcastTo(emit, unsqueezed, split), target);
}

static void tile(Binder &node) {
  GraphValue result = node.input(0);
  Shape repeats = shapeFrom(node.integerContent(1));
  if (repeats.size() != result.shape.size())
    refuseMalformed("has not one repeat for each axis");
  for (auto [axis, times] : llvm::enumerate(repeats))
    result = repeat(node.emit, result, static_cast<int64_t>(axis), times);
  node.set(0, result);
}

/// Blocks of pixels as channels, and back: each is a transposition of six axes. `fold` gives these axes for
/// channels c, height h and width w, `perm` their new order, `result` the extents behind the batch.
static void shuffle(Binder &node, function_ref<Shape(Shape)> fold, ArrayRef<int64_t> perm,
                    function_ref<Shape(Shape)> result) {
  const GraphValue &x = node.input(0);
  if (x.rank() != 4 || llvm::any_of(ArrayRef(x.shape).drop_front(), [](Extent e) { return e.batched; }))
    refuseMalformed("takes " + toString(x.shape) + ", expected batch, channels, height and width");
  node.set(0, reshape(node.emit, transpose(node.emit, reshape(node.emit, x, fold(x.shape)), perm),
                      result(x.shape)));
}

/// A part of an extent, of which `by` make the whole.
static Extent cut(Extent whole, int64_t by) {
  if (by <= 0 || whole.count % by != 0)
    refuseMalformed("has blocks of " + std::to_string(by) + ", which do not divide an extent of " +
                    std::to_string(whole.count));
  return Extent::fixed(whole.count / by);
}

/// Its square must be a number.
static int64_t blockSize(Binder &node) {
  constexpr int64_t largest = 1 << 20;
  int64_t size = node.integer("blocksize", 0);
  if (size < 1 || size > largest)
    refuseMalformed("has blocks of " + std::to_string(size));
  return size;
}

/// Whether a pixel's block comes before its channel among the channels, or behind.
static bool isDepthFirst(Binder &node) {
  std::string mode = node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    refuseMalformed("has mode = " + mode);
  return mode == "DCR";
}

static void depthToSpace(Binder &node) {
  int64_t size = blockSize(node), area = size * size;
  Extent block = Extent::fixed(size);
  bool isBlockFirst = isDepthFirst(node);
  shuffle(
      node,
      [&](Shape x) -> Shape {
        Extent channels = cut(x[1], area);
        return isBlockFirst ? Shape{x[0], block, block, channels, x[2], x[3]}
                            : Shape{x[0], channels, block, block, x[2], x[3]};
      },
      isBlockFirst ? ArrayRef<int64_t>{0, 3, 4, 1, 5, 2} : ArrayRef<int64_t>{0, 1, 4, 2, 5, 3},
      [&](Shape x) -> Shape {
        return {x[0], cut(x[1], area), Extent::fixed(x[2].count * size), Extent::fixed(x[3].count * size)};
      });
}

static void spaceToDepth(Binder &node) {
  int64_t size = blockSize(node);
  Extent block = Extent::fixed(size);
  bool isBlockFirst = isDepthFirst(node);
  shuffle(
      node, [&](Shape x) -> Shape { return {x[0], x[1], cut(x[2], size), block, cut(x[3], size), block}; },
      isBlockFirst ? ArrayRef<int64_t>{0, 3, 5, 1, 2, 4} : ArrayRef<int64_t>{0, 1, 3, 5, 2, 4},
      [&](Shape x) -> Shape {
        return {x[0], Extent::fixed(x[1].count * size * size), cut(x[2], size), cut(x[3], size)};
      });
}

void addShapeRules(RuleTable &table) {
  table.add("Identity", 1, identity);
  table.add("Shape", 1, shape, "start end");
  table.add("Size", 1, size);
  table.add("Reshape", 5, reshapeRule, "allowzero");
  table.add("Flatten", 1, flatten, "axis");
  table.add("Squeeze", 1, squeeze, "axes");
  table.add("Unsqueeze", 1, unsqueeze, "axes");
  table.add("Transpose", 1, transposeRule, "perm");
  table.add("Expand", 8, expand);
  table.add("Concat", 4, concatRule, "axis");
  table.add("Tile", 6, tile);
  table.add("DepthToSpace", 11, depthToSpace, "blocksize mode");
  table.add("SpaceToDepth", 1, spaceToDepth, "blocksize mode");
}

} // namespace accum::import
