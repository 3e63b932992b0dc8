// SPDX-License-Identifier: Apache-2.0
// The loss over data of its own. All of it is one window, so that a sum over the batch (a count of targets)
// is one over all samples.
#include "runtime/session/Evaluation.h"
#include "runtime/system/Clock.h"
#include <algorithm>
#include <cmath>

namespace accum::runtime {
namespace {

/// Labels by a convention over tokens, or the model's own input of several classes a sample.
bool predictsTokens(const Manifest &manifest) {
  if (manifest.labels == "next-token" || manifest.labels == "causal-lm")
    return true;
  return std::ranges::any_of(manifest.inputs, [](const InputSpec &input) {
    return input.name == "labels" && !isFloat(input.dtype) && input.slabElements() > 1;
  });
}

} // namespace

Status Evaluation::require(const Dataset &data) const {
  const Manifest &manifest = opened.artifact.manifest;
  int64_t least = manifest.wholeBatch ? manifest.batch : 1;
  if (data.samples() >= least)
    return {};
  return Error{kExitFile,
               "the evaluation data holds " + std::to_string(data.samples()) +
                   " samples, expected at least " +
                   (manifest.wholeBatch ? "one global batch of " + std::to_string(least) : "one"),
               "bad-data"};
}

Status Evaluation::bind(Dataset data) {
  if (Status status = require(data); !status)
    return status;
  const Manifest &manifest = opened.artifact.manifest;
  int64_t least = manifest.wholeBatch ? manifest.batch : 1, rest = data.samples() % least;
  if (rest != 0)
    opened.note("the program relates the " + std::to_string(least) +
                " samples of its batch to each other: evaluation leaves the last " + std::to_string(rest) +
                " samples out");
  opened.noteOnce(data.notices());
  placed.reset();
  feed.emplace(std::move(data), FeedOptions());
  return {};
}

/// Leaves nothing behind but the numbers in the state, which every step writes before it reads them.
Expected<accum_evaluation> Evaluation::runWindow(const Window &of) {
  training.begin();
  if (Status status = samples.enter(*feed, of, placed); !status)
    return status.error();
  if (wanted)
    training.step.leaves = [this] { return isStopped(); };
  auto code = training.evaluate(0);
  training.step.leaves = nullptr;
  training.takeNotices();
  if (stopped)
    return accum_evaluation{};
  if (!code || *code != 0)
    return code ? training.explain(*code) : code.error();
  if (Status status = opened.device->synchronize(); !status)
    return status.error();
  training.step.ranges.endStep();
  double values[4];
  const std::pair<const char *, double> scalars[] = {
      {"loss", NAN}, {"targets", 0}, {"correct", NAN}, {"counted", NAN}};
  for (size_t i = 0; i < 4; ++i) {
    auto value = opened.scalarOr(scalars[i].first, scalars[i].second);
    if (!value)
      return value.error();
    values[i] = *value;
  }
  correct += values[2];
  counted += values[3];
  return accum_evaluation{values[0],          NAN, NAN, samples.microSteps.division().samples,
                          int64_t(values[1]), 0,   0};
}

Expected<accum_evaluation> Evaluation::run() {
  double started = now();
  if (!feed)
    return Error{kExitUsage, "no evaluation data is bound", "usage"};
  if (!opened.artifact.program->eval)
    return Error{kExitUsage, "the artifact has no eval program", "usage"};
  const Manifest &manifest = opened.artifact.manifest;
  int64_t size = manifest.wholeBatch ? manifest.batch : feed->samples();
  correct = counted = 0;
  stopped = false;
  accum_evaluation all{0, NAN, NAN, 0, 0, 0, 0};
  for (int64_t start = 0; start + size <= feed->samples(); start += size) {
    auto part = runWindow({0, uint64_t(start), size});
    if (!part || stopped)
      return part;
    auto weight = [](const accum_evaluation &of) { return double(of.targets ? of.targets : of.samples); };
    double before = weight(all), own = weight(*part);
    if (Status status = training.readOutputs(double(all.samples), double(part->samples)); !status)
      return status.error();
    all.loss = before == 0 ? part->loss : (all.loss * before + part->loss * own) / (before + own);
    all.samples += part->samples;
    all.targets += part->targets;
  }
  if (predictsTokens(manifest))
    all.perplexity = std::exp(all.loss);
  all.accuracy = correct / counted; // NaN where nothing counts them
  all.seconds = now() - started;
  made = training.reached;
  all.is_best = std::isfinite(all.loss) && all.loss < best.value_or(INFINITY);
  if (all.is_best)
    best = all.loss;
  return all;
}

Status Evaluation::give(Expected<Dataset> given) {
  if (Status status = opened.agree(given ? require(*given) : given.error()); !status)
    return status;
  auto share = samples.shareOf(*given);
  if (!share)
    return share.error();
  if (Status status = bind(std::move(*given)); !status)
    return status;
  if (opened.ranks->ranks() > 1)
    placed = *share;
  return {};
}

/// Ranks have as many micro-steps each, and leave behind the same one.
Expected<bool> Evaluation::isStopped() {
  auto any = opened.ranks->maximum(wanted(user) != 0);
  if (!any)
    return any.error();
  stopped = *any != 0;
  return stopped;
}

} // namespace accum::runtime
