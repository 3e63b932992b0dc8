// SPDX-License-Identifier: Apache-2.0
// Loading, random initialisation and saving.
#include "runtime/weights/Parameters.h"
#include "runtime/artifact/Optimizers.h"
#include "runtime/data/Philox.h"
#include "runtime/files/Array.h"
#include "runtime/files/Convert.h"
#include "runtime/system/ThreadPool.h"
#include "runtime/weights/FrameworkNames.h"
#include <algorithm>
#include <map>

namespace accum::runtime {
namespace {

// Keeps these draws apart from the shuffle's and the synthetic data's.
constexpr uint64_t kParameterStream = uint64_t(2) << 56;

// GPT-2's choice; anything of this size lets a transformer learn.
constexpr double kDeviation = 0.02;

constexpr int64_t kDrawnTogether = 1 << 14; // by one thread, in half a millisecond

Error badParameter(const std::string &path, const std::string &name, const std::string &what) {
  return {
      kExitFile, path + ": parameter `" + name + "` " + what, "bad-artifact", {"compile the model again"}};
}

Status loadOne(const ParameterSpec &param, const std::map<std::string, const Array *> &byName,
               const std::string &path, StateMemory &state) {
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
  Status status;
  Status read = forEachPiece(array, [&](int64_t first, int64_t count, const uint8_t *values) {
    status = state.write(param.stateOffset + first * bytesOf(param.dtype), count * bytesOf(param.dtype),
                         [&](uint8_t *to) { convert(values, array.dtype, to, param.dtype, count); });
    return bool(status);
  });
  return read ? status : read;
}

Expected<bool> isAllOnes(StateMemory &state, const ParameterSpec &param) {
  uint64_t size = bytesOf(param.dtype);
  for (uint64_t done = 0; done < param.bytes(); done += StateMemory::kPieceBytes) {
    uint64_t bytes = std::min(StateMemory::kPieceBytes, param.bytes() - done);
    auto data = state.viewTogether(param.stateOffset + done, bytes);
    if (!data)
      return data.error();
    for (uint64_t i = 0; i < bytes / size; ++i)
      if (asDouble(*data, param.dtype, int64_t(i)) != 1)
        return false;
  }
  return true;
}

/// Elements `first` and up of a parameter, drawn by all threads: an element's draws are known by its number.
void drawNormal(const Draws &draws, DType dtype, int64_t first, int64_t count, uint8_t *to) {
  parallelFor(count, (count + kDrawnTogether - 1) / kDrawnTogether, [&](int64_t begin, int64_t end) {
    Draws own = draws;
    own.skip(uint64_t(first + begin) * Draws::kBitsOfNormal);
    for (int64_t i = begin; i < end; ++i)
      storeFloat(to, dtype, i, kDeviation * own.normal());
  });
}

Status randomizeOne(const ParameterSpec &param, const Draws &draws, StateMemory &state) {
  bool matrix = param.shape.size() >= 2;
  auto ones = matrix ? Expected<bool>(false) : isAllOnes(state, param);
  if (!ones)
    return ones.error();
  int64_t size = int64_t(bytesOf(param.dtype)), step = int64_t(StateMemory::kPieceBytes) / size;
  for (int64_t first = 0; first < param.elements(); first += step) {
    int64_t count = std::min(step, param.elements() - first);
    Status status = state.write(param.stateOffset + first * size, count * size, [&](uint8_t *to) {
      if (matrix)
        return drawNormal(draws, param.dtype, first, count, to);
      for (int64_t i = 0; i < count; ++i)
        storeFloat(to, param.dtype, i, double(*ones));
    });
    if (!status)
      return status;
  }
  return {};
}

bool contains(const std::string &name, const char *word) { return name.find(word) != std::string::npos; }

/// A frozen one is its own average.
uint64_t placeOf(const ParameterSpec &param, SavedTensor what) {
  auto average = std::ranges::find(param.slots, kAverage, &SlotSpec::name);
  if (what == SavedTensor::Average && average != param.slots.end())
    return average->stateOffset;
  return what == SavedTensor::Gradient ? param.gradOffset : param.stateOffset;
}

/// The names under which a parameter is written.
std::vector<AliasSpec> namesFor(const ParameterSpec &param, SavedNames names) {
  if (names == SavedNames::Framework)
    return namesForFramework(param);
  std::vector<AliasSpec> all = {{param.onnxName, false}};
  all.insert(all.end(), param.aliases.begin(), param.aliases.end());
  return all;
}

} // namespace

Status loadParameters(const Manifest &manifest, const std::string &path, StateMemory &state) {
  auto arrays = readSafetensors(path);
  if (!arrays)
    return arrays.error();
  std::map<std::string, const Array *> byName;
  for (const Array &array : *arrays)
    byName[array.name] = &array;
  for (const ParameterSpec &param : manifest.params)
    if (Status status = loadOne(param, byName, path, state); !status)
      return status;
  if (!arrays->empty())
    arrays->front().file->release();
  return {};
}

Status inventParameters(const Manifest &manifest, StateMemory &state) {
  for (const ParameterSpec &param : manifest.params) {
    bool isBias = contains(param.onnxName, "bias") || contains(param.onnxName, "beta");
    if (param.shape.size() != 1 || isBias || param.bytes() > Device::kPieceBytes)
      continue;
    Status status = state.write(param.stateOffset, param.bytes(), [&](uint8_t *to) {
      for (int64_t i = 0; i < param.elements(); ++i)
        storeFloat(to, param.dtype, i, 1);
    });
    if (!status)
      return status;
  }
  return {};
}

Status randomizeParameters(const Manifest &manifest, uint64_t seed, StateMemory &state) {
  std::vector<size_t> order = manifest.modelOrder(); // the same weights however the state is held
  for (size_t p = 0; p < order.size(); ++p)
    if (const ParameterSpec &param = manifest.params[order[p]]; param.trained)
      if (Status status = randomizeOne(param, {seed, kParameterStream + p}, state); !status)
        return status;
  return {};
}

std::vector<TensorToWrite> tensorsToSave(const Manifest &manifest, const uint8_t *state, SavedTensor what,
                                         SavedNames names) {
  std::vector<TensorToWrite> tensors;
  // The framework's loader wants frozen ones too.
  bool isWhole = what != SavedTensor::Gradient && names == SavedNames::Framework;
  for (const ParameterSpec &param : manifest.params) {
    if (!param.trained && !isWhole)
      continue;
    const uint8_t *data = state + placeOf(param, what);
    for (const AliasSpec &name : namesFor(param, names))
      tensors.push_back({name.name, data, param.dtype, param.shape, name.transposed,
                         what == SavedTensor::Gradient ? 0 : name.added});
  }
  return tensors;
}

} // namespace accum::runtime
