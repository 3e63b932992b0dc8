// SPDX-License-Identifier: Apache-2.0
// Rules: convolution and pooling, as contractions and reductions of sliding windows, which are indexed reads.
#include "compiler/Import/rules/Convolution.h"
#include <limits>

using namespace mlir;

namespace accum::import {

/// A sliding window over the spatial axes of [N, C, spatial...].
struct Window {
  SmallVector<int64_t> kernel, strides, dilations;
  SmallVector<int64_t> low, high; ///< padding of the spatial axes
  SmallVector<int64_t> given;     ///< the part of `high` that is not there for ceil_mode alone
  SmallVector<int64_t> counts;    ///< how many windows there are along each
};

static int64_t reachOf(const Window &window, size_t d) {
  return (window.kernel[d] - 1) * window.dilations[d] + 1;
}

/// Padding such that there are ceil(extent / stride) windows; the odd element goes behind with SAME_UPPER.
static void padAutomatically(Window &window, const Shape &input, bool upper) {
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    int64_t extent = input[d + 2].count, count = (extent + window.strides[d] - 1) / window.strides[d];
    int64_t total = std::max<int64_t>(0, (count - 1) * window.strides[d] + reachOf(window, d) - extent);
    window.low[d] = upper ? total / 2 : total - total / 2;
    window.high[d] = total - window.low[d];
  }
}

/// Counts the windows; with ceil_mode a last one may reach beyond the padding, but not begin there.
static void countWindows(Binder &node, Window &window, const Shape &input) {
  bool ceils = node.integer("ceil_mode", 0) != 0;
  window.given = window.high;
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    int64_t stride = window.strides[d], extent = input[d + 2].count;
    int64_t room = extent + window.low[d] + window.high[d] - reachOf(window, d);
    if (input[d + 2].batched)
      refuseCrossBatch("slides over the batch axis");
    if (room < 0)
      refuseMalformed("has a window larger than its input");
    int64_t count = room / stride + 1;
    if (ceils && room % stride != 0 && count * stride < extent + window.low[d])
      ++count;
    window.high[d] += std::max<int64_t>(0, (count - 1) * stride - room);
    window.counts.push_back(count);
  }
}

static bool isPadded(const Window &window) {
  return llvm::any_of(llvm::concat<const int64_t>(window.low, window.high),
                      [](int64_t pad) { return pad != 0; });
}

bool areCounts(ArrayRef<int64_t> values, int64_t least) {
  return llvm::all_of(values, [&](int64_t value) { return value >= least && value <= (int64_t{1} << 31); });
}

static Window windowOf(Binder &node, ArrayRef<int64_t> kernel, const Shape &input) {
  size_t rank = kernel.size();
  if (rank == 0 || rank > kMaxSpatialAxes)
    refuseUnsupported("has " + std::to_string(rank) + " spatial axes");
  if (input.size() != rank + 2)
    refuseMalformed("has an input of another rank than its window");
  Window window;
  window.kernel.assign(kernel.begin(), kernel.end());
  window.strides = node.integerList("strides", SmallVector<int64_t>(rank, 1));
  window.dilations = node.integerList("dilations", SmallVector<int64_t>(rank, 1));
  SmallVector<int64_t> pads = node.integerList("pads", SmallVector<int64_t>(2 * rank, 0));
  if (window.strides.size() != rank || window.dilations.size() != rank || pads.size() != 2 * rank)
    refuseMalformed("has strides, dilations or pads of another rank than its window");
  if (!areCounts(window.kernel, 1) || !areCounts(window.strides, 1) || !areCounts(window.dilations, 1) ||
      !areCounts(pads, 0))
    refuseMalformed("has a kernel, strides, dilations or pads outside of their range");
  window.low.assign(pads.begin(), pads.begin() + static_cast<int64_t>(rank));
  window.high.assign(pads.begin() + static_cast<int64_t>(rank), pads.end());
  std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && isPadded(window))
    refuseMalformed("has pads beside auto_pad = " + automatic);
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
    padAutomatically(window, input, automatic == "SAME_UPPER");
  else if (automatic != "NOTSET" && automatic != "VALID")
    refuseMalformed("has auto_pad = " + automatic);
  countWindows(node, window, input);
  return window;
}

