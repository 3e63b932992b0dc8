// SPDX-License-Identifier: Apache-2.0
// accumc says what each kernel does, accum-run how long it took.
#include "tools/accum-calibrate/KernelProbe.h"
#include "tools/accum-calibrate/Children.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace accum::calibrate {

using Json = nlohmann::json;
using runtime::Error;
using runtime::Expected;
using runtime::Status;

namespace fs = std::filesystem;

namespace {

constexpr int kSteps = 6; // the first one warms up
// Shorter kernels are mostly their launch, which is no more than half of what they take in the model of
// times.
constexpr double kLeastSeconds = 5e-6;

Error unreadable(const std::string &what) {
  return {runtime::kExitInternal, what + " of the probe does not read", "child-failed"};
}

Json readJson(const std::string &path) {
  std::ifstream file(path);
  return Json::parse(file, nullptr, /*allow_exceptions=*/false);
}

Status compile(const Probe &probe, const std::string &profile, const std::string &folder) {
  ProbeModel model = makeProbe(probe.size, folder, "probe.weights");
  std::ofstream(folder + "/probe.mlir") << model.text;
  std::ofstream(folder + "/probe.weights").flush();
  std::ofstream(folder + "/so-far.json") << profile;
  std::error_code failed;
  fs::resize_file(folder + "/probe.weights", static_cast<uintmax_t>(model.weightBytes), failed);
  if (failed)
    return Error{runtime::kExitFile, folder + ": cannot be written: " + failed.message(), "output-failed"};
  std::string samples = std::to_string(probe.size.samples), batch = std::to_string(2 * probe.size.samples);
  return runChild({besideThis("accumc"), folder + "/probe.mlir", "--batch", batch, "--micro-batch", samples,
                   "--recompute", "none", "--target", folder + "/so-far.json", "--json", "-o",
                   folder + "/probe.accum"},
                  folder + "/plan.json", folder + "/errors");
}

Status run(const std::string &folder, int threads) {
  return runChild({besideThis("accum-run"), folder + "/probe.accum", "--synthetic", "--random-params", "1",
                   "--steps", std::to_string(kSteps), "--lr", "0", "--on-nan", "skip", "--progress", "none",
                   "--threads", std::to_string(threads), "--save", folder + "/trained.safetensors",
                   "--profile", folder + "/profile.json"},
                  folder + "/output", folder + "/errors");
}

/// Samples of all kernels of a profile, by name.
Expected<std::map<std::string, Sample>> kernelTimes(const std::string &path) {
  Json json = readJson(path);
  if (!json.is_object() || !json.contains("traceEvents"))
    return unreadable("the profile");
  std::map<std::string, std::vector<double>> times;
  for (const Json &event : json["traceEvents"])
    if (event["cat"] == "kernel" && event["args"]["step"] > 1)
      times[event["name"]].push_back(event["dur"].get<double>() * 1e-6);
  std::map<std::string, Sample> samples;
  for (auto &[name, seconds] : times)
    samples[name] = summarize(std::move(seconds));
  return samples;
}

/// All kernels in a few runs: medians of their shares of what the reference took before and after each.
Expected<std::map<std::string, Sample>> timeKernels(const std::string &folder, int threads,
                                                    const std::function<double()> &reference) {
  constexpr int kRuns = 3, kReferences = 5;
  std::map<std::string, std::vector<double>> shares;
  std::vector<double> references;
  auto look = [&] {
    double sum = 0;
    for (int again = 0; again < kReferences; ++again)
      sum += reference();
    references.push_back(sum / kReferences);
  };
  look();
  for (int turn = 0; turn < kRuns; ++turn) {
    if (Status status = run(folder, threads); !status)
      return status.error();
    auto times = kernelTimes(folder + "/profile.json");
    if (!times)
      return times.error();
    look();
    for (const auto &[name, sample] : *times)
      shares[name].push_back(2 * sample.median / (references[turn] + references[turn + 1]));
  }
  double speed = summarize(std::move(references)).median;
  std::map<std::string, Sample> samples;
  for (auto &[name, each] : shares) {
    Sample relative = summarize(std::move(each));
    relative.reference = 1;
    samples[name] = atSpeed(relative, speed);
  }
  return samples;
}

/// What a kernel does once, from the plan.
std::map<std::string, double> amountsOf(const Json &command) {
  std::map<std::string, double> amounts;
  bool updates = command["phase_kind"] == "update";
  amounts[updates ? "update_bytes" : "bytes"] = command["bytes"];
  if (command.contains("far_bytes"))
    amounts["far_bytes"] = command["far_bytes"];
  if (!updates && command.contains("work"))
    for (const auto &[operation, elements] : command["work"].items())
      amounts[operation] = elements;
  return amounts;
}

} // namespace

std::vector<Probe> makeProbes(bool coarse) {
  Probe small{"256",
              {.length = 64, .hidden = 256, .inner = 1024, .vocabulary = 2048, .heads = 4, .samples = 4}};
  if (coarse)
    return {small};
  Probe middle{"512",
               {.length = 128,
                .hidden = 512,
                .inner = 2048,
                .vocabulary = 8192,
                .heads = 8,
                .samples = 4,
                .hasBias = true}};
  Probe large{"768",
              {.length = 256, .hidden = 768, .inner = 3072, .vocabulary = 16000, .heads = 12, .samples = 4}};
  Probe wide{"128",
             {.length = 64,
              .hidden = 128,
              .inner = 512,
              .vocabulary = 30000,
              .heads = 2,
              .samples = 4,
              .hasBias = true}};
  return {small, middle, large, wide};
}

Expected<std::vector<Observation>> observe(const Probe &probe, const std::string &profile, int threads,
                                           double launch, const std::function<double()> &reference,
                                           Results &results) {
  auto folder = TemporaryFolder::make();
  if (!folder)
    return folder.error();
  if (Status status = compile(probe, profile, folder->path()); !status)
    return status.error();
  Json plan = readJson(folder->path() + "/plan.json");
  if (!plan.is_object() || !plan.contains("search"))
    return unreadable("the plan");
  std::string prefix = "kernel " + probe.name + " ";
  if (!results.find(prefix)) {
    auto times = timeKernels(folder->path(), threads, reference);
    if (!times)
      return times.error();
    for (const auto &[name, sample] : *times)
      if (Status status = results.add(prefix + name, sample); !status)
        return status.error();
    if (Status status = results.add(prefix, {1, 1, 0, 1}); !status) // all of it is there
      return status.error();
  }
  std::vector<Observation> observations;
  for (const Json &command : plan["search"]["commands"]) {
    const Sample *sample = results.find(prefix + command["kernel"].get<std::string>());
    if (sample && !command.contains("call") && sample->median > kLeastSeconds)
      observations.push_back(
          {amountsOf(command), std::max(sample->median - launch, sample->median / 2), sample->reference});
  }
  return observations;
}

} // namespace accum::calibrate
