// SPDX-License-Identifier: Apache-2.0
// manifest.json to Manifest and back. Reading is strict about types and silent about unknown keys.
#include "runtime/Hash.h"
#include "runtime/Manifest.h"
#include "runtime/ManifestCheck.h"
#include <nlohmann/json.hpp>

namespace accum::runtime {

using Json = nlohmann::ordered_json;

namespace {

template <typename T> Json orNull(const std::optional<T> &value) { return value ? Json(*value) : Json(); }

// The one list of spellings of Synthesize, in the order of the enumeration.
constexpr const char *kSynthesize[] = {nullptr, "ones", "zeros", "iota"};

Json write(const InputSpec &input) {
  const char *rule = kSynthesize[static_cast<int>(input.synthesize)];
  return {{"name", input.name},
          {"dtype", nameOf(input.dtype)},
          {"shape", input.shape},
          {"batch_dim", orNull(input.batchDim)},
          {"outer", input.outer},
          {"bound", orNull(input.bound)},
          {"ignore_index", orNull(input.ignoreIndex)},
          {"synthesize", rule ? Json(rule) : Json()}};
}

Json write(const std::vector<AliasSpec> &aliases) {
  Json list = Json::array();
  for (const AliasSpec &alias : aliases) {
    list.push_back({{"name", alias.name}, {"transposed", alias.transposed}});
    if (alias.added != 0)
      list.back()["added"] = alias.added;
  }
  return list;
}

Json write(const ParameterSpec &param) {
  Json entry = {{"onnx_name", param.onnxName},
                {"aliases", write(param.aliases)},
                {"framework", write(param.framework)},
                {"dtype", nameOf(param.dtype)},
                {"shape", param.shape},
                {"trained", param.trained},
                {"decay_default", param.decayDefault},
                {"state_offset", param.stateOffset}};
  if (!param.trained)
    return entry;
  entry["grad_offset"] = param.gradOffset;
  entry["slots"] = Json::array();
  for (const SlotSpec &slot : param.slots)
    entry["slots"].push_back({{"name", slot.name}, {"state_offset", slot.stateOffset}});
  return entry;
}

Json write(const ScalarSpec &scalar) {
  return {{"name", scalar.name}, {"dtype", nameOf(scalar.dtype)}, {"state_offset", scalar.stateOffset}};
}

Json write(const CommandSpec &command) {
  return {{"id", command.id}, {"kernel", command.kernel}, {"onnx_nodes", command.onnxNodes}};
}

Json write(const KernelSpec &kernel) {
  return {{"name", kernel.name},
          {"symbol", kernel.symbol},
          {"grid", kernel.grid},
          {"block", kernel.block},
          {"shared_bytes", kernel.sharedBytes},
          {"args", kernel.args}};
}

Json write(const FileSpec &file) { return {{"name", file.name}, {"bytes", file.bytes}, {"xxh3", file.xxh3}}; }

template <typename Item> Json writeAll(const std::vector<Item> &items) {
  Json list = Json::array();
  for (const Item &item : items)
    list.push_back(write(item));
  return list;
}

/// Reads with nlohmann's exceptions; parseManifest turns them into an Error.
DType readDType(const Json &entry) {
  std::string name = entry.at("dtype").get<std::string>();
  auto dtype = dtypeNamed(name);
  if (!dtype)
    throw std::invalid_argument("unknown dtype `" + name + "`");
  return *dtype;
}

template <typename T> std::optional<T> readOptional(const Json &entry, const char *key) {
  auto found = entry.find(key);
  if (found == entry.end() || found->is_null())
    return std::nullopt;
  return found->get<T>();
}

Synthesize readSynthesize(const Json &entry) {
  auto name = readOptional<std::string>(entry, "synthesize");
  if (!name)
    return Synthesize::None;
  for (int rule = 1; rule < 4; ++rule)
    if (*name == kSynthesize[rule])
      return static_cast<Synthesize>(rule);
  throw std::invalid_argument("unknown synthesize rule `" + *name + "`");
}

uint64_t readBytes(const Json &entry, const char *key) {
  const Json &value = entry.at(key);
  if (!value.is_number_unsigned())
    throw std::invalid_argument("`" + std::string(key) + "` is not a number of bytes");
  return value.get<uint64_t>();
}

InputSpec readInput(const Json &entry) {
  InputSpec input;
  input.name = entry.at("name").get<std::string>();
  input.dtype = readDType(entry);
  input.shape = entry.at("shape").get<std::vector<int64_t>>();
  input.batchDim = readOptional<int64_t>(entry, "batch_dim");
  input.outer = readOptional<int64_t>(entry, "outer").value_or(1);
  input.bound = readOptional<int64_t>(entry, "bound");
  input.ignoreIndex = readOptional<int64_t>(entry, "ignore_index");
  input.synthesize = readSynthesize(entry);
  return input;
}

std::vector<AliasSpec> readAliases(const Json &entry, const char *key) {
  std::vector<AliasSpec> aliases;
  if (entry.contains(key))
    for (const Json &alias : entry.at(key))
      aliases.push_back({alias.at("name").get<std::string>(), alias.at("transposed").get<bool>(),
                         readOptional<double>(alias, "added").value_or(0)});
  return aliases;
}

ParameterSpec readParameter(const Json &entry) {
  ParameterSpec param;
  param.onnxName = entry.at("onnx_name").get<std::string>();
  param.aliases = readAliases(entry, "aliases");
  param.framework = readAliases(entry, "framework");
  param.dtype = readDType(entry);
  param.shape = entry.at("shape").get<std::vector<int64_t>>();
  param.trained = entry.at("trained").get<bool>();
  param.decayDefault = entry.at("decay_default").get<bool>();
  param.stateOffset = readBytes(entry, "state_offset");
  if (!param.trained)
    return param;
  param.gradOffset = readBytes(entry, "grad_offset");
  for (const Json &slot : entry.at("slots"))
    param.slots.push_back({slot.at("name").get<std::string>(), readBytes(slot, "state_offset")});
  return param;
}

ScalarSpec readScalar(const Json &entry) {
  return {entry.at("name").get<std::string>(), readDType(entry), readBytes(entry, "state_offset")};
}

CommandSpec readCommand(const Json &entry) {
  return {entry.at("id").get<uint32_t>(), entry.at("kernel").get<std::string>(),
          entry.at("onnx_nodes").get<std::vector<std::string>>()};
}

KernelSpec readKernel(const Json &entry) {
  return {entry.at("name").get<std::string>(),
          entry.at("symbol").get<std::string>(),
          entry.at("grid").get<std::array<uint32_t, 3>>(),
          entry.at("block").get<std::array<uint32_t, 3>>(),
          entry.at("shared_bytes").get<uint32_t>(),
          entry.at("args").get<uint32_t>()};
}

FileSpec readFile(const Json &entry) {
  return {entry.at("name").get<std::string>(), readBytes(entry, "bytes"),
          entry.at("xxh3").get<std::string>()};
}

template <typename Item>
std::vector<Item> readAll(const Json &json, const char *key, Item (*read)(const Json &)) {
  std::vector<Item> items;
  if (!json.at(key).is_array())
    throw std::invalid_argument("`" + std::string(key) + "` is not a list");
  for (const Json &entry : json.at(key))
    items.push_back(read(entry));
  return items;
}

Manifest readManifest(const Json &json) {
  Manifest manifest;
  manifest.producer = json.at("producer").get<std::string>();
  manifest.abi = json.at("abi").get<uint32_t>();
  manifest.target = json.at("target").get<std::string>();
  manifest.cpuFeatures = json.at("cpu_features").get<std::vector<std::string>>();
  const Json &compile = json.at("compile");
  manifest.argv = compile.at("argv").get<std::vector<std::string>>();
  manifest.model = compile.at("model").get<std::string>();
  manifest.modelHash = compile.at("model_hash").get<std::string>();
  manifest.batch = json.at("batch").get<int64_t>();
  manifest.devices = json.at("devices").get<int64_t>();
  manifest.m = json.at("m").get<int64_t>();
  manifest.wholeBatch = readOptional<bool>(json, "whole_batch").value_or(false);
  manifest.precision = readOptional<std::string>(json, "precision").value_or("f32");
  manifest.optimizer = json.at("optimizer").get<std::string>();
  manifest.labels = readOptional<std::string>(json, "labels").value_or("");
  manifest.inputs = readAll(json, "inputs", readInput);
  manifest.params = readAll(json, "params", readParameter);
  manifest.stateBytes = readBytes(json, "state_bytes");
  const Json &gradients = json.at("gradients");
  manifest.gradients = {readBytes(gradients, "offset"), readBytes(gradients, "bytes"), readDType(gradients)};
  manifest.scalars = readAll(json, "scalars", readScalar);
  manifest.commands = readAll(json, "commands", readCommand);
  if (json.contains("kernels"))
    manifest.kernels = readAll(json, "kernels", readKernel);
  manifest.files = readAll(json, "files", readFile);
  return manifest;
}

Error damaged(const std::string &path, const std::string &what) {
  return {kExitFile, path + ": is damaged: " + what, "bad-artifact", {"compile the model again"}};
}

Status checkFormat(const Json &json, const std::string &path) {
  if (!json.is_object() || !json.contains("format") || !json.at("format").is_number_integer())
    return damaged(path, "no `format` number");
  int64_t format = json.at("format").get<int64_t>();
  if (format == kManifestFormat)
    return {};
  std::string range = format > kManifestFormat ? "newer" : "older";
  return Error{kExitFile,
               path + ": is format " + std::to_string(format) + ", this runtime reads format " +
                   std::to_string(kManifestFormat) + " (the artifact is " + range + ")",
               "artifact-version",
               {"use an accum-run and an accumc of one version, or compile the model again"}};
}

/// Of everything but the checksum itself, whatever the white space.
std::string checksumOf(Json json) {
  json.erase("checksum");
  return hashText(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Status checkChecksum(Json json, const std::string &path) {
  auto expected = json.at("checksum").get<std::string>();
  std::string found = checksumOf(std::move(json));
  return found == expected ? Status() : damaged(path, "its checksum is " + found + ", expected " + expected);
}

} // namespace

std::string toJson(const Manifest &manifest) {
  const GradientRange &gradients = manifest.gradients;
  Json json = {
      {"format", kManifestFormat},
      {"producer", manifest.producer},
      {"abi", manifest.abi},
      {"target", manifest.target},
      {"cpu_features", manifest.cpuFeatures},
      {"compile", {{"argv", manifest.argv}, {"model", manifest.model}, {"model_hash", manifest.modelHash}}},
      {"batch", manifest.batch},
      {"devices", manifest.devices},
      {"m", manifest.m},
      {"precision", manifest.precision},
      {"optimizer", manifest.optimizer},
      {"labels", manifest.labels.empty() ? Json() : Json(manifest.labels)},
      {"inputs", writeAll(manifest.inputs)},
      {"params", writeAll(manifest.params)},
      {"state_bytes", manifest.stateBytes},
      {"gradients",
       {{"offset", gradients.offset}, {"bytes", gradients.bytes}, {"dtype", nameOf(gradients.dtype)}}},
      {"scalars", writeAll(manifest.scalars)},
      {"commands", writeAll(manifest.commands)}};
  if (manifest.wholeBatch)
    json["whole_batch"] = true;
  if (!manifest.kernels.empty())
    json["kernels"] = writeAll(manifest.kernels);
  json["files"] = writeAll(manifest.files);
  json["checksum"] = checksumOf(json);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Expected<Manifest> parseManifest(const std::string &text, const std::string &path) {
  try {
    Json json = Json::parse(text);
    if (Status status = checkFormat(json, path); !status)
      return status.error();
    Manifest manifest = readManifest(json);
    if (auto contradiction = findContradiction(manifest))
      return damaged(path, *contradiction);
    if (Status status = checkChecksum(std::move(json), path); !status)
      return status.error();
    return manifest;
  } catch (const std::exception &exception) {
    return damaged(path, exception.what());
  }
}

} // namespace accum::runtime
