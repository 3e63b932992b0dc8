// SPDX-License-Identifier: Apache-2.0
// Read whole, so that what is said of it is what a run would find.
#include "runtime/checkpoints/CheckpointText.h"
#include "base/FormatBytes.h"
#include "base/Printable.h"
#include "runtime/checkpoints/Checkpoint.h"
#include "runtime/files/Array.h"
#include "runtime/system/Memory.h"
#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace accum::runtime {
namespace {

namespace fs = std::filesystem;

bool isOne(const std::string &path) {
  std::error_code unknown;
  return fs::exists(fs::path(path) / "checkpoint.json", unknown);
}

/// Where the next step begins.
std::string describeData(const CheckpointFacts &facts) {
  if (facts.samples == 0)
    return "";
  Window next = Epochs(facts.samples, facts.batches, facts.options.dropLast).at(facts.step);
  std::string order = facts.options.shuffle ? fmt::format("shuffled with seed {}", facts.options.seed)
                                            : fmt::format("in the file's order, seed {}", facts.options.seed);
  return fmt::format("data        {} samples, {}{}; epoch {}, {} samples of it are trained\n", facts.samples,
                     order, facts.options.dropLast ? ", the last incomplete window left out" : "",
                     next.epoch + 1, next.start);
}

std::string describeBatches(const CheckpointFacts &facts) {
  std::string text = fmt::format("batch       {} samples", facts.batch);
  for (size_t i = 0; facts.batches.size() > 1 && i < facts.batches.size(); ++i)
    text += fmt::format("{} {} from step {}", i ? "," : ";", facts.batches[i].batch, facts.batches[i].step);
  return text + "\n";
}

std::string describeTensors(const CheckpointFacts &facts, const std::vector<Array> &arrays) {
  std::set<std::string> names;
  for (const Array &array : arrays)
    names.insert(array.name);
  uint64_t parameters = 0, ofSlots = 0, bytes = 0;
  for (const Array &array : arrays) {
    size_t colon = array.name.find(':'); // SLOT:NAME
    bool isSlot = colon != std::string::npos && names.contains(array.name.substr(colon + 1));
    (isSlot ? ofSlots : parameters) += 1;
    bytes += array.bytes();
  }
  return fmt::format("tensors     {} parameters, {} of the optimizer's; {}, whole (xxh3 {})\n", parameters,
                     ofSlots, formatBytes(bytes), facts.xxh3);
}

Expected<std::string> describeOne(const std::string &path) {
  auto facts = readCheckpoint(path);
  if (!facts)
    return facts.error();
  auto arrays = readSafetensors(checkpointTensors(path));
  if (!arrays)
    return arrays.error();
  std::string text = fmt::format("checkpoint  {}\nstep        {}", path, facts->step);
  if (facts->updates != facts->step)
    text += fmt::format(", of which {} changed the weights", facts->updates);
  text +=
      fmt::format("\noptimizer   {}\n", facts->optimizer) + describeBatches(*facts) + describeData(*facts);
  for (const Group &group : facts->groups)
    text += "group       " + describe(group) + "\n";
  if (facts->best)
    text += fmt::format("best        loss {:.6g} of evaluations so far\n", *facts->best);
  text += describeTensors(*facts, *arrays);
  for (const std::string &word : facts->command)
    text += (&word == &facts->command.front() ? "command     " : " ") + printable(word);
  return text + (facts->command.empty() ? "" : "\n");
}

Expected<std::string> describeFolder(const std::string &path) {
  std::string text = fmt::format("checkpoints {}\n", path);
  for (uint64_t step : listCheckpoints(path)) {
    std::string one = checkpointPath(path, step);
    auto facts = readCheckpoint(one);
    if (facts) {
      text += fmt::format("  step {:>9}  {:>10}  whole\n", step, formatBytes(facts->bytes));
      continue;
    }
    text += fmt::format("  step {:>9}  damaged: {}\n", step, facts.error().message);
  }
  return text + "--resume takes the newest whole one\n";
}

} // namespace

bool holdsCheckpoints(const std::string &path) { return isOne(path) || !listCheckpoints(path).empty(); }

Expected<std::string> describeCheckpoints(const std::string &path) {
  return isOne(path) ? describeOne(path) : describeFolder(path);
}

} // namespace accum::runtime
