// SPDX-License-Identifier: Apache-2.0
// Prints the manifest and the memory part of plan.json.
#include "runtime/session/Describe.h"
#include "base/FormatBytes.h"
#include "base/Printable.h"
#include "runtime/artifact/Optimizers.h"
#include "runtime/data/Staging.h"
#include "runtime/files/Array.h"
#include "runtime/files/File.h"
#include "runtime/host/Gemm.h"
#include "runtime/system/Memory.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace accum::runtime {
namespace {

std::string describeInput(const InputSpec &input) {
  std::string shape;
  for (size_t d = 0; d < input.shape.size(); ++d) {
    bool batch = input.batchDim == int64_t(d);
    std::string extent = std::to_string(input.shape[d]);
    if (batch)
      extent = input.shape[d] == 1 ? "N" : extent + "*N";
    shape += (d ? ", " : "") + extent;
  }
  std::string line = fmt::format("  {:<24} {:<5} [{}]", printable(input.name), nameOf(input.dtype), shape);
  if (input.bound)
    line += fmt::format("  0 <= value < {}", *input.bound);
  if (input.ignoreIndex)
    line += fmt::format(" or {}", *input.ignoreIndex);
  constexpr const char *kRules[] = {"", "  absent: 1", "  absent: 0", "  absent: 0, 1, 2, ..."};
  return line + kRules[static_cast<int>(input.synthesize)] + "\n";
}

std::string describeOutputs(const Manifest &manifest) {
  std::string text = manifest.outputs.empty() && manifest.outputsLeftOut.empty() ? "" : "outputs\n";
  for (const OutputSpec &output : manifest.outputs) {
    std::vector<int64_t> rest(output.shape.begin() + 1, output.shape.end());
    std::string shape = output.shape.front() == 1 ? "N" : std::to_string(output.shape.front()) + "*N";
    for (int64_t extent : rest)
      shape += ", " + std::to_string(extent);
    text += fmt::format("  {:<24} {:<5} [{}]\n", printable(output.name), nameOf(output.given()), shape);
  }
  for (const OutputLeftOut &output : manifest.outputsLeftOut)
    text += fmt::format("  {:<24} not predicted: it {}\n", printable(output.name), printable(output.why));
  return text;
}

std::string describeSignature(const Manifest &manifest) {
  std::string text = "inputs\n";
  for (const InputSpec &input : manifest.inputs)
    if (!input.isRuntimeMade)
      text += describeInput(input);
  text += describeOutputs(manifest);
  if (!manifest.labels.empty())
    text += "labels   " + printable(manifest.labels) + "\n";
  int64_t trained = 0, frozen = 0, tensors = 0, aliases = 0;
  for (const ParameterSpec &param : manifest.params) {
    (param.trained ? trained : frozen) += param.elements();
    tensors += param.trained;
    aliases += int64_t(param.aliases.size());
  }
  return text + fmt::format("trained  {} tensors, {} values; {} frozen values; {} tied names\n", tensors,
                            trained, frozen, aliases);
}

/// A size in a row; how many micro-steps there are of each depends on the batch.
std::string describeLengths(const Manifest &manifest) {
  std::string text;
  for (const LengthSpec &length : manifest.lengths) {
    std::string name =
        fmt::format("{} {}", fmt::join(manifest.lengthDims, " x "), fmt::join(length.sizes, "x"));
    text += fmt::format("  {:<24} micro-batch {}, {:.3f} ms predicted\n", printable(name), length.m,
                        1e3 * length.seconds);
  }
  return text;
}

std::string describeCut(const Manifest &manifest) {
  if (!manifest.lengths.empty())
    return describeLengths(manifest);
  int64_t device = manifest.deviceBatch(), steps = (device + manifest.m - 1) / manifest.m;
  int64_t last = device - (steps - 1) * manifest.m;
  std::string text =
      fmt::format("  {:<24} {}\n  {:<24} {}\n", "micro-batch", manifest.m, "accumulation steps", steps);
  return last == manifest.m ? text : text + fmt::format("  {:<24} {}\n", "rows of the last one", last);
}

std::string describePlan(const Manifest &manifest) {
  std::string text =
      fmt::format("plan\n  {:<24} {}\n  {:<24} {}\n  {:<24} {}\n", "global batch", manifest.batch, "devices",
                  manifest.devices, "per-device batch", manifest.deviceBatch());
  text += describeCut(manifest);
  if (manifest.wholeBatch)
    text += fmt::format("  {:<24} {}\n", "whole batches only", "samples are related to each other");
  return text + fmt::format("  {:<24} {}\n  {:<24} {}\n  {:<24} {}\n", "precision", manifest.precision,
                            "optimizer", manifest.optimizer, "commands", manifest.commands.size());
}

std::string memoryRow(const std::string &name, uint64_t bytes) {
  return fmt::format("  {:<24} {:>14} {:>12}\n", printable(name), bytes, formatBytes(bytes));
}

std::string describeMemory(const Artifact &artifact) {
  const Manifest &manifest = artifact.manifest;
  uint64_t parameters = 0, slots = 0, average = 0;
  for (const ParameterSpec &param : manifest.params) {
    parameters += param.bytes();
    for (const SlotSpec &slot : param.slots)
      (slot.name == kAverage ? average : slots) += param.bytes(slot);
  }
  uint64_t rest = manifest.stateBytes - parameters - slots - average - manifest.gradients.bytes;
  std::string text = fmt::format("memory   per device{:>24}\n", "bytes");
  text += memoryRow("parameters", parameters) + memoryRow("gradients", manifest.gradients.bytes);
  text += memoryRow("optimizer state", slots);
  if (average > 0)
    text += memoryRow("EMA of weights", average);
  text += memoryRow("scalars, alignment", rest);
  text += memoryRow("state", manifest.stateBytes);
  if (artifact.program) {
    text += memoryRow("scratch", artifact.program->scratch_bytes);
    text += memoryRow("arena", manifest.stateBytes + artifact.program->scratch_bytes);
  }
  return text + memoryRow("input staging", Staging::bytesFor(manifest));
}

/// The `memory` lines of plan.json; none where the file is of a version without them.
std::vector<std::pair<std::string, uint64_t>> linesOfPlan(const Artifact &artifact) {
  std::vector<std::pair<std::string, uint64_t>> lines;
  if (!artifact.has("plan.json"))
    return lines;
  auto content = readText(artifact.file("plan.json"), 256 << 20);
  nlohmann::json plan = content ? nlohmann::json::parse(*content, nullptr, false) : nlohmann::json();
  if (!plan.is_object() || !plan.contains("memory") || !plan["memory"].is_array())
    return lines;
  for (const auto &line : plan["memory"])
    if (line.is_object() && line.contains("name") && line["name"].is_string() && line.contains("bytes") &&
        line["bytes"].is_number_unsigned())
      lines.emplace_back(line["name"].get<std::string>(), line["bytes"].get<uint64_t>());
  return lines;
}

std::string describePlanFile(const Artifact &artifact) {
  auto lines = linesOfPlan(artifact);
  if (lines.empty())
    return "";
  std::string text = "predicted by the plan\n";
  for (const auto &[name, bytes] : lines)
    text += memoryRow(name, bytes);
  return text + memoryRow("total", predictedBytes(artifact));
}

std::string describeVersions(const Manifest &manifest) {
  std::string features, command;
  for (const std::string &feature : manifest.cpuFeatures)
    features += " " + printable(feature);
  for (const std::string &word : manifest.argv)
    command += " " + printable(word);
  return fmt::format("versions\n  {:<24} {}\n  {:<24} {}\n  {:<24} {}{}\n  {:<24}{}\n  {:<24} {}\n",
                     "made by", printable(manifest.producer), "manifest, interface",
                     fmt::format("format {}, abi {}", kManifestFormat, manifest.abi), "target",
                     printable(manifest.target), features.empty() ? "" : " with" + features, "command",
                     command, "model hash", printable(manifest.modelHash));
}

} // namespace

