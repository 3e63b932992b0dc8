// SPDX-License-Identifier: Apache-2.0
// Rules: SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss.
#include "compiler/Import/lost/LostArguments.h"
#include "compiler/Import/rules/CrossEntropy.h"
#include "compiler/Import/rules/OperandTypes.h"
#include "compiler/Import/walk/BakedIn.h"
#include "compiler/Import/walk/Binder.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace mlir;

namespace accum::import {
using nn::ElementwiseFn;
using nn::ReduceKind;

static SmallVector<int64_t> allAxes(Value value) {
  SmallVector<int64_t> axes;
  for (size_t d = 0; d < shapeOf(value).size(); ++d)
    axes.push_back(static_cast<int64_t>(d));
  return axes;
}

static Value isCounted(Emitter &emit, const LossTerms &terms) {
  Value ignored = emit.integerScalar(elementTypeOf(terms.labels), *terms.ignored);
  return emit.elementwise(ElementwiseFn::ne, {terms.labels, ignored});
}

/// The class weight of each row; 0 where ignored. Ignored labels may lie outside of the classes.
static Value rowWeights(Emitter &emit, const LossTerms &terms) {
  if (!terms.ignored)
    return emit.gather(terms.weights, terms.labels, 0);
  Value counted = isCounted(emit, terms), zero = emit.integerScalar(elementTypeOf(terms.labels), 0);
  Value rows = emit.gather(terms.weights, emit.select(counted, terms.labels, zero), 0);
  return emit.select(counted, rows, emit.scalar(elementTypeOf(rows), 0));
}

/// How many rows count, in the loss's element type.
static Value rowCount(Emitter &emit, const LossTerms &terms) {
  Type element = elementTypeOf(terms.rows);
  if (!terms.ignored)
    return emit.count(volumeOf(shapeOf(terms.rows)), element);
  // Counts are integers: a float sum stops counting at 2^24.
  Value ones = emit.cast(isCounted(emit, terms), emit.builder.getI64Type());
  return emit.cast(emit.reduce(ReduceKind::sum, ones, allAxes(ones)), element);
}

/// 0 in ignored rows.
static Value smoothRows(Emitter &emit, const LossTerms &terms) {
  Value none = emit.scalar(elementTypeOf(terms.smooth), 0);
  return terms.ignored ? emit.select(isCounted(emit, terms), terms.smooth, none) : terms.smooth;
}

Value reduceLoss(Emitter &emit, const LossTerms &terms, LossReduction reduction) {
  Value weights = terms.weights ? rowWeights(emit, terms) : Value();
  Value rows = weights ? emit.mul(terms.rows, weights) : terms.rows;
  if (terms.smooth)
    rows =
        emit.add(emit.scale(rows, 1 - terms.smoothing), emit.scale(smoothRows(emit, terms), terms.smoothing));
  if (reduction == LossReduction::None)
    return rows;
  Value sum = emit.reduce(ReduceKind::sum, rows, allAxes(rows));
  if (reduction == LossReduction::Sum)
    return sum;
  Value count = weights ? emit.reduce(ReduceKind::sum, weights, allAxes(weights)) : rowCount(emit, terms);
  return emit.div(sum, count);
}

/// Probabilities as targets, which exporters write so although ONNX knows only integers.
static bool isOfProbabilities(Value logits, Value targets) {
  return isa<FloatType>(elementTypeOf(targets)) && shapeOf(logits) == shapeOf(targets);
}

static void requireLabels(Value logits, Value labels) {
  Shape scores(ArrayRef(shapeOf(logits)).drop_back()), given = shapeOf(labels);
  requireFloats(logits, "logits");
  if (!elementTypeOf(labels).isSignlessInteger() || elementTypeOf(labels).isInteger(1))
    throw Refusal{"malformed-model",
                  "has labels that are not integers",
                  {"for probabilities as targets, which exporters write so and ONNX does not know, compute "
                   "-(targets * log_softmax(logits, -1)).sum(-1).mean() in the model"}};
  if (scores != given && volumeOf(scores).power != volumeOf(given).power)
    refuseBakedIn("has labels " + toString(given) + " for logits " + toString(shapeOf(logits)));
  if (scores != given)
    refuseMalformed("has labels " + toString(given) + " for logits " + toString(shapeOf(logits)));
}

nn::CrossEntropyOp crossEntropyRows(Emitter &emit, Value logits, Value labels,
                                    std::optional<int64_t> ignored) {
  requireLabels(logits, labels);
  Type rows = emit.type(shapeOf(labels), elementTypeOf(logits));
  IntegerAttr ignoredLabel = ignored ? emit.builder.getI64IntegerAttr(*ignored) : IntegerAttr();
  return nn::CrossEntropyOp::create(emit.builder, emit.location, rows, rows, logits, labels, ignoredLabel);
}

static LossReduction reductionOf(Binder &node) {
  std::string reduction = node.text("reduction", "mean");
  if (reduction == "mean")
    return LossReduction::Mean;
  if (reduction == "sum")
    return LossReduction::Sum;
  if (reduction == "none")
    return LossReduction::None;
  refuseMalformed("has the reduction `" + reduction + "`");
}

/// [N, C, d1, ...] as [N, d1, ..., C].
static Value classesLast(Emitter &emit, Value x) {
  auto rank = static_cast<int64_t>(shapeOf(x).size());
  if (rank < 2)
    refuseMalformed("has scores of rank " + std::to_string(rank));
  SmallVector<int64_t> perm{0};
  for (int64_t d = 2; d < rank; ++d)
    perm.push_back(d);
  perm.push_back(1);
  return emit.transpose(x, perm);
}

/// Positions of the largest scores, as pseudo-labels are, are never the ignored number.
static bool canBeIgnored(Emitter &emit, const GraphValue &labels, int64_t ignored) {
  if (!labels.bounds)
    return true;
  GraphValue number(Content::scalar(labels.dtype, Element::integer(ignored)));
  for (ElementwiseFn fn : {ElementwiseFn::gt, ElementwiseFn::lt}) {
    GraphValue differs = elementwise(emit, fn, {&labels, &number});
    if (differs.content && differs.content->isUniform() && differs.content->only().constant != 0)
      return false;
  }
  return true;
}

static LossTerms termsOf(Binder &node) {
  LossTerms terms;
  terms.labels = node.value(1);
  if (node.has(2)) {
    const GraphValue &scores = node.input(0), &weights = node.input(2);
    if (weights.dtype != scores.dtype || weights.rank() != 1 || scores.rank() < 2 ||
        weights.shape[0] != scores.shape[1])
      refuseMalformed("has class weights that are not one for each class, or not of the scores' type");
    terms.weights = node.value(2);
  }
  if (node.hasAttribute("ignore_index"))
    terms.ignored = node.integer("ignore_index", 0);
  if (terms.ignored && !canBeIgnored(node.emit, node.input(1), *terms.ignored))
    terms.ignored.reset();
  return terms;
}

/// The exporter leaves label smoothing out of the node: it is put back as torch.nn.functional.cross_entropy
/// has it.
static void smoothLabels(Binder &node, nn::CrossEntropyOp entropy, LossTerms &terms) {
  Emitter &emit = node.emit;
  terms.smoothing = labelSmoothing(node.node);
  if (terms.smoothing == 0)
    return;
  Value logits = entropy.getLogits(), weighted = logits, lse = entropy.getLse();
  if (terms.weights) {
    weighted = emit.mul(logits, terms.weights);
    lse = emit.mul(lse, emit.mean(terms.weights, {0}));
  }
  terms.smooth = emit.sub(lse, emit.mean(weighted, {static_cast<int64_t>(shapeOf(logits).size()) - 1}));
  emit.notices.insert(
      fmt::format("label_smoothing {}: the exporter left it out of the cross-entropy, and it is put "
                  "back",
                  terms.smoothing));
}

/// As torch.nn.functional.cross_entropy has it: targets are smoothed, no number is ignored, and the mean is
/// over rows, not over their weights.
static Value entropyOfProbabilities(Binder &node, Value logits, Value targets) {
  Emitter &emit = node.emit;
  targets = emit.cast(targets, elementTypeOf(logits));
  auto last = static_cast<int64_t>(shapeOf(logits).size()) - 1;
  if (double smoothing = labelSmoothing(node.node); smoothing != 0) {
    double share = smoothing / static_cast<double>(shapeOf(logits).back().count);
    targets = emit.add(emit.scale(targets, 1 - smoothing), emit.scalar(elementTypeOf(targets), share));
  }
  if (node.has(2))
    targets = emit.mul(targets, node.value(2));
  Value terms = emit.mul(emit.softmax(logits, last, /*log=*/true), targets);
  Value rows = emit.unary(ElementwiseFn::neg, emit.reduce(ReduceKind::sum, terms, {last}));
  LossReduction reduction = reductionOf(node);
  if (reduction == LossReduction::None)
    return rows;
  return reduction == LossReduction::Sum ? emit.reduce(ReduceKind::sum, rows, allAxes(rows))
                                         : emit.mean(rows, allAxes(rows));
}

static void softmaxCrossEntropy(Binder &node) {
  Emitter &emit = node.emit;
  if (isOfProbabilities(node.value(0), node.value(1)) && !node.wants(1)) {
    node.set(
        0, entropyOfProbabilities(node, classesLast(emit, node.value(0)), classesLast(emit, node.value(1))));
    emit.notices.insert(
        "cross-entropy with probabilities as targets: the exporter wrote it as one of labels, and it is "
        "put back");
    return;
  }
  LossTerms terms = termsOf(node);
  Value logits = classesLast(emit, node.value(0));
  nn::CrossEntropyOp entropy = crossEntropyRows(emit, logits, terms.labels, terms.ignored);
  terms.rows = entropy.getLoss();
  smoothLabels(node, entropy, terms);
  node.set(0, reduceLoss(emit, terms, reductionOf(node)));
  if (node.wants(1)) {
    int64_t axis = 1;
    node.set(1, emit.softmax(node.value(0), axis, /*log=*/true));
  }
}

/// The cross-entropy of log probabilities is their negative at the label: log softmax is idempotent, but only
/// on log probabilities, so the logits behind a LogSoftmax are looked for and anything else is read by index.
static Value likelihoodRows(Binder &node, const LossTerms &terms) {
  Emitter &emit = node.emit;
  Value scores = node.value(0), inRows = classesLast(emit, scores);
  requireLabels(inRows, terms.labels);
  auto last = static_cast<int64_t>(shapeOf(scores).size()) - 1;
  if (auto softmax = scores.getDefiningOp<nn::SoftmaxOp>())
    if (softmax.getLog() && static_cast<int64_t>(softmax.getAxis()) == 1)
      return crossEntropyRows(emit, classesLast(emit, softmax.getInput()), terms.labels, terms.ignored)
          .getLoss();
  Value labels = terms.labels, zero = emit.integerScalar(elementTypeOf(labels), 0);
  Value counted = terms.ignored ? isCounted(emit, terms) : Value();
  Value safe = counted ? emit.select(counted, labels, zero) : labels;
  Shape column = shapeOf(labels);
  column.push_back(Extent::fixed(1));
  Value picked =
      nn::GatherElementsOp::create(emit.builder, emit.location, emit.type(column, elementTypeOf(scores)),
                                   inRows, emit.reshape(safe, column), emit.builder.getI64IntegerAttr(last));
  Value rows = emit.unary(ElementwiseFn::neg, emit.reshape(picked, shapeOf(labels)));
  return counted ? emit.select(counted, rows, emit.scalar(elementTypeOf(rows), 0)) : rows;
}

static void negativeLogLikelihood(Binder &node) {
  LossTerms terms = termsOf(node);
  terms.rows = likelihoodRows(node, terms);
  node.set(0, reduceLoss(node.emit, terms, reductionOf(node)));
}

void addLossRules(RuleTable &table) {
  table.add("SoftmaxCrossEntropyLoss", 12, softmaxCrossEntropy, "ignore_index reduction");
  table.add("NegativeLogLikelihoodLoss", 12, negativeLogLikelihood, "ignore_index reduction");
}

} // namespace accum::import
