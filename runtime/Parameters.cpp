// SPDX-License-Identifier: Apache-2.0
// Loading, random initialisation and saving.
#include "runtime/Parameters.h"
#include "runtime/Convert.h"
#include "runtime/Philox.h"
#include "runtime/SafetensorsWriter.h"
#include <algorithm>
#include <map>

namespace accum::runtime {
namespace {

// Keeps these draws apart from the shuffle's and the synthetic data's.
constexpr uint64_t kParameterStream = uint64_t(2) << 56;

// GPT-2's choice; anything of this size lets a transformer learn.
constexpr double kDeviation = 0.02;

Error badParameter(const std::string &path, const std::string &name, const std::string &what) {
  return {
      kExitFile, path + ": parameter `" + name + "` " + what, "bad-artifact", {"compile the model again"}};
}

Status loadOne(const ParameterSpec &param, const std::map<std::string, const Array *> &byName,
               const std::string &path, uint8_t *state, DType &fileType) {
  auto found = byName.find(param.onnxName);
  if (found == byName.end())
    return badParameter(path, param.onnxName, "is missing");
  const Array &array = *found->second;
  if (array.shape != param.shape)
    return badParameter(path, param.onnxName,
                        "has shape " + formatShape(array.shape) + ", expected " + formatShape(param.shape));
  if (!canConvert(array.dtype, param.dtype))
    return badParameter(path, param.onnxName,
                        "has dtype " + std::string(nameOf(array.dtype)) + ", expected " +
                            std::string(nameOf(param.dtype)));
  forEachPiece(array, [&](int64_t first, int64_t count) {
    convert(array.data + first * bytesOf(array.dtype), array.dtype,
            state + param.stateOffset + first * bytesOf(param.dtype), param.dtype, count);
    return true;
  });
  fileType = array.dtype;
  return {};
}

void storeFloat(uint8_t *data, DType dtype, int64_t index, double value) {
  uint8_t *element = data + index * bytesOf(dtype);
  convert(reinterpret_cast<const uint8_t *>(&value), ACCUM_F64, element, dtype, 1);
}

bool isAllOnes(const uint8_t *data, const ParameterSpec &param) {
  for (int64_t i = 0; i < param.elements(); ++i)
    if (asDouble(data, param.dtype, i) != 1)
      return false;
  return true;
}

/// The names under which a parameter is written.
std::vector<AliasSpec> namesFor(const ParameterSpec &param, SavedNames names) {
  if (names == SavedNames::Framework)
    return param.framework;
  std::vector<AliasSpec> all = {{param.onnxName, false}};
  all.insert(all.end(), param.aliases.begin(), param.aliases.end());
  return all;
}

Status checkFramework(const Manifest &manifest) {
  for (const ParameterSpec &param : manifest.params)
    if (param.trained && param.framework.empty())
      return Error{kExitUsage,
                   "--names framework: the model file does not tell the framework's name of `" +
                       param.onnxName + "`",
                   "names",
                   {"save with --names onnx"}};
  return {};
}

} // namespace

Status loadParameters(const Manifest &manifest, const std::string &path, uint8_t *state,
                      std::vector<DType> &fileTypes) {
  auto arrays = readSafetensors(path);
  if (!arrays)
    return arrays.error();
  std::map<std::string, const Array *> byName;
  for (const Array &array : *arrays)
    byName[array.name] = &array;
  fileTypes.assign(manifest.params.size(), ACCUM_F32);
  for (size_t i = 0; i < manifest.params.size(); ++i)
    if (Status status = loadOne(manifest.params[i], byName, path, state, fileTypes[i]); !status)
      return status;
  if (!arrays->empty())
    arrays->front().file->release();
  return {};
}

void randomizeParameters(const Manifest &manifest, uint64_t seed, uint8_t *state) {
  for (size_t p = 0; p < manifest.params.size(); ++p) {
    const ParameterSpec &param = manifest.params[p];
    if (!param.trained)
      continue;
    uint8_t *data = state + param.stateOffset;
    bool matrix = param.shape.size() >= 2;
    double constant = !matrix && isAllOnes(data, param) ? 1 : 0;
    Draws draws(seed, kParameterStream + p);
    for (int64_t i = 0; i < param.elements(); ++i)
      storeFloat(data, param.dtype, i, matrix ? kDeviation * draws.normal() : constant);
  }
}

Status saveTensors(const Manifest &manifest, const uint8_t *state, const std::vector<DType> &fileTypes,
                   SavedTensor what, SavedNames names, const std::string &path, bool keepOld) {
  if (names == SavedNames::Framework)
    if (Status status = checkFramework(manifest); !status)
      return status;
  if (path.empty())
    return {};
  std::vector<TensorToWrite> tensors;
  for (size_t p = 0; p < manifest.params.size(); ++p) {
    const ParameterSpec &param = manifest.params[p];
    if (!param.trained)
      continue;
    const uint8_t *data = state + (what == SavedTensor::Gradient ? param.gradOffset : param.stateOffset);
    DType fileType = param.dtype == ACCUM_F64 ? ACCUM_F64 : fileTypes[p];
    for (const AliasSpec &name : namesFor(param, names))
      tensors.push_back({name.name, data, param.dtype, fileType, param.shape, name.transposed});
  }
  return writeSafetensors(path, tensors, keepOld);
}

} // namespace accum::runtime
