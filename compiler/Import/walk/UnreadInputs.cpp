// SPDX-License-Identifier: Apache-2.0
// Finds unread inputs in the file, and what their stand-in is used for in @forward.
#include "compiler/Import/walk/UnreadInputs.h"
#include "compiler/Import/walk/ArgumentFacts.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include <fmt/format.h>
#include <set>

using namespace mlir;

namespace accum::import {

static bool passesOn(const Node &node) {
  return node.opType == "Identity" || node.opType == "Cast" || node.opType == "CastLike";
}

/// Everything of which an element is used. Sizes are not: unoptimized exports ask any input for the batch's.
static std::set<std::string> valuesOfUse(const Graph &graph) {
  std::set<std::string> used;
  for (const ValueInfo &output : graph.outputs)
    used.insert(output.name);
  for (const Node &node : llvm::reverse(graph.nodes)) {
    bool isSize = node.opType == "Shape" || node.opType == "Size";
    bool isDropped = passesOn(node) && used.count(node.outputs[0]) == 0;
    if (!isSize && !isDropped)
      used.insert(node.inputs.begin(), node.inputs.end());
    for (const auto &[name, value] : node.attributes)
      if (const auto *inner = std::get_if<std::shared_ptr<Graph>>(&value))
        used.merge(valuesOfUse(**inner));
  }
  return used;
}

static bool couldBeOne(const ValueInfo &a, const ValueInfo &b) {
  if (a.type.dtype != b.type.dtype || !a.type.shape || !b.type.shape ||
      a.type.shape->size() != b.type.shape->size())
    return false;
  return llvm::all_of(llvm::zip_equal(*a.type.shape, *b.type.shape), [](const auto &sizes) {
    const auto &[left, right] = sizes;
    return !left.isStatic() || !right.isStatic() || left.size == right.size;
  });
}

namespace {
struct Unread {
  const ValueInfo *input = nullptr;
  std::vector<const ValueInfo *> standIns; ///< read, listed later, and of its type
};
} // namespace

static std::vector<Unread> unreadInputs(const Graph &graph) {
  std::set<std::string> used = valuesOfUse(graph);
  std::vector<Unread> unread;
  for (auto input = graph.inputs.begin(); input != graph.inputs.end(); ++input) {
    if (used.count(input->name) != 0)
      continue;
    unread.push_back({&*input, {}});
    for (auto later = input + 1; later != graph.inputs.end(); ++later)
      if (used.count(later->name) != 0 && couldBeOne(*input, *later))
        unread.back().standIns.push_back(&*later);
  }
  return unread;
}

static Value argumentNamed(func::FuncOp function, StringRef name) {
  for (BlockArgument argument : function.getArguments()) {
    auto known = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "train.name");
    if (known && known.getValue() == name)
      return argument;
  }
  return {};
}

bool readsInput(func::FuncOp function, std::string_view name) {
  return argumentNamed(function, name) != nullptr;
}

std::vector<std::string> noteUnread(const Graph &graph, func::FuncOp function) {
  std::vector<std::string> notices;
  for (const Unread &unread : unreadInputs(graph)) {
    if (readsInput(function, unread.input->name))
      continue; // by the loss that was put on the model's output
    std::string notice = fmt::format("no node reads the input `{}`: it needs no data", unread.input->name);
    if (!unread.standIns.empty())
      notice += fmt::format("; where the export's example passed one tensor for it and for `{0}`, the graph "
                            "reads `{0}` in its place, and clone() of one of them keeps them apart",
                            unread.standIns.back()->name);
    notices.push_back(std::move(notice));
  }
  return notices;
}

/// Everything that `value` is computed from.
static llvm::SetVector<Value> sourcesOf(Value value) {
  llvm::SetVector<Value> sources;
  sources.insert(value);
  for (size_t i = 0; i < sources.size(); ++i)
    if (Operation *op = sources[i].getDefiningOp())
      sources.insert(op->operand_begin(), op->operand_end());
  return sources;
}

static bool isTrainedTable(Value value) {
  llvm::SetVector<Value> sources = sourcesOf(value);
  return llvm::none_of(sources, [](Value source) { return isa<BlockArgument>(source); }) &&
         llvm::any_of(sources, [](Value source) { return source.getDefiningOp<train::LoadParamOp>(); });
}

static bool isScore(Value value) {
  llvm::SetVector<Value> sources = sourcesOf(value);
  return llvm::any_of(sources, [](Value source) { return isa<BlockArgument>(source); }) &&
         llvm::any_of(sources, [](Value source) { return source.getDefiningOp<train::LoadParamOp>(); });
}

static std::string nameOf(Operation *op) {
  std::string name = "a node";
  op->getLoc()->walk([&](Location location) {
    auto named = dyn_cast<NameLoc>(location);
    if (named)
      name = "`" + named.getName().str() + "`";
    return named ? WalkResult::interrupt() : WalkResult::advance();
  });
  return name;
}