uint64_t predictedBytes(const Artifact &artifact) {
  uint64_t sum = 0;
  for (const auto &[name, bytes] : linesOfPlan(artifact))
    sum += bytes;
  return sum;
}

/// Only `time` is kept of the file: it is read in the middle of a run, whose memory is planned.
double predictedSeconds(const Artifact &artifact) {
  std::ifstream file(artifact.has("plan.json") ? artifact.file("plan.json") : "");
  auto isKept = [](int depth, nlohmann::json::parse_event_t event, nlohmann::json &parsed) {
    return depth != 1 || event != nlohmann::json::parse_event_t::key || parsed == "time";
  };
  nlohmann::json plan = nlohmann::json::parse(file, isKept, /*allow_exceptions=*/false);
  double sum = 0;
  if (plan.is_object() && plan.contains("time") && plan["time"].is_array())
    for (const auto &line : plan["time"])
      if (line.is_object() && line.contains("seconds") && line["seconds"].is_number())
        sum += line["seconds"].get<double>();
  return sum;
}

std::string describe(const Artifact &artifact) {
  const Manifest &manifest = artifact.manifest;
  return fmt::format("artifact {}\nmodel    {}\n", printable(artifact.folder), printable(manifest.model)) +
         describeSignature(manifest) + describePlan(manifest) + describeMemory(artifact) +
         describePlanFile(artifact) + describeVersions(manifest);
}

} // namespace accum::runtime
