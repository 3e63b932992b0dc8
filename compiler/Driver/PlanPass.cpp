// SPDX-License-Identifier: Apache-2.0
// The phase `plan` as a pass, for accum-opt.
#include "compiler/Driver/PlanPass.h"
#include "compiler/Driver/Planning.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace accum::driver {
namespace {

struct PlanPass : PassWrapper<PlanPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanPass)
  PlanPass() = default;
  PlanPass(const PlanPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "phase-plan"; }
  StringRef getDescription() const override { return "the phase plan"; }

  void runOnOperation() override {
    if (std::vector<std::string> errors = plan(); !errors.empty()) {
      for (const std::string &error : errors)
        getOperation().emitError(error);
      signalPassFailure();
    }
  }

  Option<int64_t> batch{*this, "batch", llvm::cl::desc("samples per optimizer step, of all devices")};
  Option<int64_t> devices{*this, "devices", llvm::cl::desc("how many"), llvm::cl::init(1)};
  Option<std::string> target{*this, "target", llvm::cl::desc("device profile"), llvm::cl::init("host")};
  Option<std::string> memory{*this, "memory", llvm::cl::desc("of a device; default: what it has")};
  Option<std::string> microBatch{*this, "micro-batch", llvm::cl::desc("size"), llvm::cl::init("auto")};
  Option<std::string> recompute{*this, "recompute", llvm::cl::desc("auto, none, all"),
                                llvm::cl::init("auto")};
  Option<std::string> shard{*this, "shard", llvm::cl::desc("mode"), llvm::cl::init("none")};
  Option<std::string> offload{*this, "offload", llvm::cl::desc("mode"), llvm::cl::init("none")};

private:
  std::vector<std::string> plan() {
    Options options;
    options.batch = batch;
    options.devices = devices;
    options.target = target;
    options.microBatchText = microBatch;
    options.recompute = recompute;
    options.shard = shard;
    options.offload = offload;
    if (options.batch < 1 || options.devices < 1)
      return {"phase-plan: batch and devices are positive [usage]"};
    if (!memory.empty()) {
      auto bytes = planner::parseBytes(memory);
      if (!bytes)
        return {bytes.error().message + " [usage]"};
      options.memory = *bytes;
    }
    Diagnostics diagnostics(getContext(), "phase-plan");
    Planning planning;
    if (succeeded(planModule(getOperation(), options, {}, diagnostics, planning)))
      return {};
    return diagnostics.errors();
  }
};

} // namespace

void registerPlanPass() { PassRegistration<PlanPass>(); }

} // namespace accum::driver
