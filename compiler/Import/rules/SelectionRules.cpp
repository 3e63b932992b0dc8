// SPDX-License-Identifier: Apache-2.0
// Rules: what is computed of the rows that a mask selects.
#include "compiler/Import/rules/Selection.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace accum::import {
using Role = GraphValue::Role;

namespace {
[[noreturn]] void refuseSelection(std::string message) {
  throw Refusal{
      "data-dependent-shape",
      std::move(message) + ": how many rows a mask selects depends on data",
      {"of selected rows (x[mask]) what treats each row alone compiles, and sums, means and losses over all",
       wayOutOfExperts}};
}

/// `x[mask].view(N, -1, H)`: as many rows of each sample.
[[noreturn]] void refuseEqualShares(const Shape &rows) {
  throw Refusal{"data-dependent-shape",
                "deals selected rows " + toString(rows) +
                    " to the samples: that a mask selects as many of each depends on data",
                {"of a mask's last row in each sample: x[torch.arange(N), (mask.int() * torch.arange(1, T + "
                 "1)).argmax(1)]"}};
}

/// What an operator does with selected rows.
enum class Kind { Refused, Elementwise, Move, AlongAxis, Product, Reduce, Within, Loss, Extents };

Kind kindOf(StringRef op) {
  return llvm::StringSwitch<Kind>(op)
      .Cases({"Abs", "Add", "And", "Cast", "CastLike", "Ceil", "Celu", "Clip", "Cos", "Div", "Elu"},
             Kind::Elementwise)
      .Cases({"Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid"},
             Kind::Elementwise)
      .Cases({"HardSwish", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean"},
             Kind::Elementwise)
      .Cases({"Min", "Mish", "Mod", "Mul", "Neg", "Not", "Or", "Pow", "PRelu", "Reciprocal", "Relu"},
             Kind::Elementwise)
      .Cases({"Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Tan"},
             Kind::Elementwise)
      .Cases({"Acosh", "Asinh", "Atanh", "Cosh", "Sinh"}, Kind::Elementwise)
      .Cases({"Swish", "Tanh", "ThresholdedRelu", "Where", "Xor", "Dropout"}, Kind::Elementwise)
      .Cases({"Bernoulli", "RandomNormalLike", "RandomUniformLike"}, Kind::Elementwise)
      .Cases({"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand"}, Kind::Move)
      .Cases({"Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization", "Concat", "Split", "Gather",
              "GatherElements"},
             Kind::AlongAxis)
      .Cases({"MatMul", "Gemm"}, Kind::Product)
      .Cases({"ReduceSum", "ReduceMean", "ReduceL1", "ReduceSumSquare"}, Kind::Reduce)
      .Cases({"ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp"}, Kind::Within)
      .Cases({"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}, Kind::Loss)
      .Cases({"Shape", "Size"}, Kind::Extents)
      .Default(Kind::Refused);
}

/// What an operand is where its row is not selected: nothing finite becomes infinite, nor has an infinite
/// derivative.
double harmless(StringRef op, int64_t operand) {
  bool isDivisor = (op == "Div" || op == "Mod") && operand == 1;
  bool hasPole = op == "Log" || op == "Sqrt" || op == "Reciprocal" || (op == "Pow" && operand == 0);
  return isDivisor || hasPole ? 1 : 0;
}

/// What a bias or a constant made of zero may be too large for these.
bool mayOverflow(StringRef op) { return op == "Exp"; }

bool isRows(const GraphValue &x) {
  return x.selection && (x.role == Role::Rows || x.role == Role::CleanRows);
}
bool isSizes(const GraphValue &x) { return x.selection && x.role == Role::Sizes; }

GraphValue stripped(GraphValue x) {
  x.selection = nullptr;
  x.role = Role::Rows;
  return x;
}

/// One node, some of whose inputs belong to a selection.
class SelectedNode {
public:
  SelectedNode(Binder &node, Values &values, Rule rule)
      : node(node), values(values), rule(rule), emit(node.emit), op(node.node.opType), copy(node.node) {}

  void apply();

private:
  void findSelection();
  bool hasAny(bool (*test)(const GraphValue &)) const { return llvm::any_of(inputs(), test); }
  std::vector<GraphValue> inputs() const;

  void readPositions();
  void readRows(const GraphValue &x);
  void computeSizes();
  void computeRows();
  void requireOtherAxes();
  void total(ArrayRef<int64_t> axes);
  void loss();

  GraphValue operand(int64_t i);
  Value number(const GraphValue &sizes);
  void set(int64_t i, GraphValue x) { given["#" + std::to_string(i)] = std::move(x); }
  void run(Rule rule);
  void setRows(int64_t output, Role role);
  void setSizes();

  Binder &node;
  Values &values;
  Rule rule;
  Emitter &emit;
  StringRef op;
  Node copy;    ///< the same with inputs #0, #1, ..., which may be other values than the node's
  Values given; ///< those
  std::shared_ptr<const Selection> selection;
};
} // namespace

std::vector<GraphValue> SelectedNode::inputs() const {
  std::vector<GraphValue> result;
  for (int64_t i = 0; i < node.inputCount(); ++i)
    if (node.has(i))
      result.push_back(node.input(i));
  return result;
}

void SelectedNode::findSelection() {
  for (const GraphValue &input : inputs()) {
    if (!input.selection)
      continue;
    if (selection && selection != input.selection && !isSame(*selection, *input.selection))
      refuseSelection("relates rows that two masks select");
    selection = selection ? selection : input.selection;
  }
}

void SelectedNode::run(Rule what) {
  for (int64_t i = 0; i < node.inputCount(); ++i)
    if (node.has(i))
      copy.inputs[i] = "#" + std::to_string(i);
  Binder binder(copy, emit, given);
  what(binder);
}

/// A result of one or more parts for each row, the rows on axis 0.
void SelectedNode::setRows(int64_t output, Role role) {
  if (!node.wants(output))
    return;
  GraphValue result = given[copy.outputs[output]];
  SmallVector<int64_t> axes = batchAxes(result.shape);
  if (axes.size() != 1 || axes[0] != 0 || result.shape[0].count % selection->rows() != 0)
    refuseSelection("gives " + toString(result.shape) + " of all rows, which mixes selected ones");
  result.selection = selection;
  result.role = role;
  values[node.node.outputs[output]] = result;
}

void SelectedNode::setSizes() {
  GraphValue result = given[copy.outputs[0]];
  if (!result.content)
    refuseSelection("computes with the number of selected rows as a shape");
  if (!result.content->isConstant()) {
    result.selection = selection;
    result.role = Role::Sizes;
  }
  values[node.node.outputs[0]] = result;
}

/// The number selected, or a multiple of it, as data.
Value SelectedNode::number(const GraphValue &sizes) {
  const Content &content = *sizes.content;
  const Element e = content.size() == 1 ? content.only() : Element::integer(1);
  if (e.constant != 0 || e.perIndex != 0 || e.perBatch % selection->rows() != 0)
    refuseSelection("computes with the shape of selected rows");
  Value count = countOf(emit, *selection);
  if (int64_t factor = e.perBatch / selection->rows(); factor != 1)
    count = emit.mul(count, emit.integerScalar(elementTypeOf(count), factor));
  return emit.reshape(emit.cast(count, emit.elementType(sizes.dtype)), sizes.shape);
}

GraphValue SelectedNode::operand(int64_t i) {
  const GraphValue &x = node.input(i);
  bool isShape = i == 1 && (op == "Reshape" || op == "Expand");
  if (isSizes(x))
    return isShape ? stripped(x) : GraphValue(x.dtype, number(x));
  if (!isRows(x)) {
    if (isShape && isRows(node.input(0)) && x.content && !x.content->isConstant())
      refuseEqualShares(node.input(0).shape);
    if (!batchAxes(x.shape).empty() || (x.content && !x.content->isConstant()))
      refuseSelection("relates selected rows to `" + node.node.inputs[i] + "`, which has all samples");
    return x;
  }
  double other = harmless(op, i);
  bool isClean = x.role == Role::CleanRows && other == 0 && !mayOverflow(op);
  if (kindOf(op) == Kind::Move || kindOf(op) == Kind::Extents || isClean)
    return stripped(x);
  return {x.dtype, filled(emit, x, other)};
}

/// Refuses what runs along the rows.
void SelectedNode::requireOtherAxes() {
  bool isNorm = op.ends_with("Softmax") || op.ends_with("Normalization");
  int64_t axis = node.integer("axis", isNorm ? -1 : 0), rank = node.input(0).rank();
  bool isRead = op == "Gather" && !isRows(node.input(0));
  if (!isRead && node.axis(axis, rank) == 0)
    refuseSelection("runs along selected rows");
}

void SelectedNode::computeRows() {
  Kind kind = kindOf(op);
  if (kind == Kind::Refused)
    refuseSelection("takes selected rows");
  if (kind == Kind::Loss)
    return loss();
  if (kind == Kind::AlongAxis)
    requireOtherAxes();
  if (kind == Kind::Reduce || kind == Kind::Within)
    if (SmallVector<int64_t> axes = reducedAxes(node); llvm::is_contained(axes, 0)) {
      if (kind == Kind::Within)
        refuseSelection("runs along selected rows");
      return total(axes);
    }
  if (op == "CastLike" || ((op == "Reshape" || op == "Expand") && isRows(node.input(1))))
    refuseSelection("takes selected rows");
  for (int64_t i = 0; i < node.inputCount(); ++i)
    if (node.has(i))
      set(i, operand(i));
  run(rule);
  if (kind == Kind::Extents)
    return setSizes();
  bool moves = kind == Kind::Move && isRows(node.input(0));
  for (size_t i = 0; i < node.node.outputs.size(); ++i)
    setRows(static_cast<int64_t>(i), moves ? node.input(0).role : Role::CleanRows);
}

/// A sum over the selected rows, those that are not selected being zero; a mean divides it by their number.
void SelectedNode::total(ArrayRef<int64_t> axes) {
  const GraphValue &x = node.input(0);
  bool isMean = op == "ReduceMean";
  set(0, {x.dtype, filled(emit, x, 0)});
  if (node.has(1))
    set(1, operand(1));
  run(isMean ? ruleTable().find("ReduceSum", copy.opset)->apply : rule);
  GraphValue result = given[copy.outputs[0]];
  if (isMean) {
    int64_t each = x.shape[0].count / selection->rows();
    for (int64_t axis : axes)
      each *= axis == 0 ? 1 : x.shape[axis].count;
    Value count = countOf(emit, *selection);
    count = each == 1 ? count : emit.mul(count, emit.integerScalar(elementTypeOf(count), each));
    Value sum = result.whole(emit);
    result = {x.dtype, emit.div(sum, emit.cast(count, elementTypeOf(sum)))};
  }
  values[node.node.outputs[0]] = result;
}

/// Labels of rows that are not selected are ignored; their scores may be anything.
void SelectedNode::loss() {
  if (!isRows(node.input(0)) || !isRows(node.input(1)) || isFloat(node.input(1).dtype) || node.wants(1))
    refuseSelection("takes selected rows, but not as scores with labels");
  auto [known, isNew] = copy.attributes.try_emplace("ignore_index", int64_t{-100});
  const auto *ignored = std::get_if<int64_t>(&known->second);
  if (!ignored)
    refuseMalformed("attribute `ignore_index` has another type than the operator's");
  set(0, stripped(node.input(0)));
  set(1, {node.input(1).dtype, filled(emit, node.input(1), static_cast<double>(*ignored))});
  if (node.has(2))
    set(2, operand(2));
  run(rule);
  if (node.text("reduction", "mean") == "none")
    return setRows(0, Role::CleanRows);
  values[node.node.outputs[0]] = given[copy.outputs[0]];
}

/// Extents of selected rows: moved and multiplied as such, else a number that is a sum over samples.
void SelectedNode::computeSizes() {
  bool isCast = op == "Cast" && !isFloat(dtypeFromNumber(node.integer("to", 0)).value_or(DType::Bool)) &&
                dtypeFromNumber(node.integer("to", 0)) != DType::Bool;
  bool isMove = op == "Gather" || op == "Squeeze" || op == "Unsqueeze" || op == "Slice" || op == "Concat" ||
                op == "Identity" || op == "ReduceProd" || op == "Mul" || isCast;
  bool makes = op == "ConstantOfShape" || op == "Expand";
  bool isNumber = kindOf(op) == Kind::Elementwise;
  if (!isMove && !makes && !isNumber)
    refuseSelection("needs the number of selected rows at compile time");
  bool isKnown = llvm::all_of(inputs(), [](const GraphValue &x) {
    return x.content && (isSizes(x) || (x.content->isConstant() && batchAxes(x.shape).empty()));
  });
  bool asData = !makes && (!isMove || (op == "Mul" && !isKnown));
  if (isMove && !asData && !isKnown)
    refuseSelection("computes with the number of selected rows as a shape");
  for (int64_t i = 0; i < node.inputCount(); ++i)
    if (node.has(i)) {
      const GraphValue &x = node.input(i);
      set(i, makes && i + 1 == node.inputCount() ? stripped(x)
             : isSizes(x)                        ? (asData ? GraphValue(x.dtype, number(x)) : stripped(x))
             : makes                             ? operand(i)
                                                 : x);
    }
  run(rule);
  if (makes)
    return setRows(0, Role::CleanRows);
  if (!asData)
    return setSizes();
  values[node.node.outputs[0]] = given[copy.outputs[0]];
}

/// x[mask]: all of x, the axes of the mask being one.
void SelectedNode::readRows(const GraphValue &x) {
  size_t depth = selection->shape.size();
  if (x.selection)
    refuseSelection("selects among selected rows");
  if (ArrayRef<Extent>(x.shape).take_front(depth) != ArrayRef<Extent>(selection->shape))
    refuseSelection("reads rows of " + toString(x.shape) + " that a mask of " + toString(selection->shape) +
                    " selects");
  Shape target{shapeOf(selection->mask)[0]};
  target.append(x.shape.begin() + depth, x.shape.end());
  GraphValue rows = reshape(emit, x, target);
  rows.selection = selection;
  values[node.node.outputs[0]] = rows;
}

void SelectedNode::readPositions() {
  const GraphValue last = node.input(node.inputCount() - 1), first = node.input(0);
  size_t depth = selection->shape.size();
  Shape line{shapeOf(selection->mask)[0]}, column = line;
  column.push_back(Extent::fixed(static_cast<int64_t>(depth)));
  bool reads = node.inputCount() == 2 && last.selection && last.role == Role::Positions;
  if (reads && op == "GatherND" && last.shape == column && node.integer("batch_dims", 0) == 0)
    return readRows(first);
  if (reads && op == "Gather" && last.shape == line && depth == 1 && first.rank() > 0 &&
      node.axis(node.integer("axis", 0), first.rank()) == 0)
    return readRows(first);
  GraphValue result = first;
  bool isMatrix = first.rank() == 2;
  SmallVector<int64_t> perm = op == "Transpose" ? node.integerList("perm", {1, 0}) : SmallVector<int64_t>();
  bool turns = isMatrix && ArrayRef<int64_t>(perm) == ArrayRef<int64_t>({1, 0});
  if (first.role != Role::Positions || !first.selection)
    refuseSelection("uses the positions of selected rows as data");
  if (turns)
    std::swap(result.shape[0], result.shape[1]);
  else if (op == "Squeeze" && isMatrix && depth == 1)
    result.shape = line;
  else if (op == "Unsqueeze" && !isMatrix)
    result.shape = column;
  else if (op != "Identity")
    refuseSelection("uses the positions of selected rows as data");
  values[node.node.outputs[0]] = result;
}

void SelectedNode::apply() {
  findSelection();
  if (hasAny([](const GraphValue &x) { return x.selection && x.role == Role::Positions; }))
    return readPositions();
  if (hasAny(isRows))
    return computeRows();
  computeSizes();
}

bool readsSelection(Binder &node) {
  for (int64_t i = 0; i < node.inputCount(); ++i)
    if (node.has(i) && node.input(i).selection)
      return true;
  return false;
}

void applyToSelection(Binder &node, Values &values, Rule rule) {
  if (!rule || node.node.outputs.empty())
    refuseSelection("takes selected rows");
  SelectedNode(node, values, rule).apply();
}

static void nonZero(Binder &node) {
  const GraphValue &mask = node.input(0);
  Folded known = mask.content ? foldNonZero(*mask.content) : std::nullopt;
  node.set(0, known ? GraphValue(*known) : select(node.emit, mask));
}

void addSelectionRules(RuleTable &table) { table.add("NonZero", 9, nonZero); }

} // namespace accum::import
