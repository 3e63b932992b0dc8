// SPDX-License-Identifier: Apache-2.0
// Resolves external locations inside the model's folder.
#include "compiler/Import/model/ExternalData.h"
#include <fmt/format.h>

namespace accum::import {
namespace fs = std::filesystem;

namespace {
Failure refused(const std::string &location, const std::string &why) {
  return {"malformed-model",
          backquoted(location),
          "as external data " + why,
          {"put the weights beside the model and store their place relative to it"}};
}

/// Empty where there is no such place.
fs::path canonicalOrEmpty(const fs::path &path) {
  std::error_code error;
  fs::path found = fs::canonical(path.empty() ? fs::path(".") : path, error);
  return error ? fs::path() : found;
}

bool isBelow(const fs::path &path, const fs::path &folder) {
  auto [end, _] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

/// Of a tensor that does not fit the file it points into.
Failure mismatch(const Tensor &tensor, std::string message, std::vector<std::string> notes = {}) {
  return {"malformed-model", backquoted(tensor.name), std::move(message), std::move(notes)};
}
} // namespace

ExternalData::ExternalData(const fs::path &model, bool allowMissing)
    : folder(canonicalOrEmpty(model.parent_path())), realFolder(canonicalOrEmpty(model).parent_path()),
      allowMissing(allowMissing) {}

Result<fs::path> ExternalData::resolve(const std::string &location) const {
  fs::path relative(location);
  if (location.empty() || location.find('\0') != std::string::npos)
    return refused(location, "names no file");
  if (relative.is_absolute())
    return refused(location, "is an absolute path, expected one inside the model's folder");
  for (const fs::path &part : relative)
    if (part == "..")
      return refused(location, "leaves the model's folder");
  std::error_code error;
  fs::path target = fs::weakly_canonical(folder / relative, error);
  if (error)
    return refused(location, "cannot be resolved: " + error.message());
  if (!isBelow(target, folder) && !isBelow(target, realFolder))
    return refused(location, "leaves the model's folder through a symbolic link");
  return folder / relative;
}

Result<std::shared_ptr<const MappedFile>> ExternalData::file(const std::string &location) {
  auto known = opened.find(location);
  if (known != opened.end())
    return known->second;
  auto open = [&]() -> Result<std::shared_ptr<const MappedFile>> {
    Result<fs::path> path = resolve(location);
    if (!path)
      return path.takeFailures();
    auto file = MappedFile::open(*path);
    if (file)
      return file;
    if (file.failures().front().slug != "missing-file")
      return file.takeFailures();
    if (allowMissing)
      return std::shared_ptr<const MappedFile>();
    return Failure{"missing-file",
                   path->string(),
                   "no such file; the model keeps weights there",
                   {"planning needs no weights: --plan-only"}};
  };
  return opened.emplace(location, open()).first->second;
}

Result<TensorData> ExternalData::locate(const Tensor &tensor, const Place &place) {
  auto mapped = file(place.location);
  if (!mapped)
    return mapped.takeFailures();
  uint64_t expected = tensor.byteSize();
  if (place.length && *place.length != expected)
    return mismatch(
        tensor, fmt::format("has {} bytes of external data, its shape needs {}", *place.length, expected));
  TensorData data;
  data.file = *mapped;
  data.offset = place.offset;
  data.length = expected;
  if (!data.file)
    return data;
  uint64_t available = data.file->bytes().size();
  if (place.offset <= available && expected <= available - place.offset)
    return data;
  if (!tooShort.insert(place.location).second)
    return TensorData();
  return mismatch(tensor,
                  fmt::format("needs {} bytes at offset {} of `{}`, which has {}", expected, place.offset,
                              place.location, available),
                  {"a file that was not copied to its end, or another model's, looks so"});
}

} // namespace accum::import
