// SPDX-License-Identifier: Apache-2.0
// From a group of ops to a command and its kernel.
#include "passes/Fuse/Outline.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Origin.h"
#include "dialects/Train/AttentionShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Fuse/CommandCost.h"

using namespace mlir;

namespace accum {

bool isKernelConstant(Operation *op) {
  if (auto view = dyn_cast_or_null<nn::ReshapeOp>(op))
    return isKernelConstant(view.getInput().getDefiningOp());
  return op && isa<nn::ConstantOp, nn::IotaOp>(op);
}

/// A view comes with what it looks at.
static void addConstant(Operation *op, SetVector<Operation *> &constants) {
  if (isa<nn::ReshapeOp>(op))
    addConstant(op->getOperand(0).getDefiningOp(), constants);
  constants.insert(op);
}

static std::string nameOf(Operation *op) {
  auto elementwise = dyn_cast<nn::ElementwiseOp>(op);
  return elementwise ? stringifyElementwiseFn(elementwise.getFn()).str() : op->getName().stripDialect().str();
}

/// The ops of a kernel by name, in order, leaving out what only moves data when something computes. Several
/// ops that one derivative made are called after it, once.
static SmallVector<std::string> opNames(Block &body) {
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    if (!isKernelConstant(&op) && !isa<nn::ReshapeOp, nn::BroadcastOp>(op))
      ops.push_back(&op);
  auto isRounding = [](Operation *op) {
    return isa<nn::CastOp>(op) && isa<FloatType>(getElementTypeOrSelf(op->getOperand(0))) &&
           isa<FloatType>(getElementTypeOrSelf(op->getResult(0)));
  };
  if (!llvm::all_of(ops, isRounding))
    llvm::erase_if(ops, isRounding);
  llvm::StringMap<SmallVector<Operation *>> derivatives;
  for (Operation *op : ops)
    derivatives[derivativeOf(op->getLoc())].push_back(op);
  SmallVector<std::string> names;
  for (Operation *op : ops) {
    StringRef derivative = derivativeOf(op->getLoc());
    ArrayRef<Operation *> siblings = derivatives[derivative];
    if (derivative.empty() || siblings.size() == 1)
      names.push_back(nameOf(op));
    else if (op == siblings.front())
      names.push_back((derivative + (isa<nn::ReduceOp>(siblings.back()) ? "_sum" : "")).str());
  }
  return names;
}

/// What a kernel is called after: the part of something larger that an op of it says it is, or its ops.
static std::string describeOps(func::FuncOp kernel) {
  if (Operation *attention = attentionOf(kernel))
    return attention->getName().stripDialect().str();
  for (Operation &op : llvm::reverse(kernel.getBody().front()))
    if (auto part = op.getAttrOfType<StringAttr>("accum.part"))
      return part.str();
  SmallVector<std::string> names = opNames(kernel.getBody().front());
  if (names.empty())
    return "copy";
  if (names.size() > 4)
    names = {names.front(), names[1], "x" + std::to_string(names.size() - 3), names.back()};
  return llvm::join(names, "_");
}

/// `layer_norm_16x32xf32`: the ops and the slab of the first result.
static std::string nameOf(func::FuncOp kernel) {
  auto update = kernel->getAttrOfType<StringAttr>("accum.update");
  std::string name = update ? update.str() : describeOps(kernel);
  llvm::raw_string_ostream stream(name);
  Operation *attention = attentionOf(kernel);
  auto type =
      cast<RankedTensorType>(attention ? attention->getResult(0).getType() : kernel.getResultTypes().front());
  stream << "_";
  for (int64_t extent : type.getShape())
    stream << extent << "x";
  stream << type.getElementType();
  return name;
}

/// The body as text without locations and name: equal texts compute the same.
static std::string bodyText(func::FuncOp kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << kernel.getFunctionType();
  for (NamedAttribute attr : kernel->getDiscardableAttrs())
    stream << attr.getName().strref() << attr.getValue();
  OpPrintingFlags flags;
  flags.useLocalScope().enableDebugInfo(false).elideLargeElementsAttrs();
  for (Operation &op : kernel.getBody().front()) {
    op.print(stream, flags);
    // Attributes are unique in a context, so the address stands for a table that would be long to print.
    if (auto constant = dyn_cast<nn::ConstantOp>(op))
      stream << constant.getValue().getAsOpaquePointer();
  }
  return text;
}

FlatSymbolRefAttr Outliner::share(func::FuncOp kernel) {
  auto [entry, isNew] = kernels.try_emplace(bodyText(kernel));
  if (!isNew) {
    kernel.erase();
    return entry->second;
  }
  kernel.setName(nameOf(kernel));
  kernel.setPrivate();
  symbols.insert(kernel); // renames where the name is taken
  entry->second = FlatSymbolRefAttr::get(kernel);
  return entry->second;
}

train::CommandOp Outliner::call(func::FuncOp kernel, ValueRange inputs, Operation *anchor, Location loc) {
  Affine flops, bytes = bytesMovedBy(kernel);
  kernel.getBody().walk([&](Operation *op) { flops += flopsOf(op); });
  SmallVector<Type> results(kernel.getResultTypes());
  FlatSymbolRefAttr symbol = share(kernel);
  OpBuilder builder(anchor);
  MLIRContext *context = builder.getContext();
  return train::CommandOp::create(builder, loc, results, symbol, inputs, nextId++,
                                  train::PolyAttr::get(context, flops.constant, flops.slope),
                                  train::PolyAttr::get(context, bytes.constant, bytes.slope));
}

train::CommandOp Outliner::outline(ArrayRef<Operation *> group) {
  DenseSet<Operation *> members(group.begin(), group.end());
  SetVector<Value> inputs;
  SetVector<Operation *> constants;
  SmallVector<Value> outputs;
  SmallVector<Location> locations;
  for (Operation *op : group) {
    // A command is called after its first node: an attention, not what slices its operands.
    bool isAttention = isa<nn::AttentionOp, nn::AttentionBwdOp>(op);
    locations.insert(isAttention ? locations.begin() : locations.end(), op->getLoc());
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (isKernelConstant(producer))
        addConstant(producer, constants);
      else if (!members.contains(producer))
        inputs.insert(operand);
    }
    // The library writes all results of an attention: those that nobody reads need a place too.
    for (Value result : op->getResults())
      if ((isAttention && result.use_empty()) ||
          llvm::any_of(result.getUsers(), [&](Operation *user) { return !members.contains(user); }))
        outputs.push_back(result);
  }
  // A result that nobody reads is still written: it needs a place to go.
  if (outputs.empty())
    outputs.push_back(group.back()->getResult(0));
  OpBuilder builder(module.getContext());
  auto type =
      builder.getFunctionType(ValueRange(inputs.getArrayRef()).getTypes(), ValueRange(outputs).getTypes());
  Location loc = commandLocation(module.getContext(), locations, outputs);
  auto kernel = func::FuncOp::create(loc, "kernel", type);
  Block *body = kernel.addEntryBlock();
  IRMapping mapping;
  mapping.map(inputs.getArrayRef(), body->getArguments());
  builder.setInsertionPointToEnd(body);
  for (Operation *op : constants)
    builder.clone(*op, mapping);
  for (Operation *op : group)
    builder.clone(*op, mapping);
  auto values = llvm::map_to_vector(outputs, [&](Value value) { return mapping.lookup(value); });
  func::ReturnOp::create(builder, loc, values);
  train::CommandOp command = call(kernel, inputs.getArrayRef(), group.back(), loc);
  for (auto [output, result] : llvm::zip(outputs, command.getResults()))
    output.replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(group))
    op->erase();
  return command;
}

} // namespace accum
