// SPDX-License-Identifier: Apache-2.0
// By checksums.
#include "runtime/session/Agreement.h"
#include "runtime/system/Hash.h"

namespace accum::runtime {

Status requireSame(Opened &opened, const char *what, uint64_t value, const char *note) {
  auto isOne = opened.ranks->isSame(value);
  if (!isOne)
    return isOne.error();
  if (*isOne)
    return {};
  return opened.agree(
      Error{kExitUsage, std::string("the ranks of this run do not all ") + what, "other-run", {note}});
}

Status requireOneArtifact(Opened &opened, bool readsWeights) {
  if (opened.ranks->ranks() == 1)
    return {};
  const Manifest &manifest = opened.artifact.manifest;
  RunningHash facts;
  auto add = [&](const std::string &text) { facts.add(text.c_str(), text.size() + 1); };
  for (uint64_t number : {uint64_t(manifest.m), uint64_t(manifest.batch), manifest.stateBytes})
    add(std::to_string(number));
  add(manifest.optimizer);
  for (const FileSpec &file : manifest.files)
    if (readsWeights && file.name == kWeights)
      add(file.xxh3);
  auto isOne = opened.ranks->isSame(facts.value());
  if (!isOne)
    return isOne.error();
  if (*isOne)
    return {};
  Error error = {kExitUsage,
                 opened.artifact.folder + ": it is not the same artifact on all ranks",
                 "other-artifact",
                 {"compile it once, into a folder that all of them see"}};
  return opened.agree(error);
}

Status requireSameNumbers(Opened &opened, uint64_t numbers) {
  return opened.ranks->ranks() == 1 ? Status()
                                    : requireSame(opened, "have the same learning rate and other numbers",
                                                  numbers, "they need the same options");
}

Status requireOneRun(Opened &opened, const CheckpointFacts &own, uint64_t numbers) {
  if (opened.ranks->ranks() == 1)
    return {};
  Collectives::Doing doing(*opened.ranks, ACCUM_JOINS, 0); // whichever step each of them is in
  RunningHash samples;
  auto add = [&](auto... values) { (samples.add(&values, sizeof values), ...); };
  samples.add(own.data.data(), own.data.size());
  add(own.samples);
  for (const RunOption &row : runOptions())
    if (row.recorded) {
      std::string value = valueText(row, own.options);
      samples.add(value.data(), value.size());
    }
  for (const BatchChange &change : own.batches)
    add(change.step, change.batch);
  Status status = requireSame(opened, "begin at the same step", own.step, "--resume takes one checkpoint");
  if (status)
    status = requireSame(opened, "train on the same samples in the same order", samples.value(),
                         "they need the same files, and one --seed");
  return status ? requireSameNumbers(opened, numbers) : status;
}

Status requireSameSamples(Opened &opened, const Dataset &samples, uint64_t seed) {
  RunningHash facts;
  std::string identity = samples.identity();
  uint64_t contents = identity.empty() ? samples.contents() : 0;
  facts.add(identity.data(), identity.size());
  for (uint64_t number : {contents, seed})
    facts.add(&number, sizeof number);
  return requireSame(opened, "verify over the same samples", facts.value(),
                     "each is given all of them, and one seed");
}

} // namespace accum::runtime
