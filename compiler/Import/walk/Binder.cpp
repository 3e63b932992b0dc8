// SPDX-License-Identifier: Apache-2.0
// Access to one node's inputs and attributes; the table of rules.
#include "compiler/Import/walk/Binder.h"
#include "dialects/Train/TrainDialect.h"
#include "llvm/ADT/STLExtras.h"

namespace accum::import {

const GraphValue &Binder::input(int64_t i) {
  if (!has(i))
    refuseMalformed("lacks input " + std::to_string(i));
  auto it = values.find(node.inputs[i]);
  if (it == values.end())
    refuseMalformed("reads `" + node.inputs[i] + "`, which is not defined");
  return it->second;
}

/// Looks at `budget` ops at most.
static bool dependsOnBatchSizeOnly(mlir::Value value, int &budget) {
  mlir::Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op || isa<train::LoadParamOp>(op) || budget-- <= 0)
    return false;
  return llvm::all_of(op->getOperands(),
                      [&](mlir::Value operand) { return dependsOnBatchSizeOnly(operand, budget); });
}

bool Binder::followsFromBatchSize(int64_t i) {
  int budget = 64;
  return !input(i).content && dependsOnBatchSizeOnly(input(i).value, budget);
}

const Content &Binder::content(int64_t i) {
  const GraphValue &value = input(i);
  if (value.refusal)
    throw Refusal(*value.refusal);
  if (followsFromBatchSize(i))
    refuseCrossBatch("needs `" + node.inputs[i] + "`, a size that is not a multiple of the batch size");
  if (!value.content)
    throw Refusal{"data-dependent-shape",
                  "needs the value of `" + node.inputs[i] + "` at compile time, but it depends on data",
                  {"shapes and positions must follow from the sizes of the inputs alone"}};
  return *value.content;
}

const Content &Binder::integerContent(int64_t i) {
  const Content &known = content(i);
  if (isFloat(known.dtype))
    refuseMalformed("has floats in `" + node.inputs[i] + "`, expected integers");
  if (known.size() > (1 << 20))
    refuseMalformed("has " + std::to_string(known.size()) + " numbers in `" + node.inputs[i] + "`");
  return known;
}

llvm::SmallVector<int64_t> Binder::integers(int64_t i) {
  llvm::SmallVector<int64_t> result;
  integerContent(i).forEach([&](const Element &element) {
    if (!element.isConstant())
      refuseCrossBatch("has a parameter `" + node.inputs[i] + "` that depends on the batch size");
    result.push_back(element.constant);
  });
  return result;
}

double Binder::constantReal(int64_t i) {
  const Content &known = content(i);
  if (known.size() != 1 || !isFloat(known.dtype))
    refuseMalformed("`" + node.inputs[i] + "` is not a float scalar");
  return known.only().real;
}

template <class T> static const T *attributeOf(const Node &node, llvm::StringRef key) {
  const T *found = node.attribute<T>(std::string_view(key));
  if (!found && node.attributes.count(std::string_view(key)) != 0)
    refuseMalformed("attribute `" + key.str() + "` has another type than the operator's");
  return found;
}

int64_t Binder::integer(llvm::StringRef key, int64_t absent) {
  const auto *found = attributeOf<int64_t>(node, key);
  return found ? *found : absent;
}

double Binder::real(llvm::StringRef key, double absent) {
  const auto *found = attributeOf<float>(node, key);
  return found ? *found : absent;
}

std::string Binder::text(llvm::StringRef key, llvm::StringRef absent) {
  const auto *found = attributeOf<std::string>(node, key);
  return found ? *found : absent.str();
}

llvm::SmallVector<int64_t> Binder::integerList(llvm::StringRef key, llvm::ArrayRef<int64_t> absent) {
  const auto *found = attributeOf<std::vector<int64_t>>(node, key);
  return found ? llvm::SmallVector<int64_t>(found->begin(), found->end())
               : llvm::SmallVector<int64_t>(absent);
}

int64_t Binder::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    refuseMalformed("axis " + std::to_string(axis) + " is outside a tensor of rank " + std::to_string(rank));
  return axis < 0 ? axis + rank : axis;
}

llvm::SmallVector<int64_t> Binder::axes(llvm::ArrayRef<int64_t> list, int64_t rank) {
  llvm::SmallVector<int64_t> result;
  for (int64_t each : list)
    result.push_back(axis(each, rank));
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    refuseMalformed("names an axis twice");
  return result;
}

void Binder::set(int64_t i, GraphValue value) {
  requireSane(value.shape);
  if (wants(i))
    values[node.outputs[i]] = std::move(value);
}

void Binder::applyToVector(Rule rule) {
  Node copy = node;
  Values given;
  for (int64_t i = 0; i < inputCount(); ++i)
    if (has(i)) {
      copy.inputs[i] = "#" + std::to_string(i);
      given[copy.inputs[i]] = i == 0 ? reshape(emit, input(0), {Extent::fixed(1)}) : input(i);
    }
  Binder binder(copy, emit, given);
  rule(binder);
  for (auto [i, output] : llvm::enumerate(node.outputs))
    if (auto it = given.find(output); it != given.end())
      set(static_cast<int64_t>(i), reshape(emit, it->second, {}));
}

Extent extentOf(const Element &e) {
  if (e.isConstant() && e.constant >= 0)
    return Extent::fixed(e.constant);
  if (e.perIndex == 0 && e.constant == 0 && e.perBatch > 0)
    return Extent::ofBatch(e.perBatch);
  if (e.isConstant())
    refuseMalformed("asks for an extent of " + std::to_string(e.constant));
  if (e.perIndex != 0)
    refuseCrossBatch("has an extent that depends on the place in the batch");
  refuseCrossBatch("has the extent " + std::to_string(e.constant) + (e.perBatch < 0 ? " - " : " + ") +
                   std::to_string(std::abs(e.perBatch)) + "*N, which is not a multiple of the batch size N");
}

Shape shapeFrom(const Content &content) {
  Shape shape;
  content.forEach([&](const Element &element) { shape.push_back(extentOf(element)); });
  return shape;
}

void RuleTable::add(llvm::StringRef op, int64_t since, Rule rule, llvm::StringLiteral attributes) {
  rules[op].insert_or_assign(since, OperatorRule{rule, attributes});
}

const OperatorRule *RuleTable::find(llvm::StringRef op, int64_t opset) const {
  auto it = rules.find(op);
  if (it == rules.end())
    return nullptr;
  auto version = it->second.upper_bound(opset);
  return version == it->second.begin() ? nullptr : &std::prev(version)->second;
}

const RuleTable &ruleTable() {
  static const RuleTable table = [] {
    RuleTable result;
    addActivationRules(result);
    addHyperbolicRules(result);
    addAttentionRules(result);
    addConstantRules(result);
    addContractionRules(result);
    addConvolutionRules(result);
    addElementwiseRules(result);
    addGatherRules(result);
    addLossRules(result);
    addNormRules(result);
    addRandomRules(result);
    addReductionRules(result);
    addResizeRules(result);
    addScatterRules(result);
    addSelectionRules(result);
    addSequenceRules(result);
    addShapeRules(result);
    addSliceRules(result);
    addTransposedConvolutionRules(result);
    return result;
  }();
  return table;
}

} // namespace accum::import
