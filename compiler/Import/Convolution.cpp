// SPDX-License-Identifier: Apache-2.0
// Rules: convolution and pooling.
#include "compiler/Import/Binder.h"

using namespace mlir;

namespace accum::import {

/// Sizes along the spatial axes of a sliding window.
struct Window {
  SmallVector<int64_t> kernel, strides, dilations, pads; ///< pads: all low ones, then all high ones
};

static Window windowOf(Binder &node, ArrayRef<int64_t> kernel) {
  size_t rank = kernel.size();
  Window window;
  window.kernel.assign(kernel.begin(), kernel.end());
  window.strides = node.integerList("strides", SmallVector<int64_t>(rank, 1));
  window.dilations = node.integerList("dilations", SmallVector<int64_t>(rank, 1));
  window.pads = node.integerList("pads", SmallVector<int64_t>(2 * rank, 0));
  std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID")
    refuseUnsupported("has auto_pad = " + automatic);
  if (window.strides.size() != rank || window.dilations.size() != rank || window.pads.size() != 2 * rank)
    refuseMalformed("has strides, dilations or pads of another rank than its window");
  return window;
}

static Shape slide(Binder &node, const Shape &input, Extent channels, const Window &window) {
  size_t rank = window.kernel.size();
  if (input.size() != rank + 2)
    refuseMalformed("has an input of another rank than its window");
  Shape result{input[0], channels};
  for (size_t d = 0; d < rank; ++d) {
    int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
    int64_t room = input[d + 2].count + window.pads[d] + window.pads[rank + d] - reach;
    if (input[d + 2].batched)
      refuseCrossBatch("slides over the batch axis");
    if (room < 0 || window.strides[d] < 1)
      refuseMalformed("has a window larger than its input");
    if (node.integer("ceil_mode", 0) != 0 && room % window.strides[d] != 0)
      refuseUnsupported("has ceil_mode");
    result.push_back(Extent::fixed(room / window.strides[d] + 1));
  }
  return result;
}

static void convolution(Binder &node) {
  Emitter &emit = node.emit;
  OpBuilder &b = emit.builder;
  Value x = node.value(0), weight = node.value(1), bias = node.has(2) ? node.value(2) : Value();
  Shape filter = shapeOf(weight), input = shapeOf(x);
  int64_t groups = node.integer("group", 1);
  bool fits = filter.size() >= 3 && input.size() == filter.size() && groups >= 1 &&
              input[1] == Extent::fixed(filter[1].count * groups) && filter[0].count % groups == 0;
  if (!fits || !batchAxes(filter).empty() || (bias && shapeOf(bias) != Shape{filter[0]}))
    refuseMalformed("has an input " + toString(input) + " and a filter " + toString(filter) +
                    " that do not fit");
  Window window = windowOf(node, ArrayRef(slabOf(filter)).drop_front(2));
  Shape shape = slide(node, shapeOf(x), filter[0], window);
  node.set(0, nn::ConvOp::create(b, emit.location, emit.type(shape, elementTypeOf(x)), x, weight, bias,
                                 b.getDenseI64ArrayAttr(window.strides), b.getDenseI64ArrayAttr(window.pads),
                                 b.getDenseI64ArrayAttr(window.dilations), b.getI64IntegerAttr(groups))
                  .getResult());
}

static Value pool(Binder &node, nn::ReduceKind kind) {
  Emitter &emit = node.emit;
  OpBuilder &b = emit.builder;
  Value x = node.value(0);
  Window window = windowOf(node, node.integerList("kernel_shape"));
  for (int64_t dilation : window.dilations)
    if (dilation != 1)
      refuseUnsupported("has dilations");
  Shape input = shapeOf(x);
  Shape shape = slide(node, input, input.size() > 1 ? input[1] : Extent::fixed(1), window);
  return nn::PoolOp::create(b, emit.location, emit.type(shape, elementTypeOf(x)), kind, x,
                            b.getDenseI64ArrayAttr(window.kernel), b.getDenseI64ArrayAttr(window.strides),
                            b.getDenseI64ArrayAttr(window.pads));
}

static void maxPool(Binder &node) {
  if (node.wants(1))
    refuseUnsupported("gives the indices of its maxima");
  node.set(0, pool(node, nn::ReduceKind::max));
}

/// A sum divided by the size of the window.
static void averagePool(Binder &node) {
  SmallVector<int64_t> kernel = node.integerList("kernel_shape");
  bool padded = llvm::any_of(node.integerList("pads"), [](int64_t pad) { return pad != 0; });
  if (padded && node.integer("count_include_pad", 0) == 0)
    refuseUnsupported("pads and does not count the padding");
  Value sum = pool(node, nn::ReduceKind::sum);
  double size = 1;
  for (int64_t extent : kernel)
    size *= static_cast<double>(extent);
  node.set(0, node.emit.div(sum, node.emit.scalar(elementTypeOf(sum), size)));
}

static void globalAveragePool(Binder &node) {
  Value x = node.value(0);
  SmallVector<int64_t> axes;
  for (int64_t d = 2; d < node.input(0).rank(); ++d)
    axes.push_back(d);
  node.set(0, node.emit.mean(x, axes, /*keepAsOnes=*/true));
}

void addConvolutionRules(RuleTable &table) {
  table.add("Conv", 1, convolution);
  table.add("MaxPool", 8, maxPool);
  table.add("AveragePool", 7, averagePool);
  table.add("GlobalAveragePool", 1, globalAveragePool);
}

} // namespace accum::import
