// SPDX-License-Identifier: Apache-2.0
// Writes checkpoints: each rank its own ranges of one file, while training waits or from a copy.
#ifndef ACCUM_RUNTIME_CHECKPOINTS_CHECKPOINTWRITER_H
#define ACCUM_RUNTIME_CHECKPOINTS_CHECKPOINTWRITER_H

#include "runtime/checkpoints/Checkpoint.h"
#include "runtime/checkpoints/FileShares.h"
#include "runtime/files/RangeWriter.h"
#include "runtime/ranks/Collectives.h"
#include <atomic>
#include <functional>
#include <thread>

namespace accum::runtime {

/// One at a time. All ranks make the same calls, and an error is one of all of them: it names the rank and is
/// said by that one (see Collectives::agree).
class CheckpointWriter {
public:
  /// Both outlive it.
  CheckpointWriter(Collectives &ranks, StateMemory &memory) : ranks(ranks), memory(memory) {}
  CheckpointWriter(const CheckpointWriter &) = delete;
  CheckpointWriter &operator=(const CheckpointWriter &) = delete;
  /// Waits for what this rank is writing.
  ~CheckpointWriter();

  /// Whether all ranks see one folder, which rank 0 has made and locked; needed where there are several. Slug
  /// `not-shared` (exit 3).
  Status join(const std::string &root);
  /// From now on `write` returns when a rank has copied its share, and a thread writes the copy. The memory
  /// is taken here: its bytes, on this rank. Slug `memory` (exit 4).
  Expected<uint64_t> writeInBackground(const std::vector<ParameterSpec> &tensors);
  /// Writes ROOT/step-N: beside its place, synced, renamed; then removes all but the newest `keep` (0: none
  /// is removed). An error leaves what was there. The tensors are where the state has them.
  Status write(const std::string &root, CheckpointFacts facts, const std::vector<ParameterSpec> &tensors,
               uint64_t keep);
  /// How the latest one ended, told once; with `wait` behind its end, else success while it is on its way.
  Status finish(bool wait);

private:
  /// Bytes of a share, from its byte `at` on, until the next call.
  using Reader =
      std::function<Expected<const uint8_t *>(const FileShare &share, uint64_t at, uint64_t bytes)>;
  /// Of each run, in order: its checksum where this rank has written it, else 0.
  using Sums = std::vector<int64_t>;

  bool isAlone() const { return ranks.ranks() == 1; }
  bool isFirst() const { return ranks.rank() == 0; }
  Status begin() const;
  Status copyShares();
  Expected<const uint8_t *> fromState(const FileShare &share, uint64_t at, uint64_t bytes);
  Expected<Sums> writeShares(const Reader &read) const;
  Expected<int64_t> writeRun(RangeWriter &file, size_t first, size_t end, const Reader &read) const;
  Expected<Sums> writeCopy() const;
  Status endShares(Expected<Sums> own);
  Status publish() const;
  Status agree(Status own) const;

  Collectives &ranks;
  StateMemory &memory;
  std::string token; ///< of this job, in the names of folders that it writes

  std::string root, folder;
  CheckpointFacts facts;
  uint64_t keep = 0;
  std::string header;
  std::vector<FileShare> shares;
  TensorsChecksum sum;

  bool inBackground = false;
  std::vector<uint8_t> copy;
  std::thread writer;
  std::atomic<bool> done{false};
  /// Of the thread: of all ranks its share, then of rank 0 what makes a checkpoint of them. Who is alone does
  /// both at once.
  enum class Phase { None, Shares, Publication } phase = Phase::None;
  Expected<Sums> written = Sums();
  Status published;
};

} // namespace accum::runtime
#endif
