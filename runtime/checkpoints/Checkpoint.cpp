// SPDX-License-Identifier: Apache-2.0
// A folder becomes visible by its rename; what a killed run left is removed by the next one.
#include "runtime/checkpoints/Checkpoint.h"
#include "runtime/files/File.h"
#include "runtime/system/Hash.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <sys/file.h>
#include <unistd.h>

namespace accum::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char *kPrefix = "step-", *kWriting = ".writing-step-", *kReplaced = ".replaced-step-";
constexpr const char *kFacts = "checkpoint.json", *kTensors = "state.safetensors";
/// Tenths of a second: a run that was killed just now may still be on its way out.
constexpr int kLockTurns = 30;
constexpr uint64_t kMostFacts = 64 << 20;     ///< bytes; a part of a file takes forty
constexpr const char *kChecksum = "checksum"; ///< in checkpoint.json, of the rest of it
constexpr int kPartsVersion = 2;              ///< of those whose tensors have a checksum in parts

Error unwritable(const std::string &path, const std::string &why) {
  return {kExitFile, path + ": cannot be written: " + why, "unwritable"};
}

/// Names in a folder reach the disk when the folder does.
Status syncFolder(const std::string &path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool good = descriptor >= 0 && fsync(descriptor) == 0;
  int code = errno;
  if (descriptor >= 0)
    close(descriptor);
  return good ? Status() : unwritable(path, std::strerror(code));
}

std::optional<uint64_t> stepIn(const std::string &name) {
  uint64_t step = 0;
  const char *begin = name.c_str() + std::strlen(kPrefix), *last = name.c_str() + name.size();
  if (!name.starts_with(kPrefix) || begin == last)
    return std::nullopt;
  auto [end, code] = std::from_chars(begin, last, step);
  return code == std::errc() && end == last ? std::optional(step) : std::nullopt;
}

Json toJson(const std::vector<Group> &groups) {
  auto list = Json::array();
  for (const Group &group : groups)
    list.push_back({{"lr_scale", group.rate},
                    {"decay", group.decay},
                    {"tensors", group.tensors},
                    {"values", group.values},
                    {"members", group.members}});
  return list;
}

/// Counted as the document's numbers are that are no fractions: neither negative nor beyond all use.
uint64_t countIn(const Json &json) {
  constexpr uint64_t kMost = uint64_t(1) << 53;
  if (!json.is_number_unsigned() || json.get<uint64_t>() > kMost)
    throw std::out_of_range(json.dump() + " is no number of steps, samples or bytes");
  return json.get<uint64_t>();
}

std::vector<Group> groupsIn(const Json &json) {
  std::vector<Group> groups;
  if (json.contains("groups"))
    for (const auto &group : json.at("groups"))
      groups.push_back({group.at("lr_scale"), group.at("decay"), group.at("tensors"), group.at("values"),
                        group.at("members")});
  return groups;
}

Json toJson(const TensorsChecksum &sum, uint64_t bytes) {
  Json json = {{"bytes", bytes}, {"xxh3", sum.xxh3}};
  for (const TensorsChecksum::Part &part : sum.parts)
    json["parts"].push_back({part.bytes, part.xxh3});
  return json;
}

TensorsChecksum checksumIn(const Json &json) {
  TensorsChecksum sum{json.at("xxh3")};
  if (json.contains("parts"))
    for (const auto &part : json.at("parts"))
      sum.parts.push_back({countIn(part.at(0)), part.at(1)});
  return sum;
}

/// `drop_last` for --drop-last.
std::string keyOf(const RunOption &row) {
  std::string key = row.name;
  std::ranges::replace(key, '-', '_');
  return key;
}

void writeOptions(const RunOptions &options, Json &json) {
  for (const RunOption &row : runOptions())
    if (std::string text = row.recorded ? valueText(row, options) : ""; !text.empty())
      json[keyOf(row)] = row.has<std::string>() ? Json(text) : Json::parse(text);
}

/// Throws where one is missing that each run has, or is of another type.
RunOptions optionsIn(const Json &json) {
  RunOptions options;
  for (const RunOption &row : runOptions()) {
    bool isOptional = row.recorded && valueText(row, options).empty();
    if (!row.recorded || (isOptional && !json.contains(keyOf(row))))
      continue;
    const Json &value = json.at(keyOf(row));
    if (row.isWhole() && !value.is_number_unsigned())
      (void)countIn(value); // which says that it is none
    if (row.has<bool>() ? !value.is_boolean() : value.is_null())
      throw std::out_of_range(value.dump() + " is no value of " + row.flag());
    assign(row, {value.is_string() ? value.get<std::string>() : value.dump()}, options);
  }
  return options;
}

