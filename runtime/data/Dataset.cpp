// SPDX-License-Identifier: Apache-2.0
// Matching arrays to inputs.
#include "runtime/data/Dataset.h"
#include "runtime/files/Convert.h"
#include "runtime/system/Memory.h"
#include <algorithm>

namespace accum::runtime {
namespace {

/// Beyond that memory that is not in the plan is worth a word.
constexpr uint64_t kMuch = 1 << 20;

Error badData(const std::string &message) { return {kExitFile, message, "bad-data"}; }

std::string namesOf(const std::vector<Array> &arrays) {
  std::string names;
  for (const Array &array : arrays)
    names += (names.empty() ? "`" : ", `") + array.name + "`";
  return names.empty() ? "nothing" : names;
}

const char *describeRule(const InputSpec &spec) {
  switch (spec.synthesize) {
  case Synthesize::Ones:
    return "1";
  case Synthesize::Zeros:
    return "0";
  default:
    return "0, 1, 2, ...";
  }
}

} // namespace

Expected<Dataset> Dataset::fromArrays(const Manifest &manifest, std::vector<Array> arrays) {
  Dataset dataset;
  if (Status status = dataset.matchArrays(manifest, std::move(arrays)); !status)
    return status.error();
  for (const Column &column : dataset.columns)
    if (column.array)
      if (Status status = checkValues(*column.spec, *column.array); !status)
        return status.error();
  dataset.notePadding(manifest);
  dataset.release();
  return dataset;
}

/// Every token but the first is a target of next-token, whatever a mask says.
void Dataset::notePadding(const Manifest &manifest) {
  for (const Column &column : columns) {
    bool isMask = column.array && column.spec->name == "attention_mask" && manifest.labels == "next-token";
    if (isMask && findZero(*column.array) >= 0)
      decisions.push_back(column.array->path +
                          ": array `attention_mask` holds zeros, and next-token counts "
                          "the padding that they hide as targets: with --loss causal-lm labels of -100 leave "
                          "it out");
  }
}

Status Dataset::matchArrays(const Manifest &manifest, std::vector<Array> arrays) {
  uint64_t largest = 0;
  for (const InputSpec &spec : manifest.inputs) {
    if (spec.isRuntimeMade())
      continue;
    if (Status status = matchInput(spec, arrays); !status)
      return status;
    const std::optional<Array> &array = columns.back().array;
    uint64_t element = std::max(bytesOf(spec.dtype), array ? bytesOf(array->dtype) : 0);
    largest = std::max(largest, uint64_t(spec.slabElements()) * element);
  }
  for (const Array &array : arrays)
    decisions.push_back(array.path + ": array `" + array.name + "` is not an input of the model: ignored");
  bool found = std::any_of(columns.begin(), columns.end(), [](const Column &column) { return column.array; });
  if (!found)
    return badData("the data holds no array of the model's inputs");
  slab.resize(largest);
  return {};
}

/// Takes the input's array out of `arrays`.
Status Dataset::matchInput(const InputSpec &spec, std::vector<Array> &arrays) {
  auto isIt = [&](const Array &array) { return array.name == spec.name; };
  auto found = std::find_if(arrays.begin(), arrays.end(), isIt);
  Column column{&spec, {}, false};
  if (found == arrays.end() && spec.synthesize == Synthesize::None)
    return badData("no array named `" + spec.name + "` in the data, expected one of dtype " +
                   std::string(nameOf(spec.dtype)) + " (found " + namesOf(arrays) + ")");
  if (found == arrays.end()) {
    decisions.push_back("`" + spec.name + "` is not in the data: " + describeRule(spec) + " everywhere");
    if (spec.synthesize == Synthesize::Iota)
      decisions.back() = "`" + spec.name + "` is not in the data: 0, 1, 2, ... in every sample";
    columns.push_back(std::move(column));
    return {};
  }
  column.array = std::move(*found);
  arrays.erase(found);
  if (std::any_of(arrays.begin(), arrays.end(), isIt))
    return badData("array `" + spec.name + "` is in the data twice");
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

Status Dataset::countSamples(const Column &column) {
  const InputSpec &spec = *column.spec;
  const Array &array = *column.array;
  if (Status status = matchType(spec, array); !status)
    return status;
  if (!array.file && array.bytes() > kMuch)
    decisions.push_back(array.path + ": array `" + array.name + "` is unpacked into memory, " +
                        formatBytes(array.bytes()) +
                        " that no plan counts: .safetensors is read from the file, sample by sample");
  auto samples = samplesOf(spec, array);
  if (!samples)
    return samples.error();
  bool isFirst =
      std::none_of(columns.begin(), columns.end(), [](const Column &known) { return known.array; });
  if (!isFirst && count != *samples)
    return badData(array.path + ": array `" + array.name + "` holds " + std::to_string(*samples) +
                   " samples, expected " + std::to_string(count) + " as in `" + columns.front().spec->name +
                   "`");
  count = *samples;
  return {};
}

Dataset Dataset::synthetic(const Manifest &manifest, int64_t samples, uint64_t seed) {
  Dataset dataset;
  dataset.seed = seed;
  dataset.count = samples;
  uint64_t largest = 0;
  for (const InputSpec &spec : manifest.inputs) {
    if (spec.isRuntimeMade())
      continue;
    dataset.columns.push_back({&spec, {}, spec.synthesize == Synthesize::None});
    largest = std::max(largest, spec.slabBytes());
  }
  dataset.slab.resize(largest);
  return dataset;
}

void Dataset::release() const {
  for (const Column &column : columns)
    if (column.array && column.array->file)
      column.array->file->release();
}

} // namespace accum::runtime
