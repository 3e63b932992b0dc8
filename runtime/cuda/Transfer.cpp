// SPDX-License-Identifier: Apache-2.0
// A piece is written again only when its last copy has happened.
#include "runtime/cuda/Transfer.h"
#include <algorithm>
#include <cstring>

namespace accum::runtime::cuda {

Status Transfer::create() {
  for (Piece &piece : pieces) {
    CUDA_TRY(compute.driver, cuMemAllocHost_v2, reinterpret_cast<void **>(&piece.memory),
             size_t(Device::kPieceBytes));
    CUDA_TRY(compute.driver, cuEventCreate, &piece.copied, kEventDisableTiming);
  }
  return {};
}

Transfer::~Transfer() {
  for (Piece &piece : pieces) {
    if (piece.copied) {
      compute.driver.api.cuEventSynchronize(piece.copied);
      compute.driver.api.cuEventDestroy_v2(piece.copied);
    }
    if (piece.memory)
      compute.driver.api.cuMemFreeHost(piece.memory);
  }
}

Status Transfer::write(Address to, uint64_t bytes, const Device::Fill &fill) {
  Piece &piece = pieces[next];
  next ^= 1;
  if (Status status = compute.waitFor(piece.copied); !status)
    return status;
  fill(piece.memory);
  CUDA_TRY(compute.driver, cuMemcpyHtoDAsync_v2, to, piece.memory, bytes, compute.stream);
  CUDA_TRY(compute.driver, cuEventRecord, piece.copied, compute.stream);
  return {};
}

Expected<const uint8_t *> Transfer::read(Address from, uint64_t bytes) {
  bool fits = bytes <= Device::kPieceBytes;
  if (!fits)
    large.resize(bytes);
  Piece &piece = pieces[next];
  next ^= 1;
  if (Status status = compute.waitFor(piece.copied); !status)
    return status.error();
  for (uint64_t first = 0; first < bytes; first += Device::kPieceBytes) {
    uint64_t now = std::min(Device::kPieceBytes, bytes - first);
    CUDA_TRY(compute.driver, cuMemcpyDtoHAsync_v2, piece.memory, from + first, now, compute.stream);
    if (Status status = compute.wait(); !status)
      return status.error();
    if (!fits)
      std::memcpy(large.data() + first, piece.memory, now);
  }
  return fits ? piece.memory : large.data();
}

} // namespace accum::runtime::cuda
