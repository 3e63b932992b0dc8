// SPDX-License-Identifier: Apache-2.0
// Kernels -> LLVM IR -> PTX.
#include "compiler/Emit/Cuda/CudaKernels.h"
#include "compiler/Emit/Cuda/PtxTarget.h"
#include "compiler/Emit/Objects.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/Train/RowPitch.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/Codegen/Passes.h"
#include "runtime/sim/accum_sim.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace accum::emit {
namespace {

CudaOperand operandOf(Type type, int64_t pitch, accum_sim_access access) {
  auto tensor = cast<RankedTensorType>(type);
  CudaOperand operand{static_cast<uint64_t>(device::bytesOf(tensor, pitch)), access};
  if (pitch == 0)
    return operand;
  uint64_t element = tensor.getElementTypeBitWidth() / 8;
  operand.row = static_cast<uint64_t>(tensor.getShape().back()) * element;
  operand.pitch = static_cast<uint64_t>(pitch) * element;
  return operand;
}

/// What the kernel's command promises about its arguments.
std::vector<CudaOperand> operandsOf(func::FuncOp kernel) {
  std::vector<CudaOperand> operands;
  for (auto [number, type] : llvm::enumerate(kernel.getArgumentTypes()))
    operands.push_back(operandOf(type, argumentPitch(kernel, number), ACCUM_SIM_READ));
  auto added = kernel->getAttrOfType<DenseI64ArrayAttr>("accumulate");
  for (auto [number, type] : llvm::enumerate(kernel.getResultTypes())) {
    bool adds = added && llvm::is_contained(added.asArrayRef(), static_cast<int64_t>(number));
    operands.push_back(operandOf(type, resultPitch(kernel, number), adds ? ACCUM_SIM_ADD : ACCUM_SIM_WRITE));
  }
  if (added)
    operands.push_back({1, ACCUM_SIM_READ});
  return operands;
}

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
