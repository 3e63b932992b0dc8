// SPDX-License-Identifier: Apache-2.0
// manifest.json to Manifest and back. Reading is strict about types and silent about unknown keys.
#include "runtime/artifact/JsonFields.h"
#include "runtime/artifact/LengthJson.h"
#include "runtime/artifact/Manifest.h"
#include "runtime/artifact/ManifestCheck.h"
#include "runtime/artifact/ManifestDocument.h"
#include "runtime/artifact/PhaseJson.h"
#include "runtime/artifact/ShardJson.h"
#include "runtime/system/Hash.h"

namespace accum::runtime {

using Json = nlohmann::ordered_json;

namespace {

template <typename T> Json orNull(const std::optional<T> &value) { return value ? Json(*value) : Json(); }

// The one list of spellings of Synthesize, in the order of the enumeration.
constexpr const char *kSynthesize[] = {nullptr, "ones", "zeros", "iota", "position"};

Json write(const InputSpec &input) {
  const char *rule = kSynthesize[static_cast<int>(input.synthesize)];
  Json entry = {{"name", input.name},
                {"dtype", nameOf(input.dtype)},
                {"shape", input.shape},
                {"batch_dim", orNull(input.batchDim)},
                {"outer", input.outer},
                {"bound", orNull(input.bound)},
                {"ignore_index", orNull(input.ignoreIndex)},
                {"synthesize", rule ? Json(rule) : Json()}};
  if (input.padded)
    entry["padded"] = paddedJson(*input.padded);
  return entry;
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
  if (!param.madeOf.empty())
    entry["made_of"] = param.madeOf;
  for (auto [key, isSet] : {std::pair("rows", param.isRows), {"detached", param.detached}})
    if (isSet)
      entry[key] = true;
  if (!param.trained)
    return entry;
  entry["grad_offset"] = param.gradOffset;
  entry["slots"] = Json::array();
  for (const SlotSpec &slot : param.slots)
    entry["slots"].push_back(
        {{"name", slot.name}, {"shape", slot.shape}, {"state_offset", slot.stateOffset}});
  return entry;
}

Json write(const OutputSpec &output) {
  return {{"name", output.name}, {"dtype", nameOf(output.dtype)}, {"shape", output.shape}};
}

Json write(const OutputLeftOut &output) { return {{"name", output.name}, {"why", output.why}}; }

Json write(const ScalarSpec &scalar) {
  return {{"name", scalar.name}, {"dtype", nameOf(scalar.dtype)}, {"state_offset", scalar.stateOffset}};
}

Json write(const CommandSpec &command) {
  return {{"id", command.id}, {"kernel", command.kernel}, {"onnx_nodes", command.onnxNodes}};
}

Json write(const SeparatedSpec &tensor) {
  Json readers = Json::array();
  for (const SeparatedSpec::Reader &reader : tensor.readers)
    readers.push_back({reader.node, reader.operand});
  return {{"name", tensor.name}, {"from", tensor.from}, {"readers", readers}};
}

Json write(const NanSource &source) { return {{"kind", source.kind}, {"node", source.node}}; }

Json write(const KernelSpec &kernel) {
  return {{"name", kernel.name},
          {"symbol", kernel.symbol},
          {"grid", kernel.grid},
          {"block", kernel.block},
          {"shared_bytes", kernel.sharedBytes},
          {"args", kernel.args}};
}

Json write(const FileSpec &file) { return {{"name", file.name}, {"bytes", file.bytes}, {"xxh3", file.xxh3}}; }

/// How ranks have a segment, in the order of (isCut, isOwned).
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

Synthesize readSynthesize(const Json &entry) {
  auto name = readOptional<std::string>(entry, "synthesize");
  if (!name)
    return Synthesize::None;
  for (int rule = 1; rule < 5; ++rule)
    if (*name == kSynthesize[rule])
      return static_cast<Synthesize>(rule);
  throw std::invalid_argument("unknown synthesize rule `" + *name + "`");
}

std::vector<int64_t> readShape(const Json &entry) {
  const Json &list = entry.at("shape");
  if (!list.is_array())
    throw std::invalid_argument("`shape` is not a list");
  std::vector<int64_t> shape;
  for (const Json &extent : list)
    shape.push_back(asInteger<int64_t>(extent, "shape"));
  return shape;
}

std::array<uint32_t, 3> readExtents(const Json &entry, const char *key) {
  const Json &list = entry.at(key);
  if (!list.is_array() || list.size() != 3)
    throw std::invalid_argument("`" + std::string(key) + "` is not a list of three");
  return {asInteger<uint32_t>(list[0], key), asInteger<uint32_t>(list[1], key),
          asInteger<uint32_t>(list[2], key)};
}

InputSpec readInput(const Json &entry) {
  InputSpec input;
  input.name = entry.at("name").get<std::string>();
  input.dtype = readDType(entry);
  input.shape = readShape(entry);
  input.batchDim = readOptionalInteger(entry, "batch_dim");
  input.outer = readOptionalInteger(entry, "outer").value_or(1);
  input.bound = readOptionalInteger(entry, "bound");
  input.ignoreIndex = readOptionalInteger(entry, "ignore_index");
  input.synthesize = readSynthesize(entry);
  if (entry.contains("padded"))
    input.padded = paddedFrom(entry.at("padded"));
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
  param.shape = readShape(entry);
  param.trained = entry.at("trained").get<bool>();
  param.decayDefault = entry.at("decay_default").get<bool>();
  param.detached = readOptional<bool>(entry, "detached").value_or(false);
  param.madeOf = readOptional<std::string>(entry, "made_of").value_or("");
  param.isRows = readOptional<bool>(entry, "rows").value_or(false);
  param.stateOffset = readBytes(entry, "state_offset");
  if (!param.trained)
    return param;
  param.gradOffset = readBytes(entry, "grad_offset");
  for (const Json &slot : entry.at("slots"))
    param.slots.push_back(
        {slot.at("name").get<std::string>(), readBytes(slot, "state_offset"), readShape(slot)});
  return param;
}

ScalarSpec readScalar(const Json &entry) {
  return {entry.at("name").get<std::string>(), readDType(entry), readBytes(entry, "state_offset")};
}

OutputSpec readOutput(const Json &entry) {
  return {entry.at("name").get<std::string>(), readDType(entry),
          entry.at("shape").get<std::vector<int64_t>>()};
}

OutputLeftOut readOutputLeftOut(const Json &entry) {
  return {entry.at("name").get<std::string>(), entry.at("why").get<std::string>()};
}

CommandSpec readCommand(const Json &entry) {
  return {readInteger<uint32_t>(entry, "id"), entry.at("kernel").get<std::string>(),
          entry.at("onnx_nodes").get<std::vector<std::string>>()};
}

NanSource readNanSource(const Json &entry) {
  return {entry.at("kind").get<std::string>(), entry.at("node").get<std::string>()};
}

SeparatedSpec readSeparated(const Json &entry) {
  SeparatedSpec tensor{entry.at("name").get<std::string>(), entry.at("from").get<std::string>(), {}};
  for (const Json &reader : entry.at("readers"))
    tensor.readers.push_back({reader.at(0).get<std::string>(), reader.at(1).get<int64_t>()});
  return tensor;
}

KernelSpec readKernel(const Json &entry) {
  return {entry.at("name").get<std::string>(),
          entry.at("symbol").get<std::string>(),
          readExtents(entry, "grid"),
          readExtents(entry, "block"),
          readInteger<uint32_t>(entry, "shared_bytes"),
          readInteger<uint32_t>(entry, "args")};
}

FileSpec readFile(const Json &entry) {
  return {entry.at("name").get<std::string>(), readBytes(entry, "bytes"),
          entry.at("xxh3").get<std::string>()};
}

Manifest readManifest(const Json &json) {
  Manifest manifest;
  manifest.producer = json.at("producer").get<std::string>();
  manifest.abi = readInteger<uint32_t>(json, "abi");
  manifest.target = json.at("target").get<std::string>();
  manifest.cpuFeatures = json.at("cpu_features").get<std::vector<std::string>>();
  const Json &compile = json.at("compile");
  manifest.argv = compile.at("argv").get<std::vector<std::string>>();
  manifest.model = compile.at("model").get<std::string>();
  manifest.modelHash = compile.at("model_hash").get<std::string>();
  manifest.modelPath = compile.value("model_path", "");
  manifest.batch = readInteger<int64_t>(json, "batch");
  manifest.devices = readInteger<int64_t>(json, "devices");
  manifest.m = readInteger<int64_t>(json, "m");
  manifest.wholeBatch = readOptional<bool>(json, "whole_batch").value_or(false);
  manifest.precision = readOptional<std::string>(json, "precision").value_or("f32");
  manifest.optimizer = json.at("optimizer").get<std::string>();
  manifest.labels = readOptional<std::string>(json, "labels").value_or("");
  markRuntimeInputs(manifest.inputs = readAll(json, "inputs", readInput));
  if (json.contains("lengths"))
    readLengths(json.at("lengths"), manifest);
  manifest.phases = readAll(json, "phases", phaseFrom);
  if (json.contains("outputs"))
    manifest.outputs = readAll(json, "outputs", readOutput);
  if (json.contains("outputs_left_out"))
    manifest.outputsLeftOut = readAll(json, "outputs_left_out", readOutputLeftOut);
  manifest.params = readAll(json, "params", readParameter);
  manifest.stateBytes = readBytes(json, "state_bytes");
  const Json &gradients = json.at("gradients");
  manifest.gradients = {readBytes(gradients, "offset"), readBytes(gradients, "bytes"), readDType(gradients)};
  manifest.scalars = readAll(json, "scalars", readScalar);
  if (Json shard = json.value("shard", Json()); !shard.is_null())
    manifest.shard = shardFrom(shard);
  manifest.commands = readAll(json, "commands", readCommand);
  if (json.contains("state_lacks"))
    manifest.stateLacks = json.at("state_lacks").get<std::vector<std::string>>();
  if (json.contains("separated"))
    manifest.separated = readAll(json, "separated", readSeparated);
  if (json.contains("nan_sources"))
    manifest.nanSources = readAll(json, "nan_sources", readNanSource);
  if (json.contains("kernels"))
    manifest.kernels = readAll(json, "kernels", readKernel);
  manifest.files = readAll(json, "files", readFile);
  return manifest;
}

} // namespace

std::string toJson(const Manifest &manifest) {
  const GradientRange &gradients = manifest.gradients;
  Json json = {
      {"format", !manifest.outputs.empty()  ? kOutputsFormat
                 : manifest.lengths.empty() ? kManifestFormat
                                            : kLengthsFormat},
      {"producer", manifest.producer},
      {"abi", manifest.abi},
      {"target", manifest.target},
      {"cpu_features", manifest.cpuFeatures},
      {"compile",
       {{"argv", manifest.argv},
        {"model", manifest.model},
        {"model_hash", manifest.modelHash},
        {"model_path", manifest.modelPath}}},
      {"batch", manifest.batch},
      {"devices", manifest.devices},
      {"m", manifest.m},
      {"precision", manifest.precision},
      {"optimizer", manifest.optimizer},
      {"labels", manifest.labels.empty() ? Json() : Json(manifest.labels)},
      {"inputs", writeAll(manifest.inputs)},
      {"phases", phasesJson(manifest.phases)},
      {"params", writeAll(manifest.params)},
      {"state_bytes", manifest.stateBytes},
      {"gradients",
       {{"offset", gradients.offset}, {"bytes", gradients.bytes}, {"dtype", nameOf(gradients.dtype)}}},
      {"scalars", writeAll(manifest.scalars)},
      {"commands", writeAll(manifest.commands)}};
  if (!manifest.shard.isPlain())
    json["shard"] = shardJson(manifest.shard);
  if (!manifest.lengths.empty())
    json["lengths"] = lengthsJson(manifest);
  if (!manifest.outputs.empty())
    json["outputs"] = writeAll(manifest.outputs);
  if (!manifest.outputsLeftOut.empty())
    json["outputs_left_out"] = writeAll(manifest.outputsLeftOut);
  if (manifest.wholeBatch)
    json["whole_batch"] = true;
  if (!manifest.stateLacks.empty())
    json["state_lacks"] = manifest.stateLacks;
  if (!manifest.separated.empty())
    json["separated"] = writeAll(manifest.separated);
  if (!manifest.nanSources.empty())
    json["nan_sources"] = writeAll(manifest.nanSources);
  if (!manifest.kernels.empty())
    json["kernels"] = writeAll(manifest.kernels);
  json["files"] = writeAll(manifest.files);
  json["checksum"] = checksumOf(json);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Expected<Manifest> parseManifest(const std::string &text, const std::string &path) {
  if (isTooDeep(text))
    return damaged(path,
                   "more than " + std::to_string(kDeepestDocument) + " lists and objects inside each other");
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
