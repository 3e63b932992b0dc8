// SPDX-License-Identifier: Apache-2.0
// Checkpoint folders: all that a run needs to resume, each complete or absent.
#ifndef ACCUM_RUNTIME_CHECKPOINTS_CHECKPOINT_H
#define ACCUM_RUNTIME_CHECKPOINTS_CHECKPOINT_H

#include "runtime/artifact/Groups.h"
#include "runtime/data/Epochs.h"
#include "runtime/files/SafetensorsWriter.h"
#include "runtime/options/RunOptions.h"
#include <deque>

namespace accum::runtime {

/// checkpoint.json, beside the tensors.
struct CheckpointFacts {
  uint64_t step = 0;    ///< optimizer steps that were made: the number of the next one
  uint64_t updates = 0; ///< of them, those that changed the parameters
  std::string optimizer = {};
  int64_t batch = 0, samples = 0;
  RunOptions options = {};                    ///< those that the table says are recorded
  std::deque<double> losses = {}, norms = {}; ///< the windows of --skip-spikes
  std::vector<BatchChange> batches = {};      ///< of the steps that were made; `batch` is that of the last
  std::optional<double> best = {};            ///< the lowest loss of an evaluation
  std::optional<uint64_t> evaluated = {};     ///< steps that were made before the latest evaluation
  std::vector<Group> groups = {};             ///< empty: made before they were recorded
  std::string data = {}; ///< Dataset::identity; empty: made before it was recorded, or of no files
  std::vector<std::string> command = {}; ///< the words that started the process; told, and not compared
  uint64_t bytes = 0;                    ///< of the file of tensors, where it was read
  std::string xxh3 = {};
};

/// Of a file of tensors, as checkpoint.json has it.
struct TensorsChecksum {
  struct Part {
    uint64_t bytes = 0;
    std::string xxh3 = {};
  };
  std::string xxh3 = {};        ///< of the file; of the parts' checksums in a row where there are parts
  std::vector<Part> parts = {}; ///< one after the other all of the file, where several ranks wrote it

  static TensorsChecksum of(std::vector<Part> parts);
};

/// ROOT/step-00000500.
std::string checkpointPath(const std::string &root, uint64_t step);

/// Steps of the checkpoints in a folder, whole or not, ascending; none where the folder is not there.
std::vector<uint64_t> listCheckpoints(const std::string &root);

/// A checkpoint is made in two calls: its file of tensors is written in between, in a folder of this path.
/// `token` keeps apart what ranks of a job that died may still write.
std::string writingPath(const std::string &root, uint64_t step, const std::string &token);
/// Makes the folder, empty; then makes it ROOT/step-N, and removes all but the newest `keep` (0: none is
/// removed). An error leaves what was there.
Status beginCheckpoint(const std::string &written);
Status publishCheckpoint(const std::string &root, const std::string &written, const CheckpointFacts &facts,
                         const TensorsChecksum &tensors, uint64_t keep);
/// Removes what beginCheckpoint made.
void discardCheckpoint(const std::string &written);

/// Checks that all files are there as they were written. Slugs `missing-file`, `damaged-checkpoint` (exit 3).
Expected<CheckpointFacts> readCheckpoint(const std::string &path);

/// Of a checkpoint.
std::string checkpointTensors(const std::string &path);

/// Keeps a second run out of a folder while this process lives; makes the folder. Slugs `unwritable` (exit 3)
/// and `checkpoint-in-use` (exit 2).
Status lockCheckpoints(const std::string &root);

} // namespace accum::runtime
#endif
