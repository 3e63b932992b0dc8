// SPDX-License-Identifier: Apache-2.0
// Finds a profile by name, and says what was meant where there is none.
#include "base/NearestNames.h"
#include "compiler/Planner/Time/BuiltinProfiles.h"
#include "compiler/Planner/Time/DeviceProfile.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace accum::planner {
namespace {

/// GPUs that people have and that neither CUDA 13 nor the kernels' baseline know.
constexpr std::pair<std::string_view, std::string_view> kTooOld[] = {
    {"p100", "sm_60"}, {"p40", "sm_61"},     {"v100", "sm_70"},    {"titan-v", "sm_70"},
    {"t4", "sm_75"},   {"rtx2080", "sm_75"}, {"gtx1080", "sm_61"}, {"rtx8000", "sm_75"},
};

/// What `name` may have been meant to be, nearest first: a part of a known name, or a letter or two off.
std::vector<std::string> nearestProfiles(const std::string &name) {
  std::vector<std::pair<size_t, std::string>> found;
  for (const std::string &known : profileNames()) {
    size_t distance = known.starts_with(name) || name.starts_with(known) ? 0 : editDistance(name, known);
    if (distance <= std::min<size_t>(2, name.size() / 3))
      found.emplace_back(distance, known);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (auto &[distance, known] : found)
    names.push_back(known);
  return names;
}

/// Of a profile; tables of all calls in all types are a hundredth of it.
constexpr uintmax_t kLargestFile = uintmax_t{1} << 28;

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Error unknownTarget(const std::string &name) {
  std::vector<std::string> notes;
  for (auto [old, architecture] : kTooOld)
    if (lowered(name) == old)
      return {fmt::format("target `{}` is {}, and kernels are compiled for sm_80 (A100) or later", name,
                          architecture),
              "unknown-target"};
  if (std::vector<std::string> nearest = nearestProfiles(lowered(name)); !nearest.empty())
    notes.push_back(fmt::format("nearest: {}", fmt::join(nearest, ", ")));
  notes.push_back(fmt::format("known: {}; or a profile FILE.json", fmt::join(profileNames(), ", ")));
  return {fmt::format("unknown target `{}`", name), "unknown-target", notes};
}

} // namespace

std::vector<std::string> profileNames() {
  std::vector<std::string> names;
  for (const BuiltinProfile &profile : builtinProfiles())
    names.emplace_back(profile.name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<DeviceProfile> loadProfile(const std::string &nameOrFile, const HostFacts &host) {
  for (const BuiltinProfile &profile : builtinProfiles())
    if (nameOrFile == profile.name)
      return parseProfile(profile.json, fmt::format("{}.json", nameOrFile), host);
  if (!nameOrFile.ends_with(".json"))
    return unknownTarget(nameOrFile);
  std::error_code failed;
  bool isFile = std::filesystem::is_regular_file(nameOrFile, failed);
  uintmax_t bytes = isFile ? std::filesystem::file_size(nameOrFile, failed) : 0;
  if (!failed && bytes > kLargestFile)
    return Error{fmt::format("{}: is larger than {} bytes", nameOrFile, kLargestFile), "file-unreadable"};
  std::ifstream file(nameOrFile, std::ios::binary);
  std::string text(bytes, '\0');
  if (!isFile || failed || !file.read(text.data(), static_cast<std::streamsize>(bytes)))
    return Error{fmt::format("{}: cannot be read", nameOrFile), "file-unreadable"};
  return parseProfile(text, nameOrFile, host);
}

std::string describeProfiles() {
  std::string text = fmt::format("{:<10} {:<8} {:>10} {:>10} {:>14}   {}\n", "name", "code", "GiB usable",
                                 "GB/s", "f32 GEMM TF/s", "figures");
  for (const std::string &name : profileNames()) {
    DeviceProfile profile = *loadProfile(name);
    std::string memory = profile.memoryUsable
                             ? fmt::format("{:.1f}", static_cast<double>(profile.memoryUsable) / (1 << 30))
                             : "free";
    text += fmt::format("{:<10} {:<8} {:>10} {:>10.0f} {:>14.1f}   {}\n", name,
                        profile.isCuda() ? profile.architecture : "x86-64", memory, profile.bandwidth / 1e9,
                        profile.rate(true, "f32").sustained / 1e12, profile.basis);
  }
  return text + "reference  x86-64: the host, in scalar code, as an oracle\n";
}

} // namespace accum::planner
