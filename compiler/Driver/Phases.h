// SPDX-License-Identifier: Apache-2.0
// The named phases: running one, dumping after it, stopping after it, timing it.
#pragma once

#include "compiler/Driver/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <chrono>
#include <functional>

namespace accum::driver {

/// In the order in which they run. A dump records the last one that ran in the module's `accum.phase`.
enum class Phase { Import, Check, Differentiate, Fuse, Plan, Schedule };

const char *toText(Phase phase);
/// Nothing where `name` is none of them.
std::optional<Phase> phaseFrom(llvm::StringRef name);

/// What pieces of work take.
class Timing {
public:
  template <typename Work> auto timed(const std::string &name, Work work) {
    auto start = std::chrono::steady_clock::now();
    auto result = work();
    times.emplace_back(name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return result;
  }
  /// `--timing`: a line each.
  std::string timingTable() const;

private:
  std::vector<std::pair<std::string, double>> times;
};

/// Runs phases on one module, and times them.
class PhaseRunner : public Timing {
public:
  PhaseRunner(mlir::ModuleOp module, const Options &options);

  /// The phase that a dump recorded; nothing for a fresh module.
  std::optional<Phase> recorded() const;
  /// Runs `build`'s passes, or `run`, unless the module is already past `phase`. After it the module is
  /// verified, dumped where asked.
  mlir::LogicalResult run(Phase phase, llvm::function_ref<void(mlir::OpPassManager &)> build);
  mlir::LogicalResult run(Phase phase, llvm::function_ref<mlir::LogicalResult()> action);
  /// Whether the module is past it.
  bool done(Phase phase) const;
  /// Whether `--to` names this phase: then the module is the output.
  bool stopsAfter(Phase phase) const;

private:
  mlir::LogicalResult finish(Phase phase);

  mlir::ModuleOp module;
  const Options &options;
};

} // namespace accum::driver
