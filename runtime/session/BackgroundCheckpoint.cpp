// SPDX-License-Identifier: Apache-2.0
// The copy, and the thread that writes it.
#include "runtime/session/BackgroundCheckpoint.h"
#include "runtime/session/StateMemory.h"
#include "runtime/system/Memory.h"
#include "runtime/system/QuietThread.h"
#include <algorithm>
#include <cstring>

namespace accum::runtime {
namespace {

/// An error, also for what the writer's libraries throw: nothing may leave a thread.
Status written(const std::string &root, const CheckpointFacts &facts,
               const std::vector<TensorToWrite> &tensors, uint64_t keep) {
  try {
    return writeCheckpoint(root, facts, tensors, {}, keep);
  } catch (const std::exception &exception) {
    return Error{kExitRunFailed, std::string("a checkpoint ran out of something: ") + exception.what(),
                 "memory"};
  }
}

} // namespace

/// Written to once, so that the memory is there when it is needed.
BackgroundCheckpoint::BackgroundCheckpoint(uint64_t bytes) : copy(std::make_unique<uint8_t[]>(bytes)) {}

BackgroundCheckpoint::~BackgroundCheckpoint() {
  if (writer.joinable())
    writer.join();
}

Expected<std::unique_ptr<BackgroundCheckpoint>> BackgroundCheckpoint::make(uint64_t bytes) {
  if (bytes > availableMemory())
    return Error{kExitRunFailed,
                 "a checkpoint in the background copies " + formatBytes(bytes) + " of state, and " +
                     formatBytes(availableMemory()) + " of memory are available",
                 "memory",
                 {"leave --checkpoint-background out: a step then waits until its checkpoint is written"}};
  return std::unique_ptr<BackgroundCheckpoint>(new BackgroundCheckpoint(bytes));
}

Status BackgroundCheckpoint::start(const std::string &root, CheckpointFacts facts,
                                   std::vector<TensorToWrite> tensors, const TensorReader &read,
                                   uint64_t keep) {
  uint8_t *to = copy.get();
  for (TensorToWrite &tensor : tensors) {
    uint64_t bytes = tensor.elements() * bytesOf(tensor.dtype);
    for (uint64_t done = 0; done < bytes; done += StateMemory::kPieceBytes) {
      uint64_t piece = std::min(StateMemory::kPieceBytes, bytes - done);
      auto data = read(tensor.data + done, piece);
      if (!data)
        return data.error();
      std::memcpy(to + done, *data, piece);
    }
    tensor.data = to;
    to += bytes;
  }
  done = false;
  writer = startQuietThread([this, root, facts = std::move(facts), tensors = std::move(tensors), keep] {
    result = written(root, facts, tensors, keep);
    done = true;
  });
  return {};
}

Status BackgroundCheckpoint::finish(bool wait) {
  if (!writer.joinable() || (!wait && !done))
    return {};
  writer.join();
  return std::exchange(result, Status());
}

} // namespace accum::runtime
