// SPDX-License-Identifier: Apache-2.0
// The loss over data of its own. All of it is one window, so that a sum over the batch (a count of targets)
// is one over all samples.
#include "runtime/session/Session.h"
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

Status Session::requireEvaluation(const Dataset &data) const {
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

Status Session::bindEvaluation(Dataset data) {
  if (Status status = requireEvaluation(data); !status)
    return status;
  const Manifest &manifest = opened.artifact.manifest;
  int64_t least = manifest.wholeBatch ? manifest.batch : 1, rest = data.samples() % least;
  if (rest != 0)
    opened.note("the program relates the " + std::to_string(least) +
                " samples of its batch to each other: evaluation leaves the last " + std::to_string(rest) +
                " samples out");
  opened.noteOnce(data.notices());
  evaluationShare.reset();
  evaluation.emplace(std::move(data), FeedOptions());
  return {};
}

/// Leaves nothing behind but the numbers in the state, which every step writes before it reads them.
Expected<accum_evaluation> Session::evaluateWindow(const Window &of) {
  beginStep();
  Share share = evaluationShare.value_or(
      Share(of.samples, opened.artifact.manifest.m, opened.ranks->ranks(), opened.ranks->rank()));
  feeding = &*evaluation;
  Window window = evaluationShare ? share.windowOf(evaluation->samples()) : of;
  feeding->select(window);
  if (!evaluationShare || !ownSamples)
    divide(*evaluation, window, share);
  else if (Status status = divideOwn(*evaluation, window, share); !status)
    return status.error();
  opened.device->startStep(true);
  ranges.beginStep(0, /*evaluates=*/true);
  auto context = makeContext(0);
  if (!context)
    return context.error();
  evaluating = true;
  int code = opened.artifact.program->eval(&*context, division->steps);
  evaluating = false;
  takeNotices();
  if (stopped)
    return accum_evaluation{};
  if (code != 0)
    return explain(code);
  if (Status status = opened.device->synchronize(); !status)
    return status.error();
  ranges.endStep();
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
  return accum_evaluation{values[0], NAN, NAN, division->samples, int64_t(values[1]), 0, 0};
}

Expected<accum_evaluation> Session::evaluate() {
  double started = now();
  if (!evaluation)
    return Error{kExitUsage, "no evaluation data is bound", "usage"};
  if (!opened.artifact.program->eval)
    return Error{kExitUsage, "the artifact has no eval program", "usage"};
  const Manifest &manifest = opened.artifact.manifest;
  int64_t size = manifest.wholeBatch ? manifest.batch : evaluation->samples();
  correct = counted = 0;
  stopped = false;
  accum_evaluation all{0, NAN, NAN, 0, 0, 0, 0};
  for (int64_t start = 0; start + size <= evaluation->samples(); start += size) {
    auto part = evaluateWindow({0, uint64_t(start), size});
    if (!part || stopped)
      return part;
    auto weight = [](const accum_evaluation &of) { return double(of.targets ? of.targets : of.samples); };
    double before = weight(all), own = weight(*part);
    all.loss = before == 0 ? part->loss : (all.loss * before + part->loss * own) / (before + own);
    all.samples += part->samples;
    all.targets += part->targets;
  }
  if (predictsTokens(manifest))
    all.perplexity = std::exp(all.loss);
  all.accuracy = correct / counted; // NaN where nothing counts them
  all.seconds = now() - started;
  evaluated = reached;
  all.is_best = std::isfinite(all.loss) && all.loss < best.value_or(INFINITY);
  if (all.is_best)
    best = all.loss;
  return all;
}

} // namespace accum::runtime
