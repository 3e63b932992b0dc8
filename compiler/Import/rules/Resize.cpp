// SPDX-License-Identifier: Apache-2.0
// Rule: Resize by nearest, linear or cubic interpolation. Each is a product with a matrix along each axis
// that it changes, known here; of a parameter (positions of another picture size) it is made once per step.
#include "compiler/Import/walk/Binder.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace accum::import {
namespace {

/// Elements that a resized axis has at most, before and after, and that a matrix along it has.
constexpr int64_t kMost = 1 << 22;

/// One axis. Arithmetic is in f32 as in ONNX Runtime and PyTorch: a scale of 1/3 is none that f64 would
/// divide by.
struct ResizedAxis {
  int64_t from = 0, to = 0;
  float scale = 1;
  float length = 0; ///< `to`, or from * scale where that is no whole number and counts

  bool isSame() const { return from == to && scale == 1; }
};

/// An element of the result: these elements of the input, with these weights.
using Taps = SmallVector<std::pair<int64_t, float>, 4>;

struct Interpolation {
  std::string mode, coordinates, nearest;
  float cubic = 0;
  bool excludeOutside = false;

  explicit Interpolation(Binder &node);
  float positionOf(const ResizedAxis &axis, int64_t place) const;
  float nearestTo(float position) const;
  Taps tapsOf(const ResizedAxis &axis, int64_t place) const;
};

/// Weights of the four elements around a position `ratio` behind the second one (Keys 1981).
std::array<float, 4> cubicWeights(float a, float ratio) {
  auto far = [a](float x) { return ((x - 5) * x + 8) * x * a - 4 * a; };
  auto near = [a](float x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  return {far(ratio + 1), near(ratio), near(1 - ratio), far(2 - ratio)};
}
} // namespace

Interpolation::Interpolation(Binder &node)
    : mode(node.text("mode", "nearest")),
      coordinates(
          node.text("coordinate_transformation_mode", node.node.opset < 11 ? "asymmetric" : "half_pixel")),
      nearest(node.text("nearest_mode", node.node.opset < 11 ? "floor" : "round_prefer_floor")),
      cubic(static_cast<float>(node.real("cubic_coeff_a", -0.75))),
      excludeOutside(node.integer("exclude_outside", 0) != 0) {
  auto require = [](StringRef word, std::initializer_list<StringRef> known, const std::string &what) {
    if (!llvm::is_contained(known, word))
      refuseUnsupported("has " + what + " `" + word.str() + "`");
  };
  require(mode, {"nearest", "linear", "cubic"}, "mode");
  require(coordinates,
          {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"},
          "coordinate_transformation_mode");
  require(nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, "nearest_mode");
  require(node.text("keep_aspect_ratio_policy", "stretch"), {"stretch"}, "keep_aspect_ratio_policy");
}

float Interpolation::positionOf(const ResizedAxis &axis, int64_t place) const {
  auto x = static_cast<float>(place), from = static_cast<float>(axis.from), to = static_cast<float>(axis.to);
  if (coordinates == "asymmetric")
    return x / axis.scale;
  if (coordinates == "align_corners")
    return axis.to == 1 ? 0 : x * (from - 1) / (axis.length - 1);
  if (coordinates == "pytorch_half_pixel" && axis.to == 1)
    return 0;
  float offset = 0;
  if (coordinates == "half_pixel_symmetric")
    offset = from / 2 * (1 - to / (axis.scale * from));
  return offset + (x + 0.5F) / axis.scale - 0.5F;
}

float Interpolation::nearestTo(float position) const {
  if (nearest == "round_prefer_floor")
    return std::ceil(position - 0.5F);
  if (nearest == "round_prefer_ceil")
    return std::floor(position + 0.5F);
  return nearest == "floor" ? std::floor(position) : std::ceil(position);
}

Taps Interpolation::tapsOf(const ResizedAxis &axis, int64_t place) const {
  float position = positionOf(axis, place);
  auto inside = [&](int64_t index) { return std::clamp<int64_t>(index, 0, axis.from - 1); };
  if (mode == "nearest")
    return {{inside(static_cast<int64_t>(nearestTo(position))), 1}};
  auto first = static_cast<int64_t>(std::floor(position));
  float ratio = position - static_cast<float>(first);
  if (mode == "linear")
    return {{inside(first), 1 - ratio}, {inside(first + 1), ratio}};
  Taps taps;
  float sum = 0;
  for (auto [i, weight] : llvm::enumerate(cubicWeights(cubic, ratio))) {
    int64_t index = first - 1 + static_cast<int64_t>(i);
    if (excludeOutside && index != inside(index))
      continue;
    taps.emplace_back(inside(index), weight);
    sum += weight;
  }
  for (auto &[index, weight] : taps)
    weight = excludeOutside ? weight / sum : weight;
  return taps;
}

/// Each element `times` times in a row.
static Value repeat(Emitter &emit, Value x, int64_t axis, int64_t times) {
  Shape shape = shapeOf(x), wide = shape;
  wide.insert(wide.begin() + axis + 1, Extent::fixed(1));
  Value split = emit.reshape(x, wide);
  wide[axis + 1].count = times;
  shape[axis].count *= times;
  return emit.reshape(emit.broadcastTo(split, wide), shape);
}

static Value nearestAlong(Emitter &emit, Value x, int64_t axis, ArrayRef<Taps> rows) {
  int64_t from = shapeOf(x)[axis].count, to = static_cast<int64_t>(rows.size());
  SmallVector<int64_t> positions;
  for (const Taps &taps : rows)
    positions.push_back(taps[0].first);
  bool isRepeated = to % from == 0;
  for (int64_t i = 0; isRepeated && i < to; ++i)
    isRepeated = positions[i] == i / (to / from);
  return isRepeated ? repeat(emit, x, axis, to / from) : pick(emit, x, axis, positions);
}

[[noreturn]] static void refuseLarge(int64_t from, int64_t to) {
  refuseUnsupported("resizes an axis from " + std::to_string(from) + " to " + std::to_string(to) +
                    " elements, which is too large");
}

static Value productAlong(Emitter &emit, Value x, DType dtype, int64_t axis, ArrayRef<Taps> rows) {
  int64_t from = shapeOf(x)[axis].count, to = static_cast<int64_t>(rows.size());
  if (from * to > kMost)
    refuseLarge(from, to);
  std::vector<Element> weights(static_cast<size_t>(from * to), Element::floating(0));
  for (auto [row, taps] : llvm::enumerate(rows))
    for (auto [index, weight] : taps)
      weights[row * static_cast<size_t>(from) + static_cast<size_t>(index)].real +=
          static_cast<double>(weight);
  Value matrix =
      emit.constant(Content::dense(dtype, {Extent::fixed(to), Extent::fixed(from)}, std::move(weights)));
  std::string letters;
  for (size_t d = 0; d < shapeOf(x).size(); ++d)
    letters += static_cast<char>('a' + d);
  std::string resized = letters;
  resized[static_cast<size_t>(axis)] = 'z';
  return emit.contract("z" + letters.substr(static_cast<size_t>(axis), 1) + "," + letters + "->" + resized,
                       matrix, x);
}

/// The axes that the node speaks of: all, before opset 18.
static SmallVector<int64_t> namedAxes(Binder &node, int64_t rank) {
  SmallVector<int64_t> named = node.integerList("axes", llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  (void)node.axes(named, rank); // each once
  for (int64_t &axis : named)
    axis = node.axis(axis, rank);
  return named;
}

/// What the file calls the size of axis `axis` after the node.
static ResizedAxis fromSize(const Element &size, Extent extent) {
  Extent to = extentOf(size);
  if (to.batched != extent.batched || (extent.batched && !(to == extent)))
    refuseCrossBatch("resizes the batch axis");
  auto length = static_cast<float>(to.count);
  return {extent.count, to.count, length / static_cast<float>(extent.count), length};
}

/// With corners aligned, ONNX divides by the scaled length as it is, PyTorch and ONNX Runtime by the whole
/// number below it, of elements that there are. A file means what its producer computed.
static float lengthOf(Binder &node, float scaled, float to) {
  if (scaled == to || node.text("coordinate_transformation_mode", "") != "align_corners")
    return to;
  node.emit.notices.insert(fmt::format(
      "`{}` (Resize) aligns the corners of {:g} scaled elements, of which there are {:g}: it divides by {}",
      node.node.name, scaled, to,
      node.emit.isFromPyTorch ? "their number, as PyTorch and ONNX Runtime do; ONNX's formula would not"
                              : "the scaled length, as ONNX has it; PyTorch and ONNX Runtime round it"));
  return node.emit.isFromPyTorch ? to : scaled;
}

static ResizedAxis fromScale(Binder &node, double scale, Extent extent) {
  if (!(scale > 0 && scale < 1e6))
    refuseMalformed("resizes by " + std::to_string(scale));
  if (extent.batched && scale != 1)
    refuseCrossBatch("resizes the batch axis");
  auto factor = static_cast<float>(scale);
  if (factor == 1)
    return {extent.count, extent.count, 1, static_cast<float>(extent.count)};
  float scaled = static_cast<float>(extent.count) * factor, to = std::floor(scaled);
  return {extent.count, static_cast<int64_t>(std::min(to, 0x1p62F)), factor, lengthOf(node, scaled, to)};
}

static bool isGiven(Binder &node, int64_t i) { return node.has(i) && node.content(i).size() > 0; }

static SmallVector<ResizedAxis> resizedAxes(Binder &node, ArrayRef<int64_t> named) {
  const GraphValue &x = node.input(0);
  int64_t scales = node.node.opset < 11 ? 1 : 2;
  bool isSized = !isGiven(node, scales);
  std::vector<Element> numbers = (isSized ? node.integerContent(3) : node.content(scales)).flatten();
  if (numbers.size() != named.size())
    refuseMalformed("has " + std::to_string(numbers.size()) + " sizes for " + std::to_string(named.size()) +
                    " axes");
  SmallVector<ResizedAxis> axes;
  for (auto [axis, number] : llvm::zip_equal(named, numbers)) {
    Extent extent = x.shape[axis];
    axes.push_back(isSized ? fromSize(number, extent) : fromScale(node, number.real, extent));
    if (axes.back().from < 1 || axes.back().to < 1)
      refuseMalformed("resizes an axis from " + std::to_string(axes.back().from) + " to " +
                      std::to_string(axes.back().to) + " elements");
    if (!axes.back().isSame() && std::max(axes.back().from, axes.back().to) > kMost)
      refuseLarge(axes.back().from, axes.back().to);
  }
  return axes;
}

static void resize(Binder &node) {
  Interpolation how(node);
  const GraphValue &x = node.input(0);
  if (x.rank() > 12)
    refuseUnsupported("has more than 12 axes");
  SmallVector<int64_t> named = namedAxes(node, x.rank());
  SmallVector<ResizedAxis> axes = resizedAxes(node, named);
  Value value = node.value(0);
  for (auto [axis, resized] : llvm::zip_equal(named, axes)) {
    if (resized.isSame())
      continue;
    if (resized.scale < 1 && node.integer("antialias", 0) != 0)
      refuseUnsupported("shrinks with antialias = 1");
    SmallVector<Taps> rows;
    for (int64_t place = 0; place < resized.to; ++place)
      rows.push_back(how.tapsOf(resized, place));
    value = how.mode == "nearest" ? nearestAlong(node.emit, value, axis, rows)
                                  : productAlong(node.emit, value, x.dtype, axis, rows);
  }
  node.set(0, value);
}

void addResizeRules(RuleTable &table) {
  table.add("Resize", 10, resize,
            "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
            "keep_aspect_ratio_policy mode "
            "nearest_mode ~extrapolation_value");
}

} // namespace accum::import
