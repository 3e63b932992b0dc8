// SPDX-License-Identifier: Apache-2.0
// Scalars, and memory that means nothing.
#include "runtime/device/Opened.h"
#include "runtime/files/Convert.h"
#include <algorithm>
#include <cstring>

namespace accum::runtime {
namespace {

/// write(offset, bytes, fill) for each piece of a range.
template <typename Write> Status fillRange(uint64_t begin, uint64_t bytes, uint8_t byte, Write &&write) {
  for (uint64_t done = 0; done < bytes; done += Device::kPieceBytes) {
    uint64_t piece = std::min(bytes - done, Device::kPieceBytes);
    Status status = write(begin + done, piece, [&](uint8_t *to) { std::memset(to, byte, piece); });
    if (!status)
      return status;
  }
  return {};
}

} // namespace

void Opened::noteOnce(const std::vector<std::string> &several) {
  for (const std::string &notice : several)
    if (std::ranges::find(notices, notice) == notices.end())
      notices.push_back(notice);
}

uint64_t Opened::programBytes() const {
  return artifact.manifest.stateBytes + (artifact.program->scratch_bytes + 255) / 256 * 256;
}

bool Opened::isGradient(const void *data) const {
  const GradientRange &range = artifact.manifest.gradients;
  const uint8_t *first = state + memory.local(range.offset), *at = static_cast<const uint8_t *>(data);
  return !memory.isSharded() && at >= first && at < first + range.bytes;
}

Expected<double> Opened::valueOf(const ScalarSpec &scalar) {
  auto data = device->view(state + memory.local(scalar.stateOffset), bytesOf(scalar.dtype));
  return data ? Expected<double>(asDouble(*data, scalar.dtype, 0)) : data.error();
}

Expected<double> Opened::scalarOr(const char *name, double otherwise) {
  const ScalarSpec *scalar = artifact.manifest.findScalar(name);
  return scalar ? valueOf(*scalar) : otherwise;
}

Status Opened::fill(uint8_t byte) {
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

} // namespace accum::runtime
