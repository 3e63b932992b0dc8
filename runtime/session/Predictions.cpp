// SPDX-License-Identifier: Apache-2.0
// Outputs of the model for samples that are not trained on. What happens here changes no bit of training.
#include "runtime/session/Predictions.h"

namespace accum::runtime {

/// Labels are not asked for, nor is a whole batch: what is predicted is each sample's own.
Status Predictions::bind(Dataset data) {
  if (data.samples() < 1)
    return Error{kExitFile, "the data to predict holds no sample", "bad-data"};
  opened.noteOnce(data.notices());
  placed.reset();
  areOwn = false;
  feed.emplace(std::move(data), FeedOptions());
  return {};
}

Status Predictions::give(Expected<Dataset> given) {
  if (Status status = opened.agree(given ? Status() : given.error()); !status)
    return status;
  auto share = samples.shareOf(*given);
  if (!share)
    return share.error();
  if (Status status = bind(std::move(*given)); !status)
    return status;
  if (opened.ranks->ranks() > 1) {
    placed = *share;
    areOwn = share->samples != feed->samples();
  }
  return {};
}

Expected<bool> Predictions::isStopped() {
  auto any = opened.ranks->maximum(wanted(user) != 0);
  if (!any)
    return any.error();
  stopped = *any != 0;
  return stopped;
}

/// Each rank has written its own rows, and zeros in place of the others'.
Status Predictions::share(const Share &own) {
  if (opened.ranks->ranks() == 1)
    return {};
  if (areOwn) {
    rows->keep(own.begin, own.end);
    return {};
  }
  for (Prediction::Column &column : rows->all())
    if (column.isWanted)
      if (Status status = opened.ranks->allReduce(column.words.data(), column.words.size(), ACCUM_I64);
          !status)
        return status;
  return {};
}

Expected<int64_t> Predictions::run(const std::vector<std::string> &names, int64_t first, int64_t count) {
  auto chosen = Prediction::of(opened.artifact.manifest, names);
  if (!chosen)
    return chosen.error();
  if (!predictOf(*opened.artifact.program))
    return usage("the artifact's program predicts nothing: compile the model again");
  if (!feed)
    return usage("no data to predict is bound");
  if ((areOwn && count != feed->samples()) || first < 0 || count < 1 || first > feed->samples() - count)
    return usage("samples " + std::to_string(first) + " to " + std::to_string(first + count) + " of " +
                 std::to_string(feed->samples()) + " are asked for");
  training.begin();
  bool isWhole = placed && first == 0 && count == feed->samples();
  if (Status status =
          samples.enter(*feed, {0, uint64_t(first), count}, isWhole ? placed : std::optional<Share>());
      !status)
    return status.error();
  const Division &division = samples.microSteps.division();
  rows = std::move(*chosen);
  rows->start(division.samples);
  stopped = false;
  training.step.predicts = &*rows;
  if (wanted)
    training.step.leaves = [this] { return isStopped(); };
  auto code = training.predict();
  training.step.leaves = nullptr;
  training.step.predicts = nullptr;
  training.takeNotices();
  if (stopped)
    return int64_t(0);
  if (!code || *code != 0)
    return code ? training.explain(*code) : code.error();
  if (Status status = opened.device->synchronize(); !status)
    return status.error();
  training.step.ranges.endStep();
  if (Status status = share(placed.value_or(Share(count, 1, 1, 0))); !status)
    return status.error();
  return division.samples;
}

} // namespace accum::runtime
