// SPDX-License-Identifier: Apache-2.0
// Rules: operators that cut or extend a value.
#include "compiler/Import/rules/Pieces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {

/// What a Slice reads along one axis.
struct Span {
  int64_t start = 0, step = 1;
  Extent extent;
};

static const std::string wayOut =
    "export with the whole batch: a loss may not leave samples out by their place";

/// A bound on a batch axis of count * N rows, in units of N; nothing where it is not a multiple.
static std::optional<int64_t> blockBound(const Element &bound, int64_t count) {
  Element relative = Element::integer(bound.constant, bound.perIndex, int64_t{bound.perBatch} - count);
  Bounds overshoot = boundsOf(relative);
  if (overshoot.low && *overshoot.low >= 0)
    return count;
  // Exporters write INT64_MAX, INT32_MAX or a thousand millions for "to the end".
  constexpr int64_t beyondAnyBatch = 1'000'000;
  if (bound.isConstant() && bound.constant / count >= beyondAnyBatch)
    return count;
  if (bound.constant != 0 || bound.perIndex != 0)
    return std::nullopt;
  int64_t blocks = bound.perBatch < 0 ? bound.perBatch + count : bound.perBatch;
  return blocks >= 0 && blocks <= count ? std::optional(blocks) : std::nullopt;
}

static Span batchSpan(int64_t count, const Element &start, const Element &end, int64_t step) {
  std::optional<int64_t> first = blockBound(start, count), last = blockBound(end, count);
  if (!first || !last || step != 1 || *first >= *last)
    refuseCrossBatch("takes part of the batch: which samples are read depends on their place", {wayOut});
  return {*first, 1, Extent::ofBatch(*last - *first)};
}

/// A bound that may grow with N, clamped into [low, high]: decided only where it is the same for every N.
static int64_t clampBound(const Element &bound, int64_t size, int64_t low, int64_t high) {
  Bounds bounds = boundsOf(bound);
  if (bounds.low && *bounds.low >= high)
    return high;
  if (!bound.isConstant())
    refuseCrossBatch("cuts an axis at a position that depends on the batch size");
  int64_t place = bound.constant < 0 ? bound.constant + size : bound.constant;
  return std::clamp(place, low, high);
}

/// Steps of more than any size read one element, as this does.
static constexpr int64_t farthestStep = int64_t{1} << 40;

static Span staticSpan(int64_t size, const Element &start, const Element &end, int64_t step) {
  step = std::clamp(step, -farthestStep, farthestStep);
  if (size == 0)
    return {0, step, Extent::fixed(0)};
  int64_t first = step > 0 ? clampBound(start, size, 0, size) : clampBound(start, size, 0, size - 1);
  int64_t last = step > 0 ? clampBound(end, size, 0, size) : clampBound(end, size, -1, size - 1);
  if (step < 0 && end.isConstant() && end.constant < -size)
    last = -1;
  int64_t way = step > 0 ? last - first : first - last;
  return {first, step, Extent::fixed(way > 0 ? 1 + (way - 1) / std::abs(step) : 0)};
}

static void sliceRule(Binder &node) {
  GraphValue x = node.input(0);
  std::vector<Element> starts = node.integerContent(1).flatten(), ends = node.integerContent(2).flatten();
  SmallVector<int64_t> axes, steps(starts.size(), 1);
  for (size_t k = 0; k < starts.size(); ++k)
    axes.push_back(static_cast<int64_t>(k));
  if (node.has(3))
    axes = node.integers(3);
  if (node.has(4))
    steps = node.integers(4);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    refuseMalformed("has not as many ends, axes and steps as starts");
  auto is = [](const Element &element, int64_t value) {
    return element.isConstant() && element.constant == value;
  };
  for (size_t k = 0; k < starts.size(); ++k)
    if (is(starts[k], 0) && is(ends[k], 1))
      x = firstOfEqual(x, node.axis(axes[k], x.rank())).value_or(x);
  SmallVector<int64_t> from(x.shape.size(), 0), by(x.shape.size(), 1);
  Shape target(x.shape);
  for (size_t k = 0; k < starts.size(); ++k) {
    int64_t axis = node.axis(axes[k], x.rank());
    if (steps[k] == 0)
      refuseMalformed("has a step of 0");
    Extent extent = x.shape[axis];
    Span span = extent.batched ? batchSpan(extent.count, starts[k], ends[k], steps[k])
                               : staticSpan(extent.count, starts[k], ends[k], steps[k]);
    from[axis] = span.extent.count == 0 ? 0 : span.start;
    by[axis] = span.step;
    target[axis] = span.extent;
  }
  node.set(0, slice(node.emit, x, from, by, target));
}

