// SPDX-License-Identifier: Apache-2.0
// In from files, out into files, and by name.
#include "runtime/weights/Weights.h"
#include "runtime/artifact/Optimizers.h"
#include "runtime/weights/FrameworkNames.h"
#include "runtime/weights/OnnxWriter.h"
#include "runtime/weights/Parameters.h"
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>

namespace accum::runtime {
namespace {

namespace fs = std::filesystem;

SavedNames savedNames(const std::string &names) {
  return names == "framework" ? SavedNames::Framework : SavedNames::Onnx;
}

/// The model file that an artifact was compiled from: where the user says, where it was, or alongside the
/// artifact; the same bytes.
Expected<std::string> findModel(const Artifact &artifact, const std::string &given) {
  const Manifest &manifest = artifact.manifest;
  std::string beside = fs::path(fs::absolute(artifact.folder)).lexically_normal().string();
  while (beside.size() > 1 && beside.back() == '/')
    beside.pop_back();
  std::vector<std::string> places = {given};
  if (given.empty())
    places = {manifest.modelPath, fs::path(beside).parent_path() / manifest.model};
  std::string changed;
  std::error_code unknown;
  for (const std::string &place : places) {
    if (!fs::is_regular_file(place, unknown))
      continue;
    auto hash = hashFile(place);
    if (!hash)
      return hash.error();
    if (*hash == manifest.modelHash)
      return place;
    changed = place;
  }
  std::string what = changed.empty() ? " is not there any more" : " is another file now";
  return Error{kExitFile,
               (changed.empty() ? places.front() : changed) + ": the model file that " + artifact.folder +
                   " was compiled from" + what,
               "model-file",
               {"--model FILE says where it is", "--save FILE.safetensors does without it"}};
}

} // namespace

/// A run from random numbers does without the weights: then their file may be gone.
void Weights::forget() {
  struct stat info;
  if (stat(opened.artifact.file(kWeights).c_str(), &info) != 0)
    std::erase_if(manifest.files, [](const FileSpec &spec) { return spec.name == kWeights; });
}

/// From the file; a run from random numbers does without one.
Status Weights::start(const StartingWeights &from) {
  if (!opened.artifact.has(kWeights)) {
    for (size_t p = 0; p < manifest.params.size() && from.awaits; ++p)
      unset.insert(p);
    if (!from.seed && !from.awaits)
      return Error{kExitFile,
                   opened.artifact.folder + ": the manifest lists no " + kWeights,
                   "bad-artifact",
                   {"compile the model again, or start from random weights: --random-params SEED"}};
    if (Status status = inventParameters(manifest, opened.memory); !status)
      return status;
  } else {
    Status status = checkFile(opened.artifact, kWeights);
    if (status)
      status = loadParameters(manifest, opened.artifact.file(kWeights), opened.memory);
    if (!status)
      return status;
  }
  return from.seed ? randomizeParameters(manifest, *from.seed, opened.memory) : Status();
}

Expected<size_t> Weights::init(const InitialWeights &from) {
  auto taken = initParameters(manifest, from, opened.memory);
  if (!taken)
    return taken.error();
  for (size_t p : taken->params) {
    unset.erase(p);
    if (!manifest.params[p].trained)
      carried.insert(p);
  }
  for (const std::string &notice : taken->notices)
    opened.note(notice);
  if (Status status = check(); !status)
    return status.error();
  return taken->params.size();
}

/// Of a file for the framework's loader, before there is one.
void Weights::noteMissing(const std::string &names) {
  if (names == "framework")
    opened.noteOnce(missingForFramework(manifest));
}

Status Weights::saveTensors(const std::string &kind, const std::string &names, const std::string &path,
                            bool keepOld) {
  bool isAverage = kind == kAverage && findOptimizer(manifest.optimizer)->keepsAverage;
  SavedTensor what = kind == "gradient"             ? SavedTensor::Gradient
                     : isAverage && !averageFollows ? SavedTensor::Average
                                                    : SavedTensor::Parameter;
  if (kind != "gradient" && kind != "parameter" && !isAverage)
    return usage("there are no weights of kind `" + kind + "`");
  if (path.empty()) {
    noteMissing(names);
    return {};
  }
  auto tensors = tensorsToSave(manifest, opened.state, what, savedNames(names));
  return writeSafetensors(path, tensors, keepOld, reader());
}

Status Weights::save(const WeightsToSave &save) {
  bool isOnnx = save.path.ends_with(".onnx");
  if (isOnnx && (save.names == "framework" || save.stored))
    return Error{kExitUsage,
                 save.path + ": a model file keeps its names and types",
                 "usage",
                 {"--names framework and --export-dtype are for FILE.safetensors"}};
  SavedTensor what = takesAverage && !averageFollows ? SavedTensor::Average : SavedTensor::Parameter;
  auto tensors = tensorsToSave(manifest, opened.state, what, savedNames(save.names));
  if (isOnnx)
    return saveModel(save, std::move(tensors));
  for (TensorToWrite &tensor : tensors)
    tensor.stored = save.stored;
  if (save.checkOnly) {
    noteMissing(save.names);
    return {};
  }
  return writeSafetensors(save.path, tensors, save.keepOld, reader());
}

/// With the frozen tensors that are not the artifact's, and those that the model file has merged with others.
Status Weights::saveModel(const WeightsToSave &save, std::vector<TensorToWrite> tensors) {
  auto model = findModel(opened.artifact, save.model);
  if (!model)
    return model.error();
  std::set<size_t> frozen = carried;
  for (size_t p = 0; p < manifest.params.size(); ++p)
    if (!manifest.params[p].trained && isMergedWithNew(p))
      frozen.insert(p);
  for (size_t p : frozen) {
    const ParameterSpec &param = manifest.params[p];
    tensors.push_back({param.onnxName, opened.state + param.stateOffset, param.dtype, param.shape});
    for (const AliasSpec &alias : param.aliases)
      tensors.push_back(
          {alias.name, opened.state + param.stateOffset, param.dtype, param.shape, alias.transposed});
  }
  return writeOnnx({*model, save.path, save.keepOld, save.checkOnly, manifest.separated}, std::move(tensors),
                   reader());
}

/// The model file has it under the name of one that gets other values.
bool Weights::isMergedWithNew(size_t p) const {
  auto own = std::ranges::find(manifest.separated, manifest.params[p].onnxName, &SeparatedSpec::name);
  if (own == manifest.separated.end())
    return false;
  auto isFrom = [&](const ParameterSpec &param) {
    return param.onnxName == own->from || std::ranges::count(param.aliases, own->from, &AliasSpec::name) > 0;
  };
  auto from = std::ranges::find_if(manifest.params, isFrom);
  return from != manifest.params.end() &&
         (from->trained || carried.contains(size_t(from - manifest.params.begin())));
}

/// Of `state` and an offset in a whole one.
TensorReader Weights::reader() {
  return [this](const uint8_t *data, uint64_t bytes) {
    return opened.memory.view(uint64_t(data - opened.state), bytes);
  };
}

/// Where the artifact's own weights are gone.
Status Weights::check() const {
  if (unset.empty())
    return {};
  return Error{
      kExitFile,
      opened.artifact.folder + ": " + std::to_string(unset.size()) + " parameters have no value: `" +
          manifest.params[*unset.begin()].onnxName +
          "` is neither in the file of weights nor in the artifact, whose params.safetensors is gone",
      "weights",
      {"compile the model again", "--random-params SEED draws all"}};
}

Status Weights::write(const std::string &kind, const std::string &name, const uint8_t *data, uint64_t bytes) {
  auto place = placeOf(kind, name);
  if (!place)
    return place.error();
  if (bytes != place->bytes)
    return usage(kind + " `" + name + "` has " + std::to_string(place->bytes) + " bytes, not " +
                 std::to_string(bytes));
  if (kind == kAverage) {
    if (Status status = settleAverage(); !status)
      return status;
    place = placeOf(kind, name);
  }
  for (uint64_t done = 0; done < bytes; done += Device::kPieceBytes) {
    uint64_t piece = std::min(bytes - done, Device::kPieceBytes);
    Status status = opened.memory.write(place->offset + done, piece,
                                        [&](uint8_t *to) { std::memcpy(to, data + done, piece); });
    if (!status)
      return status;
  }
  return {};
}

/// A parameter, its gradient, or a slot of the optimizer's.
Expected<Weights::TensorPlace> Weights::placeOf(const std::string &kind, const std::string &name) const {
  const ParameterSpec *param = manifest.findByAnyName(name);
  if (!param)
    return usage("the artifact has no parameter `" + name + "`");
  for (const SlotSpec &slot : param->slots)
    if (slot.name == kind)
      return TensorPlace{averageOf(*param, slot), param->bytes(slot), param->dtype, &slot.shape};
  if (kind == "parameter")
    return TensorPlace{param->stateOffset, param->bytes(), param->dtype, &param->shape};
  if (kind == "gradient" && param->trained)
    return TensorPlace{param->gradOffset, param->bytes(), param->dtype, &param->shape};
  return usage("parameter `" + name + "` has no " + kind);
}

Expected<accum_tensor> Weights::read(const std::string &kind, const std::string &name) {
  static const std::vector<int64_t> kScalarShape;
  TensorPlace place;
  if (kind == "scalar") {
    const ScalarSpec *scalar = manifest.findScalar(name);
    if (!scalar)
      return usage("the artifact has no scalar `" + name + "`");
    place = {scalar->stateOffset, bytesOf(scalar->dtype), scalar->dtype, &kScalarShape};
  } else if (auto found = placeOf(kind, name))
    place = *found;
  else
    return found.error();
  auto data = opened.memory.view(place.offset, place.bytes);
  if (!data)
    return data.error();
  return accum_tensor{*data, place.dtype, int32_t(place.shape->size()), place.shape->data()};
}

/// Trained parameters and the frozen ones that are not the artifact's, then the optimizer's slots of each as
/// `SLOT:NAME`.
std::vector<ParameterSpec> Weights::checkpointed(bool withSlots) const {
  std::vector<ParameterSpec> tensors;
  for (size_t p = 0; p < manifest.params.size(); ++p) {
    const ParameterSpec &param = manifest.params[p];
    if (!param.trained && !carried.contains(p))
      continue;
    ParameterSpec tensor;
    tensor.dtype = param.dtype;
    tensor.trained = param.trained;
    auto add = [&](const std::string &name, const std::vector<int64_t> &shape, uint64_t offset) {
      tensor.onnxName = name;
      tensor.shape = shape;
      tensor.stateOffset = offset;
      tensors.push_back(tensor);
    };
    add(param.onnxName, param.shape, param.stateOffset);
    for (const SlotSpec &slot : param.slots)
      if (withSlots)
        add(slot.name + ":" + param.onnxName, slot.shape, averageOf(param, slot));
  }
  return tensors;
}

Status Weights::resume(const std::string &tensors, bool weightsOnly) {
  if (Status status = carryFrozen(tensors); !status)
    return status;
  averageFollows = weightsOnly; // else it is in the checkpoint
  if (weightsOnly && takesAverage)
    if (Status status = hasAverage(tensors); !status)
      return status;
  Manifest held;
  held.params = checkpointed(!weightsOnly);
  for (ParameterSpec &tensor : held.params)
    if (weightsOnly && takesAverage && tensor.trained)
      tensor.onnxName = std::string(kAverage) + ":" + tensor.onnxName;
  if (Status status = loadParameters(held, tensors, opened.memory); !status)
    return status;
  for (size_t p = 0; p < manifest.params.size(); ++p)
    if (manifest.params[p].trained || carried.contains(p))
      unset.erase(p);
  return check();
}

/// Of a run without `--ema` a checkpoint has none.
Status Weights::hasAverage(const std::string &path) const {
  auto arrays = readSafetensors(path);
  if (!arrays)
    return arrays.error();
  auto isAverage = [](const Array &array) { return array.name.starts_with(std::string(kAverage) + ":"); };
  if (std::ranges::any_of(*arrays, isAverage))
    return {};
  return Error{kExitUsage,
               path + ": has no average of the weights; the run that wrote it kept none",
               "other-checkpoint",
               {"leave out --weights ema, in Python weights=\"ema\": the trained weights are there"}};
}

/// Frozen parameters are in a checkpoint where they were not the artifact's.
Status Weights::carryFrozen(const std::string &path) {
  auto arrays = readSafetensors(path);
  if (!arrays)
    return arrays.error();
  for (size_t p = 0; p < manifest.params.size(); ++p) {
    const ParameterSpec &param = manifest.params[p];
    if (!param.trained && std::ranges::count(*arrays, param.onnxName, &Array::name))
      carried.insert(p);
  }
  return {};
}

} // namespace accum::runtime
