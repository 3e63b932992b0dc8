// SPDX-License-Identifier: Apache-2.0
// A session's weights from another file than the artifact's.
#include "runtime/session/Session.h"
#include "runtime/weights/FrameworkNames.h"
#include "runtime/weights/OnnxWriter.h"
#include "runtime/weights/Parameters.h"
#include <algorithm>
#include <filesystem>

namespace accum::runtime {
namespace {

namespace fs = std::filesystem;

SavedNames savedNames(const std::string &names) {
  return names == "framework" ? SavedNames::Framework : SavedNames::Onnx;
}

/// The model file that an artifact was compiled from: where the user says, where it was, or beside the
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

Expected<size_t> Session::initWeights(const InitialWeights &from) {
  auto taken = initParameters(artifact.manifest, from, memory);
  if (!taken)
    return taken.error();
  for (size_t p : taken->params) {
    unset.erase(p);
    if (!artifact.manifest.params[p].trained)
      carried.insert(p);
  }
  for (const std::string &notice : taken->notices)
    decisions.push_back(notice);
  if (Status status = checkValues(); !status)
    return status.error();
  return taken->params.size();
}

/// Of a file for the framework's loader, before there is one.
void Session::noteMissing(const std::string &names) {
  if (names != "framework")
    return;
  for (std::string &sentence : missingForFramework(artifact.manifest))
    if (std::find(decisions.begin(), decisions.end(), sentence) == decisions.end())
      decisions.push_back(std::move(sentence));
}

Status Session::save(const std::string &kind, const std::string &names, const std::string &path,
                     bool keepOld) {
  SavedTensor what = kind == "gradient" ? SavedTensor::Gradient : SavedTensor::Parameter;
  if (path.empty()) {
    noteMissing(names);
    return {};
  }
  auto tensors = tensorsToSave(artifact.manifest, state, what, savedNames(names));
  return writeSafetensors(path, tensors, keepOld, reader());
}

Status Session::saveWeights(const WeightsToSave &save) {
  bool isOnnx = save.path.ends_with(".onnx");
  if (isOnnx && (save.names == "framework" || save.stored))
    return Error{kExitUsage,
                 save.path + ": a model file keeps its names and types",
                 "usage",
                 {"--names framework and --export-dtype are for FILE.safetensors"}};
  auto tensors = tensorsToSave(artifact.manifest, state, SavedTensor::Parameter, savedNames(save.names));
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
Status Session::saveModel(const WeightsToSave &save, std::vector<TensorToWrite> tensors) {
  const Manifest &manifest = artifact.manifest;
  auto model = findModel(artifact, save.model);
  if (!model)
    return model.error();
  std::set<size_t> frozen = carried;
  for (size_t p = 0; p < manifest.params.size(); ++p)
    if (!manifest.params[p].trained && isMergedWithNew(p))
      frozen.insert(p);
  for (size_t p : frozen) {
    const ParameterSpec &param = manifest.params[p];
    tensors.push_back({param.onnxName, state + param.stateOffset, param.dtype, param.shape});
    for (const AliasSpec &alias : param.aliases)
      tensors.push_back({alias.name, state + param.stateOffset, param.dtype, param.shape, alias.transposed});
  }
  return writeOnnx({*model, save.path, save.keepOld, save.checkOnly, manifest.separated}, std::move(tensors),
                   reader());
}

/// The model file has it under the name of one that gets other values.
bool Session::isMergedWithNew(size_t p) const {
  const Manifest &manifest = artifact.manifest;
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
TensorReader Session::reader() {
  return [this](const uint8_t *data, uint64_t bytes) { return memory.view(uint64_t(data - state), bytes); };
}

/// Where the artifact's own weights are gone.
Status Session::checkValues() const {
  if (unset.empty())
    return {};
  return Error{
      kExitFile,
      artifact.folder + ": " + std::to_string(unset.size()) + " parameters have no value: `" +
          artifact.manifest.params[*unset.begin()].onnxName +
          "` is neither in the file of weights nor in the artifact, whose params.safetensors is gone",
      "weights",
      {"compile the model again", "--random-params SEED draws all"}};
}

} // namespace accum::runtime
