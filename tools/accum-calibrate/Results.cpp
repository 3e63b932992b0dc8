// SPDX-License-Identifier: Apache-2.0
// JSON lines, flushed one by one.
#include "tools/accum-calibrate/Results.h"
#include "runtime/files/File.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace accum::calibrate {

using Json = nlohmann::ordered_json;
using runtime::Error;
using runtime::Expected;
using runtime::Status;

namespace {

Error unwritable(const std::string &path) {
  return {runtime::kExitFile, path + ": cannot be written: " + std::strerror(errno), "output-failed"};
}

std::string headingLine(const std::string &heading) {
  return Json{{"format", "accum-calibration"}, {"version", 2}, {"of", heading}}.dump();
}

std::string sampleLine(const std::string &key, const Sample &sample) {
  Json line = {{"key", key},
               {"min", sample.least},
               {"median", sample.median},
               {"spread", sample.spread},
               {"repeats", sample.repeats},
               {"reference", sample.reference}};
  return line.dump() + "\n";
}

/// The file may have been edited by hand.
bool isSample(const Json &json) {
  if (!json.is_object() || !json.contains("key") || !json["key"].is_string())
    return false;
  return std::ranges::all_of(std::array{"min", "median", "spread", "repeats", "reference"},
                             [&](const char *name) { return json.contains(name) && json[name].is_number(); });
}

/// The samples of a file under that heading.
std::map<std::string, Sample> read(const std::string &path, const std::string &heading) {
  std::map<std::string, Sample> samples;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != headingLine(heading))
    return samples;
  while (std::getline(file, line)) {
    Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!isSample(json))
      continue;
    Sample sample{json["min"], json["median"], json["spread"], json["repeats"], json["reference"]};
    if (sample.median >= 0 && sample.reference >= 0) // 0: shorter than a clock tick; nobody looked
      samples[json["key"].get<std::string>()] = sample;
  }
  return samples;
}

/// Until the file is closed nobody else measures into it: two at once would also be in each other's way.
Status lock(int file, const std::string &path) {
  if (flock(file, LOCK_EX | LOCK_NB) == 0)
    return {};
  if (errno != EWOULDBLOCK)
    return unwritable(path);
  return Error{runtime::kExitFile,
               path + " is in use: another accum-calibrate measures for the same profile",
               "in-use",
               {"only one calibration at a time says how fast a machine is"}};
}

struct CloseFile {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// To append to, and locked.
Expected<File> openLocked(const std::string &path) {
  File file(std::fopen(path.c_str(), "ae"));
  if (!file)
    return unwritable(path);
  if (Status status = lock(fileno(file.get()), path); !status)
    return status.error();
  return file;
}

} // namespace

Expected<Results> Results::open(const std::string &path, const std::string &heading) {
  auto before = openLocked(path);
  if (!before)
    return before.error();
  std::map<std::string, Sample> known = read(path, heading);
  std::string text = headingLine(heading) + "\n";
  for (const auto &[key, sample] : known)
    text += sampleLine(key, sample);
  // Through a file beside it: whoever is killed here still has the samples.
  auto writer = runtime::FileWriter::create(path);
  if (!writer)
    return writer.error();
  if (Status status = (*writer)->write(text.data(), text.size()); !status)
    return status.error();
  if (Status status = (*writer)->commit(/*keepOld=*/false); !status)
    return status.error();
  auto file = openLocked(path);
  if (!file)
    return file.error();
  Results results(path, file->release());
  results.before = known.size();
  results.samples = std::move(known);
  return results;
}

Results::Results(Results &&other) noexcept
    : path(std::move(other.path)), file(std::exchange(other.file, nullptr)),
      samples(std::move(other.samples)), before(other.before) {}

Results::~Results() {
  if (file)
    std::fclose(file);
}

const Sample *Results::find(const std::string &key) const {
  auto found = samples.find(key);
  return found == samples.end() ? nullptr : &found->second;
}

double Results::reference() const {
  std::vector<double> seconds;
  for (const auto &[key, sample] : samples)
    if (sample.reference > 0)
      seconds.push_back(sample.reference);
  return seconds.empty() ? 0 : summarize(std::move(seconds)).median;
}

Status Results::add(const std::string &key, const Sample &sample) {
  samples[key] = sample;
  if (std::fputs(sampleLine(key, sample).c_str(), file) < 0 || std::fflush(file) != 0)
    return unwritable(path);
  return {};
}

void Results::remove() { unlink(path.c_str()); }

} // namespace accum::calibrate
