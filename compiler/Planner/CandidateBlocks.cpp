// SPDX-License-Identifier: Apache-2.0
// Blocks of candidates, and bounds on what they hold.
#include "compiler/Planner/CandidateBlocks.h"
#include "compiler/Planner/ValleyNoise.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace accum::planner {

namespace {

/// Candidates to a column, about.
constexpr int kPerColumn = 96;
/// What looking at a block costs, and how many bounds cost as much as one visit.
constexpr int64_t kVisitsPerBlock = 4, kBoundsPerVisit = 4;
/// For what fills the valley, and for what is level with its wall.
constexpr float kFits = 2;
/// What everything weighs at least: more than nothing.
constexpr float kLeast = 1e-30F;

} // namespace

CandidateBlocks::CandidateBlocks(std::span<const Rectangle> rectangles, int horizon)
    : rectangles(rectangles), horizon(horizon) {
  size_t most = 2 * rectangles.size() + kSalts + size_t{2} * kLanes;
  noises.reserve(most);
  for (size_t index = 0; index < most; ++index)
    noises.push_back(static_cast<float>(mix(index) >> 40) * 0x1p-24F);
}

void CandidateBlocks::arrange(std::span<const char> isPlaced) {
  std::vector<int> order;
  for (size_t index = 0; index < rectangles.size(); ++index)
    if (isPlaced[index] == 0)
      order.push_back(static_cast<int>(index));
  auto columns = std::max<int64_t>(1, static_cast<int64_t>(order.size()) / kPerColumn);
  width = static_cast<int>((horizon + columns - 1) / columns);
  auto columnOf = [&](int index) { return rectangles[index].start / width; };
  std::ranges::sort(order, {}, [&](int index) {
    return std::tuple(columnOf(index), rectangles[index].end, rectangles[index].start, index);
  });
  indices.clear();
  firstBlock.clear();
  auto fill = [&] {
    while (indices.size() % kLanes != 0)
      indices.push_back(-1);
    firstBlock.push_back(static_cast<int>(indices.size()) / kLanes);
  };
  size_t at = 0;
  for (int column = 0; column <= (horizon - 1) / width; ++column) {
    fill();
    for (; at < order.size() && columnOf(order[at]) == column; ++at)
      indices.push_back(order[at]);
  }
  fill();
  setBlocks();
}

void CandidateBlocks::setBlocks() {
  size_t count = indices.size(), blocks = count / kLanes;
  starts.assign(count, 0);
  ends.assign(count, INT32_MAX);
  sizes.assign(count, 0);
  for (std::vector<float> *values : {&weights, &all, &from, &to})
    values->assign(count, kTaken);
  blockMost.assign(blocks, kTaken);
  blockFrom.assign(blocks, 0);
  bounds.assign(blocks, 0);
  blockEnd.assign(blocks, INT32_MAX);
  for (size_t at = 0; at < count; ++at)
    if (indices[at] >= 0) {
      const Rectangle &r = rectangles[indices[at]];
      starts[at] = r.start;
      ends[at] = r.end;
      sizes[at] = static_cast<float>(r.size);
      blockEnd[at / kLanes] = std::min(blockEnd[at / kLanes], r.end);
    }
}

void CandidateBlocks::weigh(std::span<const float> base, std::span<const double> clock,
                            std::span<const char> isPlaced) {
  for (size_t block = 0; block < blockMost.size(); ++block) {
    float most = kTaken, first = INFINITY;
    for (size_t at = block * kLanes; at < (block + 1) * kLanes; ++at) {
      int index = indices[at];
      if (index < 0)
        continue;
      from[at] = static_cast<float>(clock[starts[at]]);
      to[at] = static_cast<float>(clock[ends[at]]);
      all[at] = weights[at] =
          isPlaced[index] != 0 ? kTaken : std::max(kLeast, base[index] * (to[at] - from[at]));
      most = std::max(most, weights[at]);
      first = std::min(first, from[at]);
    }
    blockMost[block] = most;
    blockFrom[block] = first;
  }
}

bool CandidateBlocks::fitsBelow(size_t position, const Valley &valley) const {
  const Rectangle &r = rectangles[indices[position]];
  return r.size <= valley.ceilings->over(r) - valley.floor;
}

/// Whether one of the block is heavier than the most so far: then that is the best.
void CandidateBlocks::look(size_t block, const Valley &valley, const Choice &choice, float &most,
                           int &best) const {
  size_t first = block * kLanes;
  std::array<float, kLanes> found;
  const float *noise = &noises[choice.salt + first];
  for (size_t lane = 0; lane < kLanes; ++lane) {
    size_t at = first + lane;
    float beside = from[at] - valley.from + (valley.to - to[at]);
    float weight = weights[at] * (1 + choice.amplitude * noise[lane]) / (1 + beside * choice.perUnit);
    weight *= sizes[at] == valley.size ? kFits : 1;
    int room = (starts[at] - valley.start) | (valley.end - ends[at]); // negative: it sticks out
    weight *= room == 0 ? kFits : 1;
    found[lane] = room >= 0 ? weight : kTaken;
  }
  if (valley.ceilings)
    for (size_t lane = 0; lane < kLanes; ++lane)
      if (found[lane] > most && !fitsBelow(first + lane, valley))
        found[lane] = kTaken;
  std::array<float, kLanes> larger = found; // halved again and again, so that lanes stay side by side
  for (size_t half = kLanes / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; ++lane)
      larger[lane] = std::max(larger[lane], larger[lane + half]);
  float heaviest = larger[0];
  if (heaviest <= most)
    return;
  most = heaviest;
  best = static_cast<int>(first + static_cast<size_t>(std::ranges::find(found, heaviest) - found.begin()));
}

/// Only what begins with the valley may fill it, and such stands in the first column.
size_t CandidateBlocks::setBounds(size_t begin, size_t end, const Valley &valley, const Choice &choice) {
  size_t second = std::min(end, static_cast<size_t>(firstBlock[valley.start / width + 1])), first = begin;
  for (size_t block = begin; block < end; ++block) {
    float most = (1 + choice.amplitude) * (block < second ? kFits * kFits : kFits);
    float bound =
        blockMost[block] * most / (1 + std::max(0.0F, blockFrom[block] - valley.from) * choice.perUnit);
    bounds[block] = blockEnd[block] <= valley.end ? bound : kTaken;
  }
  for (size_t block = begin; block < end; ++block)
    first = bounds[block] > bounds[first] ? block : first;
  return first;
}

int CandidateBlocks::heaviest(const Valley &valley, const Choice &choice, int64_t &visits) {
  auto begin = static_cast<size_t>(firstBlock[valley.start / width]);
  auto end = static_cast<size_t>(firstBlock[(valley.end - 1) / width + 1]);
  visits += static_cast<int64_t>(end - begin) / kBoundsPerVisit;
  if (begin == end)
    return -1;
  float most = 0;
  int best = -1;
  size_t first = setBounds(begin, end, valley, choice);
  auto visit = [&](size_t block) {
    if (bounds[block] <= most)
      return;
    look(block, valley, choice, most, best);
    visits += kVisitsPerBlock;
  };
  visit(first);
  bounds[first] = kTaken;
  for (size_t block = begin; block < end; ++block)
    visit(block);
  return best;
}

} // namespace accum::planner
