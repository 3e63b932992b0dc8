// SPDX-License-Identifier: Apache-2.0
// A variant is a clone with casts at its ends.
#include "passes/Precision/NarrowKernels.h"
#include "dialects/NN/NNDialect.h"
#include "passes/Fuse/CommandCost.h"

using namespace mlir;

namespace accum {

RankedTensorType bf16Type(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), BFloat16Type::get(type.getContext()), tensor.getEncoding());
}

static Type withElement(Type type, Type element) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), element, tensor.getEncoding());
}

/// Casts where the signature's types differ from the body's.
static void castAtEnds(func::FuncOp kernel, FunctionType type) {
  Block &body = kernel.getBody().front();
  OpBuilder builder(kernel.getContext());
  for (auto [argument, wanted] : llvm::zip_equal(body.getArguments(), type.getInputs())) {
    if (argument.getType() == wanted)
      continue;
    auto element = cast<RankedTensorType>(argument.getType()).getElementType();
    argument.setType(wanted);
    builder.setInsertionPointToStart(&body);
    auto wide = nn::CastOp::create(builder, argument.getLoc(), argument, element);
    argument.replaceAllUsesExcept(wide, wide);
  }
  builder.setInsertionPoint(body.getTerminator());
  for (auto [value, wanted] : llvm::zip_equal(body.getTerminator()->getOpOperands(), type.getResults())) {
    if (value.get().getType() == wanted)
      continue;
    Value wide = value.get();
    value.set(nn::CastOp::create(builder, wide.getLoc(), wanted, wide));
  }
}

/// A library call has its operands' types: views keep them, and what it computes is as it is returned.
static void retype(func::FuncOp kernel, FunctionType type) {
  Block &body = kernel.getBody().front();
  for (auto [argument, wanted] : llvm::zip_equal(body.getArguments(), type.getInputs()))
    argument.setType(wanted);
  for (Operation &op : body.without_terminator()) {
    bool view = isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::ConcatOp>(op);
    Type element = cast<RankedTensorType>(op.getOperand(0).getType()).getElementType();
    bool attention = isa<nn::AttentionOp, nn::AttentionBwdOp>(op);
    if (isa<nn::ContractOp>(op)) // a bias may be added to it
      op.getResult(0).setType(
          withElement(op.getResult(0).getType(), cast<RankedTensorType>(type.getResult(0)).getElementType()));
    for (OpResult result : op.getResults())
      if (view || (attention && cast<RankedTensorType>(result.getType()).getRank() == 4))
        result.setType(withElement(result.getType(), element));
  }
  for (auto [value, wanted] : llvm::zip_equal(body.getTerminator()->getOperands(), type.getResults()))
    value.setType(wanted);
}

/// `add_16x32xf32` that gives bf16 is `add_16x32xbf16`; one that reads it only says so behind its own name.
static std::string nameOf(StringRef name, FunctionType before, FunctionType after) {
  if (auto [stem, number] = name.rsplit('_'); llvm::all_of(number, llvm::isDigit))
    name = stem; // that made it unique
  bool sameResult = before.getResults() == after.getResults();
  if (!sameResult && before.getResult(0) != after.getResult(0) && name.consume_back("xf32"))
    return (name + "xbf16").str();
  return (name + "_bf16").str();
}

func::FuncOp NarrowKernels::insert(func::FuncOp kernel, const std::string &name) {
  kernel.setName(name);
  kernel.setPrivate();
  symbols.insert(kernel); // renames where the name is taken
  return kernel;
}

func::FuncOp NarrowKernels::variant(train::CommandOp command, FunctionType type) {
  func::FuncOp &found = known[{command.getKernelAttr(), TypeAttr::get(type)}];
  if (found)
    return found;
  auto original = symbols.lookup<func::FuncOp>(command.getKernel());
  func::FuncOp kernel = original.clone();
  command.getLibrary() ? retype(kernel, type) : castAtEnds(kernel, type);
  kernel.setFunctionType(type);
  return found = insert(kernel, nameOf(original.getName(), original.getFunctionType(), type));
}

void NarrowKernels::fit(train::CommandOp command) {
  auto type = FunctionType::get(command.getContext(), command.getInputs().getTypes(),
                                command.getResults().getTypes());
  if (symbols.lookup<func::FuncOp>(command.getKernel()).getFunctionType() == type)
    return;
  command.setKernelAttr(FlatSymbolRefAttr::get(variant(command, type)));
  Affine bytes;
  for (Type each : llvm::concat<const Type>(type.getInputs(), type.getResults()))
    bytes += bytesOf(each);
  command.setBytesAttr(train::PolyAttr::get(command.getContext(), bytes.constant, bytes.slope));
  SmallVector<Attribute> pairs;
  for (auto pair : command.getMayAlias().getAsRange<DenseI64ArrayAttr>())
    if (type.getResult(pair[0]) == type.getInput(pair[1]))
      pairs.push_back(pair);
  command.setMayAliasAttr(ArrayAttr::get(command.getContext(), pairs));
}

Value NarrowKernels::round(Value value, OpBuilder &builder, Location loc) {
  Type narrow = bf16Type(value.getType());
  auto type = builder.getFunctionType(value.getType(), narrow);
  func::FuncOp &kernel = known[{Attribute(), TypeAttr::get(type)}];
  if (!kernel) {
    kernel = func::FuncOp::create(loc, "round", type);
    OpBuilder body = OpBuilder::atBlockEnd(kernel.addEntryBlock());
    Value rounded = nn::CastOp::create(body, loc, narrow, kernel.getArgument(0));
    func::ReturnOp::create(body, loc, rounded);
    std::string name = "round_";
    for (int64_t extent : cast<RankedTensorType>(narrow).getShape())
      name += std::to_string(extent) + "x";
    insert(kernel, name + "bf16");
  }
  Affine flops = elementsOf(narrow), bytes = bytesOf(narrow);
  bytes += bytesOf(value.getType());
  MLIRContext *context = builder.getContext();
  return train::CommandOp::create(builder, loc, narrow, FlatSymbolRefAttr::get(kernel), value, 0,
                                  train::PolyAttr::get(context, flops.constant, flops.slope),
                                  train::PolyAttr::get(context, bytes.constant, bytes.slope))
      .getResult(0);
}

} // namespace accum
