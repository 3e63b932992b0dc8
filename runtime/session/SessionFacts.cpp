// SPDX-License-Identifier: Apache-2.0
// A session's part of a checkpoint, alongside the state.
#include "runtime/session/Session.h"

namespace accum::runtime {
namespace {

/// Those of the first so many steps; each entry changes something.
std::vector<BatchChange> upTo(uint64_t step, const std::vector<BatchChange> &batches) {
  std::vector<BatchChange> made;
  for (const BatchChange &change : batches)
    if (change.step < step && (made.empty() || made.back().batch != change.batch))
      made.push_back(change);
  return made;
}

} // namespace

CheckpointFacts Session::facts(uint64_t step) const {
  std::vector<BatchChange> made = upTo(step, samples.schedule());
  CheckpointFacts facts;
  facts.step = step;
  facts.updates = numbers.updates;
  facts.optimizer = manifest().optimizer;
  facts.batch = made.empty() ? samples.schedule().front().batch : made.back().batch;
  facts.options = numbers.asked;
  facts.options.shuffle = false; // of samples that are bound
  if (const Feed *feed = samples.bound()) {
    facts.samples = feed->samples();
    facts.options.seed = feed->options().seed;
    facts.options.shuffle = feed->options().shuffle;
    facts.options.dropLast = feed->options().dropLast;
    facts.data = feed->identity();
  }
  facts.losses = guard.losses();
  facts.norms = guard.norms();
  facts.batches = made;
  facts.best = evaluation.best;
  facts.evaluated = evaluation.made;
  facts.groups = groupsOf(manifest(), numbers.coefficients());
  return facts;
}

Status Session::checkpoint(const std::string &root, uint64_t step, uint64_t keep) {
  if (training.pending().calls > 0)
    return usage("a checkpoint does not hold the gradients that wait for an update",
                 {"update first, then write the checkpoint"});
  return checkpoints.write(root, facts(step), keep);
}

Expected<std::optional<uint64_t>> Session::resume(const std::string &path, bool weightsOnly) {
  auto taken = checkpoints.resume(path, weightsOnly, [this](uint64_t step) { return facts(step); });
  if (!taken || !*taken)
    return taken ? Expected<std::optional<uint64_t>>(std::optional<uint64_t>()) : taken.error();
  training.dropPending(); // gradients of other weights
  if (weightsOnly)
    return std::optional(uint64_t(0));
  const CheckpointFacts &made = **taken;
  numbers.updates = made.updates;
  evaluation.best = made.best;
  evaluation.made = made.evaluated;
  training.reached = made.step;
  guard.restore(made.losses, made.norms);
  return std::optional(made.step);
}

} // namespace accum::runtime
