// SPDX-License-Identifier: Apache-2.0
// Between the process's memory and the card's, in the order of the compute stream, through pinned pieces.
#ifndef ACCUM_RUNTIME_CUDA_TRANSFER_H
#define ACCUM_RUNTIME_CUDA_TRANSFER_H

#include "runtime/cuda/ComputeStream.h"
#include "runtime/device/Device.h"

namespace accum::runtime::cuda {

class Transfer {
public:
  explicit Transfer(ComputeStream &compute) : compute(compute) {}
  ~Transfer();
  Transfer(const Transfer &) = delete;
  Transfer &operator=(const Transfer &) = delete;

  Status create();
  /// At most Device::kPieceBytes; returns when `fill` has run, the copy follows.
  Status write(Address to, uint64_t bytes, const Device::Fill &fill);
  /// Waits; the bytes stay until the next call.
  Expected<const uint8_t *> read(Address from, uint64_t bytes);

private:
  struct Piece {
    uint8_t *memory = nullptr;
    Event copied = nullptr;
  };
  ComputeStream &compute;
  Piece pieces[2]; ///< one is filled while the other is copied
  int next = 0;
  std::vector<uint8_t> large; ///< what does not fit into a piece
};

} // namespace accum::runtime::cuda
#endif
