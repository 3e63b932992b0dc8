// SPDX-License-Identifier: Apache-2.0
// Samples in an order, window by window, into the buffers.
#ifndef ACCUM_RUNTIME_DATA_FEED_H
#define ACCUM_RUNTIME_DATA_FEED_H

#include "runtime/data/Division.h"
#include "runtime/data/Order.h"
#include "runtime/data/ReadAhead.h"
#include "runtime/data/Staging.h"

namespace accum::runtime {

struct FeedOptions {
  bool shuffle = false, dropLast = false;
  uint64_t seed = 0; ///< of the shuffle
};

class Feed {
public:
  /// Of at least one sample.
  Feed(Dataset data, const FeedOptions &options);
  Feed(const Feed &) = delete;
  Feed &operator=(const Feed &) = delete;

  int64_t samples() const { return data.samples(); }
  const FeedOptions &options() const { return chosen; }
  std::string identity() const { return data.identity(); }

  /// The window whose rows come next.
  void select(const Window &next) { window = next; }
  /// Of each of its samples, from one position to another, the first length that holds it; empty where there
  /// is one length.
  std::vector<uint8_t> needsOf(const Window &of, int64_t from, int64_t to) const;
  /// The window behind it, of which a share is read ahead where it lies in files.
  void prepare(const Window &next, const Share &share);
  /// Writes the rows of a micro-step of a share of the window, one of the division's, to `block`, laid out
  /// like the buffers of `staging`. Returns where they end. Allocates nothing.
  uint64_t fill(const Staging &staging, const Division &division, const Share &share, MicroStep at,
                uint8_t *block);
  /// The first failure to read a row, if there was one.
  const Status &health() const { return data.health(); }

private:
  Dataset data;
  FeedOptions chosen;
  Order order;
  Window window{};
  ReadAhead ahead; ///< the last member: it reads the others
};

} // namespace accum::runtime
#endif
