// SPDX-License-Identifier: Apache-2.0
// A session's state into a checkpoint, and back.
#include "runtime/checkpoints/Checkpoint.h"
#include "runtime/session/Session.h"
#include "runtime/system/Memory.h"
#include "runtime/weights/Parameters.h"
#include <algorithm>
#include <fstream>

namespace accum::runtime {
namespace {

/// `0:64,1000:256`, as --batch-schedule takes it.
std::string scheduleText(const std::vector<BatchChange> &batches) {
  std::string text;
  for (const BatchChange &change : batches)
    text += (text.empty() ? "" : ",") + std::to_string(change.step) + ":" + std::to_string(change.batch);
  return text;
}

/// Those of the first so many steps; each entry changes something.
std::vector<BatchChange> upTo(uint64_t step, const std::vector<BatchChange> &batches) {
  std::vector<BatchChange> made;
  for (const BatchChange &change : batches)
    if (change.step < step && (made.empty() || made.back().batch != change.batch))
      made.push_back(change);
  return made;
}

/// Where the batches of the steps that were made are others, the data stands elsewhere.
std::optional<Error> differentBatches(const std::string &path, const CheckpointFacts &made,
                                      const CheckpointFacts &now) {
  if (made.batches == now.batches)
    return std::nullopt;
  bool isPlain = made.batches.size() == 1 && now.batches.size() == 1;
  std::string what = isPlain ? "a batch of " : "batches of ";
  auto words = [&](const std::vector<BatchChange> &batches) {
    return isPlain ? std::to_string(batches[0].batch) : scheduleText(batches);
  };
  std::vector<BatchChange> both = made.batches;
  both.push_back({made.step, now.batch});
  return Error{kExitUsage,
               path + ": was made with " + what + words(made.batches) + ", not " + words(now.batches),
               "other-checkpoint",
               {"--batch-schedule " + scheduleText(both) + " goes on with another batch",
                "--resume-weights-only starts a new run from its weights"}};
}

std::string describe(const std::vector<Group> &groups) {
  std::string text;
  for (const Group &group : groups)
    text += (text.empty() ? "" : "; ") + runtime::describe(group);
  return text;
}

/// Words for what a checkpoint was made with and this run is not; empty: nothing.
std::string difference(const CheckpointFacts &made, const CheckpointFacts &now) {
  auto number = [](const char *what, auto before, auto after) {
    return std::string(what) + " " + std::to_string(before) + ", not " + std::to_string(after);
  };
  if (made.optimizer != now.optimizer)
    return "optimizer " + made.optimizer + ", not " + now.optimizer;
  if (made.samples != now.samples)
    return number("data of", made.samples, now.samples) + " samples";
  if (!made.data.empty() && made.data != now.data)
    return "data in files of other names or sizes";
  if (made.shuffle != now.shuffle)
    return made.shuffle ? "shuffled data" : "--no-shuffle";
  if (made.seed != now.seed)
    return number("--seed", made.seed, now.seed);
  if (made.dropLast != now.dropLast)
    return made.dropLast ? "--drop-last" : "the last window of an epoch, which --drop-last leaves out";
  if (!made.groups.empty() && made.groups != now.groups)
    return "other groups (--lr-scale, --weight-decay, --decay): " + describe(made.groups) + ", not " +
           describe(now.groups);
  return "";
}

/// As the system has them: this may be a library in another's program.
std::vector<std::string> commandWords() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');)
    words.push_back(word);
  return words;
}

} // namespace

/// Trained parameters and the frozen ones that are not the artifact's, then the optimizer's slots of each as
/// `SLOT:NAME`.
std::vector<ParameterSpec> Session::checkpointTensors(bool withSlots) const {
  std::vector<ParameterSpec> tensors;
  for (size_t p = 0; p < artifact.manifest.params.size(); ++p) {
    const ParameterSpec &param = artifact.manifest.params[p];
    if (!param.trained && !carried.contains(p))
      continue;
    ParameterSpec tensor;
    tensor.dtype = param.dtype;
    auto add = [&](const std::string &name, const std::vector<int64_t> &shape, uint64_t offset) {
      tensor.onnxName = name;
      tensor.shape = shape;
      tensor.stateOffset = offset;
      tensors.push_back(tensor);
    };
    add(param.onnxName, param.shape, param.stateOffset);
    for (const SlotSpec &slot : param.slots)
      if (withSlots)
        add(slot.name + ":" + param.onnxName, slot.shape, slot.stateOffset);
  }
  return tensors;
}

CheckpointFacts Session::facts(uint64_t step) const {
  std::vector<BatchChange> made = upTo(step, batches);
  int64_t batch = made.empty() ? batches.front().batch : made.back().batch;
  FeedOptions fed = feed ? feed->options() : FeedOptions();
  return {step,
          updates,
          artifact.manifest.optimizer,
          batch,
          feed ? feed->samples() : 0,
          fed.seed,
          fed.shuffle,
          fed.dropLast,
          lossSpikes.values(),
          normSpikes.values(),
          made,
          best,
          evaluated,
          groupsOf(artifact.manifest, hyper.coefficients),
          feed ? feed->identity() : "",
          commandWords()};
}

