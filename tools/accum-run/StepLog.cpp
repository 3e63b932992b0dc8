// SPDX-License-Identifier: Apache-2.0
// Flushed after every line, so that a log can be followed.
#include "tools/accum-run/StepLog.h"
#include "runtime/files/File.h"
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace accum::run {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

/// The lines of a log up to a step; nothing where there is none.
std::string linesUpTo(const std::string &path, uint64_t step) {
  std::string kept, line;
  for (std::ifstream log(path); step > 0 && std::getline(log, line);) {
    auto entry = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (entry.is_object() && entry.contains("step") && entry["step"].is_number_unsigned() &&
        entry["step"].get<uint64_t>() <= step)
      kept += line + "\n";
  }
  return kept;
}

/// The file at once holds these lines and no others, whenever this process may be killed.
runtime::Status keepLines(const std::string &path, uint64_t upTo) {
  std::string kept = linesUpTo(path, upTo);
  auto writer = runtime::FileWriter::create(path);
  if (!writer)
    return writer.error();
  if (runtime::Status status = (*writer)->write(kept.data(), kept.size()); !status)
    return status;
  return (*writer)->commit(/*keepOld=*/false);
}

} // namespace

runtime::Expected<std::unique_ptr<StepLog>> StepLog::open(const std::string &path, uint64_t from) {
  if (path != "-" && from > 0)
    if (runtime::Status status = keepLines(path, from); !status)
      return status.error();
  std::FILE *file = path == "-" ? stdout : std::fopen(path.c_str(), from > 0 ? "ae" : "we");
  if (!file)
    return runtime::Error{runtime::kExitFile, path + ": cannot be written: " + std::strerror(errno),
                          "unwritable"};
  return std::make_unique<StepLog>(file);
}

StepLog::~StepLog() {
  if (file && file != stdout)
    std::fclose(file);
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
  write(found.step, line.dump());
}

void StepLog::write(uint64_t step, const std::string &line) {
  if (!file || (std::fprintf(file, "%s\n", line.c_str()) >= 0 && std::fflush(file) == 0))
    return;
  std::fprintf(stderr, "note: step %llu: --log cannot be written: %s; training goes on without it\n",
               static_cast<unsigned long long>(step), std::strerror(errno));
  if (file != stdout)
    std::fclose(file);
  file = nullptr;
}

} // namespace accum::run