Content indexTable(ArrayRef<int64_t> places, ArrayRef<int64_t> taps,
                   llvm::function_ref<int64_t(ArrayRef<int64_t> place, ArrayRef<int64_t> tap)> entry) {
  SmallVector<int64_t> sizes(places);
  llvm::append_range(sizes, taps);
  Shape shape;
  for (int64_t size : sizes)
    shape.push_back(Extent::fixed(size));
  requireSane(shape);
  if (!isFoldable(shape))
    refuseUnsupported("has windows of more than " + std::to_string(largestContent) + " elements");
  SmallVector<int64_t> index(sizes.size(), 0);
  std::vector<Element> entries;
  do
    entries.push_back(Element::integer(
        entry(ArrayRef(index).take_front(places.size()), ArrayRef(index).drop_front(places.size()))));
  while (advance(index, sizes));
  return Content::dense(DType::Int64, shape, std::move(entries));
}

/// Row-major places of the windows' elements among the spatial axes `extents`: [counts..., kernel...].
static Content placesOf(const Window &window, ArrayRef<int64_t> extents) {
  return indexTable(window.counts, window.kernel, [&](ArrayRef<int64_t> count, ArrayRef<int64_t> tap) {
    int64_t place = 0;
    for (size_t d = 0; d < extents.size(); ++d)
      place = place * extents[d] + count[d] * window.strides[d] + tap[d] * window.dilations[d];
    return place;
  });
}

/// Windows beside each other that cover the input: a matter of layout only.
static bool isTiling(const Window &window, ArrayRef<int64_t> extents) {
  for (auto [d, extent] : llvm::enumerate(extents))
    if (window.strides[d] != window.kernel[d] || (window.dilations[d] != 1 && window.kernel[d] != 1) ||
        extent != window.counts[d] * window.kernel[d])
      return false;
  return true;
}

/// [N, counts * kernel..., C] as [N, counts..., kernel..., C].
static Value tiles(Emitter &emit, Value x, const Window &window) {
  size_t rank = window.counts.size();
  Shape input = shapeOf(x), split{input[0]};
  SmallVector<int64_t> perm{0};
  for (size_t d = 0; d < rank; ++d) {
    split.push_back(Extent::fixed(window.counts[d]));
    split.push_back(Extent::fixed(window.kernel[d]));
    perm.push_back(static_cast<int64_t>(1 + 2 * d));
  }
  for (size_t d = 0; d < rank; ++d)
    perm.push_back(static_cast<int64_t>(2 + 2 * d));
  perm.push_back(static_cast<int64_t>(1 + 2 * rank));
  split.push_back(input.back());
  return emit.transpose(emit.reshape(x, split), perm);
}

/// The windows as rows of a matrix, channels last so that whole vectors move: [N, counts..., kernel..., C].
/// What lies in the padding is `filler`. They are an indexed read, so that its transpose is their derivative.
static Value windows(Emitter &emit, Value x, const Window &window, double filler) {
  SmallVector<int64_t> low{0, 0}, high{0, 0}, extents;
  llvm::append_range(low, window.low);
  llvm::append_range(high, window.high);
  if (isPadded(window))
    x = emit.pad(x, emit.scalar(elementTypeOf(x), filler), low, high);
  Shape input = shapeOf(x), flat{input[0], Extent::fixed(1), input[1]};
  for (const Extent &extent : ArrayRef(input).drop_front(2)) {
    extents.push_back(extent.count);
    flat[1].count *= extent.count;
  }
  x = channelsLast(emit, x);
  if (isTiling(window, extents))
    return tiles(emit, x, window);
  return emit.gather(emit.reshape(x, flat), emit.constant(placesOf(window, extents)), 1);
}

std::string placeLetters(int64_t spatial) { return std::string("xyz").substr(0, spatial); }
std::string tapLetters(int64_t spatial) { return std::string("uvw").substr(0, spatial); }

Value channelsFirst(Emitter &emit, Value x) {
  int64_t rank = static_cast<int64_t>(shapeOf(x).size());
  SmallVector<int64_t> perm{0, rank - 1};
  for (int64_t axis = 1; axis + 1 < rank; ++axis)
    perm.push_back(axis);
  return emit.transpose(x, perm);
}

Value channelsLast(Emitter &emit, Value x) {
  auto rank = static_cast<int64_t>(shapeOf(x).size());
  SmallVector<int64_t> perm{0};
  for (int64_t axis = 2; axis < rank; ++axis)
    perm.push_back(axis);
  perm.push_back(1);
  return emit.transpose(x, perm);
}

