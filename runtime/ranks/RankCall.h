// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other ahead of a collective: who finds that another rank does something else says so,
// and does not take that rank's bytes for its own.
#ifndef ACCUM_RUNTIME_RANKS_RANKCALL_H
#define ACCUM_RUNTIME_RANKS_RANKCALL_H

#include "runtime/accum_collectives.h"
#include <cstdint>
#include <string>

namespace accum::runtime {

struct RankCall {
  enum Collective : int32_t { kNone, kAllReduce, kReduceScatter, kAllGather };

  int32_t action = ACCUM_JOINS;
  int32_t collective = kNone;
  uint64_t step = 0;
  uint64_t bytes = 0; ///< of the collective; of a rank that leaves early: of the reason

  bool operator==(const RankCall &) const = default;
  /// Whether two ranks can go on from here. Who leaves looks at nothing but whether the other does.
  bool goesWith(const RankCall &other) const {
    return *this == other || (action == ACCUM_LEAVES && other.action == ACCUM_LEAVES);
  }
};

/// The most that a rank tells of why it leaves, in bytes.
constexpr uint64_t kMostReason = 400;

/// One sentence about two ranks whose calls do not go with each other, the same from both sides: "rank 1 has
/// left after 3 steps, rank 0 is in step 4". `reason`: why the one that leaves does.
std::string sentenceOf(int rank, const RankCall &call, int other, const RankCall &its,
                       const std::string &reason = {});

} // namespace accum::runtime
#endif
