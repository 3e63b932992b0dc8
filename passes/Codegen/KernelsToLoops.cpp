// SPDX-License-Identifier: Apache-2.0
// Kernels on tensors to loops over pointers; the way from there to the llvm dialect.
#include "mlir/Conversion/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Codegen/Kernel.h"
#include "passes/Codegen/Passes.h"

namespace accum {
#define GEN_PASS_DEF_KERNELSTOLOOPS
#include "passes/Codegen/Passes.h.inc"
} // namespace accum

using namespace mlir;

namespace accum {
namespace {

struct KernelsToLoops : impl::KernelsToLoopsBase<KernelsToLoops> {
  using KernelsToLoopsBase::KernelsToLoopsBase;

  void runOnOperation() override {
    bool failedAny = false;
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!kernel->hasAttr("accum.kernel"))
        continue;
      failedAny |= failed(codegen::emitKernel(kernel, lanes));
      kernel.erase();
    }
    if (failedAny)
      signalPassFailure();
  }
};

} // namespace

void buildCodegenPipeline(OpPassManager &manager, int64_t lanes) {
  manager.nest<func::FuncOp>().addPass(createExpandKernels());
  KernelsToLoopsOptions options;
  options.lanes = lanes;
  manager.addPass(createKernelsToLoops(options));
  manager.addPass(createCSEPass());
  LowerMathOptions math;
  math.polynomials = lanes > 1;
  manager.addPass(createLowerMath(math));
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

} // namespace accum
