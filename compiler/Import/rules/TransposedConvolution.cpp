// SPDX-License-Identifier: Apache-2.0
// Rule: ConvTranspose. Each place of the result reads what its taps meet of the input, or a zero: an indexed
// read, as the windows of a convolution are.
#include "compiler/Import/rules/Convolution.h"

using namespace mlir;

namespace accum::import {

/// How the elements of the spatial axes spread over those of the result.
struct Spread {
  SmallVector<int64_t> kernel, strides, dilations;
  SmallVector<int64_t> low;   ///< places that are cut off in front
  SmallVector<int64_t> sizes; ///< of the result
};

/// Sizes of the result, by the formulas of the standard.
static Spread spreadOf(Binder &node, ArrayRef<int64_t> kernel, const Shape &input) {
  size_t rank = kernel.size();
  if (rank > kMaxSpatialAxes)
    refuseUnsupported("has " + std::to_string(rank) + " spatial axes");
  Spread spread;
  spread.kernel.assign(kernel.begin(), kernel.end());
  spread.strides = node.integerList("strides", SmallVector<int64_t>(rank, 1));
  spread.dilations = node.integerList("dilations", SmallVector<int64_t>(rank, 1));
  SmallVector<int64_t> pads = node.integerList("pads", SmallVector<int64_t>(2 * rank, 0));
  SmallVector<int64_t> more = node.integerList("output_padding", SmallVector<int64_t>(rank, 0));
  SmallVector<int64_t> asked = node.integerList("output_shape", {});
  if (spread.strides.size() != rank || spread.dilations.size() != rank || pads.size() != 2 * rank ||
      more.size() != rank || (!asked.empty() && asked.size() != rank))
    refuseMalformed("has strides, dilations, pads or an output_shape of another rank than its filter");
  if (!areCounts(kernel, 1) || !areCounts(spread.strides, 1) || !areCounts(spread.dilations, 1) ||
      !areCounts(pads, 0) || !areCounts(more, 0) || !areCounts(asked, 1))
    refuseMalformed("has a kernel, strides, dilations, pads or an output_shape outside of their range");
  std::string automatic = node.text("auto_pad", "NOTSET");
  bool isSame = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!isSame && automatic != "NOTSET" && automatic != "VALID")
    refuseMalformed("has auto_pad = " + automatic);
  for (size_t d = 0; d < rank; ++d) {
    if (input[d + 2].batched)
      refuseCrossBatch("slides over the batch axis");
    int64_t extent = input[d + 2].count, reach = (kernel[d] - 1) * spread.dilations[d] + 1;
    int64_t full = spread.strides[d] * (extent - 1) + more[d] + reach;
    int64_t size = !asked.empty() ? asked[d]
                   : isSame       ? extent * spread.strides[d]
                                  : full - pads[d] - pads[rank + d];
    bool isGiven = asked.empty() && !isSame;
    int64_t cut = full - size, front = automatic == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
    spread.low.push_back(isGiven ? pads[d] : std::max<int64_t>(0, front));
    spread.sizes.push_back(size);
    if (size < 1 || extent < 1)
      refuseMalformed("cuts off more than there is");
  }
  return spread;
}

/// Row-major places among `extents` that the taps of each place of the result meet, [sizes..., kernel...].
/// Taps that meet nothing read the place behind the last.
static Content sourcesOf(const Spread &spread, ArrayRef<int64_t> extents) {
  return indexTable(spread.sizes, spread.kernel, [&](ArrayRef<int64_t> place, ArrayRef<int64_t> tap) {
    int64_t source = 0;
    for (size_t d = 0; d < extents.size(); ++d) {
      int64_t at = place[d] + spread.low[d] - tap[d] * spread.dilations[d];
      if (at < 0 || at % spread.strides[d] != 0 || at / spread.strides[d] >= extents[d])
        return ShapedType::getNumElements(extents);
      source = source * extents[d] + at / spread.strides[d];
    }
    return source;
  });
}

