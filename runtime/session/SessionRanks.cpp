// SPDX-License-Identifier: Apache-2.0
// A session's place among the ranks, and what they must have in common.
#include "runtime/session/Session.h"
#include "runtime/system/Hash.h"
#include "runtime/weights/Parameters.h"
#include <algorithm>

namespace accum::runtime {

Status Session::joinRanks(const accum_open_options &options) {
  const Manifest &manifest = opened.artifact.manifest;
  int64_t devices = options.devices > 0 ? options.devices : manifest.devices;
  if (manifest.wholeBatch && manifest.m == manifest.batch && devices > 1)
    return usage("the program relates the " + std::to_string(manifest.batch) +
                 " samples of its batch to each other: it runs on one device");
  if (auto other = otherDevices(manifest, devices))
    return *other;
  if (devices > 1) {
    auto job = joinJob(options.launcher ? options.launcher : "");
    if (!job)
      return job.error();
    opened.ranks = *job;
  }
  if (opened.ranks->ranks() != devices)
    return usage("the run is for " + std::to_string(devices) + " devices, but " +
                 std::to_string(opened.ranks->ranks()) + " processes were started");
  if (devices != manifest.devices)
    opened.note("compiled for " + std::to_string(manifest.devices) +
                (manifest.devices == 1 ? " device" : " devices") + ", runs on " + std::to_string(devices) +
                ": micro-steps of " + std::to_string(manifest.m) + " as before, another number of them");
  int64_t share = (manifest.batch + manifest.devices - 1) / manifest.devices;
  plannedMicroSteps = std::max<int64_t>(1, (share + manifest.m - 1) / manifest.m);
  chooseThreads(options.threads);
  return {};
}

/// Processes that compile for themselves may have drawn other weights, or planned for other memory.
Status Session::requireOneArtifact(bool readsWeights) {
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

Status Session::requireSame(const char *what, uint64_t value, const char *note) {
  auto isOne = opened.ranks->isSame(value);
  if (!isOne)
    return isOne.error();
  if (*isOne)
    return {};
  return opened.agree(
      Error{kExitUsage, std::string("the ranks of this run do not all ") + what, "other-run", {note}});
}

Status Session::requireSameNumbers(uint64_t step) {
  if (opened.ranks->ranks() == 1)
    return {};
  RunningHash numbers;
  numbers.add(hyper.presets, sizeof hyper.presets);
  for (double number : {hyper.lr, hyper.clipNorm, hyper.skipSpikes, schedule.factor(step)})
    numbers.add(&number, sizeof number);
  for (const auto *values : {&hyper.coefficients.rate, &hyper.coefficients.decay})
    numbers.add(values->data(), values->size() * sizeof(double));
  return requireSame("have the same learning rate and other numbers", numbers.value(),
                     "they need the same options");
}

/// Processes that are started by hand may be given other data, other numbers or another checkpoint. Each
/// would compute its own step; of a sharded state the parts would not belong together.
Status Session::requireOneRun(uint64_t step) {
  if (opened.ranks->ranks() == 1)
    return {};
  Collectives::Doing doing(*opened.ranks, ACCUM_JOINS, 0); // whichever step each of them is in
  const CheckpointFacts own = facts(step);
  RunningHash samples;
  auto add = [&](auto... values) { (samples.add(&values, sizeof values), ...); };
  samples.add(own.data.data(), own.data.size());
  add(own.samples, own.seed, own.shuffle, own.dropLast);
  for (const BatchChange &change : own.batches)
    add(change.step, change.batch);
  Status status = requireSame("begin at the same step", step, "--resume takes one checkpoint");
  if (status)
    status = requireSame("train on the same samples in the same order", samples.value(),
                         "they need the same files, and one --seed");
  return status ? requireSameNumbers(step) : status;
}

} // namespace accum::runtime
