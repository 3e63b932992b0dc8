// SPDX-License-Identifier: Apache-2.0
// Tensors out of a session's memory and into it.
#include "runtime/session/Session.h"
#include "runtime/weights/Parameters.h"
#include <algorithm>
#include <cstring>

namespace accum::runtime {
namespace {} // namespace

/// write(offset, bytes, fill) for each piece of a range.
template <typename Write>
static Status fillRange(uint64_t begin, uint64_t bytes, uint8_t byte, Write &&write) {
  for (uint64_t done = 0; done < bytes; done += Device::kPieceBytes) {
    uint64_t piece = std::min(bytes - done, Device::kPieceBytes);
    Status status = write(begin + done, piece, [&](uint8_t *to) { std::memset(to, byte, piece); });
    if (!status)
      return status;
  }
  return {};
}

/// What lies between two gradients stays zero: norms and updates go over it.
Status Session::fillMemory(uint8_t byte) {
  const Manifest &manifest = artifact.manifest;
  auto inState = [&](uint64_t offset, uint64_t size, const Device::Fill &fill) {
    return memory.write(offset, size, fill);
  };
  auto onRank = [&](uint64_t offset, uint64_t size, const Device::Fill &fill) {
    return device->write(state + offset, size, fill);
  };
  uint64_t kept = memory.isPlain() ? manifest.stateBytes : memory.keptBytes();
  Status status = fillRange(kept, manifest.stateBytes + artifact.program->scratch_bytes - kept, byte, onRank);
  for (const ParameterSpec &param : manifest.params)
    if (status && param.trained)
      status = fillRange(param.gradOffset, param.bytes(), byte, inState);
  for (const ScalarSpec &scalar : manifest.scalars)
    if (status)
      status = fillRange(scalar.stateOffset, bytesOf(scalar.dtype), byte, inState);
  return status;
}

Status Session::write(const std::string &kind, const std::string &name, const uint8_t *data, uint64_t bytes) {
  auto place = placeOf(kind, name);
  if (!place)
    return place.error();
  if (bytes != place->bytes)
    return usage(kind + " `" + name + "` has " + std::to_string(place->bytes) + " bytes, not " +
                 std::to_string(bytes));
  for (uint64_t done = 0; done < bytes; done += Device::kPieceBytes) {
    uint64_t piece = std::min(bytes - done, Device::kPieceBytes);
    Status status =
        memory.write(place->offset + done, piece, [&](uint8_t *to) { std::memcpy(to, data + done, piece); });
    if (!status)
      return status;
  }
  return {};
}

/// A parameter, its gradient, or a slot of the optimizer's.
Expected<Session::TensorPlace> Session::placeOf(const std::string &kind, const std::string &name) const {
  const ParameterSpec *param = artifact.manifest.findByAnyName(name);
  if (!param)
    return usage("the artifact has no parameter `" + name + "`");
  for (const SlotSpec &slot : param->slots)
    if (slot.name == kind)
      return TensorPlace{slot.stateOffset, param->bytes(slot), param->dtype, &slot.shape};
  if (kind == "parameter")
    return TensorPlace{param->stateOffset, param->bytes(), param->dtype, &param->shape};
  if (kind == "gradient" && param->trained)
    return TensorPlace{param->gradOffset, param->bytes(), param->dtype, &param->shape};
  return usage("parameter `" + name + "` has no " + kind);
}

Expected<accum_tensor> Session::read(const std::string &kind, const std::string &name) {
  static const std::vector<int64_t> kScalarShape;
  TensorPlace place;
  if (kind == "scalar") {
    const ScalarSpec *scalar = artifact.manifest.findScalar(name);
    if (!scalar)
      return usage("the artifact has no scalar `" + name + "`");
    place = {scalar->stateOffset, bytesOf(scalar->dtype), scalar->dtype, &kScalarShape};
  } else if (auto found = placeOf(kind, name))
    place = *found;
  else
    return found.error();
  auto data = memory.view(place.offset, place.bytes);
  if (!data)
    return data.error();
  return accum_tensor{*data, place.dtype, int32_t(place.shape->size()), place.shape->data()};
}

} // namespace accum::runtime
