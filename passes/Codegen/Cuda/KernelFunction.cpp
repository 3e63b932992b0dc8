// SPDX-License-Identifier: Apache-2.0
// Names, arguments, special registers.
#include "passes/Codegen/Cuda/KernelFunction.h"
#include "passes/Codegen/FunctionAttributes.h"

using namespace mlir;

namespace accum::codegen {

static int64_t numberOf(func::FuncOp kernel) {
  return kernel->getAttrOfType<IntegerAttr>("accum.kernel").getInt();
}

/// PTX knows letters, digits and _, and functions of the module share its names.
static std::string symbolOf(func::FuncOp kernel) {
  std::string name = kernel.getName().str();
  for (char &c : name)
    c = llvm::isAlnum(c) ? c : '_';
  return "k" + std::to_string(numberOf(kernel)) + "_" + name;
}

LLVM::LLVMFuncOp createKernelFunction(func::FuncOp kernel) {
  OpBuilder builder(kernel);
  MLIRContext *context = kernel.getContext();
  int64_t results = kernel.getBody().front().getTerminator()->getNumOperands();
  int64_t count = kernel.getNumArguments() + results + kernel->hasAttr("accumulate");
  SmallVector<Type> pointers(count, LLVM::LLVMPointerType::get(context));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), pointers);
  auto function = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), symbolOf(kernel), type);
  function.setCConv(LLVM::CConv::PTX_Kernel);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  LLVM::ReturnOp::create(builder, kernel.getLoc(), ValueRange());
  return function;
}

Value readSpecialRegister(Operation *end, StringRef name, int64_t size) {
  OpBuilder builder(end);
  auto intrinsic = builder.getStringAttr("llvm.nvvm.read.ptx.sreg." + name);
  auto call =
      LLVM::CallIntrinsicOp::create(builder, end->getLoc(), builder.getI32Type(), intrinsic, ValueRange());
  auto range = LLVM::ConstantRangeAttr::get(builder.getContext(), APInt(32, 0),
                                            APInt(32, static_cast<uint64_t>(size)));
  auto known = builder.getNamedAttr(LLVM::LLVMDialect::getRangeAttrName(), range);
  call.setResAttrsAttr(builder.getArrayAttr(builder.getDictionaryAttr(known)));
  return call.getResult(0);
}

void describeLaunch(func::FuncOp kernel, LLVM::LLVMFuncOp function, int64_t blocks, int64_t blockThreads,
                    int64_t sharedBytes) {
  OpBuilder builder(kernel);
  SmallVector<int64_t> entry = {numberOf(kernel), blocks, blockThreads,
                                static_cast<int64_t>(function.getNumArguments())};
  if (sharedBytes != 0)
    entry.push_back(sharedBytes);
  function->setAttr("accum.entry", builder.getDenseI64ArrayAttr(entry));
  auto limit = builder.getStrArrayAttr({"nvvm.maxntid", std::to_string(blockThreads)});
  function.setPassthroughAttr(builder.getArrayAttr(limit));
}

static void addAttribute(LLVM::LLVMFuncOp function, Attribute attribute) {
  auto all = llvm::to_vector(function.getPassthrough()->getValue());
  all.push_back(attribute);
  function.setPassthroughAttr(ArrayAttr::get(function.getContext(), all));
}

void askForBlocks(LLVM::LLVMFuncOp function, int64_t count) {
  OpBuilder builder(function);
  addAttribute(function, builder.getStrArrayAttr({"nvvm.minctasm", std::to_string(count)}));
}

void keepLoops(LLVM::LLVMFuncOp function) {
  addAttribute(function, StringAttr::get(function.getContext(), kKeepsLoops));
}

} // namespace accum::codegen
