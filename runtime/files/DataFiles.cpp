// SPDX-License-Identifier: Apache-2.0
// Words to paths, paths to shards.
#include "runtime/files/DataFiles.h"
#include <filesystem>
#include <glob.h>
#include <set>

namespace accum::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char *kSuffixes[] = {".bin", ".npy", ".npz", ".safetensors"};

Error missing(const std::string &message) { return {kExitFile, message, "missing-file"}; }

std::string suffixOf(const std::string &path) { return fs::path(path).extension(); }

bool isData(const std::string &path) {
  return std::ranges::find(kSuffixes, suffixOf(path)) != std::end(kSuffixes);
}

Expected<std::vector<std::string>> filesOfFolder(const std::string &folder) {
  std::vector<std::string> files;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
    if (isData(entry->path()) && !entry->path().filename().string().starts_with("."))
      files.push_back(entry->path());
  if (failure)
    return Error{kExitFile, folder + ": cannot be read: " + failure.message(), "unreadable"};
  if (files.empty())
    return missing(folder + ": holds no .bin, .npy, .npz or .safetensors file");
  std::ranges::sort(files);
  return files;
}

Expected<std::vector<std::string>> filesOfPattern(const std::string &pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  std::erase_if(files, [](const std::string &path) { return suffixOf(path) == ".idx"; });
  if (files.empty())
    return missing("`" + pattern + "` matches no file");
  std::ranges::sort(files);
  return files;
}

/// What a word without its NAME= stands for.
Expected<std::vector<std::string>> expand(const std::string &word) {
  std::error_code ignored;
  if (fs::is_directory(word, ignored))
    return filesOfFolder(word);
  if (fs::exists(word, ignored)) // an index stands for its tokens
    return std::vector{word.ends_with(".idx") ? word.substr(0, word.size() - 4) + ".bin" : word};
  if (word.find_first_of("*?[") != std::string::npos)
    return filesOfPattern(word);
  if (fs::exists(word + ".bin", ignored) && fs::exists(word + ".idx", ignored))
    return std::vector{word + ".bin"};
  return std::vector{word};
}

/// Puts the arrays of a shard behind those of the ones before it, which has all of them.
Status append(std::vector<std::vector<Array>> &shards, std::vector<Array> arrays) {
  const std::string path = arrays.empty() ? "" : arrays.front().path;
  for (std::vector<Array> &known : shards) {
    const Array &first = known.front();
    auto isIt = [&](const Array &array) { return array.name == first.name; };
    auto found = std::ranges::find_if(arrays, isIt);
    if (found == arrays.end())
      return badData((path.empty() ? "a shard" : path) + ": has no array `" + first.name + "`, which " +
                     first.path + " has");
    if (found->dtype != first.dtype)
      return badData(path + ": array `" + first.name + "` is " + std::string(nameOf(found->dtype)) +
                     ", expected " + std::string(nameOf(first.dtype)) + " as in " + first.path);
    known.push_back(std::move(*found));
    arrays.erase(found);
  }
  if (!arrays.empty())
    return badData(path + ": has an array `" + arrays.front().name + "`, which " +
                   shards.front().front().path + " has not");
  return {};
}

/// All shards of one word.
Expected<std::vector<std::vector<Array>>> readShards(const std::string &name,
                                                     const std::vector<std::string> &paths) {
  std::vector<std::vector<Array>> shards;
  for (const std::string &path : paths) {
    auto arrays = readArrays(name.empty() ? path : name + "=" + path);
    if (!arrays)
      return arrays.error();
    if (path != paths.front()) {
      if (Status status = append(shards, std::move(*arrays)); !status)
        return status.error();
      continue;
    }
    for (Array &array : *arrays)
      shards.push_back({std::move(array)});
  }
  return shards;
}

Status checkAlike(const std::vector<std::string> &paths) {
  for (const std::string &path : paths)
    if (suffixOf(path) != suffixOf(paths.front()))
      return badData(path + ": is of another kind than " + paths.front() + ", expected shards of one kind");
  return {};
}

Status appendTokens(const std::vector<std::string> &paths, const std::string &type, DataFiles &data) {
  for (const std::string &path : paths) {
    auto file = readTokens(path, type);
    if (!file)
      return file.error();
    const TokenFile &first = data.tokens.empty() ? *file : data.tokens.front();
    if (file->tokens.dtype != first.tokens.dtype)
      return badData(path + ": holds tokens of " + std::string(nameOf(file->tokens.dtype)) + ", expected " +
                     std::string(nameOf(first.tokens.dtype)) + " as in " + first.tokens.path);
    if (file->tokens.elements() == 0)
      return badData(path + ": holds no token");
    data.tokens.push_back(std::move(*file));
  }
  return {};
}

Status readWord(const std::string &word, const std::string &tokenType, DataFiles &data) {
  std::error_code ignored;
  size_t equals = fs::exists(word, ignored) ? std::string::npos : word.find('=');
  bool isNamed = equals != std::string::npos && equals > 0 && word.find('/') > equals;
  std::string name = isNamed ? word.substr(0, equals) : "";
  auto paths = expand(isNamed ? word.substr(equals + 1) : word);
  if (!paths)
    return paths.error();
  if (Status status = checkAlike(*paths); !status)
    return status;
  std::string suffix = suffixOf(paths->front());
  if (!isNamed && (suffix == ".bin" || suffix == ".npy"))
    return appendTokens(*paths, tokenType, data);
  if (isNamed && suffix != ".npy")
    return Error{kExitUsage, "data `" + word + "` has a name, which only .npy files lack", "usage"};
  auto shards = readShards(name, *paths);
  if (!shards)
    return shards.error();
  std::ranges::move(*shards, std::back_inserter(data.arrays));
  return {};
}

} // namespace

Expected<DataFiles> readData(const std::vector<std::string> &words, const std::string &tokenType) {
  DataFiles data;
  for (const std::string &word : words)
    if (Status status = readWord(word, tokenType, data); !status)
      return status.error();
  if (!data.tokens.empty() && !data.arrays.empty())
    return badData(data.tokens.front().tokens.path + ": holds tokens, and " +
                   data.arrays.front().front().path + " arrays: expected one or the other");
  return data;
}

} // namespace accum::runtime
