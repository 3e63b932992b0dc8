// SPDX-License-Identifier: Apache-2.0
// Micro-batches to the card: rows are written and copied for the next micro-step while the current one runs.
//
//   pinned[0]  pinned[1]     written by the process, in turn
//        \      /
//        landing             copy stream: from the pinned block
//           |
//         inputs             compute stream: within the card, so that a captured micro-step always finds its
//                            inputs at one address
#ifndef ACCUM_RUNTIME_CUDA_INPUTFEED_H
#define ACCUM_RUNTIME_CUDA_INPUTFEED_H

#include "runtime/cuda/ComputeStream.h"
#include "runtime/device/Device.h"

namespace accum::runtime::cuda {

class InputFeed {
public:
  explicit InputFeed(ComputeStream &compute) : compute(compute) {}
  ~InputFeed();
  InputFeed(const InputFeed &) = delete;
  InputFeed &operator=(const InputFeed &) = delete;

  /// Both blocks have `bytes` bytes.
  Status create(Address inputs, Address landing, uint64_t bytes);
  /// What was fetched ahead belongs to another window.
  void forget() { ready.reset(); }
  /// The inputs of a micro-step, fetched ahead or now.
  Status feed(MicroStep at, const Device::FillInputs &fill);
  /// Starts to bring those of a micro-step.
  Status fetch(MicroStep at, const Device::FillInputs &fill);

private:
  struct Block {
    uint8_t *memory = nullptr;
    Event copied = nullptr;
  };
  ComputeStream &compute;
  Stream copies = nullptr;
  Event consumed = nullptr; ///< the landing block may be written again
  Block blocks[2];
  int next = 0;
  Address inputs = 0, landing = 0;
  uint64_t bytes = 0;
  std::optional<MicroStep> ready; ///< the micro-step in the landing block, or on its way there
  uint64_t landed = 0;            ///< bytes of it
  Event arrived = nullptr;        ///< of that; one of the blocks'
};

} // namespace accum::runtime::cuda
#endif
