// SPDX-License-Identifier: Apache-2.0
// Choosing the moments, and the order of both stacks.
#include "compiler/Planner/OpposedStacks.h"
#include <algorithm>
#include <cmath>
#include <utility>

namespace accum::planner {

namespace {

/// Of the rectangles that begin or end there: more that do both find no place beside others.
constexpr size_t kShortOnes = 4;
/// Pairs of rows and short ones that are compared, at most.
constexpr size_t kMostPairs = 10'000'000;
constexpr int kFewest = 3; ///< moments

using Row = OpposedStacks::Row;

/// From the fullest moment on, always to the nearer of the next full ones before and behind.
void chooseMoments(const GreedyWeights &weights, int horizon, const OpposedStacks::Setting &setting,
                   OpposedStacks &stacks) {
  int fullest = 0;
  for (int time = 0; time < horizon; ++time)
    if (weights.load(time) > weights.load(fullest))
      fullest = time;
  double mean = weights.meanLength();
  auto longest = static_cast<int>(std::min(setting.length * mean, 1e9));
  int dip = std::max(1, static_cast<int>(setting.dip * mean));
  auto isFull = [&](int time) { return weights.load(time) > 1 - setting.below; };
  stacks.start = fullest;
  stacks.end = fullest + 1;
  while (true) {
    int most = std::min(dip, longest - (stacks.end - stacks.start)), before = 1, behind = 1;
    while (before <= most && (stacks.start < before || !isFull(stacks.start - before)))
      ++before;
    while (behind <= most && (stacks.end + behind > horizon || !isFull(stacks.end + behind - 1)))
      ++behind;
    if (std::min(before, behind) > most)
      return;
    if (before <= behind)
      stacks.start -= before;
    else
      stacks.end += behind;
  }
}

/// Bytes times moments that are lost where they stand side by side: between the two, and beside the smaller.
double lossBeside(const Rectangle &shortOne, const Row &row, const OpposedStacks &stacks, bool isEnding) {
  auto size = static_cast<double>(row.size), other = static_cast<double>(shortOne.size);
  double between = isEnding ? shortOne.start - row.edge : row.edge - shortOne.end;
  double along = isEnding ? row.edge - stacks.start : stacks.end - row.edge;
  double ofShort = shortOne.end - shortOne.start;
  return between * std::max(size, other) + (other > size ? (other - size) * along : (size - other) * ofShort);
}

/// Puts one that begins and ends there beside the row that loses least.
void putBeside(std::span<const Rectangle> rectangles, int index, OpposedStacks &stacks) {
  const Rectangle &r = rectangles[index];
  double least = INFINITY;
  Row *best = nullptr;
  bool isEnding = false;
  for (std::vector<Row> *rows : {&stacks.ending, &stacks.beginning})
    for (Row &row : *rows) {
      bool ends = rows == &stacks.ending;
      if (row.other >= 0 || (ends ? row.edge > r.start : row.edge < r.end))
        continue;
      double loss = lossBeside(r, row, stacks, ends);
      if (loss < least) {
        least = loss;
        best = &row;
        isEnding = ends;
      }
    }
  if (!best)
    return; // it is placed later, as anything else
  best->other = index;
  best->edge = isEnding ? r.end : r.start;
  best->size = std::max(best->size, r.size);
}

/// As low as the one stack may hang above the other.
void setHeights(OpposedStacks &stacks) {
  auto moments = static_cast<size_t>(stacks.end - stacks.start);
  std::vector<int64_t> changes(moments + 1, 0);
  int64_t hanging = 0;
  for (const Row &row : stacks.ending) {
    changes[0] += row.size;
    changes[static_cast<size_t>(row.edge - stacks.start)] -= row.size;
  }
  for (const Row &row : stacks.beginning) {
    changes[static_cast<size_t>(row.edge - stacks.start)] += row.size;
    hanging += row.size;
  }
  int64_t load = 0;
  for (size_t moment = 0; moment < moments; ++moment)
    stacks.height = std::max(stacks.height, load += changes[moment]);
  stacks.hanging = stacks.height - hanging;
}

} // namespace

OpposedStacks opposedStacks(std::span<const Rectangle> rectangles, const GreedyWeights &weights,
                            const OpposedStacks::Setting &setting) {
  int horizon = 0;
  for (const Rectangle &r : rectangles)
    horizon = std::max(horizon, r.end);
  OpposedStacks stacks;
  if (setting.length <= 0 || horizon == 0)
    return stacks;
  chooseMoments(weights, horizon, setting, stacks);
  stacks.isThere.assign(rectangles.size(), 0);
  std::vector<int> both;
  for (size_t at = 0; at < rectangles.size(); ++at) {
    const Rectangle &r = rectangles[at];
    auto index = static_cast<int>(at);
    if (r.end <= stacks.start || r.start >= stacks.end)
      continue;
    stacks.isThere[at] = 1;
    bool ends = r.end<stacks.end, begins = r.start> stacks.start;
    if (ends && begins)
      both.push_back(index);
    else if (ends)
      stacks.ending.push_back({.index = index, .edge = r.end, .size = r.size});
    else if (begins)
      stacks.beginning.push_back({.index = index, .edge = r.start, .size = r.size});
  }
  size_t rows = stacks.ending.size() + stacks.beginning.size();
  if (stacks.end - stacks.start <= kFewest || rows == 0 || both.size() > rows / kShortOnes ||
      both.size() > kMostPairs / rows)
    return {};
  for (int index : both)
    putBeside(rectangles, index, stacks);
  auto order = [](const Row &row) { return std::pair(-row.edge, row.index); };
  std::ranges::sort(stacks.ending, {}, order);
  std::ranges::sort(stacks.beginning, {}, order);
  setHeights(stacks);
  return stacks;
}

RowCeilings::RowCeilings(std::span<const Rectangle> rectangles, std::span<const Row> rows, int64_t offset,
                         bool isBefore)
    : isBefore(isBefore), smaller(rows.size(), rows.size()) {
  for (const Row &row : rows) {
    const Rectangle &r = rectangles[row.index];
    keys.push_back(isBefore ? r.start : -r.end);
    offsets.push_back(offset);
    offset += row.size;
  }
  offsets.push_back(INT64_MAX);
  for (size_t row = rows.size(); row-- > 0;) {
    size_t above = row + 1;
    while (above < rows.size() && keys[above] >= keys[row])
      above = smaller[above];
    smaller[row] = above;
  }
}

} // namespace accum::planner
