// SPDX-License-Identifier: Apache-2.0
// The phases as pass pipelines.
#include "passes/Pipelines.h"
#include "dialects/Train/AttentionShape.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Check/Passes.h"
#include "passes/Codegen/Passes.h"
#include "passes/Differentiate/Passes.h"
#include "passes/Fuse/Passes.h"
#include "passes/Lengths/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Recognise/Passes.h"
#include "passes/Schedule/Passes.h"

using namespace mlir;

namespace accum {

void buildImportPipeline(OpPassManager &manager, const PhaseOptions &options) {
  if (options.widen)
    manager.addPass(createWidenFloats());
  manager.addPass(createCSEPass());
  manager.addPass(createRecognise());
}

void buildDifferentiatePipeline(OpPassManager &manager, const PhaseOptions &options) {
  manager.addPass(createDifferentiate(
      {.optimizer = options.optimizer, .accuracy = options.accuracy, .keepForward = options.keepForward}));
  manager.addPass(createCSEPass());
  manager.addPass(createVerifyPlacement());
}

namespace {

void addFusePasses(OpPassManager &manager, const PhaseOptions &options, bool tiles) {
  if (options.cuda) // its libraries multiply matrices only
    manager.addPass(createDecomposeAttention({.tiles = tiles}));
  manager.addPass(createFoldTransposes());
  manager.addPass(createHoistReshapes());
  manager.addPass(createJoinPads());
  if (options.cuda)
    manager.addPass(createSumFewTargets());
  manager.addPass(createRepeatDraws());
  if (!options.reference)
    manager.addPass(createRepeatElementwise());
  manager.addPass(createFormCommands(
      {.mode = options.reference ? "reference" : "fused", .biases = options.cuda, .tiles = options.cuda}));
  if (options.narrow)
    manager.addPass(createNarrowFloats({.wideWeights = options.wideWeights}));
  manager.addPass(createGroupLoss());
  manager.addPass(createSplitTails());
  if (options.cuda)
    manager.addPass(createPadRows());
  manager.addPass(createVerifyPlacement());
}

/// Runs the phase on a module, and on a copy of it with attention taken apart.
struct FuseForms : PassWrapper<FuseForms, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseForms)
  explicit FuseForms(const PhaseOptions &options) : options(options) {}

  StringRef getName() const override { return "FuseForms"; }

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager passes(ModuleOp::getOperationName());
    addFusePasses(passes, options, /*tiles=*/true);
    passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool hasTwo = false;
    module.walk([&](nn::AttentionOp op) { hasTwo |= fitsTiles(op); });
    OwningOpRef<ModuleOp> apart = hasTwo ? module.clone() : ModuleOp();
    OpPassManager inTiles(ModuleOp::getOperationName()), asProducts(ModuleOp::getOperationName());
    addFusePasses(inTiles, options, /*tiles=*/true);
    addFusePasses(asProducts, options, /*tiles=*/false);
    if (failed(runPipeline(inTiles, module)))
      return signalPassFailure();
    if (!apart)
      return;
    apart->setSymName(kOtherForm);
    module.push_back(apart.get());
    if (failed(runPipeline(asProducts, apart.release())))
      signalPassFailure();
  }

  PhaseOptions options;
};

} // namespace

void buildFusePipeline(OpPassManager &manager, const PhaseOptions &options) {
  if (options.cuda)
    manager.addPass(std::make_unique<FuseForms>(options));
  else
    addFusePasses(manager, options, /*tiles=*/false);
}

void buildBindPipeline(OpPassManager &manager, const PhaseOptions &options) {
  manager.addPass(createRepeatCommands());
  manager.addPass(createShardUpdate());
  manager.addPass(createShardCopies());
  if (options.cuda)
    manager.addPass(createLaunchAttention());
  manager.addPass(createBindMicroBatch());
}

void buildSchedulePipeline(OpPassManager &manager, const PhaseOptions &options) {
  buildBindPipeline(manager, options);
  manager.addPass(createBuildProgram());
}

namespace {

void registerPasses() {
  registerCheckPasses();
  registerCodegenPasses();
  registerDifferentiatePasses();
  registerFusePasses();
  registerLengthsPasses();
  registerPrecisionPasses();
  registerRecognisePasses();
  registerSchedulePasses();
}

/// PhaseOptions as accum-opt reads them: `--phase-fuse="cuda narrow"`.
struct NamedOptions : PassPipelineOptions<NamedOptions> {
  Option<bool> widen{*this, "widen", llvm::cl::desc("import: compute in f64")};
  Option<std::string> optimizer{*this, "optimizer", llvm::cl::desc("differentiate: the update"),
                                llvm::cl::init("adamw")};
  Option<bool> cuda{*this, "cuda", llvm::cl::desc("fuse, schedule: for a GPU")};
  Option<bool> reference{*this, "reference", llvm::cl::desc("fuse: one command per operator")};
  Option<bool> narrow{*this, "narrow", llvm::cl::desc("fuse: store in bf16")};
  Option<bool> wideWeights{*this, "wide-weights", llvm::cl::desc("fuse: products round trained weights")};
  Option<bool> accuracy{*this, "accuracy", llvm::cl::desc("differentiate: @eval counts correct predictions")};
};

using Build = void(OpPassManager &, const PhaseOptions &);

template <Build *build> void addPipeline(const char *name, const char *text) {
  PassPipelineRegistration<NamedOptions>(name, text, [](OpPassManager &manager, const NamedOptions &named) {
    build(manager, {.widen = named.widen,
                    .optimizer = named.optimizer,
                    .cuda = named.cuda,
                    .reference = named.reference,
                    .narrow = named.narrow,
                    .accuracy = named.accuracy,
                    .wideWeights = named.wideWeights});
  });
}

constexpr int64_t kLanes = 8; ///< of AVX2, where a pipeline is run by name

} // namespace

void registerPassesAndPipelines() {
  registerPasses();
  addPipeline<buildImportPipeline>("phase-import", "the phase import, behind the ONNX reader");
  PassPipelineRegistration<>("phase-check", "the phase check",
                             [](OpPassManager &manager) { manager.addPass(createCheckPlacement()); });
  addPipeline<buildDifferentiatePipeline>("phase-differentiate", "the phase differentiate");
  addPipeline<buildFusePipeline>("phase-fuse", "the phase fuse");
  addPipeline<buildSchedulePipeline>("phase-schedule", "the phase schedule, behind a plan");
  PassPipelineRegistration<>("phase-codegen", "the phase codegen for the host",
                             [](OpPassManager &manager) { buildCodegenPipeline(manager, kLanes); });
  PassPipelineRegistration<>("phase-codegen-cuda", "the phase codegen for a GPU", buildCudaCodegenPipeline);
}

} // namespace accum
