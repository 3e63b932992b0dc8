// SPDX-License-Identifier: Apache-2.0
// Rows of the model's outputs.
#include "runtime/session/Prediction.h"
#include "runtime/files/Convert.h"
#include <algorithm>
#include <cstring>

namespace accum::runtime {
namespace {

std::string namesOf(const Manifest &manifest) {
  std::string names;
  for (const OutputSpec &output : manifest.outputs)
    names += (names.empty() ? "`" : ", `") + output.name + "`";
  return names;
}

/// Why an output of the model is not predicted; nothing where nothing is known of it.
std::optional<std::string> reasonOf(const Manifest &manifest, const std::string &name) {
  for (const OutputLeftOut &output : manifest.outputsLeftOut)
    if (output.name == name)
      return "the output `" + name + "` " + output.why;
  return std::nullopt;
}

Error nothingToPredict(const Manifest &manifest) {
  Error error{kExitUsage, "the artifact has no outputs that a run predicts", "no-such-output", {}};
  for (const OutputLeftOut &output : manifest.outputsLeftOut)
    error.notes.push_back("the output `" + output.name + "` " + output.why);
  if (!manifest.lengths.empty())
    error.notes.emplace_back(
        "of several lengths padding is proved not to reach the loss, and nothing of outputs: "
        "compile one size, --dim NAME=SIZE");
  else
    error.notes.emplace_back(
        "compile with --outputs NAME for one that costs memory, which the plan then has");
  return error;
}

} // namespace

Expected<Prediction> Prediction::of(const Manifest &manifest, const std::vector<std::string> &names) {
  if (manifest.outputs.empty())
    return nothingToPredict(manifest);
  Prediction prediction;
  for (const OutputSpec &spec : manifest.outputs)
    prediction.columns.push_back({.spec = spec,
                                  .isWanted = names.empty() || std::ranges::count(names, spec.name) > 0,
                                  .rowBytes = uint64_t(spec.rowElements()) * bytesOf(spec.given())});
  for (const std::string &name : names)
    if (std::ranges::none_of(manifest.outputs, [&](const OutputSpec &spec) { return spec.name == name; }))
      return Error{
          kExitUsage,
          reasonOf(manifest, name).value_or("`" + name + "` is no output that the artifact predicts"),
          "no-such-output",
          {"it predicts " + namesOf(manifest)}};
  return prediction;
}

void Prediction::start(int64_t samples) {
  for (Column &column : columns) {
    if (!column.isWanted)
      continue;
    column.shape = column.spec.shape;
    column.shape.front() *= samples;
    column.words.assign((uint64_t(samples) * column.rowBytes + 7) / 8, 0);
  }
}

void Prediction::take(uint32_t number, const uint8_t *rows, const Division &division, const Share &share,
                      uint32_t k) {
  Column &column = columns[number];
  int64_t elements = column.spec.rowElements();
  uint64_t stride = uint64_t(elements) * bytesOf(column.spec.dtype);
  auto *to = reinterpret_cast<uint8_t *>(column.words.data());
  for (int64_t row = 0; row < share.valid(k); ++row) {
    auto position = uint64_t(division.positionOf(share.sampleOf(k, row)));
    convert(rows + uint64_t(row) * stride, column.spec.dtype, to + position * column.rowBytes,
            column.spec.given(), elements);
  }
}

void Prediction::keep(int64_t begin, int64_t end) {
  for (Column &column : columns) {
    if (!column.isWanted)
      continue;
    auto *bytes = reinterpret_cast<uint8_t *>(column.words.data());
    std::memmove(bytes, bytes + uint64_t(begin) * column.rowBytes, uint64_t(end - begin) * column.rowBytes);
    column.shape.front() = column.spec.shape.front() * (end - begin);
  }
}

const Prediction::Column *Prediction::find(const std::string &name) const {
  for (const Column &column : columns)
    if (column.isWanted && column.spec.name == name && !column.shape.empty())
      return &column;
  return nullptr;
}

} // namespace accum::runtime
