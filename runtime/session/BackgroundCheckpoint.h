// SPDX-License-Identifier: Apache-2.0
// Checkpoints that are written while training goes on: the state is copied, and a thread writes the copy.
#ifndef ACCUM_RUNTIME_SESSION_BACKGROUNDCHECKPOINT_H
#define ACCUM_RUNTIME_SESSION_BACKGROUNDCHECKPOINT_H

#include "runtime/session/Checkpoint.h"
#include <atomic>
#include <memory>
#include <thread>

namespace accum::runtime {

/// One at a time. Used by one thread; what runs beside it is hidden.
class BackgroundCheckpoint {
public:
  /// Takes `bytes` of memory, which the copies need. Slug `memory` (exit 4) where it is not there.
  static Expected<std::unique_ptr<BackgroundCheckpoint>> make(uint64_t bytes);
  BackgroundCheckpoint(const BackgroundCheckpoint &) = delete;
  BackgroundCheckpoint &operator=(const BackgroundCheckpoint &) = delete;
  /// Waits for what is on its way.
  ~BackgroundCheckpoint();

  /// What writeCheckpoint does with a copy of the tensors; returns when they are copied. None may be on its
  /// way.
  Status start(const std::string &root, CheckpointFacts facts, std::vector<TensorToWrite> tensors,
               const TensorReader &read, uint64_t keep);
  /// How the latest one ended, told once; with `wait` behind its end, else success while it is on its way.
  Status finish(bool wait);

private:
  explicit BackgroundCheckpoint(uint64_t bytes);

  std::unique_ptr<uint8_t[]> copy;
  std::thread writer;
  std::atomic<bool> done{false};
  Status result;
};

} // namespace accum::runtime
#endif