SmallVector<int64_t> givenSizes(Binder &node, const Extent &axis) {
  if (!axis.batched)
    return node.integers(1);
  SmallVector<int64_t> blocks;
  for (const Element &size : node.integerContent(1).flatten()) {
    if (size.constant != 0 || size.perIndex != 0 || size.perBatch < 1)
      refuseCrossBatch(
          "takes part of the batch: it splits the batch axis into pieces of " +
              std::to_string(size.constant) + " samples",
          {"halves of two batches that were concatenated: x.view(2, -1, ...), or x[:n] and x[n:] with "
           "n = x.shape[0] // 2",
           wayOut});
    blocks.push_back(size.perBatch);
  }
  return blocks;
}

static SmallVector<int64_t> splitSizes(Binder &node, const Extent &axis, int64_t pieces) {
  int64_t size = axis.count;
  if (node.has(1))
    return givenSizes(node, axis);
  if (node.hasAttribute("split"))
    return node.integerList("split");
  if (node.integer("num_outputs", pieces) != pieces)
    refuseMalformed("splits into another number of pieces than it has outputs");
  if (node.node.opset < 18 && size % pieces != 0)
    refuseMalformed("splits " + std::to_string(size) + " elements into " + std::to_string(pieces) +
                    " equal pieces");
  int64_t each = (size + pieces - 1) / pieces;
  SmallVector<int64_t> sizes(pieces, each);
  sizes.back() = size - each * (pieces - 1);
  return sizes;
}

static void split(Binder &node) {
  const GraphValue x = node.input(0);
  int64_t axis = node.axis(node.integer("axis", 0), x.rank());
  auto pieces = static_cast<int64_t>(node.node.outputs.size());
  bool isCut = !node.has(1) && (node.hasAttribute("split") || x.shape[axis].count % pieces != 0);
  if (x.shape[axis].batched && isCut)
    refuseCrossBatch("takes part of the batch: it splits the batch axis", {wayOut});
  SmallVector<int64_t> sizes = splitSizes(node, x.shape[axis], pieces);
  if (static_cast<int64_t>(sizes.size()) != pieces)
    refuseMalformed("splits into another number of pieces than it has outputs");
  SmallVector<int64_t> from(x.shape.size(), 0), by(x.shape.size(), 1);
  Shape target(x.shape);
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (size < 0 || size > x.shape[axis].count - from[axis])
      refuseMalformed("splits off more than the axis holds");
    target[axis].count = size;
    node.set(static_cast<int64_t>(i), slice(node.emit, x, from, by, target));
    from[axis] += size;
  }
  if (from[axis] != x.shape[axis].count)
    refuseMalformed("splits " + std::to_string(x.shape[axis].count) + " elements into pieces of " +
                    std::to_string(from[axis]) + " together");
}

/// Pads with low and high amounts for each axis; negative ones cut.
static void padAxes(Binder &node, ArrayRef<int64_t> low, ArrayRef<int64_t> high, const GraphValue &value) {
  Emitter &emit = node.emit;
  GraphValue x = node.input(0);
  SmallVector<int64_t> from, by(low.size(), 1), before, behind;
  Shape kept(x.shape);
  for (size_t d = 0; d < low.size(); ++d) {
    from.push_back(std::max<int64_t>(0, -low[d]));
    kept[d].count -= std::max<int64_t>(0, -low[d]) + std::max<int64_t>(0, -high[d]);
    if (kept[d].batched && (low[d] != 0 || high[d] != 0))
      refuseCrossBatch("pads the batch axis: the extent is not a multiple of the batch size");
    before.push_back(std::max<int64_t>(0, low[d]));
    behind.push_back(std::max<int64_t>(0, high[d]));
  }
  for (size_t d = 0; d < kept.size(); ++d)
    if (kept[d].count < 0)
      refuseMalformed("cuts more off an axis than it holds");
  Shape padded(kept);
  for (size_t d = 0; d < padded.size(); ++d)
    padded[d].count += before[d] + behind[d];
  requireSane(padded);
  if (kept != x.shape)
    x = slice(emit, x, from, by, kept);
  if (x.content && value.content)
    if (Folded folded = foldPad(*x.content, before, behind, value.content->only()))
      return node.set(0, *folded);
  node.set(0, GraphValue(x.dtype, emit.pad(x.whole(emit), value.whole(emit), before, behind)));
}

