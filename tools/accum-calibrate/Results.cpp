// SPDX-License-Identifier: Apache-2.0
// JSON lines, flushed one by one.
#include "tools/accum-calibrate/Results.h"
#include "runtime/File.h"
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
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
  return Json{{"format", "accum-calibration"}, {"version", 1}, {"of", heading}}.dump();
}

std::string sampleLine(const std::string &key, const Sample &sample) {
  Json line = {{"key", key},
               {"min", sample.least},
               {"median", sample.median},
               {"spread", sample.spread},
               {"repeats", sample.repeats}};
  return line.dump() + "\n";
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
    if (!json.is_object() || !json.value("key", Json()).is_string() ||
        !json.value("median", Json()).is_number())
      continue;
    Sample sample{json.value("min", 0.0), json.value("median", 0.0), json.value("spread", 0.0),
                  json.value("repeats", 0)};
    if (sample.median >= 0) // 0: shorter than a clock tick
      samples[json["key"].get<std::string>()] = sample;
  }
  return samples;
}

} // namespace

Expected<Results> Results::open(const std::string &path, const std::string &heading) {
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
  std::FILE *file = std::fopen(path.c_str(), "ae");
  if (!file)
    return unwritable(path);
  Results results(path, file);
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

Status Results::add(const std::string &key, const Sample &sample) {
  samples[key] = sample;
  if (std::fputs(sampleLine(key, sample).c_str(), file) < 0 || std::fflush(file) != 0)
    return unwritable(path);
  return {};
}

void Results::remove() { unlink(path.c_str()); }

} // namespace accum::calibrate
