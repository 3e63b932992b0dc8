// SPDX-License-Identifier: Apache-2.0
// Matching arrays and tokens to inputs.
#include "runtime/data/Dataset.h"
#include "base/FormatBytes.h"
#include "runtime/files/Convert.h"
#include "runtime/system/Hash.h"
#include "runtime/system/Memory.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace accum::runtime {
namespace {

/// Beyond that memory that is not in the plan is worth a word.
constexpr uint64_t kMuch = 1 << 20;

std::string namesOf(const std::vector<std::vector<Array>> &arrays) {
  std::string names;
  for (const std::vector<Array> &shards : arrays)
    names += (names.empty() ? "`" : ", `") + shards.front().name + "`";
  return names.empty() ? "nothing" : names;
}

std::string noteMade(const InputSpec &spec) {
  bool isIota = spec.synthesize == Synthesize::Iota;
  const char *rule = isIota                                ? "0, 1, 2, ... in every sample"
                     : spec.synthesize == Synthesize::Ones ? "1 everywhere"
                                                           : "0 everywhere";
  return "`" + spec.name + "` is not in the data: " + rule;
}

Error otherCount(const Array &array, int64_t samples, int64_t expected, const std::string &other) {
  return badData(array.path + ": array `" + array.name + "` holds " + std::to_string(samples) +
                 " samples, expected " + std::to_string(expected) + " as in `" + other + "`");
}

} // namespace

Expected<Dataset> Dataset::fromArrays(const Manifest &manifest, std::vector<Array> arrays, bool truncates,
                                      bool predicts) {
  std::vector<Shards> single;
  for (Array &array : arrays)
    single.push_back({std::move(array)});
  return fromShards(manifest, std::move(single), truncates, predicts);
}

Expected<Dataset> Dataset::fromFiles(const Manifest &manifest, DataFiles files, const TokenOptions &options,
                                     bool truncates, bool predicts) {
  if (!files.tokens.empty() && truncates)
    return Error{kExitUsage, "--truncate: tokens are cut into samples of the largest size as it is", "usage"};
  if (!files.tokens.empty()) {
    auto windows = TokenWindows::make(manifest, std::move(files.tokens), options);
    return windows ? Expected<Dataset>(fromTokens(manifest, std::move(*windows))) : windows.error();
  }
  for (const auto &[name, value] : {std::pair{"--token-type", options.type},
                                    {"--document-separator", options.separator},
                                    {"--token-labels", options.labels}})
    if (!value.empty())
      return Error{kExitUsage, std::string(name) + " is about tokens, and the data holds arrays", "usage"};
  return fromShards(manifest, std::move(files.arrays), truncates, predicts);
}

Expected<Dataset> Dataset::fromShards(const Manifest &manifest, std::vector<Shards> arrays, bool truncates,
                                      bool predicts) {
  if (truncates && manifest.lengths.empty())
    return Error{kExitUsage,
                 "--truncate: the program has one length, and takes arrays of that alone",
                 "usage",
                 {"compile for several: --dim NAME=16,32,..."}};
  Dataset dataset;
  dataset.truncates = truncates;
  if (Status status = dataset.matchArrays(manifest, std::move(arrays), predicts); !status)
    return status.error();
  for (const Column &column : dataset.columns)
    for (const Array &shard : column.shards)
      if (Status status = checkValues(*column.spec, shard); !status)
        return status.error();
  if (Status status = predicts ? Status() : dataset.notePadding(manifest); !status)
    return status.error();
  return dataset;
}

Dataset Dataset::fromTokens(const Manifest &manifest, TokenWindows windows) {
  Dataset dataset;
  dataset.decisions = windows.notices();
  for (const InputSpec &spec : manifest.inputs) {
    if (spec.isRuntimeMade)
      continue;
    TokenWindows::Role role = windows.roleOf(spec);
    if (role == TokenWindows::Role::None && spec.synthesize != Synthesize::Position)
      dataset.decisions.push_back(noteMade(spec));
    dataset.columns.push_back({.spec = &spec, .role = role});
  }
  dataset.count = windows.samples();
  dataset.tokens = std::move(windows);
  dataset.takeLargest(manifest);
  dataset.makeRoom();
  return dataset;
}

