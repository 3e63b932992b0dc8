// SPDX-License-Identifier: Apache-2.0
// The choices of a node of the exact search: valleys, what may stand on their floors, and where to branch.
#include "compiler/Planner/ValleySearch.h"
#include <algorithm>
#include <cmath>
#include <tuple>

namespace accum::planner {

void ValleySearch::findValleys(int start, int end) {
  valleys.clear();
  for (int from = start, to; from < end; from = to) {
    for (to = from + 1; to < end && floor[to] == floor[from];)
      ++to;
    int64_t before = from == start ? height : floor[from - 1], behind = to == end ? height : floor[to];
    if (before <= floor[from] || behind <= floor[from])
      continue;
    valleys.push_back({from, to, floor[from], std::min(before, behind), INT64_MAX, 0});
    countInside(valleys.back());
  }
}

void ValleySearch::countInside(Valley &valley) {
  for (int section = valley.start; section < valley.end; ++section)
    inside[section] = 0;
  int count = static_cast<int>(pieces.size());
  for (int section = valley.start; section < valley.end; ++section)
    for (int index = links[count + section].behind; index < count; index = links[index].behind) {
      const Piece &piece = pieces[index];
      if (piece.end > valley.end)
        continue;
      ++valley.inside;
      valley.smallest = std::min(valley.smallest, piece.size);
      inside[section] += piece.size;
      if (piece.end < valley.end)
        inside[piece.end] -= piece.size;
    }
}

/// Finds the valleys and what lies inside each; raises those that nothing fits into. False where that cannot
/// be.
bool ValleySearch::settle(int start, int end) {
  for (bool settled = false; !settled;) {
    findValleys(start, end);
    settled = true;
    for (const Valley &valley : valleys) {
      if (valley.inside > 0)
        continue;
      if (!raise(valley.start, valley.end, valley.wall))
        return false;
      settled = false;
    }
  }
  return true;
}

/// What stands on the floor of a valley, and the sections that may be waste, cover it from wall to wall
/// without a gap: a path over its sections. Marks the pieces on such paths, and counts per section the
/// choices that begin or end there. False where there is no path.
bool ValleySearch::findPaths(const Valley &valley, int64_t next) {
  int count = static_cast<int>(pieces.size());
  auto mayWaste = [&](int section) { return next + left[section] <= height; };
  toWall[valley.end] = 1;
  for (int section = valley.end - 1; section >= valley.start; --section) {
    toWall[section] = mayWaste(section) ? toWall[section + 1] : 0;
    for (int index = links[count + section].behind; toWall[section] == 0 && index < count;
         index = links[index].behind)
      if (pieces[index].end <= valley.end)
        toWall[section] = toWall[pieces[index].end];
  }
  std::fill(fromWall.begin() + valley.start, fromWall.begin() + valley.end + 1, 0);
  std::fill(choices.begin() + valley.start, choices.begin() + valley.end + 1, 0);
  fromWall[valley.start] = 1;
  int furthest = valley.start;
  for (int section = valley.start; section < valley.end; ++section) {
    if (fromWall[section] == 0)
      continue;
    furthest = section;
    for (int index = links[count + section].behind; index < count; index = links[index].behind) {
      int end = pieces[index].end;
      if (end > valley.end)
        continue;
      fromWall[end] = 1;
      if (toWall[end] == 0)
        continue;
      onPath[index] = look;
      ++choices[section];
      --choices[end];
    }
    if (mayWaste(section)) {
      fromWall[section + 1] = 1;
      wasteOnPath[section] = toWall[section + 1];
    } else {
      wasteOnPath[section] = 0;
    }
  }
  if (toWall[valley.start] == 0)
    trouble[furthest] += 1;
  return toWall[valley.start] != 0;
}

/// The section with the fewest choices for its trouble. False where some section has none.
bool ValleySearch::pick(Choice &best) {
  ++look;
  for (size_t index = 0; index < valleys.size(); ++index) {
    const Valley &valley = valleys[index];
    int64_t next =
        valley.smallest > height ? valley.wall : std::min(valley.wall, valley.floor + valley.smallest);
    if (!findPaths(valley, next))
      return false;
    int count = 0;
    int64_t sum = 0;
    for (int section = valley.start; section < valley.end; ++section) {
      count += choices[section];
      sum += inside[section];
      int total = count + (fromWall[section] != 0 && wasteOnPath[section] != 0 ? 1 : 0);
      bool wallHolds = valley.wall + left[section] - sum <= height; // what crosses it stands on it or above
      if (!wallHolds) {
        trouble[section] += 1;
        return false;
      }
      int64_t slack = height - left[section] - valley.floor;
      double cost = total <= 1 ? 0 : total / trouble[section]; // what is forced, first
      if (count > 0 && (best.section < 0 || std::pair(cost, slack) < std::pair(best.cost, best.slack)))
        best = {section, static_cast<int>(index), cost, slack};
    }
  }
  return true;
}

/// Larger is tried earlier. Rounds differ in what they favour; a little noise keeps later rounds from
/// repeating.
double ValleySearch::preference(const Piece &piece, const Valley &valley) const {
  double width = piece.end - piece.start, size = static_cast<double>(piece.size);
  double value = round % 3 == 0 ? width * size : round % 3 == 1 ? width * width * size : width * size * size;
  if (piece.start == valley.start && piece.end == valley.end)
    value *= 4;
  if (valley.floor + piece.size == valley.wall)
    value *= 4;
  double most = 0;
  for (int section = piece.start; section < piece.end; ++section)
    most = std::max(most, trouble[section]);
  value *= std::sqrt(most);
  return round < 3 ? value : value * (0.5 + noiseOf(piece));
}

} // namespace accum::planner