Value splitGroups(Emitter &emit, Value value, size_t axis, int64_t groups) {
  Shape shape = shapeOf(value);
  shape[axis].count /= groups;
  shape.insert(shape.begin() + static_cast<int64_t>(axis), Extent::fixed(groups));
  return emit.reshape(value, shape);
}

/// The windows times the filter [O, C / groups, kernel...]: [N, counts..., O].
static Value applyFilter(Emitter &emit, Value rows, Value weight, int64_t groups) {
  int64_t spatial = static_cast<int64_t>(shapeOf(weight).size()) - 2;
  std::string places = placeLetters(spatial), taps = tapLetters(spatial);
  weight = channelsLast(emit, weight); // [O, kernel..., C / groups]
  if (groups == 1)
    return emit.contract("n" + places + taps + "c,o" + taps + "c->n" + places + "o", rows, weight);
  Value result =
      emit.contract("n" + places + taps + "gc,go" + taps + "c->n" + places + "go",
                    splitGroups(emit, rows, 1 + 2 * spatial, groups), splitGroups(emit, weight, 0, groups));
  Shape shape = shapeOf(result);
  Extent channels = Extent::fixed(shape.pop_back_val().count * groups);
  shape.back() = channels;
  return emit.reshape(result, shape);
}

/// Refuses an input whose channels are the batch, and a filter or bias that depends on samples.
static void requireFixedFilter(ArrayRef<Extent> input, ArrayRef<Extent> filter, Value bias) {
  if (filter.size() >= 3 && input.size() == filter.size() && input[1].batched)
    refuseCrossBatch("takes the batch axis 1 of " + toString(input) +
                         " for its channels, of which the filter " + toString(filter) + " fixes the number",
                     {"keep the samples along axis 0: a convolution sums over its channels"});
  bool isOfSamples = !batchAxes(filter).empty() || (bias && !batchAxes(shapeOf(bias)).empty());
  if (isOfSamples)
    refuseCrossBatch("has a filter that is made of the samples, " + toString(filter) +
                         ": each sample is convolved with what others are made into",
                     {"a filter that is a parameter, or the same for all samples, compiles"});
}

SmallVector<int64_t> kernelOf(Binder &node, const Shape &input, const Shape &filter, Value bias,
                              bool isTransposed) {
  requireFixedFilter(input, filter, bias);
  int64_t groups = node.integer("group", 1);
  bool fits = filter.size() >= 3 && input.size() == filter.size() && groups >= 1 &&
              groups <= filter[0].count && filter[0].count % groups == 0;
  SmallVector<int64_t> kernel(ArrayRef(slabOf(filter)).drop_front(fits ? 2 : filter.size()));
  fits &= node.integerList("kernel_shape", kernel) == kernel;
  if (fits) {
    Extent grouped = Extent::fixed(filter[1].count * groups);
    fits = input[1] == (isTransposed ? filter[0] : grouped) &&
           (!bias || shapeOf(bias) == Shape{isTransposed ? grouped : filter[0]});
  }
  if (!fits)
    refuseMalformed("has an input " + toString(input) + " and a filter " + toString(filter) +
                    " that do not fit");
  return kernel;
}

static void convolution(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0), weight = node.value(1), bias = node.has(2) ? node.value(2) : Value();
  Shape filter = shapeOf(weight), input = shapeOf(x);
  int64_t groups = node.integer("group", 1);
  Window window = windowOf(node, kernelOf(node, input, filter, bias, /*isTransposed=*/false), input);
  Value y = applyFilter(emit, windows(emit, x, window, 0), weight, groups);
  if (bias)
    y = emit.add(y, bias); // along the last axis: the channels
  node.set(0, channelsFirst(emit, y));
}

/// The first of the largest elements of each window, as frameworks choose it for the derivative.
static void maxima(Binder &node, const Window &window) {
  Emitter &emit = node.emit;
  OpBuilder &b = emit.builder;
  Value x = node.value(0);
  Value rows = windows(emit, x, window, -std::numeric_limits<double>::infinity());
  int64_t axis = 1 + static_cast<int64_t>(window.counts.size()); // of the taps, all in one
  Shape shape = shapeOf(rows), flat(ArrayRef(shape).take_front(axis)), one = flat, kept = flat;
  flat.push_back(Extent::fixed(ShapedType::getNumElements(window.kernel)));
  one.push_back(Extent::fixed(1));
  for (Shape *target : {&flat, &one, &kept})
    target->push_back(shape.back());
  rows = emit.reshape(rows, flat);
  Value which = nn::ArgReduceOp::create(b, emit.location, emit.type(kept, b.getI64Type()),
                                        nn::ReduceKind::max, rows, axis);
  Value largest = nn::GatherElementsOp::create(b, emit.location, emit.type(one, elementTypeOf(x)), rows,
                                               emit.reshape(which, one), axis);
  node.set(0, channelsFirst(emit, emit.reshape(largest, kept)));
}

