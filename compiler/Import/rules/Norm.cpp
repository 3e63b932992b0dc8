// SPDX-License-Identifier: Apache-2.0
// Rules: softmax and normalisations.
#include "compiler/Import/lost/GradientMarks.h"
#include "compiler/Import/rules/OperandTypes.h"
#include "compiler/Import/walk/Binder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {
using nn::ElementwiseFn;
using nn::ReduceKind;

template <bool log> static void softmax(Binder &node) {
  Value x = node.value(0);
  int64_t axis = node.axis(node.integer("axis", -1), node.input(0).rank());
  node.set(0, isSafeSoftmax(node.node) ? node.emit.safeSoftmax(x, axis) : node.emit.softmax(x, axis, log));
}

/// Before opset 13: one softmax over all axes from `axis` on.
template <bool log> static void softmaxOfRows(Binder &node) {
  const GraphValue &x = node.input(0);
  int64_t axis = node.axis(node.integer("axis", 1), x.rank());
  Volume row = volumeOf(ArrayRef(x.shape).drop_front(axis));
  if (row.power > 1)
    refuseCrossBatch("normalises over pairs of samples");
  Shape flat(ArrayRef(x.shape).take_front(axis));
  flat.push_back({row.count, row.power == 1});
  Value value = node.emit.softmax(node.emit.reshape(x.whole(node.emit), flat), axis, log);
  node.set(0, node.emit.reshape(value, x.shape));
}

/// The shape of the statistics: leading axes, with ones behind them as ONNX gives them.
static void setStatistics(Binder &node, int64_t output, Value statistics, int64_t axis) {
  Shape target(node.input(0).shape);
  for (int64_t d = axis; d < node.input(0).rank(); ++d)
    target[d] = Extent::fixed(1);
  if (node.wants(output))
    node.set(output, node.emit.reshape(statistics, target));
}

static bool coversRows(Binder &node, int64_t i, int64_t axis) {
  return node.has(i) && node.input(i).dtype == node.input(0).dtype &&
         ArrayRef(node.input(i).shape) == ArrayRef(node.input(0).shape).drop_front(axis);
}

static void layerNorm(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  Shape shape = shapeOf(x);
  int64_t axis = node.axis(node.integer("axis", -1), node.input(0).rank());
  // Scale and bias that are not of the rows' shape are applied by broadcasting.
  requireFloats(x);
  bool fused = coversRows(node, 1, axis) && (!node.has(2) || coversRows(node, 2, axis));
  Type statistics = emit.type(ArrayRef(shape).take_front(axis), elementTypeOf(x));
  auto op = nn::LayerNormOp::create(
      emit.builder, emit.location, TypeRange{x.getType(), statistics, statistics}, x,
      fused ? node.value(1) : Value(), fused && node.has(2) ? node.value(2) : Value(),
      emit.builder.getI64IntegerAttr(axis), emit.builder.getF64FloatAttr(node.real("epsilon", 1e-5F)));
  Value result = op.getResult();
  if (!fused && node.has(1))
    result = emit.mul(result, node.value(1));
  if (!fused && node.has(2))
    result = emit.add(result, node.value(2));
  node.set(0, result);
  setStatistics(node, 1, op.getMean(), axis);
  setStatistics(node, 2, op.getRstd(), axis);
}

static void rmsNorm(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  Shape shape = shapeOf(x);
  int64_t axis = node.axis(node.integer("axis", -1), node.input(0).rank());
  requireFloats(x);
  bool fused = coversRows(node, 1, axis);
  Type statistics = emit.type(ArrayRef(shape).take_front(axis), elementTypeOf(x));
  auto op = nn::RmsNormOp::create(emit.builder, emit.location, TypeRange{x.getType(), statistics}, x,
                                  fused ? node.value(1) : Value(), emit.builder.getI64IntegerAttr(axis),
                                  emit.builder.getF64FloatAttr(node.real("epsilon", 1e-5F)));
  Value result = op.getResult();
  node.set(0, fused || !node.has(1) ? result : emit.mul(result, node.value(1)));
}

/// [C] as [1, C, 1, ...].
static Value perChannel(Binder &node, int64_t i) {
  Shape target(node.input(0).shape.size(), Extent::fixed(1));
  if (target.size() < 2)
    refuseMalformed("has an input without a channel axis");
  target[1] = node.input(0).shape[1];
  return node.emit.reshape(node.value(i), target);
}

/// (x - mean) / sqrt(variance + eps) * scale + bias, with statistics per channel.
static Value normalised(Binder &node, Value x, Value mean, Value variance) {
  Emitter &emit = node.emit;
  Value eps = emit.scalar(elementTypeOf(x), node.real("epsilon", 1e-5F));
  Value rstd = emit.unary(ElementwiseFn::rsqrt, emit.add(variance, eps));
  Value scaled = emit.mul(emit.mul(emit.sub(x, mean), rstd), perChannel(node, 1));
  return emit.add(scaled, perChannel(node, 2));
}

bool trainsStatistics(const Node &node) {
  const auto *mode = node.attribute<int64_t>("training_mode");
  bool isTold = node.opset >= 14;
  return isTold
             ? mode && *mode != 0
             : llvm::any_of(llvm::drop_begin(node.outputs), [](StringRef output) { return !output.empty(); });
}

