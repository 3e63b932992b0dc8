// SPDX-License-Identifier: Apache-2.0
// A line is one record, so that a log can be followed.
#include "tools/accum-run/records/StepLog.h"
#include "runtime/files/File.h"
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace accum::run {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json byName(const Outputs &outputs) {
  Json object = Json::object();
  for (const auto &[name, value] : outputs)
    object[name] = number(value);
  return object;
}

double numberIn(const Json &entry, const char *key, double otherwise = NAN) {
  auto found = entry.find(key);
  return found != entry.end() && found->is_number() ? found->get<double>() : otherwise;
}

int64_t countIn(const Json &entry, const char *key) {
  auto found = entry.find(key);
  return found != entry.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

std::optional<double> givenIn(const Json &entry, const char *key) {
  return entry.contains(key) ? std::optional(numberIn(entry, key)) : std::nullopt;
}

LogLine lineOf(const Json &entry, std::string text) {
  LogLine line{.text = std::move(text), .step = entry["step"].get<uint64_t>()};
  if (entry.contains("eval_loss")) {
    line.evaluation = {line.step,
                       numberIn(entry, "eval_loss"),
                       countIn(entry, "eval_samples"),
                       countIn(entry, "eval_targets"),
                       /*isBest=*/false,
                       givenIn(entry, "eval_accuracy"),
                       givenIn(entry, "eval_perplexity")};
    return line;
  }
  line.info.lr = numberIn(entry, "lr");
  line.info.arena_bytes = uint64_t(countIn(entry, "arena_bytes"));
  line.info.peak_bytes = uint64_t(countIn(entry, "peak_bytes"));
  line.result = {numberIn(entry, "loss"),
                 numberIn(entry, "gradient_norm"),
                 countIn(entry, "samples"),
                 countIn(entry, "targets"),
                 numberIn(entry, "ms", 0) / 1e3,
                 numberIn(entry, "data_wait_ms", 0) / 1e3,
                 uint32_t(countIn(entry, "micro_steps")),
                 0};
  if (entry.contains("skipped"))
    line.result.skipped = entry["skipped"] == "spike" ? ACCUM_SKIPPED_SPIKE : ACCUM_SKIPPED_NOT_FINITE;
  return line;
}

/// The file at once holds these lines and no others, whenever this process may be killed.
runtime::Status keepLines(const std::string &path, uint64_t upTo) {
  std::string kept;
  readLog(path, upTo, [&](const LogLine &line) { kept += line.text + "\n"; });
  auto writer = runtime::FileWriter::create(path);
  if (!writer)
    return writer.error();
  if (runtime::Status status = (*writer)->write(kept.data(), kept.size()); !status)
    return status;
  return (*writer)->commit(/*keepOld=*/false);
}

} // namespace

void readLog(const std::string &path, uint64_t upTo, const std::function<void(const LogLine &)> &take) {
  std::string text;
  for (std::ifstream log(path); std::getline(log, text);) {
    auto entry = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (entry.is_object() && entry.contains("step") && entry["step"].is_number_unsigned() &&
        entry["step"].get<uint64_t>() <= upTo)
      take(lineOf(entry, std::move(text)));
  }
}

runtime::Expected<std::unique_ptr<StepLog>> StepLog::open(const std::string &path, uint64_t from) {
  if (path != "-" && from > 0)
    if (runtime::Status status = keepLines(path, from); !status)
      return status.error();
  auto file = path == "-" ? RecordFile::ofStdout() : RecordFile::open(path, from > 0 ? 0 : O_TRUNC);
  if (!file)
    return runtime::Error{runtime::kExitFile, path + ": cannot be written: " + std::strerror(errno),
                          "unwritable"};
  return std::make_unique<StepLog>(std::move(file));
}

void StepLog::step(uint64_t step, const accum_info &info, const accum_step_result &result) {
  Json line = {{"step", step},
               {"loss", number(result.loss)},
               {"lr", info.lr},
               {"gradient_norm", number(result.gradient_norm)},
               {"samples", result.samples},
               {"targets", result.targets ? Json(result.targets) : Json()},
               {"samples_per_s", number(double(result.samples) / result.seconds)},
               {"tokens_per_s", result.targets ? number(double(result.targets) / result.seconds) : Json()},
               {"ms", result.seconds * 1e3},
               {"data_wait_ms", result.data_seconds * 1e3},
               {"micro_steps", result.micro_steps},
               {"arena_bytes", info.arena_bytes},
               {"peak_bytes", info.peak_bytes}};
  if (info.sent_bytes > 0)
    line["sent_bytes"] = info.sent_bytes;
  if (!latest.empty())
    line["outputs"] = byName(latest);
  if (result.skipped)
    line["skipped"] = result.skipped == ACCUM_SKIPPED_SPIKE ? Json("spike") : Json(true);
  write(step, line.dump());
}

void StepLog::evaluation(const Evaluation &found) {
  Json line = {{"step", found.step},
               {"eval_loss", number(found.loss)},
               {"eval_samples", found.samples},
               {"eval_targets", found.targets ? Json(found.targets) : Json()}};
  if (found.accuracy)
    line["eval_accuracy"] = number(*found.accuracy);
  if (found.perplexity)
    line["eval_perplexity"] = number(*found.perplexity);
  if (!found.outputs.empty())
    line["eval_outputs"] = byName(found.outputs);
  write(found.step, line.dump());
}

void StepLog::write(uint64_t step, const std::string &line) {
  if (!file || file->append(line + "\n"))
    return;
  failed = errno == EPIPE ? 0 : runtime::kExitFile; // who follows a log may leave
  std::fprintf(stderr, "note: step %llu: --log cannot be written: %s; training goes on without it\n",
               static_cast<unsigned long long>(step), std::strerror(errno));
  file.reset();
}

} // namespace accum::run
