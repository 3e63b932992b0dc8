// SPDX-License-Identifier: Apache-2.0
// Walks the nodes that the loss needs, in order, and applies each one's rule.
#include "compiler/Import/walk/GraphWalk.h"
#include "compiler/Import/lost/TracedCall.h"
#include "compiler/Import/rules/OperatorSchema.h"
#include "compiler/Import/rules/Selection.h"
#include "compiler/Import/walk/DependsOnTraining.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace mlir;

namespace accum::import {

/// Names that a node reads, those captured by its subgraphs included.
static void collectReads(const Node &node, std::set<std::string> &reads) {
  reads.insert(node.inputs.begin(), node.inputs.end());
  for (const auto &[key, value] : node.attributes)
    if (const auto *graph = std::get_if<std::shared_ptr<Graph>>(&value)) {
      for (const Node &inner : (*graph)->nodes)
        collectReads(inner, reads);
      for (const ValueInfo &output : (*graph)->outputs)
        reads.insert(output.name);
    }
}

std::set<std::string> readsOf(const Node &node) {
  std::set<std::string> reads;
  collectReads(node, reads);
  return reads;
}

std::set<std::string> neededValues(const Graph &graph, ArrayRef<std::string> outputs) {
  std::set<std::string> needed(outputs.begin(), outputs.end());
  for (const Node &node : llvm::reverse(graph.nodes))
    if (llvm::any_of(node.outputs, [&](const std::string &output) { return needed.count(output) > 0; }))
      collectReads(node, needed);
  return needed;
}

/// Whether it computes something that is needed and not given.
bool GraphWalk::isNeeded(const Node &node, const std::set<std::string> &needed) const {
  return llvm::any_of(node.outputs, [&](const std::string &output) {
    return !output.empty() && needed.count(output) > 0 && !isGiven(output);
  });
}

/// Without what only given values depend on.
std::set<std::string> GraphWalk::neededFor(const Graph &graph, ArrayRef<std::string> outputs) const {
  if (given.empty())
    return neededValues(graph, outputs);
  std::set<std::string> needed(outputs.begin(), outputs.end());
  for (const Node &node : llvm::reverse(graph.nodes))
    if (isNeeded(node, needed))
      collectReads(node, needed);
  return needed;
}

void GraphWalk::run(const Graph &graph, ArrayRef<std::string> outputs) {
  scopes.push_back(&graph);
  lostGradients.emplace_back(graph, std::vector<std::string>(outputs.begin(), outputs.end()),
                             trustedBackward);
  std::set<std::string> needed = neededFor(graph, outputs);
  for (const Node &node : graph.nodes)
    if (isNeeded(node, needed))
      visit(node);
  for (const std::string &output : outputs)
    if (const Tensor *tensor = graph.initializer(output))
      values[output] = initializers(*tensor);
  lostGradients.pop_back();
  scopes.pop_back();
}

/// False where an input belongs to a refused node: then this node is not looked at.
bool GraphWalk::bindInputs(const Node &node) {
  for (const std::string &input : node.inputs) {
    if (input.empty() || values.count(input) != 0)
      continue;
    if (refused.count(input) != 0)
      return false;
    const Tensor *tensor = nullptr;
    for (const Graph *scope : scopes)
      tensor = tensor ? tensor : scope->initializer(input);
    if (!tensor)
      refuseUnsupported("reads `" + input + "`, an output that is not computed here");
    GraphValue value = initializers(*tensor);
    values[input] = value;
  }
  return true;
}

/// How to export what such a node computes in operators that are built.
static std::vector<std::string> waysOut(const Node &node) {
  if (node.opType == "LSTM" || node.opType == "GRU" || node.opType == "RNN")
    return {"export it step by step: program = torch.export.export(model, ...).run_decompositions(), then "
            "torch.onnx.export(program, ..., optimize=False)"};
  if (node.opType == "DFT")
    return {"multiply by the matrix of the transform, whose real and imaginary parts are cos and -sin of 2 "
            "pi j k / n"};
  return {};
}

static std::vector<std::string> waysOutOfDomain(const Node &node) {
  if (node.domain.starts_with("com.microsoft") || node.domain == "org.pytorch.aten")
    return {"onnxruntime's optimizers fuse nodes into it: give the file before them, or save it with "
            "ORT_ENABLE_BASIC, which keeps to ONNX's operators"};
  return {};
}

/// Refuses a node that has none, or that carries what the rule does not know; `If` is not in the table.
static Rule ruleOf(const Node &node) {
  static const OperatorRule branches{nullptr, "then_branch else_branch"};
  if (!node.domain.empty() && node.domain != "ai.onnx")
    throw Refusal{"unsupported", "is an operator of domain `" + node.domain + "`, which is not supported",
                  waysOutOfDomain(node)};
  const OperatorRule *rule = node.opType == "If" ? &branches : ruleTable().find(node.opType, node.opset);
  if (!rule)
    throw Refusal{"unsupported",
                  fmt::format("operator `{}` (opset {}) is not supported", node.opType, node.opset),
                  waysOut(node)};
  requireKnown(node, rule->attributes);
  return rule->apply;
}

void GraphWalk::visit(const Node &node) {
  MLIRContext *context = emit.builder.getContext();
  Location op = UnknownLoc::get(context);
  if (std::string module = modulePath(node); !module.empty())
    op = NameLoc::get(StringAttr::get(context, module));
  op = NameLoc::get(StringAttr::get(context, node.opType), op);
  emit.location = NameLoc::get(StringAttr::get(context, node.name), op);
  try {
    ruleOf(node); // also of nodes whose inputs are refused: what is unsupported is listed at once
    if (!leavesOut(node) && bindInputs(node)) {
      apply(node);
      return leftOut ? keepPlain(node) : tracePairs(node);
    }
  } catch (Refusal &refusal) {
    bool isMeeting = leftOut && refusal.slug == "cross-batch";
    if (!isMeeting && !blamePairs(node, refusal))
      record(node, std::move(refusal));
  }
  refused.insert(node.outputs.begin(), node.outputs.end());
  // What stands in for a result serves to find more of the kind; no value is computed from it.
  for (const std::string &output : node.outputs)
    if (leftOut)
      values.erase(output);
}

bool GraphWalk::leavesOut(const Node &node) const {
  return leftOut && llvm::is_contained(*leftOut, node.name);
}

/// Pairs of samples are no value of a micro-batch.
void GraphWalk::keepPlain(const Node &node) {
  for (const std::string &output : node.outputs)
    if (auto it = values.find(output); it != values.end() && batchAxes(it->second.shape).size() > 1) {
      values.erase(it);
      refused.insert(output);
    }
}

void GraphWalk::tracePairs(const Node &node) {
  const Node *origin = &node;
  for (const std::string &input : node.inputs)
    if (auto it = pairs.find(input); it != pairs.end())
      origin = it->second;
  for (const std::string &output : node.outputs)
    if (auto it = values.find(output); it != values.end() && batchAxes(it->second.shape).size() > 1)
      pairs[output] = origin;
}

/// A node that stumbles over pairs of samples is not the cause: the node that paired them is.
bool GraphWalk::blamePairs(const Node &node, const Refusal &refusal) {
  for (const std::string &input : node.inputs) {
    auto it = pairs.find(input);
    if (it == pairs.end() || refusal.slug == "unsupported")
      continue;
    const Node &origin = *it->second;
    record(origin,
           {"cross-batch",
            "compares samples with each other: its result is " + toString(values[origin.outputs[0]].shape) +
                ", entry (i, j) pairs sample i with sample j; in a micro-batch a sample meets fewer others, "
                "which is another loss",
            {"each part of the model with a per-sample loss compiles"}});
    return true;
  }
  return false;
}

/// What the exporter lost of gradients matters where a gradient passes.
void GraphWalk::requireGradients(const Node &node) {
  std::optional<Refusal> lost = lostGradients.back().refusal(node, [&](const std::string &input) {
    auto it = values.find(input);
    return it != values.end() && it->second.value && dependsOnTraining(it->second.value);
  });
  if (lost)
    throw *std::move(lost);
}

void GraphWalk::apply(const Node &node) {
  requireGradients(node);
  if (node.opType == "If")
    return branch(node);
  Binder binder(node, emit, values);
  if (readsSelection(binder))
    applyToSelection(binder, values, ruleOf(node));
  else
    ruleOf(node)(binder);
  for (const std::string &output : node.outputs)
    if (auto it = given.find(output); it != given.end())
      values[output] = it->second;
}

/// A condition that is known picks a branch, whose nodes are imported in place.
void GraphWalk::branch(const Node &node) {
  Binder binder(node, emit, values);
  const GraphValue &condition = binder.input(0);
  if (binder.followsFromBatchSize(0))
    throw Refusal{
        "unsupported",
        "operator `If` has a condition that depends on the batch size, so another batch takes another branch",
        {"make the choice in the model's Python code, for the batch that is trained"}};
  if (!condition.content || condition.content->size() != 1)
    refuseUnsupported("operator `If` has a condition that depends on data");
  const char *key = condition.content->only().constant != 0 ? "then_branch" : "else_branch";
  const auto *body = node.attribute<std::shared_ptr<Graph>>(key);
  if (!body)
    refuseMalformed(std::string("lacks attribute `") + key + "`");
  std::vector<std::string> outputs;
  for (const ValueInfo &output : (*body)->outputs)
    outputs.push_back(output.name);
  run(**body, outputs);
  for (size_t i = 0; i < std::min(outputs.size(), node.outputs.size()); ++i) {
    auto it = values.find(outputs[i]);
    if (it == values.end()) {
      refused.insert(node.outputs[i]);
    } else if (!node.outputs[i].empty()) {
      GraphValue value = it->second;
      values[node.outputs[i]] = value;
    }
  }
}

void GraphWalk::record(const Node &node, Refusal refusal) {
  // What is missing is one thing, whoever misses it.
  bool isMissing = refusal.slug == "missing-file" || refusal.slug == "lost-in-export";
  std::string key = refusal.slug + (isMissing ? "" : node.opType) + refusal.message;
  Cause &cause = causes[key];
  if (cause.nodes.empty())
    cause.opType = node.opType;
  cause.refusal = std::move(refusal);
  if (!llvm::is_contained(cause.nodes, &node))
    cause.nodes.push_back(&node);
}

/// What stumbles in a mixture's experts sorts or selects the tokens of the whole batch by expert.
static bool isInExperts(const Node &node) {
  std::string module = modulePath(node);
  return module == "experts" || StringRef(module).ends_with(".experts");
}

/// It deals rows to places in order, over the whole batch. A sample's own rows can be looked up instead.
static bool isMaskedScatter(const Node &node) {
  std::optional<TracedCall> call = TracedCall::of(node);
  return call && call->operation() == "masked_scatter";
}

static Failure toFailure(const std::string &opType, const Refusal &refusal, ArrayRef<const Node *> nodes) {
  Failure failure{refusal.slug, "`" + nodes[0]->name + "`", refusal.message, refusal.notes};
  if (refusal.message.find("operator `") != 0)
    failure.message = opType + " " + failure.message;
  if (isInExperts(*nodes[0]) && !llvm::is_contained(failure.notes, wayOutOfExperts))
    failure.notes.push_back(wayOutOfExperts);
  if (isMaskedScatter(*nodes[0]))
    failure.notes.push_back("of x.masked_scatter(mask, rows) with rows [N, K, D] of each sample: place = "
                            "(mask.cumsum(1) - 1).clamp(min=0), then torch.where(mask[..., None], "
                            "rows.gather(1, place[..., None].expand_as(x)), x), where mask is [N, T]");
  if (std::string line = sourceLine(*nodes[0]); !line.empty())
    failure.notes.push_back("from " + line);
  if (nodes.size() == 1)
    return failure;
  std::string others = std::to_string(nodes.size()) + " nodes of this kind:";
  for (const Node *node : nodes.take_front(8))
    others += " `" + node->name + "`";
  failure.notes.push_back(others + (nodes.size() > 8 ? " ..." : ""));
  return failure;
}

Failures GraphWalk::takeFailures() {
  Failures failures;
  for (auto &[key, cause] : causes)
    failures.push_back(toFailure(cause.opType, cause.refusal, cause.nodes));
  causes.clear();
  return failures;
}

} // namespace accum::import