namespace {
/// What one argument is for the nodes that read it.
class Roles {
public:
  explicit Roles(Value argument, func::FuncOp function) : argument(argument) {
    function.walk([&](Operation *op) { look(op); });
  }

  /// Two roles that one input does not have by itself; "" where there are none.
  std::string sentence() const {
    if (!index || !label)
      return "";
    return fmt::format("by {} as an index into a table and by {} as a label", nameOf(index), nameOf(label));
  }

private:
  void look(Operation *op) {
    if (auto gather = dyn_cast<nn::GatherOp>(op))
      lookAtIndices(op, gather.getInput(), gather.getIndices());
    else if (auto gather = dyn_cast<nn::GatherElementsOp>(op))
      lookAtIndices(op, gather.getInput(), gather.getIndices());
    else if (auto loss = dyn_cast<nn::CrossEntropyOp>(op))
      label = !label && holdsElementsOf(loss.getLabels(), argument) ? op : label;
    else if (auto elementwise = dyn_cast<nn::ElementwiseOp>(op))
      label = !label && isOneHotTimesScore(elementwise) ? op : label;
  }

  /// Scores are computed for every sample, a table is the same for all. Labels that a decoder shifts for its
  /// own input have a start token in front: such an index is no sign of a second input.
  void lookAtIndices(Operation *op, Value input, Value picked) {
    if (!index && picksAsGiven(picked) && isTrainedTable(input))
      index = op;
    if (!label && holdsElementsOf(withoutClamps(picked), argument) && isScore(input))
      label = op;
  }

  bool picksAsGiven(Value picked) const {
    while (Value before = picked.getDefiningOp<nn::PadOp>() ? Value() : moved(picked))
      picked = before;
    return picked == argument;
  }

  static Value withoutClamps(Value value) {
    for (;;) {
      auto elementwise = value.getDefiningOp<nn::ElementwiseOp>();
      bool isClamp = elementwise && (elementwise.getFn() == nn::ElementwiseFn::max ||
                                     elementwise.getFn() == nn::ElementwiseFn::min);
      Value next = isClamp ? elementwise->getOperand(0) : moved(value);
      if (!next)
        return value;
      value = next;
    }
  }

  bool isOneHotTimesScore(nn::ElementwiseOp op) const {
    if (op.getFn() != nn::ElementwiseFn::mul && op.getFn() != nn::ElementwiseFn::select)
      return false;
    return llvm::any_of(op->getOperands(), [&](Value value) { return isOneHot(value); }) &&
           llvm::any_of(op->getOperands(), [](Value value) { return isScore(value); });
  }

  /// Equal to a list of classes, perhaps smoothed by constants.
  bool isOneHot(Value value) const {
    while (Value before = moved(value))
      value = before;
    auto op = value.getDefiningOp<nn::ElementwiseOp>();
    if (!op)
      return false;
    if (op.getFn() == nn::ElementwiseFn::eq)
      return isOneHotOf(op->getOperand(0), op->getOperand(1)) ||
             isOneHotOf(op->getOperand(1), op->getOperand(0));
    auto isConstant = [](Value operand) {
      while (Value before = moved(operand))
        operand = before;
      return operand.getDefiningOp<nn::ConstantOp>() != nullptr;
    };
    size_t constants = llvm::count_if(op->getOperands(), isConstant);
    return constants + 1 == op->getNumOperands() &&
           llvm::any_of(op->getOperands(), [&](Value operand) { return isOneHot(operand); });
  }

  bool isOneHotOf(Value labels, Value classes) const {
    while (Value before = moved(classes))
      classes = before;
    auto constant = classes.getDefiningOp<nn::ConstantOp>();
    auto values = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
    bool isList = classes.getDefiningOp<nn::IotaOp>() || (values && !values.isSplat());
    return isList && holdsElementsOf(withoutClamps(labels), argument);
  }

  Value argument;
  Operation *index = nullptr, *label = nullptr;
};
} // namespace

static Failure refusal(const Unread &unread, const ValueInfo &standIn, const std::string &roles) {
  return Failure{
      "lost-in-export",
      backquoted(unread.input->name),
      fmt::format("is an input that no node reads, and `{}` is read in its place, {}: the export's "
                  "example passed one tensor for both",
                  standIn.name, roles),
      {fmt::format("export again with two tensors: {}={}.clone()", standIn.name, unread.input->name),
       fmt::format("or without `{}`, where the model does not use it", unread.input->name)}};
}

std::optional<Failure> readInTheirPlace(const Graph &graph, func::FuncOp function) {
  for (const Unread &unread : unreadInputs(graph))
    for (const ValueInfo *standIn : unread.standIns) {
      Value argument = argumentNamed(function, standIn->name);
      std::string roles = argument ? Roles(argument, function).sentence() : "";
      if (!roles.empty())
        return refusal(unread, *standIn, roles);
    }
  return std::nullopt;
}

} // namespace accum::import
