// SPDX-License-Identifier: Apache-2.0
// One model with one size of each dimension, from its file to an artifact.
#pragma once

#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/Options.h"
#include "compiler/Driver/Phases.h"
#include "compiler/Driver/Planning.h"
#include "compiler/Driver/SplitBatch.h"
#include "compiler/Emit/Artifact.h"
#include "compiler/Import/Import.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/Check/Verdict.h"
#include "passes/Pipelines.h"
#include <nlohmann/json.hpp>

namespace accum::driver {

/// What models that are compiled together have in common.
struct Workspace {
  explicit Workspace(const Options &options);

  mlir::MLIRContext context;
  Diagnostics diagnostics;
};

bool isDump(const std::string &path);

/// What a check alone comes to.
Checked checkOnce(const Options &options);
/// What the planner finds, without a word.
planner::Search planOnce(const Options &options);

class Compilation {
public:
  Compilation(const Options &options, Workspace &workspace)
      : options(options), context(workspace.context), diagnostics(workspace.diagnostics) {}

  // --- the parts of run(), in order; failures are reported to the workspace's diagnostics ---
  /// Reads the model, or the dump.
  mlir::LogicalResult load();
  /// The phases import and check.
  mlir::LogicalResult checkBatch();
  /// The phases differentiate, fuse and plan.
  mlir::LogicalResult makePlan();
  /// Of these the first two.
  mlir::LogicalResult buildStep();
  /// The phase plan, or once more, with the options as they are now. Several compilations at a time may do
  /// it, each with messages of its own.
  mlir::LogicalResult plan(Messages &messages);
  mlir::LogicalResult schedule();
  /// Of `schedule` all but the program.
  mlir::LogicalResult bind();
  mlir::LogicalResult write();
  /// Says what failed; returns the exit code.
  int fail();

  /// All of them. Returns the exit code.
  int run();
  /// Of these, those up to the plan; and the others, after that.
  bool reachesPlan() {
    return mlir::succeeded(load()) && mlir::succeeded(checkBatch()) && mlir::succeeded(makePlan());
  }
  int finish();
  /// Up to the plan, without a word and without an artifact.
  bool planOnly();

  Options &given() { return options; }
  mlir::ModuleOp moduleOp() { return *module; }
  const import::ImportReport &imported() const { return report; }
  const Planning &planned() const { return planning; }
  const planner::Search &search() const { return planning.search; }
  const Verdict &checked() const { return verdict; }
  /// Whether an option ended it before an artifact.
  bool isStopped() const { return stopped; }
  void print(const std::string &text) const;
  void printPlan() const;
  /// For --json, without what several compilations have to say.
  nlohmann::ordered_json toJson() const;
  PhaseRunner &phases() { return *runner; }
  emit::ArtifactOptions artifactOptions() const;
  mlir::LogicalResult write(const emit::ArtifactOptions &artifact);

private:
  mlir::LogicalResult import();
  mlir::LogicalResult resume();
  PhaseOptions phaseOptions();
  mlir::LogicalResult settleOutputs();
  mlir::LogicalResult check();
  mlir::LogicalResult run(Phase phase, void (*build)(mlir::OpPassManager &, const PhaseOptions &));
  mlir::LogicalResult runPhases();
  void offerWholeBatch();
  void add(const import::Failure &failure);
  void writeReproducer();

  Options options;
  mlir::MLIRContext &context;
  Diagnostics &diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<PhaseRunner> runner; ///< of the module, once it is there
  import::ImportReport report;
  Verdict verdict;
  Planning planning;
  bool stopped = false;
};

} // namespace accum::driver
