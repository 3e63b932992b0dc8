// SPDX-License-Identifier: Apache-2.0
// What the manifest says of several lengths, as JSON.
#include "runtime/artifact/LengthJson.h"
#include "runtime/artifact/JsonFields.h"
#include <algorithm>
#include <stdexcept>

namespace accum::runtime {

using Json = nlohmann::ordered_json;

Json lengthsJson(const Manifest &manifest) {
  Json list = Json::array();
  for (const LengthSpec &length : manifest.lengths)
    list.push_back({{"sizes", length.sizes}, {"m", length.m}, {"seconds", length.seconds}});
  return {{"dims", manifest.lengthDims}, {"list", list}};
}

Json paddedJson(const PaddedAxis &padded) {
  return {{"axis", padded.axis},
          {"dim", padded.dim},
          {"padding", padded.padding},
          {"mask", padded.isMask},
          {"ones", padded.isOnes}};
}

void readLengths(const Json &json, Manifest &manifest) {
  manifest.lengthDims = json.at("dims").get<std::vector<std::string>>();
  for (const Json &entry : json.at("list")) {
    LengthSpec length;
    length.sizes = entry.at("sizes").get<std::vector<int64_t>>();
    length.m = readInteger<int64_t>(entry, "m");
    length.seconds = entry.at("seconds").get<double>();
    if (length.m < 1 || length.sizes.size() != manifest.lengthDims.size() ||
        std::ranges::any_of(length.sizes, [](int64_t size) { return size < 1; }))
      throw std::invalid_argument("a length has no micro-batch, or not a positive size for each dimension");
    manifest.lengths.push_back(std::move(length));
  }
}

PaddedAxis paddedFrom(const Json &entry) {
  return {readInteger<int64_t>(entry, "axis"), readInteger<int64_t>(entry, "dim"),
          entry.at("padding").get<double>(), entry.at("mask").get<bool>(), entry.at("ones").get<bool>()};
}

std::optional<std::string> findLengthContradiction(const Manifest &manifest) {
  auto lengths = int64_t(manifest.lengths.size());
  for (const PhaseSpec &phase : manifest.phases)
    if (phase.isLoop && phase.length >= std::max<int64_t>(lengths, 1))
      return "phase `" + phase.name + "` is of length " + std::to_string(phase.length) + " of " +
             std::to_string(lengths);
  for (int64_t i = 1; i < lengths; ++i)
    for (size_t d = 0; d < manifest.lengthDims.size(); ++d)
      if (manifest.lengths[size_t(i)].sizes[d] < manifest.lengths[size_t(i) - 1].sizes[d])
        return "its lengths do not ascend";
  if (lengths > 0 && manifest.lengths.back().m != manifest.m)
    return "its largest length has another micro-batch than the program";
  if (lengths > kMostLengths)
    return "it has " + std::to_string(lengths) + " lengths";
  for (const InputSpec &input : manifest.inputs) {
    if (!input.padded)
      continue;
    const PaddedAxis &padded = *input.padded;
    bool isKnown = lengths > 0 && padded.dim >= 0 && padded.dim < int64_t(manifest.lengthDims.size());
    bool isAxis = padded.axis > 0 && padded.axis < int64_t(input.shape.size());
    if (!isKnown || !isAxis || input.batchDim != 0 || input.shape[0] != 1 ||
        input.shape[size_t(padded.axis)] != manifest.lengths.back().sizes[size_t(padded.dim)])
      return "input `" + input.name + "` is padded on an axis that is no such dimension";
  }
  return std::nullopt;
}

} // namespace accum::runtime
