// SPDX-License-Identifier: Apache-2.0
// What a compilation says of itself.
#include "compiler/Driver/Summary.h"
#include "base/FormatBytes.h"
#include "llvm/ADT/StringExtras.h"
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace accum::driver {

static std::string withCommas(int64_t count) {
  std::string digits = std::to_string(count);
  for (auto i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

std::string humanCount(int64_t count) {
  if (count >= 1'000'000'000)
    return fmt::format("{:.2f}B", static_cast<double>(count) / 1e9);
  return count >= 1'000'000 ? fmt::format("{:.1f}M", static_cast<double>(count) / 1e6) : withCommas(count);
}

/// What the loss is divided by: the reason why the sum of micro-steps is the big batch's step.
static std::string describeNormalisers(const Verdict &verdict) {
  if (verdict.normalisers.empty())
    return "a sum over samples";
  bool batchOnly = true;
  for (const Normaliser &normaliser : verdict.normalisers)
    batchOnly = batchOnly && normaliser.isBatchSize;
  return batchOnly ? "normalised by the global batch" : "normalised by the global target count";
}

/// `pytorch 2.9, `; nothing where the file does not say who wrote it.
static std::string producerOf(const import::ImportReport &report) {
  return report.producer.empty() ? "" : report.producer + ", ";
}

/// `encoder 12.3M, decoder 14.1M`, or `none`.
static std::string countsOf(const std::vector<import::ModuleCount> &modules,
                            int64_t import::ModuleCount::*count) {
  constexpr size_t shown = 8;
  std::vector<std::string> parts;
  size_t others = 0;
  for (const import::ModuleCount &module : modules) {
    if (module.*count == 0)
      continue;
    if (parts.size() == shown)
      ++others;
    else
      parts.push_back(fmt::format("{} {}", module.name.empty() ? "without a name" : module.name,
                                  humanCount(module.*count)));
  }
  if (others > 0)
    parts.push_back(fmt::format("{} more", others));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

static std::string describeTrained(const import::ImportReport &report) {
  // No export keeps what a model froze.
  std::string_view hint =
      report.isFreezingAsked ? "" : " (requires_grad=False leaves no trace in a file: --freeze)";
  return fmt::format("trained  {}; frozen: {}{}\n", countsOf(report.modules, &import::ModuleCount::trained),
                     countsOf(report.modules, &import::ModuleCount::frozen), hint);
}

/// What enters where samples meet.
static std::string describeMeeting(const import::ImportReport &report) {
  size_t shown = std::min<size_t>(report.entries.size(), 4);
  std::string text =
      fmt::format("`{}`", fmt::join(report.entries.begin(), report.entries.begin() + shown, "`, `"));
  return shown < report.entries.size() ? fmt::format("{} and {} more", text, report.entries.size() - shown)
                                       : text;
}

std::string describeModel(const Options &options, const import::ImportReport &report,
                          const Verdict &verdict) {
  std::string name = std::filesystem::path(options.model).filename().string();
  std::string text =
      fmt::format("model    {} ({}opset {}); {} tensor{}, {} trained; {} frozen", name, producerOf(report),
                  report.opset, report.tensorsTrained, report.tensorsTrained == 1 ? "" : "s",
                  humanCount(report.elementsTrained), humanCount(report.elementsFrozen));
  for (const std::string &tie : report.ties)
    text += fmt::format("; {} (tied)", tie);
  text += "\n";
  if (!report.hasDropout)
    text += "         no dropout in this file: exported in eval mode\n";
  text += describeTrained(report);
  if (report.batchPresumed)
    text += fmt::format("dim      {}: one size, the batch; each leads inputs and is no other dimension "
                        "(--batch-dim NAME says otherwise)\n",
                        fmt::join(report.batchDims, " = "));
  for (const auto &[symbol, size] : report.dimsFromFile)
    text += fmt::format("dim      {} = {} (from the file)\n", symbol, size);
  text += fmt::format("loss     {}\n", report.loss);
  if (!report.otherLosses.empty()) {
    text += "         otherwise:";
    for (size_t i = 0; i < report.otherLosses.size(); ++i)
      text += (i == 0 ? " " : " | ") + report.otherLosses[i];
    text += "\n";
  }
  if (options.wholeBatch)
    return text + fmt::format(
                      "check    batch axis `{}`; samples are related to each other: the whole batch of {} at "
                      "once, no accumulation\n",
                      report.batchDim, options.batch);
  if (options.splitBatch)
    return text + fmt::format("check    batch axis `{}`; samples meet at {}: micro-batches up to there, the "
                              "rest on all {} at "
                              "once{}: exact for any micro-batch\n",
                              report.batchDim, describeMeeting(report), options.batch,
                              options.keepForward ? ", the forward pass of the first one kept" : "");
  return text +
         fmt::format("check    batch axis `{}`; every node is per sample; {}: exact for any micro-batch\n",
                     report.batchDim, describeNormalisers(verdict));
}

std::string presumedBatchNote(const import::ImportReport &report) {
  return fmt::format(
      "{} were taken for one size, the batch, since each leads inputs and is no other dimension; if {} "
      "is another size: --batch-dim {} --dim {}=SIZE",
      fmt::join(report.batchDims, ", "), report.batchDims[1], report.batchDims[0], report.batchDims[1]);
}

std::string describeTarget(const Options &options, const planner::Search &search) {
  std::string memory = options.memory ? "--memory" : "the default budget";
  int64_t bytes = search.memoryTotal > 0 ? search.memoryTotal : search.budget;
  std::string text = fmt::format("target   {} x {}, {} each ({}); {} rates; {}\n", search.devices,
                                 search.target, formatBytes(bytes), memory, search.basis, options.precision);
  text += fmt::format("batch    global {} sample{}", withCommas(search.batch), search.batch == 1 ? "" : "s");
  if (search.tokensPerSample > 1)
    text += fmt::format(" = {} tokens", withCommas(search.batch * search.tokensPerSample));
  return text + fmt::format(" per optimizer step; {} per device\n", withCommas(search.deviceBatch));
}

std::string pinnedChoice(const Options &options, const planner::Search &search) {
  const std::optional<planner::Plan> &plan = search.plan;
  std::string flags = fmt::format("--micro-batch {}", plan ? plan->cut.m : 0);
  if (plan && options.shard == "auto")
    flags += " --shard " + plan->shard;
  if (plan && options.offload == "auto")
    flags += " --offload " + plan->offload;
  return flags;
}

planner::report::PageFacts pageFacts(const Options &options, const import::ImportReport &report) {
  planner::report::PageFacts facts;
  facts.title = std::filesystem::path(options.model).filename().string();
  if (report.tensorsTrained > 0)
    facts.rows = {
        {"model", fmt::format("{}opset {}", producerOf(report), report.opset)},
        {"trained", fmt::format("{} tensor{}, {} parameters", report.tensorsTrained,
                                report.tensorsTrained == 1 ? "" : "s", humanCount(report.elementsTrained))},
        {"frozen", humanCount(report.elementsFrozen)},
        {"loss", report.loss},
        {"batch axis", report.batchDim}};
  facts.rows.emplace_back("optimizer", options.ema ? options.optimizer + ", and an EMA of the weights"
                                                   : options.optimizer);
  facts.rows.emplace_back("precision", options.precision);
  facts.rows.emplace_back("made by", "accumc " ACCUM_VERSION);
  for (const std::string &word : options.argv)
    facts.commandLine += (facts.commandLine.empty() ? "" : " ") + word;
  return facts;
}

nlohmann::ordered_json toJson(const Options &options, const import::ImportReport &report) {
  nlohmann::ordered_json json;
  json["model"] = options.model;
  json["producer"] = report.producer;
  json["opset"] = report.opset;
  json["trained"] = {{"tensors", report.tensorsTrained}, {"elements", report.elementsTrained}};
  json["frozen"] = {{"tensors", report.tensorsFrozen}, {"elements", report.elementsFrozen}};
  json["modules"] = nlohmann::ordered_json::array();
  for (const import::ModuleCount &module : report.modules)
    json["modules"].push_back(
        {{"name", module.name}, {"trained", module.trained}, {"frozen", module.frozen}});
  json["ties"] = report.ties;
  json["batch_dim"] = report.batchDim;
  json["batch_dims"] = report.batchDims;
  json["dims_from_file"] = report.dimsFromFile;
  json["loss"] = {
      {"kind", report.lossKind}, {"output", report.lossOutput}, {"alternatives", report.otherLosses}};
  json["notices"] = report.notices;
  return json;
}

nlohmann::ordered_json causesJson(const Verdict &verdict) {
  nlohmann::ordered_json causes = nlohmann::ordered_json::array();
  for (const Cause &cause : verdict.causes)
    causes.push_back({{"node", cause.node},
                      {"op", cause.opType},
                      {"sentence", cause.sentence},
                      {"slug", cause.slug},
                      {"notes", cause.notes}});
  return causes;
}

std::string jsonText(const nlohmann::ordered_json &json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

} // namespace accum::driver
