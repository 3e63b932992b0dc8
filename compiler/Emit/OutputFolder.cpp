// SPDX-License-Identifier: Apache-2.0
// Whose folder it is, and the two renames.
#include "compiler/Emit/OutputFolder.h"
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

namespace fs = std::filesystem;

namespace accum::emit {

using runtime::Error;
using runtime::Expected;
using runtime::Status;

Error outputFailed(const fs::path &subject, const std::string &reason) {
  return {runtime::kExitFile, subject.string() + ": cannot be written: " + reason, "output-failed"};
}

namespace {

Error notOurs(const fs::path &place, const std::string &what) {
  return {runtime::kExitUsage,
          place.string() + ": " + what,
          "output-not-ours",
          {"nothing was touched; choose another folder with -o"}};
}

/// The files that the manifest in `folder` lists, and itself; nothing where it is not a manifest of ours.
std::optional<std::set<std::string>> filesOfArtifact(const fs::path &folder) {
  std::ifstream stream(folder / "manifest.json");
  auto json = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("format") || !json.contains("abi") || !json.contains("files") ||
      !json["files"].is_array())
    return std::nullopt;
  std::set<std::string> names = {"manifest.json"};
  for (const auto &file : json["files"])
    if (file.is_object() && file.contains("name") && file["name"].is_string())
      names.insert(file["name"].get<std::string>());
  return names;
}

/// An empty folder, or an artifact of ours with nothing beside it.
Status checkFolder(const fs::path &place) {
  std::error_code error;
  fs::directory_iterator entries(place, error);
  if (error)
    return outputFailed(place, error.message());
  if (entries == fs::directory_iterator())
    return {};
  auto ours = filesOfArtifact(place);
  if (!ours)
    return notOurs(place, "is a folder, but not an artifact: it has no manifest.json of ours");
  for (const fs::directory_entry &entry : entries)
    if (!ours->count(entry.path().filename().string()) || entry.is_directory())
      return notOurs(place,
                     "holds `" + entry.path().filename().string() + "`, which is no part of the artifact");
  return {};
}

Status checkPlace(const fs::path &place) {
  std::error_code error;
  fs::file_status status = fs::status(place, error);
  if (fs::is_directory(status))
    return checkFolder(place);
  if (fs::exists(status) || fs::is_symlink(fs::symlink_status(place, error)))
    return notOurs(place, "exists and is not a folder");
  fs::path parent = place.parent_path();
  if (!parent.empty() && !fs::is_directory(parent, error))
    return outputFailed(place, "there is no folder " + parent.string());
  return {};
}

/// `out/` is `out`; a link is where it points.
fs::path normalized(const fs::path &place) {
  fs::path plain = place.has_filename() ? place : place.parent_path();
  std::error_code error;
  fs::path target = fs::canonical(plain, error);
  return error ? plain : target;
}

} // namespace

Expected<std::unique_ptr<OutputFolder>> OutputFolder::create(const fs::path &requested) {
  fs::path place = normalized(requested);
  if (Status status = checkPlace(place); !status)
    return status.error();
  fs::path temporary = place;
  temporary += ".tmp." + std::to_string(getpid());
  std::error_code error;
  fs::remove_all(temporary, error);
  if (!fs::create_directory(temporary, error))
    return outputFailed(place, error.message());
  return std::unique_ptr<OutputFolder>(new OutputFolder(place, temporary));
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
}

Status OutputFolder::writeText(const std::string &name, const std::string &text) {
  std::ofstream stream(file(name), std::ios::binary);
  stream << text;
  stream.close();
  return stream ? Status() : outputFailed(place / name, std::strerror(errno));
}

Status OutputFolder::requireRoom(uint64_t bytes) const {
  std::error_code error;
  fs::space_info space = fs::space(temporary, error);
  if (error || space.available >= bytes)
    return {};
  return outputFailed(place, "no space left on device: " + std::to_string(space.available >> 10) +
                                 " KiB are free, " + std::to_string(bytes >> 10) + " are needed");
}

Status OutputFolder::commit() {
  // What came into the folder while we compiled is the user's.
  if (Status status = checkPlace(place); !status)
    return status;
  std::error_code error;
  fs::path old = place;
  old += ".old." + std::to_string(getpid());
  bool replaces = fs::exists(place, error);
  if (replaces)
    fs::rename(place, old, error);
  if (!error)
    fs::rename(temporary, place, error);
  if (error) {
    std::error_code ignored;
    if (replaces && !fs::exists(place, ignored))
      fs::rename(old, place, ignored);
    return outputFailed(place, error.message());
  }
  std::error_code ignored;
  if (replaces)
    fs::remove_all(old, ignored);
  return {};
}

} // namespace accum::emit