/// Every token but the first is a target of next-token, whatever a mask says.
Status Dataset::notePadding(const Manifest &manifest) {
  for (const Column &column : columns) {
    if (column.spec->name != "attention_mask" || manifest.labels != "next-token")
      continue;
    for (const Array &shard : column.shards) {
      auto zero = findZero(shard);
      if (!zero)
        return zero.error();
      if (*zero < 0)
        continue;
      decisions.push_back(shard.path +
                          ": array `attention_mask` holds zeros, and next-token counts "
                          "the padding that they hide as targets: with --loss causal-lm labels of -100 leave "
                          "it out");
      break;
    }
  }
  return {};
}

/// For the largest sample, as its file has it or as the model does.
void Dataset::makeRoom() {
  uint64_t largest = 0;
  for (const Column &column : columns) {
    uint64_t element = bytesOf(column.spec->dtype);
    if (!column.shards.empty())
      element = std::max<uint64_t>(element, bytesOf(column.shards.front().dtype));
    auto elements = uint64_t(column.spec->slabElements());
    if (const auto &padded = column.spec->padded)
      elements = elements / uint64_t(column.spec->shape[size_t(padded->axis)]) * uint64_t(longestRow);
    largest = std::max(largest, elements * element);
  }
  slab.resize(largest);
}

Status Dataset::matchArrays(const Manifest &manifest, std::vector<Shards> arrays, bool predicts) {
  for (const InputSpec &spec : manifest.inputs) {
    if (spec.isRuntimeMade)
      continue;
    if (predicts && !manifest.isPredictedFrom(spec.name)) {
      std::erase_if(arrays, [&](const Shards &shards) { return shards.front().name == spec.name; });
      columns.push_back({.spec = &spec});
      continue;
    }
    if (Status status = matchInput(spec, arrays); !status)
      return status;
  }
  for (const Shards &shards : arrays)
    decisions.push_back(shards.front().path + ": array `" + shards.front().name +
                        "` is not an input of the model: ignored");
  bool found = std::any_of(columns.begin(), columns.end(),
                           [](const Column &column) { return !column.shards.empty(); });
  if (!found)
    return badData("the data holds no array of the model's inputs");
  if (Status status = findNeeds(manifest); !status)
    return status;
  makeRoom();
  return {};
}

/// Takes the input's array out of `arrays`.
Status Dataset::matchInput(const InputSpec &spec, std::vector<Shards> &arrays) {
  auto isIt = [&](const Shards &shards) { return shards.front().name == spec.name; };
  auto found = std::find_if(arrays.begin(), arrays.end(), isIt);
  Column column{.spec = &spec};
  if (spec.synthesize == Synthesize::Position) { // each step makes it
    columns.push_back(std::move(column));
    return {};
  }
  if (found == arrays.end() && spec.synthesize == Synthesize::None)
    return badData("no array named `" + spec.name + "` in the data, expected one of dtype " +
                   std::string(nameOf(spec.dtype)) + " (found " + namesOf(arrays) + ")");
  if (found == arrays.end()) {
    decisions.push_back(noteMade(spec));
    columns.push_back(std::move(column));
    return {};
  }
  column.shards = std::move(*found);
  arrays.erase(found);
  if (std::any_of(arrays.begin(), arrays.end(), isIt)) {
    Error error = badData("array `" + spec.name + "` is in the data twice");
    error.notes.emplace_back(
        "shards are given as a folder, or as a pattern in quotes: --data 'FOLDER/*.npz'");
    return error;
  }
  if (Status status = matchOffsets(arrays, column); !status)
    return status;
  if (Status status = countSamples(column); !status)
    return status;
  columns.push_back(std::move(column));
  return {};
}

/// Other types are taken where no value changes; of integers that are narrowed each is looked at.
Status Dataset::matchType(const InputSpec &spec, const Array &array) {
  if (array.dtype == spec.dtype)
    return {};
  bool widens = bytesOf(array.dtype) < bytesOf(spec.dtype) && canConvert(array.dtype, spec.dtype);
  std::string from(nameOf(array.dtype)), to(nameOf(spec.dtype));
  if (!widens && !areIntegers(array.dtype, spec.dtype)) {
    Error error = badData(array.path + ": array `" + array.name + "` has dtype " + from + ", expected " + to);
    error.notes.push_back("save it as " + to +
                          " (`array.astype(...)` in NumPy, `tensor.to(...)` in PyTorch)");
    return error;
  }
  decisions.push_back(array.path + ": array `" + array.name + "` is " + from +
                      (widens ? ", widened to " : ", narrowed to ") + to +
                      (widens ? "" : ", which holds all its values"));
  return {};
}

