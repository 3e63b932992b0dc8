// SPDX-License-Identifier: Apache-2.0
// Kernels -> LLVM IR -> PTX.
#include "compiler/Emit/Cuda/CudaKernels.h"
#include "compiler/Emit/Cuda/PtxTarget.h"
#include "compiler/Emit/Objects.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/Codegen/Passes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace accum::emit {
namespace {

/// The kernels' functions in a module of their own, and one entry per number with what is known before
/// codegen.
FailureOr<OwningOpRef<ModuleOp>> takeKernels(ModuleOp module, std::vector<CudaKernel> &kernels) {
  OwningOpRef<ModuleOp> own = ModuleOp::create(module.getLoc());
  train::recordPrecision(own.get(), train::precisionOf(module));
  std::map<int64_t, func::FuncOp> byNumber;
  for (auto function : module.getOps<func::FuncOp>())
    if (auto number = function->getAttrOfType<IntegerAttr>("accum.kernel"))
      if (!byNumber.insert({number.getInt(), function}).second)
        return module.emitError("two kernels are number ") << number.getInt();
  for (auto [number, function] : byNumber) {
    if (number != static_cast<int64_t>(kernels.size()))
      return module.emitError("no kernel is number ") << kernels.size();
    own->push_back(function.clone());
    CudaKernel kernel;
    kernel.spec.name = function.getName().str();
    kernel.operands = operandsOf(function);
    kernels.push_back(std::move(kernel));
  }
  return own;
}

void readEntries(ModuleOp module, std::vector<CudaKernel> &kernels) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    auto line = function->getAttrOfType<DenseI64ArrayAttr>("accum.entry");
    if (!line)
      continue;
    runtime::KernelSpec &spec = kernels[line[0]].spec;
    spec.symbol = function.getName().str();
    spec.grid = {static_cast<uint32_t>(line[1]), 1, 1};
    spec.block = {static_cast<uint32_t>(line[2]), 1, 1};
    spec.args = static_cast<uint32_t>(line[3]);
    spec.sharedBytes = line.size() > 4 ? static_cast<uint32_t>(line[4]) : 0;
    function->removeAttr("accum.entry");
  }
}

LogicalResult report(ModuleOp module, llvm::Error error) {
  if (!error)
    return success();
  return emitError(module.getLoc()) << llvm::toString(std::move(error)) << " [codegen]";
}

/// A GPU has no library to link with.
LogicalResult checkComplete(ModuleOp module, const llvm::Module &code) {
  for (const llvm::Function &function : code)
    if (function.isDeclaration() && !function.isIntrinsic())
      return module.emitError("a kernel calls `")
             << function.getName() << "`, which is not built for GPUs [unsupported]";
  return success();
}

} // namespace

FailureOr<CudaKernels> compileCudaKernels(ModuleOp module) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  CudaKernels result;
  auto own = takeKernels(module, result.kernels);
  if (failed(own))
    return failure();
  PassManager manager(context);
  buildCudaCodegenPipeline(manager);
  if (failed(manager.run(**own)))
    return failure();
  readEntries(**own, result.kernels);
  result.context = std::make_shared<llvm::LLVMContext>();
  result.code = translateModuleToLLVMIR(**own, *result.context, "kernels");
  if (!result.code || failed(checkComplete(module, *result.code)))
    return failure();
  auto machine = createPtxMachine(kPtxArchitecture);
  llvm::Error error = machine ? writePtx(*result.code, **machine, result.ptx) : machine.takeError();
  if (failed(report(module, std::move(error))))
    return failure();
  return result;
}

} // namespace accum::emit