static void refuseIntegers(Binder &node) {
  if (!isa<FloatType>(elementTypeOf(node.value(0))))
    refuseUnsupported("pools integers");
}

static void maxPool(Binder &node) {
  if (node.wants(1))
    refuseUnsupported("gives the indices of its maxima");
  refuseIntegers(node);
  maxima(node, windowOf(node, node.integerList("kernel_shape"), shapeOf(node.value(0))));
}

static void globalMaxPool(Binder &node) {
  refuseIntegers(node);
  Shape input = shapeOf(node.value(0));
  SmallVector<int64_t> kernel;
  for (size_t d = 2; d < input.size(); ++d)
    kernel.push_back(input[d].count);
  maxima(node, windowOf(node, kernel, input));
}

/// How many elements of the input, or of the input and the given padding, each window covers, broadcast
/// against [N, counts..., C]. What ceil_mode adds is never counted.
static Value coveredElements(Emitter &emit, const Window &window, const Shape &input, bool countsPadding,
                             Type element) {
  SmallVector<int64_t> shape(window.counts), index(shape.size(), 0);
  if (ShapedType::getNumElements(shape) > largestContent)
    refuseUnsupported("does not count its padding, for too many windows");
  shape.push_back(1);
  SmallVector<Attribute> counts;
  do {
    int64_t covered = 1;
    for (size_t d = 0; d < index.size(); ++d) {
      int64_t inside = 0, first = index[d] * window.strides[d] - window.low[d];
      for (int64_t tap = 0; tap < window.kernel[d]; ++tap) {
        int64_t at = first + tap * window.dilations[d];
        inside +=
            countsPadding ? at < input[d + 2].count + window.given[d] : at >= 0 && at < input[d + 2].count;
      }
      covered *= inside;
    }
    counts.push_back(emit.builder.getFloatAttr(element, static_cast<double>(covered)));
  } while (advance(index, window.counts));
  auto type = RankedTensorType::get(shape, element);
  return nn::ConstantOp::create(emit.builder, emit.location, type, DenseElementsAttr::get(type, counts));
}

static void averagePool(Binder &node) {
  Emitter &emit = node.emit;
  refuseIntegers(node);
  Value x = node.value(0);
  bool countsPadding = node.integer("count_include_pad", 0) != 0;
  Shape input = shapeOf(x);
  Window window = windowOf(node, node.integerList("kernel_shape"), input);
  Value rows = windows(emit, x, window, 0);
  SmallVector<int64_t> axes;
  double size = 1;
  for (auto [d, extent] : llvm::enumerate(window.kernel)) {
    axes.push_back(static_cast<int64_t>(1 + window.counts.size() + d));
    size *= static_cast<double>(extent);
  }
  Value sum = emit.reduce(nn::ReduceKind::sum, rows, axes);
  bool isWhole = countsPadding ? window.high == window.given : !isPadded(window);
  Value count = isWhole ? emit.scalar(elementTypeOf(x), size)
                        : coveredElements(emit, window, input, countsPadding, elementTypeOf(x));
  node.set(0, channelsFirst(emit, emit.div(sum, count)));
}

static void globalAveragePool(Binder &node) {
  Value x = node.value(0);
  SmallVector<int64_t> axes;
  for (int64_t d = 2; d < node.input(0).rank(); ++d)
    axes.push_back(d);
  node.set(0, node.emit.mean(x, axes, /*keepAsOnes=*/true));
}

void addConvolutionRules(RuleTable &table) {
  table.add("Conv", 1, convolution, "auto_pad dilations group kernel_shape pads strides");
  table.add("MaxPool", 8, maxPool, "auto_pad ceil_mode dilations kernel_shape pads strides ~storage_order");
  table.add("AveragePool", 7, averagePool,
            "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides");
  table.add("GlobalAveragePool", 1, globalAveragePool);
  table.add("GlobalMaxPool", 1, globalMaxPool);
}

} // namespace accum::import
