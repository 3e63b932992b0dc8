// SPDX-License-Identifier: Apache-2.0
// An index names the shard of each tensor: {"weight_map": {"wte.weight":
// "model-00001-of-00002.safetensors"}}.
#include "runtime/files/WeightFiles.h"
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace accum::runtime {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLongestIndex = 100'000'000;

using Shards = std::map<std::string, std::set<std::string>>; // file -> its tensors

Expected<Shards> readIndex(const std::string &path) {
  auto text = readText(path, kLongestIndex);
  if (!text)
    return text.error();
  Error malformed{kExitFile, path + ": is no index of safetensors files: no `weight_map` of names",
                  "malformed"};
  auto index = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    return malformed;
  Shards shards;
  for (const auto &[name, file] : index["weight_map"].items()) {
    if (!file.is_string())
      return malformed;
    shards[file.get<std::string>()].insert(name);
  }
  return shards;
}

/// Of a shard those that the index names.
Status addShard(const std::string &path, const std::set<std::string> &names, std::vector<Array> &all) {
  auto arrays = readSafetensors(path);
  if (!arrays)
    return arrays.error();
  size_t before = all.size();
  for (Array &array : *arrays)
    if (names.contains(array.name))
      all.push_back(std::move(array));
  if (all.size() - before == names.size())
    return {};
  std::set<std::string> missing = names;
  for (size_t i = before; i < all.size(); ++i)
    missing.erase(all[i].name);
  return Error{kExitFile, path + ": holds no tensor `" + *missing.begin() + "`, which the index says it does",
               "malformed"};
}

Expected<std::vector<Array>> readShards(const std::string &path) {
  auto shards = readIndex(path);
  if (!shards)
    return shards.error();
  std::vector<Array> all;
  for (const auto &[file, names] : *shards)
    if (Status status = addShard(fs::path(path).parent_path() / file, names, all); !status)
      return status.error();
  return all;
}

} // namespace

Expected<std::vector<Array>> readWeights(const std::string &path) {
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) {
    for (const char *name : {"model.safetensors", "model.safetensors.index.json"})
      if (fs::exists(fs::path(path) / name, unknown))
        return readWeights(fs::path(path) / name);
    bool isCheckpoint = fs::exists(fs::path(path) / "checkpoint.json", unknown);
    return Error{kExitFile,
                 path + ": holds neither model.safetensors nor its index",
                 "missing-file",
                 {isCheckpoint ? "a checkpoint: --resume DIR --resume-weights-only takes its weights"
                               : "name the file of weights"}};
  }
  return path.ends_with(".json") ? readShards(path) : readSafetensors(path);
}

} // namespace accum::runtime