/// Of all that a run goes on from: the same in each run that comes there, by whichever command. Spaces may be
/// others.
std::string checksumOf(Json json) {
  json.erase(kChecksum);
  json.erase("command");
  return hashText(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Status writeFacts(const std::string &folder, const CheckpointFacts &facts, const TensorsChecksum &sum) {
  std::string tensors = folder + "/" + kTensors;
  Json json = {{"format", "accum-checkpoint"}, {"version", sum.parts.empty() ? 1 : kPartsVersion},
               {"step", facts.step},           {"updates", facts.updates},
               {"optimizer", facts.optimizer}, {"batch", facts.batch},
               {"samples", facts.samples}};
  writeOptions(facts.options, json);
  json.update({{"data", facts.data},
               {"spikes", {{"losses", facts.losses}, {"norms", facts.norms}}},
               {"groups", toJson(facts.groups)},
               {"tensors", toJson(sum, fs::file_size(tensors))},
               {"accum", ACCUM_VERSION}});
  for (const BatchChange &change : facts.batches)
    json["batches"].push_back({change.step, change.batch});
  if (facts.samples > 0) { // where the next step begins
    Window next = Epochs(facts.samples, facts.batches, facts.options.dropLast).at(facts.step);
    json["epoch"] = next.epoch;
    json["position"] = next.start;
  }
  json["command"] = facts.command;
  if (facts.best)
    json["best_eval_loss"] = *facts.best;
  if (facts.evaluated)
    json["evaluated"] = *facts.evaluated;
  json[kChecksum] = checksumOf(json);
  auto file = FileWriter::create(folder + "/" + kFacts);
  if (!file)
    return file.error();
  // The words of a command may be any bytes.
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (Status status = (*file)->write(text.data(), text.size()); !status)
    return status;
  return (*file)->commit(false);
}

/// Other folders may be called as checkpoints are.
bool isOurs(const fs::path &folder) {
  std::error_code ignored;
  return fs::exists(folder / kFacts, ignored) || fs::exists(folder / kTensors, ignored);
}

/// The name of one that is on its way out.
std::string replacedPath(const std::string &root, const std::string &path) {
  return root + "/" + kReplaced + fs::path(path).filename().string().substr(std::strlen(kPrefix));
}

/// What killed runs left, and checkpoints up to `newest` that are too many: these lose their name first, so
/// that half of one is removed by the next run. Who cannot remove them loses nothing. One beyond `newest` was
/// damaged, or is another run's: it takes no place of ours.
void removeOld(const std::string &root, uint64_t newest, uint64_t keep) {
  std::error_code ignored;
  for (const fs::directory_entry &entry : fs::directory_iterator(root, ignored)) {
    std::string name = entry.path().filename();
    if (name.starts_with(kWriting) || name.starts_with(kReplaced))
      fs::remove_all(entry.path(), ignored);
  }
  std::vector<uint64_t> steps = listCheckpoints(root);
  std::erase_if(steps, [&](uint64_t step) { return step > newest; });
  for (size_t at = 0; keep > 0 && at + keep < steps.size(); ++at) {
    std::string path = checkpointPath(root, steps[at]), replaced = replacedPath(root, path);
    fs::rename(path, replaced, ignored);
    fs::remove_all(replaced, ignored);
  }
}

/// Puts a written folder at its place.
Status publish(const std::string &root, const std::string &written, const std::string &path) {
  std::error_code code;
  std::string replaced = replacedPath(root, path);
  if (fs::exists(path, code) && !isOurs(path))
    return unwritable(path, "something else has that name");
  if (fs::exists(path, code)) // an earlier run got further than the one that was resumed
    fs::rename(path, replaced, code);
  if (!code)
    fs::rename(written, path, code);
  return code ? unwritable(path, code.message()) : syncFolder(root);
}

/// Of one that knows none: the one batch of all its steps.
std::vector<BatchChange> readBatches(const Json &json) {
  if (!json.contains("batches"))
    return {{0, int64_t(countIn(json.at("batch")))}};
  std::vector<BatchChange> batches;
  for (const Json &change : json["batches"])
    batches.push_back({countIn(change.at(0)), int64_t(countIn(change.at(1)))});
  if (std::ranges::any_of(batches, [](const BatchChange &change) { return change.batch == 0; }))
    throw std::out_of_range("a batch of 0 samples");
  return batches;
}

bool isKnown(const Json &version) { return version == 1 || version == kPartsVersion; }

/// Whether a file has the checksum, or all of its parts have theirs.
Expected<bool> isAsWritten(const std::string &path, const TensorsChecksum &sum) {
  std::vector<uint64_t> sizes;
  for (const TensorsChecksum::Part &part : sum.parts)
    sizes.push_back(part.bytes);
  auto found = hashFile(path, sizes);
  if (!found)
    return found.error();
  if (sum.parts.empty())
    return found->back() == sum.xxh3;
  bool isSame = found->size() == sizes.size() && TensorsChecksum::of(sum.parts).xxh3 == sum.xxh3;
  for (size_t i = 0; isSame && i < sizes.size(); ++i)
    isSame = (*found)[i] == sum.parts[i].xxh3;
  return isSame;
}

Error damaged(const std::string &path, const std::string &what) {
  return {kExitFile, path + ": " + what, "damaged-checkpoint", {"--resume auto takes the newest whole one"}};
}

/// What is no whole document of a version that is known.
std::optional<Error> otherFormat(const std::string &file, const Json &json) {
  if (json.is_discarded() || json.value("format", "") != "accum-checkpoint")
    return damaged(file, "is no checkpoint");
  if (!isKnown(json.at("version")))
    return damaged(file,
                   fmt::format("is a checkpoint of version {}, by accum {}, which this version does not read",
                               json.at("version").dump(), json.value("accum", "unknown")));
  if (json.contains(kChecksum) && json.at(kChecksum) != checksumOf(json))
    return damaged(file, "is not what was written: its checksum differs");
  return std::nullopt;
}

/// Without what it says of the tensors. Throws where something is missing, or no such number.
CheckpointFacts factsIn(const Json &json) {
  CheckpointFacts facts = {
      countIn(json.at("step")),           countIn(json.at("updates")),          json.at("optimizer"),
      int64_t(countIn(json.at("batch"))), int64_t(countIn(json.at("samples"))), optionsIn(json),
      json.at("spikes").at("losses"),     json.at("spikes").at("norms"),        readBatches(json)};
  if (facts.updates > facts.step)
    throw std::out_of_range(fmt::format("{} updates in {} steps", facts.updates, facts.step));
  if (json.contains("best_eval_loss"))
    facts.best = json["best_eval_loss"].get<double>();
  if (json.contains("evaluated"))
    facts.evaluated = countIn(json["evaluated"]);
  facts.groups = groupsIn(json);
  facts.data = json.value("data", "");
  facts.command = json.value("command", std::vector<std::string>());
  return facts;
}

} // namespace

std::string checkpointPath(const std::string &root, uint64_t step) {
  return fmt::format("{}/{}{:08}", root, kPrefix, step);
}

std::string checkpointTensors(const std::string &path) { return path + "/" + kTensors; }

std::vector<uint64_t> listCheckpoints(const std::string &root) {
  std::vector<uint64_t> steps;
  std::error_code ignored;
  for (const fs::directory_entry &entry : fs::directory_iterator(root, ignored)) {
    std::optional<uint64_t> step = stepIn(entry.path().filename());
    if (step && entry.path() == checkpointPath(root, *step) && isOurs(entry.path()))
      steps.push_back(*step);
  }
  std::ranges::sort(steps);
  return steps;
}

Status lockCheckpoints(const std::string &root) {
  std::error_code code;
  fs::create_directories(root, code);
  if (code)
    return unwritable(root, code.message());
  std::string path = root + "/.lock";
  int descriptor =
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); // open as long as the process lives
  if (descriptor < 0)
    return unwritable(path, std::strerror(errno));
  for (int turn = 0; turn < kLockTurns; ++turn, usleep(100'000))
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      return {};
  close(descriptor);
  return Error{kExitUsage,
               root + ": another run writes its checkpoints there",
               "checkpoint-in-use",
               {"give this run a folder of its own: --checkpoint DIR"}};
}

std::string writingPath(const std::string &root, uint64_t step, const std::string &token) {
  return fmt::format("{}/{}{:08}{}", root, kWriting, step, token);
}

Status beginCheckpoint(const std::string &written) {
  std::error_code code;
  fs::remove_all(written, code);
  fs::create_directories(written, code);
  return code ? unwritable(written, code.message()) : Status();
}

Status publishCheckpoint(const std::string &root, const std::string &written, const CheckpointFacts &facts,
                         const TensorsChecksum &tensors, uint64_t keep) {
  Status status = writeFacts(written, facts, tensors);
  if (status)
    status = syncFolder(written);
  if (status)
    status = publish(root, written, checkpointPath(root, facts.step));
  if (status)
    removeOld(root, facts.step, keep);
  return status;
}

void discardCheckpoint(const std::string &written) {
  std::error_code ignored;
  fs::remove_all(written, ignored);
}

TensorsChecksum TensorsChecksum::of(std::vector<Part> parts) {
  std::string all;
  for (const Part &part : parts)
    all += part.xxh3;
  return {hashText(all), std::move(parts)};
}

Expected<CheckpointFacts> readCheckpoint(const std::string &path) {
  std::string file = path + "/" + kFacts;
  auto text = readText(file, kMostFacts);
  if (!text)
    return text.error();
  auto json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  CheckpointFacts facts;
  TensorsChecksum expected;
  try {
    if (auto error = otherFormat(file, json))
      return *error;
    facts = factsIn(json);
    facts.bytes = countIn(json.at("tensors").at("bytes"));
    expected = checksumIn(json.at("tensors"));
  } catch (const std::exception &error) { // of the parser, or a number that is none
    return damaged(file, error.what());
  }
  std::error_code code;
  if (auto named = stepIn(fs::canonical(path, code).filename()); named && *named != facts.step)
    return damaged(file, fmt::format("is of step {}, as its folder is not", facts.step));
  std::string tensors = checkpointTensors(path);
  if (uint64_t found = fs::file_size(tensors, code); code || found != facts.bytes)
    return damaged(tensors, code ? code.message() : fmt::format("has {} bytes of {}", found, facts.bytes));
  auto isSame = isAsWritten(tensors, expected);
  if (!isSame)
    return isSame.error();
  if (!*isSame)
    return damaged(tensors, "is not what was written: its checksum differs");
  facts.xxh3 = expected.xxh3;
  return facts;
}

} // namespace accum::runtime
