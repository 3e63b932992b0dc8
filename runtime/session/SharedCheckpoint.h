// SPDX-License-Identifier: Apache-2.0
// Checkpoints that several ranks write at once, each its own ranges of one file.
#ifndef ACCUM_RUNTIME_SESSION_SHAREDCHECKPOINT_H
#define ACCUM_RUNTIME_SESSION_SHAREDCHECKPOINT_H

#include "runtime/files/RangeWriter.h"
#include "runtime/ranks/Collectives.h"
#include "runtime/session/Checkpoint.h"
#include "runtime/session/FileShares.h"
#include <atomic>
#include <functional>
#include <thread>

namespace accum::runtime {

/// One at a time. All ranks make the same calls, and an error is one of all of them: it names the rank and is
/// said by that one (see Collectives::agree).
class SharedCheckpoint {
public:
  /// Both outlive it.
  SharedCheckpoint(Collectives &ranks, StateMemory &memory) : ranks(ranks), memory(memory) {}
  SharedCheckpoint(const SharedCheckpoint &) = delete;
  SharedCheckpoint &operator=(const SharedCheckpoint &) = delete;
  /// Waits for what this rank is writing.
  ~SharedCheckpoint();

  /// Whether all ranks see one folder, which rank 0 has made and locked. Slug `not-shared` (exit 3).
  Status join(const std::string &root);
  /// From now on `write` returns when a rank has copied its share, and a thread writes the copy. The memory
  /// is taken here: its bytes, on this rank. Slug `memory` (exit 4).
  Expected<uint64_t> writeInBackground(const std::vector<ParameterSpec> &tensors);
  /// What writeCheckpoint does. The tensors' data are not used: they are read from the state.
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
  /// Of the thread: of all ranks its share, then of rank 0 what makes a checkpoint of them.
  enum class Phase { None, Shares, Publication } phase = Phase::None;
  Expected<Sums> written = Sums();
  Status published;
};

} // namespace accum::runtime
#endif
