// SPDX-License-Identifier: Apache-2.0
// Kernels on tensors to GPU threads; the way from there to the llvm dialect.
#include "dialects/Train/AttentionShape.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Codegen/Cuda/AttentionKernel.h"
#include "passes/Codegen/Cuda/ThreadKernel.h"
#include "passes/Codegen/Passes.h"

namespace accum {
#define GEN_PASS_DEF_KERNELSTOTHREADS
#define GEN_PASS_DEF_REFUSELIBRARYMATH
#include "passes/Codegen/Passes.h.inc"
} // namespace accum

using namespace mlir;

namespace accum {
namespace {

struct KernelsToThreads : impl::KernelsToThreadsBase<KernelsToThreads> {
  void runOnOperation() override {
    bool failedAny = false;
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!kernel->hasAttr("accum.kernel"))
        continue;
      bool isAttention = attentionOf(kernel) != nullptr;
      failedAny |=
          failed(isAttention ? codegen::emitAttentionKernel(kernel) : codegen::emitThreadKernel(kernel));
      kernel.erase();
    }
    if (failedAny)
      signalPassFailure();
  }
};

/// What the NVPTX code generator has instructions for.
bool hasInstruction(Operation *op) {
  if (!isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return !isa<arith::RemFOp>(op);
  return isa<math::SqrtOp, math::FmaOp, math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp,
             math::RoundEvenOp, math::TruncOp, math::CopySignOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp, math::CtPopOp>(op);
}

struct RefuseLibraryMath : impl::RefuseLibraryMathBase<RefuseLibraryMath> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](Operation *op) {
      if (hasInstruction(op))
        return WalkResult::advance();
      op->emitError("kernel function ") << op->getName() << " of " << getElementTypeOrSelf(op->getResult(0))
                                        << " is not built for GPUs [unsupported]";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

void buildCudaCodegenPipeline(OpPassManager &manager) {
  manager.nest<func::FuncOp>().addPass(createExpandKernels());
  manager.addPass(createKernelsToThreads());
  manager.addPass(createCSEPass());
  manager.addPass(createLowerMath({.nvptx = true}));
  manager.addPass(createRefuseLibraryMath());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

} // namespace accum
