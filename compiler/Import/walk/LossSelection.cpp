// SPDX-License-Identifier: Apache-2.0
// Which loss is trained, by the rules of --loss, and the conventions for graphs that end in logits.
#include "compiler/Import/walk/LossSelection.h"
#include "compiler/Import/rules/CrossEntropy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace mlir;

namespace accum::import {
using Kind = LossChoice::Kind;

static constexpr std::pair<Kind, std::string_view> conventions[] = {{Kind::CrossEntropy, "cross-entropy"},
                                                                    {Kind::CausalLm, "causal-lm"},
                                                                    {Kind::NextToken, "next-token"},
                                                                    {Kind::Mse, "mse"},
                                                                    {Kind::Bce, "bce"}};

std::string_view name(Kind kind) {
  for (auto [each, text] : conventions)
    if (each == kind)
      return text;
  return "output";
}

static bool isScalar(const ValueInfo &output) { return output.type.shape && output.type.shape->empty(); }

/// Float outputs that could carry a loss: cached keys and values do not.
static std::vector<const ValueInfo *> candidates(const Graph &graph) {
  std::vector<const ValueInfo *> result;
  for (const ValueInfo &output : graph.outputs)
    if (isFloat(output.type.dtype) && !llvm::StringRef(output.name).starts_with("present"))
      result.push_back(&output);
  return result;
}

static const ValueInfo *named(llvm::ArrayRef<const ValueInfo *> outputs, std::string_view name) {
  for (const ValueInfo *output : outputs)
    if (output->name == name)
      return output;
  return nullptr;
}

/// ` [batch, 16, 32]`; nothing where the file does not say.
static std::string shapeText(const ValueInfo &output) {
  if (!output.type.shape)
    return "";
  std::string text;
  for (const Dim &dim : *output.type.shape)
    text += (text.empty() ? "" : ", ") + (dim.isStatic()       ? std::to_string(dim.size)
                                          : dim.symbol.empty() ? "?"
                                                               : dim.symbol);
  return " [" + text + "]";
}

static Failure noLoss(std::string slug, std::string message, llvm::ArrayRef<const ValueInfo *> outputs) {
  Failure failure{std::move(slug), "the model", std::move(message), {}};
  for (const ValueInfo *output : outputs)
    failure.notes.push_back(isScalar(*output) ? "--loss " + output->name + " takes that scalar"
                                              : "--loss cross-entropy:" + output->name + ", --loss bce:" +
                                                    output->name + " or --loss mse:" + output->name +
                                                    " puts a loss on that output" + shapeText(*output));
  if (outputs.empty())
    failure.notes.push_back("training needs a float output that depends on the parameters");
  return failure;
}

static Result<LossChoice> chooseAutomatically(llvm::ArrayRef<const ValueInfo *> outputs) {
  if (const ValueInfo *loss = named(outputs, "loss"))
    return LossChoice{Kind::Output, loss->name};
  std::vector<const ValueInfo *> scalars;
  llvm::copy_if(outputs, std::back_inserter(scalars),
                [](const ValueInfo *output) { return isScalar(*output); });
  if (scalars.size() == 1)
    return LossChoice{Kind::Output, scalars[0]->name};
  if (scalars.size() > 1)
    return noLoss("ambiguous-loss", "has several scalar float outputs, and none is named `loss`", scalars);
  if (const ValueInfo *logits = named(outputs, "logits"))
    return LossChoice{Kind::Undecided, logits->name};
  if (outputs.size() == 1)
    return LossChoice{Kind::Undecided, outputs[0]->name};
  return noLoss("no-loss", "has no loss: no scalar float output, and no single output to put one on",
                outputs);
}

/// The output that `--loss CONVENTION[:OUTPUT]` means.
static Result<LossChoice> chooseConvention(llvm::ArrayRef<const ValueInfo *> outputs, Kind kind,
                                           llvm::StringRef output) {
  if (!output.empty()) {
    if (named(outputs, output))
      return LossChoice{kind, output.str()};
    return noLoss("no-such-output", "has no float output `" + output.str() + "`", outputs);
  }
  if (const ValueInfo *logits = named(outputs, "logits"))
    return LossChoice{kind, logits->name};
  std::vector<const ValueInfo *> tensors;
  llvm::copy_if(outputs, std::back_inserter(tensors), [](const ValueInfo *each) { return !isScalar(*each); });
  if (tensors.size() == 1)
    return LossChoice{kind, tensors[0]->name};
  return noLoss("ambiguous-loss", "has no output named `logits`, and not exactly one float tensor", tensors);
}

Result<LossChoice> chooseLoss(const Graph &graph, const std::string &option) {
  std::vector<const ValueInfo *> outputs = candidates(graph);
  if (option.empty() || option == "auto")
    return chooseAutomatically(outputs);
  if (const ValueInfo *output = named(outputs, option))
    return LossChoice{Kind::Output, output->name};
  auto [convention, output] = llvm::StringRef(option).split(':');
  for (auto [kind, text] : conventions)
    if (std::string_view(convention) == text)
      return chooseConvention(outputs, kind, output);
  return noLoss("no-such-output",
                "has no float output `" + option + "`, and no loss convention is called that", outputs);
}

/// labels[t + 1] at t, and -100 behind the last.
static Value shiftedLeft(Emitter &emit, Value labels) {
  Shape shape = shapeOf(labels);
  Value ignored = emit.integerScalar(elementTypeOf(labels), -100);
  SmallVector<int64_t> low(shape.size(), 0), high(shape.size(), 0), starts(shape.size(), 0),
      steps(shape.size(), 1);
  high.back() = starts.back() = 1;
  return emit.slice(emit.pad(labels, ignored, low, high), starts, steps, shape);
}

/// The labels that go with every row of the scores, for the conventions over tokens.
static Value tokenLabels(Emitter &emit, Kind kind, const Shape &rows, Value tokens, NewInput newInput) {
  if (kind == Kind::CrossEntropy)
    return newInput("labels", rows, DType::Int64);
  if (rows.size() != 2)
    refuseMalformed("is taken on scores of rank " + std::to_string(rows.size() + 1) +
                    ": shifted labels need [batch, sequence, classes]");
  if (kind == Kind::CausalLm)
    return shiftedLeft(emit, newInput("labels", rows, DType::Int64));
  if (!tokens || shapeOf(tokens) != rows)
    refuseMalformed("needs an input `input_ids` as long as the scores; without one, --loss cross-entropy "
                    "takes labels of every position as an input, --loss mse or bce targets");
  return shiftedLeft(emit, tokens);
}

/// The mean over all elements of a loss that compares each one with its target.
static Value elementLoss(Emitter &emit, Kind kind, Value output, NewInput newInput) {
  Type element = elementTypeOf(output);
  Value targets = emit.cast(
      newInput("targets", shapeOf(output), element.isF64() ? DType::Float64 : DType::Float32), element);
  SmallVector<int64_t> axes;
  for (size_t d = 0; d < shapeOf(output).size(); ++d)
    axes.push_back(static_cast<int64_t>(d));
  Value loss;
  if (kind == Kind::Mse) {
    Value difference = emit.sub(output, targets);
    loss = emit.mul(difference, difference);
  } else {
    // -(t log p + (1 - t) log (1 - p)) with p = sigmoid(x): no logarithm of 0, and smooth at x = 0.
    loss = emit.sub(emit.unary(nn::ElementwiseFn::softplus, output), emit.mul(output, targets));
  }
  return emit.mean(loss, axes);
}

Value emitLoss(Emitter &emit, Kind kind, Value scores, Value tokens, NewInput newInput) {
  Shape rows = shapeOf(scores);
  if (rows.empty())
    refuseMalformed("is taken on a scalar");
  if (!isa<FloatType>(elementTypeOf(scores)))
    refuseMalformed("is taken on integers, which the file declares as floats");
  if (kind == Kind::Mse || kind == Kind::Bce)
    return elementLoss(emit, kind, scores, newInput);
  if (rows.back().count == 1 && !rows.back().batched)
    throw Refusal{"no-loss",
                  "has one score per row: a cross-entropy over one class is always 0",
                  {"--loss bce takes that score as the logit of a yes or no, --loss mse as a number"}};
  rows.pop_back();
  LossTerms terms;
  terms.ignored = -100;
  terms.labels = tokenLabels(emit, kind, rows, tokens, newInput);
  terms.rows = crossEntropyRows(emit, scores, terms.labels, terms.ignored).getLoss();
  if (kind != Kind::NextToken)
    return reduceLoss(emit, terms, LossReduction::Mean);
  // Every token but the first is a target: the count needs no pass over the data.
  Extent sequence = rows.back();
  Volume targets{rows[0].count * (sequence.count - 1), rows[0].batched ? 1 : 0};
  return emit.div(reduceLoss(emit, terms, LossReduction::Sum), emit.count(targets, elementTypeOf(scores)));
}

static std::string conventionSentence(Kind kind, const LossChoice &choice, bool chosen, bool causal,
                                      const Shape &scores) {
  std::string on = " on `" + choice.output + "`";
  std::string why = !chosen ? "" : causal ? " (causal attention, no loss output)" : " (no loss output)";
  switch (kind) {
  case Kind::NextToken:
    return "next-token" + on + why + ": input_ids[t+1] at t, " +
           (scores.size() > 1 ? std::to_string(scores[1].count - 1) : "all") + " targets per sequence";
  case Kind::CausalLm:
    return "causal-lm" + on + ": labels shifted here, -100 ignored, mean over the counted ones";
  case Kind::Mse:
    return "mse" + on + ": mean squared difference to `targets`";
  case Kind::Bce:
    return "bce" + on + ": mean binary cross-entropy of its sigmoid and `targets` in 0..1";
  default:
    return "cross-entropy" + on + why +
           ": labels aligned with the scores, -100 ignored, mean over the counted ones";
  }
}

void reportLoss(const LossChoice &choice, bool causal, const Shape &scores, ImportReport &report) {
  Kind kind = choice.kind;
  bool undecided = kind == Kind::Undecided;
  if (undecided)
    kind = causal ? Kind::NextToken : Kind::CrossEntropy;
  report.lossOutput = choice.output;
  report.lossKind = name(kind);
  report.loss = kind == Kind::Output ? "output `" + choice.output + "` of the graph"
                                     : conventionSentence(kind, choice, undecided, causal, scores);
  if (kind == Kind::Output)
    return;
  if (kind != Kind::NextToken && causal)
    report.otherLosses.push_back("--loss next-token (labels are input_ids)");
  if (kind != Kind::CausalLm && scores.size() == 3)
    report.otherLosses.push_back("--loss causal-lm (labels shifted here, -100 ignored)");
  if (kind != Kind::CrossEntropy)
    report.otherLosses.push_back("--loss cross-entropy (labels aligned with the logits)");
}

/// The node that makes a value, through casts.
static const Node *makerOf(const Graph &graph, std::string value) {
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node)
    if (llvm::is_contained(node->outputs, value)) {
      if (node->opType != "Cast" && node->opType != "Identity")
        return &*node;
      value = node->inputs.front();
    }
  return nullptr;
}

std::optional<std::string> noteProbabilities(const Graph &graph, const ImportReport &report) {
  if (report.lossKind == name(Kind::Output) || report.lossKind == name(Kind::Mse))
    return std::nullopt;
  const Node *maker = makerOf(graph, report.lossOutput);
  if (!maker || (maker->opType != "Softmax" && maker->opType != "Sigmoid"))
    return std::nullopt;
  return "`" + report.lossOutput + "` comes out of " + maker->opType + ", but " + report.lossKind +
         " takes logits and computes their probabilities itself: export what goes into " + maker->opType +
         ", or the model learns slowly and badly";
}

} // namespace accum::import
