// SPDX-License-Identifier: Apache-2.0
// Connections between all ranks of a job, made by way of rank 0's address.
#ifndef ACCUM_RUNTIME_RANKS_RANKSOCKETS_H
#define ACCUM_RUNTIME_RANKS_RANKSOCKETS_H

#include "runtime/ranks/Launch.h"
#include <vector>

namespace accum::runtime {

/// By rank, the own one -1. What is sent waits for nothing: sockets do not block, and send at once.
struct RankSockets {
  std::vector<int> data, heartbeats;
  int localRanks = 1; ///< on this machine, by its name

  void close();
};

/// Rank 0 listens at `place`; the others connect to it and learn where the rest listens. An error (exit 4)
/// where that is not complete within `seconds`.
Expected<RankSockets> connectRanks(const LaunchPlace &place, double seconds);

} // namespace accum::runtime
#endif