/// The position on an axis of `size` elements that a mode puts at `place`, which may lie before or behind it.
static int64_t continued(StringRef mode, int64_t place, int64_t size) {
  if (mode == "edge" || size == 1)
    return std::clamp<int64_t>(place, 0, size - 1);
  int64_t period = mode == "wrap" ? size : 2 * size - 2;
  int64_t within = (place % period + period) % period;
  return within < size ? within : period - within;
}

/// Pads with elements of the axis itself; negative amounts cut.
static void continueAxes(Binder &node, StringRef mode, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  GraphValue x = node.input(0);
  for (int64_t d = 0; d < x.rank(); ++d) {
    int64_t size = x.shape[d].count, from = -low[d], end = size + high[d];
    if (from == 0 && end == size)
      continue;
    if (x.shape[d].batched)
      refuseCrossBatch("pads the batch axis: the extent is not a multiple of the batch size");
    if (end < from)
      refuseMalformed("cuts more off an axis than it holds");
    if (size == 0 || (std::min(low[d], high[d]) < 0 && std::max(low[d], high[d]) > 0))
      throw Refusal{"unsupported",
                    "pads an axis that it also cuts, or that holds nothing, in mode `" + mode.str() + "`",
                    {"cut it in a Slice of its own"}};
    Shape padded(x.shape);
    padded[d].count = end - from;
    requireSane(padded);
    SmallVector<int64_t> positions;
    for (int64_t place = from; place < end; ++place)
      positions.push_back(continued(mode, place, size));
    x = {x.dtype, pick(node.emit, x.whole(node.emit), d, positions)};
  }
  node.set(0, x);
}

static constexpr int64_t mostPadding = int64_t{1} << 40;

static void padRule(Binder &node) {
  const GraphValue &x = node.input(0);
  std::string mode = node.text("mode", "constant");
  bool isKnown = mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap";
  if (!isKnown)
    refuseMalformed("pads in mode `" + mode + "`, which the operator has not");
  SmallVector<int64_t> amounts = node.integers(1), low(x.rank(), 0), high(x.rank(), 0), axes;
  for (int64_t d = 0; d < x.rank(); ++d)
    axes.push_back(d);
  if (node.has(3))
    axes = node.integers(3);
  if (amounts.size() != 2 * axes.size())
    refuseMalformed("has not two amounts for each axis");
  for (auto [k, axis] : llvm::enumerate(axes)) {
    int64_t d = node.axis(axis, x.rank());
    low[d] = amounts[k];
    high[d] = amounts[axes.size() + k];
    for (int64_t amount : {low[d], high[d]})
      if (amount < -mostPadding || amount > mostPadding)
        refuseMalformed("pads by an absurd amount");
  }
  if (mode != "constant")
    return continueAxes(node, mode, low, high);
  Element zero = isFloat(x.dtype) ? Element::floating(0) : Element::integer(0);
  GraphValue value = node.has(2) ? node.input(2) : GraphValue(Content::scalar(x.dtype, zero));
  if (value.dtype != x.dtype)
    refuseMalformed("pads with a value of another element type");
  if (value.rank() != 0)
    value = reshape(node.emit, value, Shape());
  padAxes(node, low, high, value);
}

static void trilu(Binder &node) {
  Emitter &emit = node.emit;
  const GraphValue &x = node.input(0);
  bool upper = node.integer("upper", 1) != 0;
  SmallVector<int64_t> offset = node.has(1) ? node.integers(1) : SmallVector<int64_t>{0};
  if (offset.size() != 1)
    refuseMalformed("has not one diagonal");
  int64_t diagonal = offset[0];
  if (x.rank() < 2)
    refuseMalformed("has an input of rank " + std::to_string(x.rank()));
  if (x.content)
    if (Folded folded = foldTrilu(*x.content, diagonal, upper))
      return node.set(0, *folded);
  Shape corner(ArrayRef(x.shape).take_back(2));
  if (corner[0].batched || corner[1].batched)
    refuseCrossBatch("keeps a triangle over the batch axis");
  Folded mask = foldTrilu(Content::splat(DType::Bool, corner, Element::integer(1)), diagonal, upper);
  Value value = x.whole(emit);
  node.set(0, emit.select(emit.constant(*mask), value, emit.scalar(elementTypeOf(value), 0)));
}

void addSliceRules(RuleTable &table) {
  table.add("Slice", 10, sliceRule);
  table.add("Split", 2, split, "axis split num_outputs");
  table.add("Pad", 11, padRule, "mode");
  table.add("Trilu", 14, trilu, "upper");
}

} // namespace accum::import
