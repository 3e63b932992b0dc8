// SPDX-License-Identifier: Apache-2.0
// Who writes which bytes of a checkpoint's file.
#ifndef ACCUM_RUNTIME_CHECKPOINTS_FILESHARES_H
#define ACCUM_RUNTIME_CHECKPOINTS_FILESHARES_H

#include "runtime/device/StateMemory.h"

namespace accum::runtime {

/// Bytes of the file that one rank writes.
struct FileShare {
  static constexpr uint64_t kHeader = UINT64_MAX;
  uint64_t offset, bytes; ///< in the file
  uint64_t state;         ///< where they are in the whole state; kHeader: they are the file's header
  int rank;
  uint64_t before; ///< bytes of its rank's shares before it, without the header

  uint64_t end() const { return offset + bytes; }
};

/// All bytes of a file that has a header of so many and then the tensors, in order. A rank writes what it
/// alone has; what all have, they share evenly.
std::vector<FileShare> sharesOf(uint64_t header, const std::vector<ParameterSpec> &tensors,
                                const StateMemory &memory, int ranks);

/// The shares from `first` on that one rank writes without a gap, as the number of the one behind them: they
/// have one checksum.
size_t endOfRun(const std::vector<FileShare> &shares, size_t first);

} // namespace accum::runtime
#endif
