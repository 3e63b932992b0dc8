// SPDX-License-Identifier: Apache-2.0
// Checkpoints of one run: written from its state, and read back where they are of the same run.
#ifndef ACCUM_RUNTIME_CHECKPOINTS_CHECKPOINTS_H
#define ACCUM_RUNTIME_CHECKPOINTS_CHECKPOINTS_H

#include "runtime/checkpoints/CheckpointWriter.h"
#include "runtime/weights/Weights.h"

namespace accum::runtime {

/// All ranks make the same calls.
class Checkpoints {
public:
  /// What this run would record after so many steps.
  using FactsAt = std::function<CheckpointFacts(uint64_t step)>;

  /// Both outlive it.
  Checkpoints(Opened &opened, Weights &weights) : opened(opened), weights(weights) {}
  Checkpoints(const Checkpoints &) = delete;
  Checkpoints &operator=(const Checkpoints &) = delete;

  /// Where there are several ranks: all of them write into this folder, which rank 0 has locked.
  Status share(const std::string &root);
  Status write(const std::string &root, const CheckpointFacts &facts, uint64_t keep);
  /// From now on they are written by a thread, from a copy of the state.
  Status writeInBackground();
  /// How the latest of those ended, told once; success while it is on its way, unless `wait`.
  Status finish(bool wait);
  /// Takes the weights and slots of a checkpoint, or of the newest whole one of a folder of them; nothing
  /// where there is none. Slug `other-checkpoint` (exit 2) where it was made by another run.
  Expected<std::optional<CheckpointFacts>> resume(const std::string &path, bool weightsOnly,
                                                  const FactsAt &factsAt);

private:
  CheckpointWriter &writerOf();
  Expected<CheckpointFacts> take(const std::string &path, bool weightsOnly, const FactsAt &factsAt);
  Expected<std::optional<std::string>> newest(const std::string &root);

  Opened &opened;
  Weights &weights;
  std::unique_ptr<CheckpointWriter> writer; ///< from the first call that needs it
};

} // namespace accum::runtime
#endif
