// SPDX-License-Identifier: Apache-2.0
// Whose folder it is, and the two renames.
#include "compiler/Emit/OutputFolder.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

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

/// A lock on the folder that ends with this process, however that ends; negative where another holds it, or
/// the file system has none.
int lockOf(const fs::path &folder) {
  int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    return descriptor;
  close(descriptor);
  return -1;
}

/// Whether the process that `name` ends with is gone from here, and holds no lock from another machine
/// either.
bool isAbandoned(const fs::path &folder, const std::string &number) {
  pid_t process = 0;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), process);
  bool isNumber = error == std::errc() && end == number.data() + number.size() && process > 0;
  if (!isNumber || kill(process, 0) == 0 || errno != ESRCH)
    return false;
  int lock = lockOf(folder);
  if (lock >= 0)
    close(lock);
  return lock >= 0;
}

/// Removes what runs of accumc for the same place left that were killed outright. A folder with folders in it
/// is none of ours.
void removeAbandoned(const fs::path &place) {
  fs::path parent = place.has_parent_path() ? place.parent_path() : fs::path(".");
  std::string prefix = place.filename().string() + ".tmp.";
  std::error_code ignored;
  std::vector<fs::path> abandoned;
  for (const fs::directory_entry &entry : fs::directory_iterator(parent, ignored)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && entry.is_directory(ignored) && !entry.is_symlink(ignored) &&
        isAbandoned(entry.path(), name.substr(prefix.size())))
      abandoned.push_back(entry.path());
  }
  for (const fs::path &folder : abandoned) {
    fs::directory_iterator files(folder, ignored);
    if (std::all_of(begin(files), end(files), [](const auto &file) { return file.is_regular_file(); }))
      fs::remove_all(folder, ignored);
  }
}

} // namespace

OutputFolder::OutputFolder(fs::path place, fs::path temporary)
    : place(std::move(place)), temporary(std::move(temporary)), interrupted(this->temporary.string()),
      lock(lockOf(this->temporary)) {}

Expected<std::unique_ptr<OutputFolder>> OutputFolder::create(const fs::path &requested) {
  fs::path place = normalized(requested);
  if (Status status = checkPlace(place); !status)
    return status.error();
  removeAbandoned(place);
  fs::path temporary = place;
  temporary += ".tmp." + std::to_string(getpid());
  std::error_code error;
  fs::remove_all(temporary, error);
  if (!fs::create_directory(temporary, error))
    return outputFailed(place, error.message());
  return std::unique_ptr<OutputFolder>(new OutputFolder(place, temporary));
}

OutputFolder::~OutputFolder() {
  if (lock >= 0)
    close(lock);
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