Status Session::checkpointInBackground() {
  bool isAlone = collectives->ranks() == 1;
  if (!checkpoints && !isAlone)
    return Error{kExitUsage, "checkpoints have no folder yet", "usage", {"accum_share_checkpoints names it"}};
  if (!checkpoints)
    checkpoints = std::make_unique<CheckpointWriter>(*collectives, memory);
  auto bytes = checkpoints->writeInBackground(checkpointTensors(/*withSlots=*/true));
  if (!bytes)
    return bytes.error();
  decisions.push_back(
      "checkpoints are written in the background, from a copy of the state: " + formatBytes(*bytes) +
      " of memory beside the plan's" + (isAlone ? "" : " on each of the ranks"));
  return {};
}

Status Session::shareCheckpoints(const std::string &root) {
  if (!checkpoints)
    checkpoints = std::make_unique<CheckpointWriter>(*collectives, memory);
  return checkpoints->join(root);
}

Status Session::checkpoint(const std::string &root, uint64_t step, uint64_t keep) {
  if (pending.calls > 0)
    return usage("a checkpoint does not hold the gradients that wait for an update",
                 {"update first, then write the checkpoint"});
  if (!checkpoints)
    if (Status status = shareCheckpoints(root); !status)
      return status;
  return checkpoints->write(root, facts(step), checkpointTensors(/*withSlots=*/true), keep);
}

Status Session::finishCheckpoint(bool wait) { return checkpoints ? checkpoints->finish(wait) : Status(); }

/// Frozen parameters are in a checkpoint where they were not the artifact's.
Status Session::carryFrozen(const std::string &path) {
  auto arrays = readSafetensors(runtime::checkpointTensors(path));
  if (!arrays)
    return arrays.error();
  for (size_t p = 0; p < artifact.manifest.params.size(); ++p) {
    const ParameterSpec &param = artifact.manifest.params[p];
    if (!param.trained && std::ranges::count(*arrays, param.onnxName, &Array::name))
      carried.insert(p);
  }
  return {};
}

Expected<uint64_t> Session::resume(const std::string &path, bool weightsOnly) {
  auto made = readCheckpoint(path);
  if (!made)
    return made.error();
  CheckpointFacts now = facts(made->step);
  if (auto error = weightsOnly ? std::nullopt : differentBatches(path, *made, now))
    return *error;
  std::string other = weightsOnly ? "" : difference(*made, now);
  if (!other.empty())
    return Error{kExitUsage,
                 path + ": was made with " + other,
                 "other-checkpoint",
                 {"--resume-weights-only starts a new run from its weights"}};
  if (Status status = carryFrozen(path); !status)
    return status.error();
  Manifest tensors;
  tensors.params = checkpointTensors(!weightsOnly);
  if (Status status = loadParameters(tensors, runtime::checkpointTensors(path), memory); !status)
    return status.error();
  for (size_t p = 0; p < artifact.manifest.params.size(); ++p)
    if (artifact.manifest.params[p].trained || carried.contains(p))
      unset.erase(p);
  if (Status status = checkValues(); !status)
    return status.error();
  pending = {}; // gradients of other weights
  if (weightsOnly)
    return uint64_t(0);
  updates = made->updates;
  best = made->best;
  evaluated = made->evaluated;
  reached = made->step;
  lossSpikes.restore(made->losses);
  normSpikes.restore(made->norms);
  return made->step;
}

namespace {

/// What is said where checkpoints are there, and none is whole. A fresh start would write over them.
Error noneIsWhole(const std::string &root, size_t count, const std::string &newest) {
  return {kExitFile,
          root + ": holds " + std::to_string(count) + (count == 1 ? " checkpoint" : " checkpoints") +
              ", and none can be read: " + newest,
          "damaged-checkpoint",
          {"to start afresh give the run another folder; nothing was changed in this one"}};
}

} // namespace

/// Rank 0 looks, so that all take the same one.
Expected<std::optional<uint64_t>> Session::resumeNewest(const std::string &root, bool weightsOnly) {
  int64_t found = 0;
  std::vector<uint64_t> steps = collectives->rank() == 0 ? listCheckpoints(root) : std::vector<uint64_t>();
  std::vector<std::string> damaged;
  for (auto step = steps.rbegin(); step != steps.rend() && found == 0; ++step) {
    auto whole = readCheckpoint(checkpointPath(root, *step));
    if (whole)
      found = int64_t(*step) + 1;
    else
      damaged.push_back(whole.error().message);
  }
  bool isNone = found == 0 && !damaged.empty();
  if (Status status = agree(isNone ? noneIsWhole(root, steps.size(), damaged.front()) : Status()); !status)
    return status.error();
  for (const std::string &message : damaged)
    decisions.push_back(message + ": the checkpoint before it is taken");
  auto agreed = collectives->maximum(found, watchdogSeconds());
  if (!agreed)
    return agreed.error();
  if (*agreed == 0)
    return std::optional<uint64_t>();
  auto step = resume(checkpointPath(root, uint64_t(*agreed - 1)), weightsOnly);
  if (Status status = agree(step ? Status() : Status(step.error())); !status)
    return status.error();
  return std::optional(*step);
}

} // namespace accum::runtime
