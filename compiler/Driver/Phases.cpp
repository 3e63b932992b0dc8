// SPDX-License-Identifier: Apache-2.0
// The named phases: running one, dumping after it, stopping after it, timing it.
#include "compiler/Driver/Phases.h"
#include "compiler/Driver/TextFile.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

using namespace mlir;

namespace accum::driver {

static constexpr const char *kNames[] = {"import", "check", "differentiate", "fuse", "plan", "schedule"};

const char *toText(Phase phase) { return kNames[static_cast<int>(phase)]; }

std::optional<Phase> phaseFrom(StringRef name) {
  for (auto [i, known] : llvm::enumerate(kNames))
    if (name == known)
      return static_cast<Phase>(i);
  return std::nullopt;
}

PhaseRunner::PhaseRunner(ModuleOp module, const Options &options) : module(module), options(options) {}

std::optional<Phase> PhaseRunner::recorded() const {
  auto attr = module->getAttrOfType<StringAttr>("accum.phase");
  return attr ? phaseFrom(attr.getValue()) : std::nullopt;
}

bool PhaseRunner::done(Phase phase) const {
  auto last = recorded();
  return last && *last >= phase;
}

LogicalResult PhaseRunner::run(Phase phase, llvm::function_ref<void(OpPassManager &)> build) {
  return run(phase, [&]() {
    PassManager manager(module.getContext());
    manager.enableVerifier(false); // once, at the end of the phase
    build(manager);
    return manager.run(module);
  });
}

LogicalResult PhaseRunner::run(Phase phase, llvm::function_ref<LogicalResult()> action) {
  if (done(phase))
    return success();
  if (failed(timed(toText(phase), action)))
    return failure();
  return finish(phase);
}

static LogicalResult dump(ModuleOp module, const std::string &folder, Phase phase) {
  std::string path = fmt::format("{}/model.{}.{}.mlir", folder, static_cast<int>(phase) + 1, toText(phase));
  std::error_code error = llvm::sys::fs::create_directories(folder);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().enableDebugInfo());
  if (std::string why = error ? error.message() : writeTextFile(path, text); !why.empty())
    return module.emitError() << "--dump-phases: `" << path << "` cannot be written: " << why
                              << " [output-failed]";
  return success();
}

LogicalResult PhaseRunner::finish(Phase phase) {
  if (failed(timed("verify", [&] { return mlir::verify(module); })))
    return failure();
  module->setAttr("accum.phase", StringAttr::get(module.getContext(), toText(phase)));
  if (!options.dumpPhases.empty() && failed(dump(module, options.dumpPhases, phase)))
    return failure();
  if (stopsAfter(phase)) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream);
    options.sink->text(text);
  }
  return success();
}

bool PhaseRunner::stopsAfter(Phase phase) const { return options.toPhase == toText(phase); }

std::string Timing::timingTable() const {
  std::string text = "timing   phase              s\n";
  double total = 0;
  for (const auto &[name, seconds] : times) {
    text += fmt::format("         {:<14} {:7.3f}\n", name, seconds);
    total += seconds;
  }
  return text + fmt::format("         {:<14} {:7.3f}\n", "total", total);
}

} // namespace accum::driver
