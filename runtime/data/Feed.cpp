// SPDX-License-Identifier: Apache-2.0
// Positions of windows to samples.
#include "runtime/data/Feed.h"

namespace accum::runtime {

Feed::Feed(Dataset own, const FeedOptions &options)
    : data(std::move(own)), chosen(options), order(data.samples(), options.shuffle, options.seed),
      ahead(data, order) {}

void Feed::prepare(const Window &next, const Share &share) {
  if (data.isInFiles())
    ahead.start(next, share.begin, share.end);
}

uint64_t Feed::fill(const Staging &staging, const Share &share, MicroStep at, uint8_t *block) {
  auto sampleAt = [&](int64_t position) { return order.at(window.epoch, window.start + uint64_t(position)); };
  return staging.fill(data, share, at, sampleAt, block);
}

} // namespace accum::runtime