static void batchNorm(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  if (node.integer("training_mode", 0) == 0 && !trainsStatistics(node.node))
    return node.set(0, normalised(node, x, perChannel(node, 3), perChannel(node, 4)));
  SmallVector<int64_t> axes{0};
  for (int64_t d = 2; d < node.input(0).rank(); ++d)
    axes.push_back(d);
  if (node.input(0).shape[0].batched) {
    node.set(0, x); // stands in, so that the nodes behind it are looked at too
    refuseCrossBatch(
        std::string(node.node.opset < 14 ? "(training mode, told by its outputs)" : "(training_mode=1)") +
            ": mean and variance are taken over all samples of a step, so a micro-batch has other statistics "
            "and another loss",
        {"to accumulate: export after model.eval() (statistics frozen, scale and bias still train), or use "
         "GroupNorm"});
  }
  Value mean = emit.mean(x, axes, true), centred = emit.sub(x, mean);
  node.set(0, normalised(node, x, mean, emit.mean(emit.mul(centred, centred), axes, true)));
}

static void instanceNorm(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  SmallVector<int64_t> axes;
  for (int64_t d = 2; d < node.input(0).rank(); ++d)
    axes.push_back(d);
  Value mean = emit.mean(x, axes, true), centred = emit.sub(x, mean);
  node.set(0, normalised(node, x, mean, emit.mean(emit.mul(centred, centred), axes, true)));
}

/// Of each sample, over all positions and the channels of a group.
template <bool scaledByGroup> static void groupNorm(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  Shape shape = shapeOf(x);
  int64_t groups = node.integer("num_groups", 0);
  if (shape.size() < 2 || groups < 1 || shape[1].batched || shape[1].count % groups != 0)
    refuseMalformed("has channels that do not form " + std::to_string(groups) + " groups");
  Volume row = volumeOf(ArrayRef(shape).drop_front(1));
  if (row.power > 0)
    refuseCrossBatch("normalises over samples");
  Shape grouped{shape[0], Extent::fixed(groups), Extent::fixed(row.count / groups)};
  requireFloats(x);
  Value rows = emit.reshape(x, grouped);
  Type statistics = emit.type(ArrayRef(grouped).take_front(2), elementTypeOf(x));
  auto op = nn::LayerNormOp::create(
      emit.builder, emit.location, TypeRange{rows.getType(), statistics, statistics}, rows, Value(), Value(),
      emit.builder.getI64IntegerAttr(2), emit.builder.getF64FloatAttr(node.real("epsilon", 1e-5F)));
  Value result = op.getResult();
  if (scaledByGroup) {
    Shape perGroup{Extent::fixed(1), Extent::fixed(groups), Extent::fixed(1)};
    result = emit.mul(result, emit.reshape(node.value(1), perGroup));
    result = emit.add(result, emit.reshape(node.value(2), perGroup));
    return node.set(0, emit.reshape(result, shape));
  }
  result = emit.mul(emit.reshape(result, shape), perChannel(node, 1));
  node.set(0, emit.add(result, perChannel(node, 2)));
}

static void lpNormalization(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  SmallVector<int64_t> axis{node.axis(node.integer("axis", -1), node.input(0).rank())};
  int64_t p = node.integer("p", 2);
  if (p != 1 && p != 2)
    refuseMalformed("has p = " + std::to_string(p));
  bool euclidean = p == 2;
  Value size = euclidean ? emit.mul(x, x) : emit.unary(ElementwiseFn::abs, x);
  Value norm = emit.reduce(ReduceKind::sum, size, axis, true);
  // A row of zeros stays one.
  Value zero = emit.scalar(elementTypeOf(x), 0), one = emit.scalar(elementTypeOf(x), 1);
  norm = emit.select(emit.elementwise(ElementwiseFn::eq, {norm, zero}), one, norm);
  node.set(0, emit.div(x, euclidean ? emit.unary(ElementwiseFn::sqrt, norm) : norm));
}

void addNormRules(RuleTable &table) {
  table.add("Softmax", 1, softmaxOfRows<false>, "axis");
  table.add("Softmax", 13, ofScalarToo<softmax<false>>, "axis");
  table.add("LogSoftmax", 1, softmaxOfRows<true>, "axis");
  table.add("LogSoftmax", 13, ofScalarToo<softmax<true>>, "axis");
  table.add("LayerNormalization", 17, layerNorm, "axis epsilon ~stash_type");
  table.add("RMSNormalization", 23, rmsNorm, "axis epsilon ~stash_type");
  table.add("BatchNormalization", 9, batchNorm, "epsilon training_mode ~momentum");
  table.add("InstanceNormalization", 6, instanceNorm, "epsilon");
  table.add("GroupNormalization", 18, groupNorm<true>, "epsilon num_groups ~stash_type");
  table.add("GroupNormalization", 21, groupNorm<false>, "epsilon num_groups ~stash_type");
  table.add("LpNormalization", 1, lpNormalization, "axis p");
}

} // namespace accum::import
