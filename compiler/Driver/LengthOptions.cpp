// SPDX-License-Identifier: Apache-2.0
// `--dim` and what belongs to it.
#include "compiler/Driver/LengthOptions.h"
#include "compiler/Driver/Compilation.h"
#include "compiler/Driver/Explore.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "runtime/artifact/LengthJson.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace accum::driver {

namespace {

/// `16,32,64` as numbers; nothing where that is none.
std::optional<std::vector<int64_t>> sizesOf(const std::string &text) {
  std::vector<int64_t> sizes;
  for (size_t at = 0; at <= text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    std::string word = text.substr(at, comma - at);
    if (!planner::countComplaint(word).empty())
      return std::nullopt;
    sizes.push_back(std::stoll(word));
    at = comma + 1;
  }
  return sizes;
}

/// A dimension that several sizes are compiled of.
std::string addLengths(LengthOptions &lengths, const std::string &name, std::vector<int64_t> sizes) {
  for (size_t i = 1; i < sizes.size(); ++i)
    if (sizes[i] <= sizes[i - 1])
      return fmt::format("--dim {}: sizes ascend, {} follows {} [usage]", name, sizes[i], sizes[i - 1]);
  if (sizes.size() > size_t(runtime::kMostLengths))
    return fmt::format("--dim {}: has {} sizes, at most {} [usage]", name, sizes.size(),
                       runtime::kMostLengths);
  if (lengths.any() && lengths.sizes.size() != sizes.size())
    return fmt::format("--dim {}: has {} sizes where {} has {}: they are taken in pairs [usage]", name,
                       sizes.size(), lengths.dims.front(), lengths.sizes.size());
  lengths.dims.push_back(name);
  lengths.sizes.resize(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i)
    lengths.sizes[i].push_back(sizes[i]);
  return {};
}

/// `NAME=SIZE`, `NAME=16,32` and `NAME=auto:LONGEST`.
std::string completeDim(Options &options, const std::string &dim) {
  size_t equals = dim.find('=');
  std::string name = dim.substr(0, equals), text = equals == std::string::npos ? "" : dim.substr(equals + 1);
  bool isAuto = text.starts_with("auto:");
  auto sizes = sizesOf(isAuto ? text.substr(5) : text);
  if (equals == 0 || !sizes || (isAuto && sizes->size() != 1))
    return fmt::format(
        "--dim {}: expected NAME=SIZE with a positive size, NAME=16,32 with ascending ones, or "
        "NAME=auto:LONGEST [usage]",
        dim);
  bool isLength = std::ranges::count(options.lengths.dims, name) > 0;
  auto known = std::ranges::find(options.dims, name, &std::pair<std::string, int64_t>::first);
  bool isSame = known != options.dims.end() && sizes->size() == 1 && known->second == sizes->front();
  if (isLength || (known != options.dims.end() && (isAuto || !isSame)))
    return fmt::format("--dim {}: is given two sizes, {} and {} [usage]", name,
                       isLength ? "several" : std::to_string(known->second), text);
  if (isAuto) {
    options.lengths.longest.push_back(sizes->front());
    return addLengths(options.lengths, name, *sizes);
  }
  if (sizes->size() > 1)
    return addLengths(options.lengths, name, *sizes);
  options.dims.emplace_back(name, sizes->front());
  return {};
}

} // namespace

std::string readDims(Options &options) {
  for (const std::string &dim : options.dimTexts)
    if (std::string message = completeDim(options, dim); !message.empty())
      return message;
  LengthOptions &lengths = options.lengths;
  lengths.file = options.lengthsFile;
  lengths.count = options.lengthsCount.value_or(lengths.count);
  if (!lengths.longest.empty() && lengths.longest.size() != lengths.dims.size())
    return "--dim NAME=auto:LONGEST: chooses the sizes of all dimensions that have several [usage]";
  if (lengths.longest.empty() && options.lengthsCount)
    return "--lengths-count is for --dim NAME=auto:LONGEST [usage]";
  if (!lengths.file.empty() && lengths.dims.size() != 1)
    return fmt::format("--lengths is for one --dim of several sizes, {} are given [usage]",
                       lengths.dims.size());
  if (lengths.count > runtime::kMostLengths)
    return fmt::format("--lengths-count {}: at most {} [usage]", lengths.count, runtime::kMostLengths);
  return {};
}

std::string misfitOfLengths(const Options &options) {
  const std::string &dim = options.lengths.dims.front();
  if (isDump(options.model))
    return fmt::format("--dim {}: a dump has one size: leave --dim out [usage]", dim);
  if (options.onCrossBatch == "disable")
    return fmt::format("--dim {}: a whole batch at once has one size: --on-cross-batch split, or --dim "
                       "{}=SIZE [usage]",
                       dim, dim);
  if (options.outputsAsked() != "auto" && options.outputsAsked() != "none")
    return fmt::format(
        "--dim {}: --outputs {}: padding is proved not to reach the loss, and nothing of outputs: "
        "leave --outputs out, or --dim {}=SIZE [not-built]",
        dim, options.outputsAsked(), dim);
  if (exploredRange(options.microBatchText))
    return fmt::format("--dim {}: --micro-batch explore times one size: --dim {}=SIZE [usage]", dim, dim);
  if (!options.planFile.empty())
    return fmt::format("--dim {}: --plan is of one size: --dim {}=SIZE [usage]", dim, dim);
  if (options.accumulationSteps)
    return fmt::format("--dim {}: each size has its own micro-steps: leave --accumulation-steps out [usage]",
                       dim);
  if (!options.toPhase.empty())
    return fmt::format("--to {}: prints one size: --dim {}=SIZE [usage]", options.toPhase, dim);
  if (options.lengths.dims.size() > 1 && !options.lengths.longest.empty())
    return fmt::format("--dim {}=auto: chooses the sizes of one dimension: name those of several in pairs, "
                       "--dim A=16,32 --dim B=8,16 [not-built]",
                       dim);
  return {};
}

} // namespace accum::driver