/// What each place of the result reads: [N, sizes..., kernel..., C].
static Value sources(Emitter &emit, Value x, const Spread &spread, ArrayRef<int64_t> extents) {
  Shape rows = shapeOf(x); // [N, extents..., C]
  Shape flat{rows[0], Extent::fixed(ShapedType::getNumElements(extents)), rows.back()};
  Value padded = emit.pad(emit.reshape(x, flat), emit.scalar(elementTypeOf(x), 0), {0, 0, 0}, {0, 1, 0});
  return emit.gather(padded, emit.constant(sourcesOf(spread, extents)), 1);
}

/// Each element makes a block of the result of its own: a matter of layout only.
static bool isTiling(const Spread &spread, ArrayRef<int64_t> extents) {
  for (auto [d, extent] : llvm::enumerate(extents))
    if (spread.strides[d] != spread.kernel[d] || (spread.dilations[d] != 1 && spread.kernel[d] != 1) ||
        spread.low[d] != 0 || spread.sizes[d] != extent * spread.kernel[d])
      return false;
  return true;
}

/// [N, extents..., C] times the filter [kernel..., C, O], as [N, extents * kernel..., O].
static Value tiles(Emitter &emit, Value x, Value filter, const Spread &spread) {
  auto spatial = static_cast<int64_t>(spread.kernel.size());
  std::string places = placeLetters(spatial), taps = tapLetters(spatial);
  Value blocks = emit.contract("n" + places + "c," + taps + "co->n" + places + taps + "o", x, filter);
  Shape target{shapeOf(x)[0]};
  SmallVector<int64_t> perm{0};
  for (int64_t d = 0; d < spatial; ++d) {
    perm.append({1 + d, 1 + spatial + d});
    target.push_back(Extent::fixed(spread.sizes[d]));
  }
  perm.push_back(1 + 2 * spatial);
  target.push_back(shapeOf(blocks).back());
  return emit.reshape(emit.transpose(blocks, perm), target);
}

/// What is read times the filter [C, O / groups, kernel...]: [N, sizes..., O].
static Value applyGroups(Emitter &emit, Value rows, Value filter, int64_t groups) {
  auto spatial = static_cast<int64_t>(shapeOf(filter).size()) - 2;
  std::string places = placeLetters(spatial), taps = tapLetters(spatial);
  Value result =
      emit.contract("n" + places + taps + "gc,gco" + taps + "->n" + places + "go",
                    splitGroups(emit, rows, 1 + 2 * spatial, groups), splitGroups(emit, filter, 0, groups));
  Shape shape = shapeOf(result);
  int64_t channels = shape.pop_back_val().count * groups;
  shape.back() = Extent::fixed(channels);
  return emit.reshape(result, shape);
}

/// [C, O, kernel...] as [kernel..., C, O].
static Value tapsFirst(Emitter &emit, Value filter) {
  SmallVector<int64_t> perm;
  for (size_t d = 2; d < shapeOf(filter).size(); ++d)
    perm.push_back(static_cast<int64_t>(d));
  perm.append({0, 1});
  return emit.transpose(filter, perm);
}

static void transposedConvolution(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0), filter = node.value(1), bias = node.has(2) ? node.value(2) : Value();
  Shape input = shapeOf(x), shape = shapeOf(filter);
  int64_t groups = node.integer("group", 1);
  Spread spread = spreadOf(node, kernelOf(node, input, shape, bias, /*isTransposed=*/true), input);
  SmallVector<int64_t> extents(ArrayRef(slabOf(input)).drop_front(2));
  auto spatial = static_cast<int64_t>(extents.size());
  std::string places = placeLetters(spatial), taps = tapLetters(spatial);
  Value rows = channelsLast(emit, x), y;
  if (groups > 1)
    y = applyGroups(emit, sources(emit, rows, spread, extents), filter, groups);
  else if (isTiling(spread, extents))
    y = tiles(emit, rows, tapsFirst(emit, filter), spread);
  else
    y = emit.contract("n" + places + taps + "c," + taps + "co->n" + places + "o",
                      sources(emit, rows, spread, extents), tapsFirst(emit, filter));
  if (bias)
    y = emit.add(y, bias); // along the last axis: the channels
  node.set(0, channelsFirst(emit, y));
}

void addTransposedConvolutionRules(RuleTable &table) {
  table.add("ConvTranspose", 1, transposedConvolution,
            "auto_pad dilations group kernel_shape output_padding output_shape pads strides");
}

} // namespace accum::import