/// Of each shard; arrays of one file have the same.
Status Dataset::countSamples(Column &column) {
  const InputSpec &spec = *column.spec;
  auto known =
      std::find_if(columns.begin(), columns.end(), [](const Column &each) { return !each.shards.empty(); });
  const Column *before = known == columns.end() ? nullptr : &*known;
  if (Status status = matchType(spec, column.shards.front()); !status)
    return status;
  int64_t total = 0;
  uint64_t unpacked = 0;
  for (size_t i = 0; i < column.shards.size(); ++i) {
    const Array &array = column.shards[i];
    auto samples = column.offsets.empty() ? samplesOf(spec, array)
                                          : Expected<int64_t>(int64_t(column.offsets[i].size()) - 1);
    if (!samples)
      return samples.error();
    if (*samples == 0 && column.shards.size() > 1)
      return badData(array.path + ": array `" + array.name + "` holds no sample");
    bool isBeside = before && i < before->shards.size() && before->shards[i].path == array.path;
    if (isBeside && before->starts[i + 1] - before->starts[i] != *samples)
      return otherCount(array, *samples, before->starts[i + 1] - before->starts[i], before->spec->name);
    column.starts.push_back(total);
    total += *samples;
    unpacked += array.file ? 0 : array.bytes();
  }
  column.starts.push_back(total);
  const Array &first = column.shards.front();
  if (unpacked > kMuch)
    decisions.push_back(first.path + ": array `" + first.name + "` is unpacked into memory, " +
                        formatBytes(unpacked) +
                        " that no plan counts: .safetensors is read from the file, sample by sample");
  if (before && count != total)
    return otherCount(first, total, count, before->spec->name);
  count = total;
  return {};
}

Dataset Dataset::synthetic(const Manifest &manifest, int64_t samples, uint64_t seed) {
  Dataset dataset;
  dataset.seed = seed;
  dataset.count = samples;
  for (const InputSpec &spec : manifest.inputs)
    if (!spec.isRuntimeMade)
      dataset.columns.push_back({.spec = &spec, .random = spec.synthesize == Synthesize::None});
  dataset.takeLargest(manifest);
  dataset.makeRoom();
  return dataset;
}

std::string Dataset::identity() const {
  std::string text = tokens ? tokens->identity() : "";
  for (const Column &column : columns)
    for (const Array &shard : column.shards)
      if (shard.path != "memory")
        text += nameAndSize(shard);
  if (truncates)
    text += "truncated";
  return text.empty() ? "" : hashText(text);
}

uint64_t Dataset::contents() const {
  RunningHash all;
  for (const Column &column : columns)
    for (const Array &shard : column.shards) {
      all.add(shard.shape.data(), shard.shape.size() * sizeof shard.shape[0]);
      if (!shard.file)
        all.add(shard.data, shard.bytes());
    }
  for (const Column &column : columns)
    for (const std::vector<int64_t> &offsets : column.offsets)
      all.add(offsets.data(), offsets.size() * sizeof offsets[0]);
  return all.value();
}

Dataset Dataset::splitOff(int64_t samples) {
  Dataset rest = *this;
  count -= samples;
  rest.first += uint64_t(count);
  rest.count = samples;
  return rest;
}

Expected<std::optional<Dataset>> Dataset::splitOff(const std::string &text) {
  if (text.empty())
    return std::optional<Dataset>();
  double number = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, size_t(text.data() + text.size() - end));
  double asked = unit == "%" ? std::floor(double(count) * number / 100) : number;
  if (failure != std::errc() || (!unit.empty() && unit != "%") || !(asked >= 0) || asked != std::floor(asked))
    return Error{kExitUsage, "--val-split " + text + ": expected P% or a number of samples", "usage"};
  if (asked < 1 || asked >= double(count))
    return Error{kExitUsage,
                 "--val-split " + text + ": leaves no sample to " + (asked < 1 ? "evaluation" : "training") +
                     ", of " + std::to_string(count),
                 "usage"};
  return std::optional(splitOff(int64_t(asked)));
}

} // namespace accum::runtime
