// SPDX-License-Identifier: Apache-2.0
// An allocator that is told at once when each piece ends.
#include "compiler/Planner/Packing/SweepFit.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace accum::planner {

namespace {

/// Neighbours that one call may look at where offsets are given: about a second.
constexpr int64_t kMostLooks = 100'000'000;

class Sweep {
public:
  Sweep(std::span<const Rectangle> rectangles, std::span<const Restriction> restrictions)
      : rectangles(rectangles), restrictions(restrictions), begins(rectangles.size()) {
    std::iota(begins.begin(), begins.end(), 0);
    ends = begins;
    auto at = [&](int index) -> const Rectangle & { return this->rectangles[static_cast<size_t>(index)]; };
    std::ranges::sort(ends, {}, [&](int index) { return std::tuple(at(index).end, index); });
    // What has an offset comes first, then what lives and fills most: it ends up below.
    std::ranges::sort(begins, {}, [&](int index) {
      return std::tuple(at(index).start, !isGiven(index), -at(index).end, -at(index).size, index);
    });
    std::ranges::copy_if(begins, std::back_inserter(given), [&](int index) { return isGiven(index); });
    packing.offsets.assign(rectangles.size(), 0);
  }

  Packing run() {
    auto ended = ends.begin();
    for (int index : begins) {
      for (; rectangles[*ended].end <= rectangles[index].start; ++ended)
        free(*ended);
      int64_t offset = isGiven(index)  ? restrictions[index].offset
                       : given.empty() ? tightest(index)
                                       : lowest(index);
      if (looks > kMostLooks)
        return {{}, INT64_MAX};
      take(index, offset);
    }
    return std::move(packing);
  }

private:
  bool isGiven(int index) const { return !restrictions.empty() && restrictions[index].offset >= 0; }

  int64_t aligned(int index, int64_t offset) const {
    int64_t over = restrictions.empty() ? 0 : offset % restrictions[index].alignment;
    return over == 0 ? offset : offset - over + restrictions[index].alignment;
  }

  int64_t topBelow(std::map<int64_t, int64_t>::iterator at) const {
    return at == living.begin() ? 0 : std::prev(at)->second;
  }

  int64_t tightest(int index) const {
    int64_t size = rectangles[index].size;
    for (auto gap = gaps.lower_bound({size, 0}); gap != gaps.end(); ++gap)
      if (int64_t offset = aligned(index, gap->second); offset + size <= gap->second + gap->first)
        return offset;
    return aligned(index, living.empty() ? 0 : living.rbegin()->second);
  }

  /// Beside what lives, and what will stand where it is given before this one ends.
  int64_t lowest(int index) {
    const Rectangle &r = rectangles[index];
    for (; nextGiven < given.size() && rectangles[given[nextGiven]].start <= r.start;)
      ++nextGiven;
    std::vector<std::pair<int64_t, int64_t>> walls(living.begin(), living.end());
    for (size_t at = nextGiven; at < given.size() && rectangles[given[at]].start < r.end; ++at) {
      int64_t offset = restrictions[given[at]].offset;
      walls.emplace_back(offset, offset + rectangles[given[at]].size);
    }
    looks += static_cast<int64_t>(walls.size());
    std::ranges::sort(walls);
    int64_t offset = 0;
    for (auto [low, top] : walls) {
      if (low - offset >= r.size)
        break;
      offset = std::max(offset, aligned(index, top));
    }
    return offset;
  }

  void take(int index, int64_t offset) {
    int64_t top = offset + rectangles[index].size;
    packing.offsets[index] = offset;
    packing.height = std::max(packing.height, top);
    auto above = living.lower_bound(offset);
    int64_t floor = topBelow(above);
    if (above != living.end()) {
      setGap(floor, above->first, false);
      setGap(top, above->first, true);
    }
    setGap(floor, offset, true);
    living.emplace_hint(above, offset, top);
  }

  void free(int index) {
    auto at = living.find(packing.offsets[index]);
    auto above = std::next(at);
    int64_t floor = topBelow(at);
    setGap(floor, at->first, false);
    if (above != living.end()) {
      setGap(at->second, above->first, false);
      setGap(floor, above->first, true);
    }
    living.erase(at);
  }

  /// Gaps are looked up by size, only where nothing is given.
  void setGap(int64_t low, int64_t high, bool isThere) {
    if (low >= high || !given.empty())
      return;
    if (isThere)
      gaps.emplace(high - low, low);
    else
      gaps.erase({high - low, low});
  }

  std::span<const Rectangle> rectangles;
  std::span<const Restriction> restrictions;
  std::vector<int> begins, ends, given;       ///< in order of time; `given`: those with an offset
  size_t nextGiven = 0;                       ///< the first that begins later
  std::map<int64_t, int64_t> living;          ///< offset to top
  std::set<std::pair<int64_t, int64_t>> gaps; ///< size, then offset, below the highest that lives
  int64_t looks = 0;
  Packing packing;
};

} // namespace

Packing sweepFit(std::span<const Rectangle> rectangles, std::span<const Restriction> restrictions) {
  return Sweep(rectangles, restrictions).run();
}

} // namespace accum::planner
