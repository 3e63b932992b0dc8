// SPDX-License-Identifier: Apache-2.0
// One ONNX node as its rule sees it: typed access to inputs and attributes, results to set. Everything that
// is not as the specification says is refused in one sentence.
#pragma once
#include "compiler/Import/model/Model.h"
#include "compiler/Import/walk/GraphValue.h"
#include "llvm/ADT/StringMap.h"

namespace accum::import {

class Binder;
using Rule = void (*)(Binder &);
/// Values of the graph by name. A name that is missing belongs to a node that was refused.
using Values = llvm::StringMap<GraphValue>;

class Binder {
public:
  Binder(const Node &node, Emitter &emit, Values &values) : node(node), emit(emit), values(values) {}

  const Node &node;
  Emitter &emit;

  int64_t inputCount() const { return static_cast<int64_t>(node.inputs.size()); }
  bool has(int64_t i) const { return i < inputCount() && !node.inputs[i].empty(); }
  const GraphValue &input(int64_t i);
  /// Run-time value of its whole shape.
  mlir::Value value(int64_t i) { return input(i).whole(emit); }
  /// Known content; refuses values that depend on data.
  const Content &content(int64_t i);
  /// The same for integers; refuses floats.
  const Content &integerContent(int64_t i);
  /// Known integers that depend on neither sample nor batch size.
  llvm::SmallVector<int64_t> integers(int64_t i);
  double constantReal(int64_t i); ///< a known float scalar

  int64_t integer(llvm::StringRef key, int64_t absent);
  double real(llvm::StringRef key, double absent);
  std::string text(llvm::StringRef key, llvm::StringRef absent);
  bool hasAttribute(llvm::StringRef key) const { return node.attributes.count(std::string_view(key)) > 0; }
  llvm::SmallVector<int64_t> integerList(llvm::StringRef key, llvm::ArrayRef<int64_t> absent = {});

  /// A negative axis counted from the end; refuses one outside of the rank.
  int64_t axis(int64_t axis, int64_t rank);
  llvm::SmallVector<int64_t> axes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  /// Computed from nothing but the batch size, as N > 4: known, but not of the form a + b*N.
  bool followsFromBatchSize(int64_t i);

  bool wants(int64_t i) const { return i < int64_t(node.outputs.size()) && !node.outputs[i].empty(); }
  void set(int64_t i, GraphValue value);
  /// A result whose element type is that of input 0.
  void set(int64_t i, mlir::Value value) { set(i, GraphValue(input(0).dtype, value)); }

  /// `rule` with input 0, a scalar, as a vector of one; its results are scalars again.
  void applyToVector(Rule rule);

private:
  Values &values;
};

/// Frameworks let a scalar have the axis 0, and export it so.
template <Rule rule> void ofScalarToo(Binder &node) {
  node.input(0).rank() == 0 ? node.applyToVector(rule) : rule(node);
}

/// A batch normalisation that takes its statistics from the batch: below opset 14 its number of outputs says
/// so.
bool trainsStatistics(const Node &node);

/// Axes by attribute (old) or input (new); none means all, or none at all with noop_with_empty_axes.
llvm::SmallVector<int64_t> reducedAxes(Binder &node);

/// The extent that a known element asks for; refuses a + b*N with both parts.
Extent extentOf(const Element &element);
/// A known vector as a shape.
Shape shapeFrom(const Content &content);

/// How an operator is imported, and which of its attributes that takes: words as in requireKnown.
struct OperatorRule {
  Rule apply = nullptr;
  llvm::StringLiteral attributes;
};

/// (operator of ai.onnx, first opset in which it means this) -> rule.
class RuleTable {
public:
  /// Nodes with attributes other than these never come to `rule`.
  void add(llvm::StringRef op, int64_t since, Rule rule, llvm::StringLiteral attributes = "");
  /// The rule with the greatest `since` not above `opset`; null where there is none.
  const OperatorRule *find(llvm::StringRef op, int64_t opset) const;

  using Versions = std::map<int64_t, OperatorRule>;
  const llvm::StringMap<Versions> &all() const { return rules; }

private:
  llvm::StringMap<Versions> rules;
};

void addActivationRules(RuleTable &table);
void addHyperbolicRules(RuleTable &table);
void addAttentionRules(RuleTable &table);
void addConstantRules(RuleTable &table);
void addContractionRules(RuleTable &table);
void addConvolutionRules(RuleTable &table);
void addElementwiseRules(RuleTable &table);
void addGatherRules(RuleTable &table);
void addLossRules(RuleTable &table);
void addNormRules(RuleTable &table);
void addRandomRules(RuleTable &table);
void addReductionRules(RuleTable &table);
void addResizeRules(RuleTable &table);
void addScatterRules(RuleTable &table);
void addSelectionRules(RuleTable &table);
void addSequenceRules(RuleTable &table);
void addShapeRules(RuleTable &table);
void addSliceRules(RuleTable &table);
void addTransposedConvolutionRules(RuleTable &table);
/// All of them.
const RuleTable &ruleTable();

} // namespace accum::import
