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

std::vector<uint8_t> Feed::needsOf(const Window &of, int64_t from, int64_t to) const {
  std::vector<uint8_t> needs;
  for (int64_t position = from; data.hasLengths() && position < to; ++position)
    needs.push_back(data.needOf(order.at(of.epoch, of.start + uint64_t(position))));
  return needs;
}

uint64_t Feed::fill(const Staging &staging, const Division &division, const Share &share, MicroStep at,
                    uint8_t *block) {
  auto positionAt = [&](int64_t place) { return division.positionOf(place); };
  auto sampleAt = [&](int64_t position) { return order.at(window.epoch, window.start + uint64_t(position)); };
  return staging.fill(data, share, at, {positionAt, sampleAt}, block);
}

} // namespace accum::runtime
