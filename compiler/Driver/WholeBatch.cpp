// SPDX-License-Identifier: Apache-2.0
// `--on-cross-batch disable`: a graph that relates samples, trained on the whole batch at once.
#include "compiler/Driver/WholeBatch.h"
#include "base/FormatBytes.h"
#include <filesystem>
#include <fmt/format.h>

namespace accum::driver {

/// A message with its slug; empty: nothing is in the way.
static std::string refusal(const Options &options) {
  if (options.batch == 0)
    return "--on-cross-batch disable: the batch size becomes part of the program: --batch N is missing "
           "[usage]";
  if (options.devices > 1)
    return fmt::format("--on-cross-batch disable: a batch whose samples are related is not spread over {} "
                       "devices: --devices 1 [usage]",
                       options.devices);
  if (options.precision == "bf16")
    return "--on-cross-batch disable: --precision bf16 tells activations from sums by where the samples are, "
           "and is not built for a whole batch [not-built]";
  bool oneStep = options.accumulationSteps.value_or(1) == 1;
  bool whole = options.microBatchText == "auto" || options.microBatchText == "none" ||
               options.microBatchText == std::to_string(options.batch);
  if (!oneStep || !whole)
    return fmt::format("--on-cross-batch disable: the batch of {} is computed at once: --micro-batch none "
                       "[usage]",
                       options.batch);
  return {};
}

bool announceWholeBatch(const Options &options, const std::vector<std::string> &causes) {
  if (std::string why = refusal(options); !why.empty()) {
    options.sink->message({Severity::Error, "", why, {}});
    return false;
  }
  std::string model = std::filesystem::path(options.model).filename().string();
  for (const std::string &cause : causes)
    options.sink->message({Severity::Warning, model, cause, {}});
  options.sink->message(
      {Severity::Warning,
       "",
       "no accumulation: each step computes the whole batch at once (--on-cross-batch disable)",
       {}});
  return true;
}

Options checkAlone(const Options &options) {
  Options check = options;
  check.checkOnly = check.quiet = true;
  check.toPhase.clear();
  check.dumpPhases.clear();
  return check;
}

Options wholeBatch(const Options &options) {
  Options whole = options;
  whole.wholeBatch = true;
  whole.microBatchText = "none";
  whole.accumulationSteps.reset();
  return whole;
}

Options wholeBatchTrial(const Options &options) {
  Options trial = wholeBatch(options);
  trial.devices = 1;
  trial.quiet = trial.planOnly = true;
  trial.checkOnly = trial.explain = trial.json = trial.timing = false;
  trial.report.clear();
  trial.planFile.clear();
  trial.dumpPhases.clear();
  trial.toPhase.clear();
  return trial;
}

std::string wholeBatchNote(const Options &options, const planner::Search &search) {
  const planner::Candidate &only = search.candidates[search.smallest];
  std::string note = fmt::format("to train it as it is: --on-cross-batch disable{} (no accumulation, the "
                                 "whole batch of {} at once: {} of {}, ",
                                 options.devices > 1 ? " --devices 1" : "", options.batch,
                                 formatBytes(only.counted), formatBytes(search.budget));
  return note + (search.plan ? "fits)" : "does not fit)");
}

} // namespace accum::driver
