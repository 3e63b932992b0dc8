// SPDX-License-Identifier: Apache-2.0
// The page appears whole: beside its place first, then renamed.
#include "tools/accum-run/records/RunReport.h"
#include "runtime/files/File.h"
#include "runtime/session/Describe.h"
#include "runtime/system/Clock.h"
#include "tools/accum-run/records/RunPage.h"
#include <cmath>

namespace accum::run {
namespace {

constexpr double kSecondsBetween = 120;

std::string describe(const std::string &artifact) {
  char *text = nullptr;
  if (accum_describe(artifact.c_str(), &text) != 0)
    return "";
  std::string result = text;
  accum_free(text);
  return result;
}

/// Bytes in all, or of the arena where the plan says no more, and seconds of a step.
void takePlan(const std::string &folder, RunStory &story) {
  auto artifact = runtime::readArtifact(folder);
  uint64_t bytes = artifact ? runtime::predictedBytes(*artifact) : 0;
  story.plannedBytes = bytes ? bytes : story.info.arena_bytes;
  story.plannedSeconds = artifact ? runtime::predictedSeconds(*artifact) : 0;
}

} // namespace

RunReport::RunReport(const Options &options, const accum_info &info, uint64_t from, uint64_t total)
    : path(options.report), started(runtime::now()), written(started) {
  story.info = info;
  story.artifact = options.artifact;
  story.plan = describe(options.artifact);
  takePlan(options.artifact, story);
  story.command = "accum-run";
  for (const std::string &word : options.words)
    story.command += " " + word;
  story.from = from;
  story.total = total;
}

void RunReport::step(uint64_t step, const accum_info &info, const accum_step_result &result) {
  story.info = info;
  add(step, info, result);
  writeIfDue();
}

/// Of that run's time by the clock only its steps are known.
void RunReport::earlierStep(uint64_t step, const accum_info &info, const accum_step_result &result) {
  story.from = story.steps == 0 ? step - 1 : story.from;
  started -= result.seconds;
  add(step, info, result);
}

void RunReport::add(uint64_t step, const accum_info &info, const accum_step_result &result) {
  story.firstLoss = story.steps == 0 ? result.loss : story.firstLoss;
  story.lastLoss = result.loss;
  ++story.steps;
  story.skipped += result.skipped == ACCUM_SKIPPED_NOT_FINITE;
  story.spikes += result.skipped == ACCUM_SKIPPED_SPIKE;
  story.stepSeconds += result.seconds;
  story.waitSeconds += result.data_seconds;
  story.samples += result.samples;
  story.targets += result.targets;
  story.loss.add(step, result.loss);
  story.norm.add(step, result.gradient_norm);
  story.rate.add(step, info.lr);
  story.speed.add(step, double(result.targets ? result.targets : result.samples) / result.seconds);
  story.wait.add(step, result.data_seconds / result.seconds);
  story.memory.add(step, double(info.peak_bytes));
  if (result.skipped)
    story.skips.add(step, 1);
}

void RunReport::evaluation(const Evaluation &found) {
  story.evalLoss.add(found.step, found.loss);
  if (found.accuracy)
    story.evalAccuracy.add(found.step, *found.accuracy);
  if (std::isfinite(found.loss) && (!story.best || found.loss < story.best->loss))
    story.best = found;
}

runtime::Status RunReport::write() {
  story.seconds = runtime::now() - started;
  std::string page = runPage(story);
  auto writer = runtime::FileWriter::create(path);
  if (!writer)
    return writer.error();
  if (runtime::Status status = (*writer)->write(page.data(), page.size()); !status)
    return status;
  return (*writer)->commit(/*keepOld=*/false);
}

void RunReport::writeIfDue() {
  if (runtime::now() - written < kSecondsBetween)
    return;
  runtime::Status status = write();
  if (!status && !failed)
    std::fprintf(stderr, "note: --report cannot be written yet: %s\n", status.error().message.c_str());
  failed = !status;
  written = runtime::now();
}

int RunReport::finish() {
  runtime::Status status = write();
  if (status)
    return 0;
  std::fputs(format(status.error()).c_str(), stderr);
  return status.error().exitCode;
}

} // namespace accum::run
