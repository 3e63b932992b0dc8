// SPDX-License-Identifier: Apache-2.0
// Who made it, and with what.
#include "runtime/checkpoints/Checkpoints.h"
#include "base/FormatBytes.h"
#include "runtime/system/Memory.h"
#include <algorithm>
#include <fstream>
#include <sys/stat.h>

namespace accum::runtime {
namespace {

/// `0:64,1000:256`, as --batch-schedule takes it.
std::string scheduleText(const std::vector<BatchChange> &batches) {
  std::string text;
  for (const BatchChange &change : batches)
    text += (text.empty() ? "" : ",") + std::to_string(change.step) + ":" + std::to_string(change.batch);
  return text;
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

/// Of one option.
std::string difference(const RunOption &row, const RunOptions &made, const RunOptions &now) {
  std::string before = valueText(row, made), after = valueText(row, now);
  if (before == after)
    return "";
  if (row.has<bool>())
    return before == "true" ? row.recorded->on : row.recorded->off;
  return row.flag() + " " + before + ", not " + after;
}

/// Words for what a checkpoint was made with and this run is not; empty: nothing.
std::string difference(const CheckpointFacts &made, const CheckpointFacts &now) {
  auto number = [](const char *what, auto before, auto after) {
    return std::string(what) + " " + std::to_string(before) + ", not " + std::to_string(after);
  };
  if (withAverage(made.optimizer) == now.optimizer)
    return "no EMA of the weights, which this artifact keeps";
  if (made.optimizer == withAverage(now.optimizer))
    return "an EMA of the weights, which this artifact does not keep";
  if (made.optimizer != now.optimizer)
    return "optimizer " + made.optimizer + ", not " + now.optimizer;
  if (made.samples != now.samples)
    return number("data of", made.samples, now.samples) + " samples";
  if (!made.data.empty() && made.data != now.data)
    return "data in files of other names or sizes";
  for (const RunOption &row : runOptions())
    if (row.recorded)
      if (std::string other = difference(row, made.options, now.options); !other.empty())
        return other;
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

/// What is said where checkpoints are there, and none is whole. A fresh start would write over them.
Error noneIsWhole(const std::string &root, size_t count, const std::string &newest) {
  return {kExitFile,
          root + ": holds " + std::to_string(count) + (count == 1 ? " checkpoint" : " checkpoints") +
              ", and none can be read: " + newest,
          "damaged-checkpoint",
          {"to start afresh give the run another folder; nothing was changed in this one"}};
}

} // namespace

CheckpointWriter &Checkpoints::writerOf() {
  if (!writer)
    writer = std::make_unique<CheckpointWriter>(*opened.ranks, opened.memory);
  return *writer;
}

Status Checkpoints::writeInBackground() {
  bool isAlone = opened.ranks->ranks() == 1;
  if (!writer && !isAlone)
    return Error{kExitUsage, "checkpoints have no folder yet", "usage", {"accum_share_checkpoints names it"}};
  auto bytes = writerOf().writeInBackground(weights.checkpointed(/*withSlots=*/true));
  if (!bytes)
    return bytes.error();
  opened.note("checkpoints are written in the background, from a copy of the state: " + formatBytes(*bytes) +
              " of memory beside the plan's" + (isAlone ? "" : " on each of the ranks"));
  return {};
}

Status Checkpoints::share(const std::string &root) { return writerOf().join(root); }

Status Checkpoints::write(const std::string &root, const CheckpointFacts &facts, uint64_t keep) {
  if (!writer)
    if (Status status = share(root); !status)
      return status;
  CheckpointFacts told = facts;
  told.command = commandWords();
  return writer->write(root, told, weights.checkpointed(/*withSlots=*/true), keep);
}

Status Checkpoints::finish(bool wait) { return writer ? writer->finish(wait) : Status(); }

Expected<CheckpointFacts> Checkpoints::take(const std::string &path, bool weightsOnly,
                                            const FactsAt &factsAt) {
  auto made = readCheckpoint(path);
  if (!made)
    return made.error();
  CheckpointFacts now = factsAt(made->step);
  if (auto error = weightsOnly ? std::nullopt : differentBatches(path, *made, now))
    return *error;
  std::string other = weightsOnly ? "" : difference(*made, now);
  if (!other.empty())
    return Error{kExitUsage,
                 path + ": was made with " + other,
                 "other-checkpoint",
                 {"--resume-weights-only starts a new run from its weights"}};
  if (Status status = weights.resume(checkpointTensors(path), weightsOnly); !status)
    return status.error();
  return *made;
}

/// Rank 0 looks, so that all take the same one.
Expected<std::optional<std::string>> Checkpoints::newest(const std::string &root) {
  int64_t found = 0;
  bool isFirst = opened.ranks->rank() == 0;
  std::vector<uint64_t> steps = isFirst ? listCheckpoints(root) : std::vector<uint64_t>();
  std::vector<std::string> damaged;
  for (auto step = steps.rbegin(); step != steps.rend() && found == 0; ++step) {
    auto whole = readCheckpoint(checkpointPath(root, *step));
    if (whole)
      found = int64_t(*step) + 1;
    else
      damaged.push_back(whole.error().message);
  }
  bool isNone = found == 0 && !damaged.empty();
  Status own = isNone ? noneIsWhole(root, steps.size(), damaged.front()) : Status();
  if (Status status = opened.agree(own); !status)
    return status.error();
  for (const std::string &message : damaged)
    opened.note(message + ": the checkpoint before it is taken");
  auto agreed = opened.ranks->maximum(found, watchdogSeconds());
  if (!agreed)
    return agreed.error();
  return *agreed == 0 ? std::optional<std::string>()
                      : std::optional(checkpointPath(root, uint64_t(*agreed - 1)));
}

Expected<std::optional<CheckpointFacts>> Checkpoints::resume(const std::string &path, bool weightsOnly,
                                                             const FactsAt &factsAt) {
  using Taken = std::optional<CheckpointFacts>;
  struct stat info;
  if (stat((path + "/checkpoint.json").c_str(), &info) == 0) {
    auto one = take(path, weightsOnly, factsAt);
    return one ? Expected<Taken>(Taken(*one)) : one.error();
  }
  auto found = newest(path);
  if (!found || !*found)
    return found ? Expected<Taken>(Taken()) : found.error();
  auto made = take(**found, weightsOnly, factsAt);
  if (Status status = opened.agree(made ? Status() : Status(made.error())); !status)
    return status.error();
  return Taken(*made);
}

} // namespace accum::runtime
