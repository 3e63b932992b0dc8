// SPDX-License-Identifier: Apache-2.0
// Exact packing into a fixed height over the valleys of the skyline.
#include "compiler/Planner/ValleySearch.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace accum::planner {

namespace {

/// Nodes of the first restart, and how many times more each later one may take.
constexpr double kFirstLimit = 500, kGrowth = 1.05;
/// Failed skylines remembered at most; a later one takes the place of another.
constexpr size_t kFailed = size_t{1} << 18;
/// Nodes between two looks at the clock.
constexpr int64_t kNodesPerLook = 64;

uint64_t mix(uint64_t value) { // splitmix64's finaliser
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

} // namespace

ValleySearch::ValleySearch(std::span<const Rectangle> rectangles, int64_t height, uint64_t seed,
                           Deadline deadline)
    : height(height), seed(seed == 0 ? 0 : mix(seed)), deadline(deadline) {
  makeSections(rectangles);
  failed.assign(kFailed, 0);
  offsets.assign(rectangles.size(), 0);
}

/// Only times at which the set of the living is maximal matter: between the last start before an end and that
/// end.
void ValleySearch::makeSections(std::span<const Rectangle> rectangles) {
  std::vector<std::pair<int, int>> events; // (time, 0: an end, 1: a start)
  for (const Rectangle &r : rectangles) {
    events.emplace_back(r.start, 1);
    events.emplace_back(r.end, 0);
  }
  std::sort(events.begin(), events.end());
  std::vector<int> times; // the last start of each run of starts
  for (size_t index = 0; index + 1 < events.size(); ++index)
    if (events[index].second == 1 && events[index + 1].second == 0)
      times.push_back(events[index].first);
  auto sectionAt = [&](int time) {
    return static_cast<int>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
  };
  for (size_t index = 0; index < rectangles.size(); ++index) {
    const Rectangle &r = rectangles[index];
    pieces.push_back({sectionAt(r.start), sectionAt(r.end), r.size, static_cast<int>(index)});
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) {
    return std::tuple(a.start, a.end, a.size, a.rectangle) < std::tuple(b.start, b.end, b.size, b.rectangle);
  });
  int sections = static_cast<int>(times.size());
  floor.assign(sections, 0);
  prints.assign(sections, 0);
  for (int section = 0; section < sections; ++section)
    prints[section] = floorPrint(section);
  left.assign(sections, 0);
  crossing.assign(sections + 1, 0);
  choices.assign(sections + 1, 0);
  inside.assign(sections + 1, 0);
  trouble.assign(sections, 1);
  for (const Piece &piece : pieces)
    for (int section = piece.start; section < piece.end; ++section) {
      left[section] += piece.size;
      crossing[section] += section > piece.start;
    }
  makeLists(sections);
}

/// One ring of unplaced pieces per section, by start, around a head of index pieces.size() + section.
void ValleySearch::makeLists(int sections) {
  int count = static_cast<int>(pieces.size());
  links.resize(count + sections);
  for (int head = count; head < count + sections; ++head)
    links[head] = {head, head};
  for (int index = 0; index < count; ++index) {
    int head = count + pieces[index].start;
    links[index] = {links[head].before, head};
    link(index);
    prints[pieces[index].start] += pieces[index].print = mix(static_cast<uint64_t>(index) + 0x100000000);
  }
}

void ValleySearch::link(int index) {
  links[links[index].before].behind = index;
  links[links[index].behind].before = index;
}

void ValleySearch::unlink(int index) {
  links[links[index].before].behind = links[index].behind;
  links[links[index].behind].before = links[index].before;
}

uint64_t ValleySearch::floorPrint(int section) const {
  return mix(static_cast<uint64_t>(section) << 48 ^ static_cast<uint64_t>(floor[section]));
}

void ValleySearch::setFloor(int section, int64_t to) {
  prints[section] -= floorPrint(section);
  floor[section] = to;
  prints[section] += floorPrint(section);
}

ValleySearch::Outcome ValleySearch::run(int64_t budget) {
  int sections = static_cast<int>(floor.size());
  for (int64_t most : left)
    if (most > height)
      return Outcome::Impossible;
  double quota = kFirstLimit;
  for (round = 0; nodes < budget && !deadline.hasPassed(); ++round, quota *= kGrowth) {
    limit = std::min(budget, nodes + static_cast<int64_t>(quota));
    Result result = solve(0, sections);
    if (result == Result::Failed)
      return Outcome::Impossible;
    if (result == Result::Solved) {
      for (const Step &step : trail)
        if (step.piece >= 0)
          offsets[pieces[step.piece].rectangle] = step.floor;
      return Outcome::Found;
    }
    undo(0);
  }
  return Outcome::GaveUp;
}

/// A section that no piece still to come joins with the one before it.
int ValleySearch::findSplit(int start, int end) const {
  for (int section = start + 1; section < end; ++section)
    if (crossing[section] == 0)
      return section;
  return end;
}

ValleySearch::Result ValleySearch::solve(int start, int end) {
  while (start < end) {
    int split = findSplit(start, end);
    Result result = branch(start, split);
    if (result != Result::Solved)
      return result;
    start = split;
  }
  return Result::Solved;
}

ValleySearch::Result ValleySearch::branch(int start, int end) {
  if (end - start == 1 || left[start] == 0) { // one section: any order does
    int head = static_cast<int>(pieces.size()) + start;
    while (links[head].behind != head)
      place(links[head].behind);
    return Result::Solved;
  }
  if (++nodes > limit)
    return Result::Limit;
  if (nodes % kNodesPerLook == 0 && deadline.hasPassed())
    return Result::Limit;
  Choice best;
  if (!settle(start, end) || !pick(best))
    return Result::Failed;
  uint64_t print = fingerprint(start, end);
  if (failed[print % failed.size()] == print)
    return Result::Failed;
  Result result = tryChoices(start, end, Valley(valleys[best.valley]), best.section);
  if (result == Result::Failed)
    failed[print % failed.size()] = print;
  return result;
}

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
  for (int section = valley.start; section < valley.end; ++section) {
    choices[section] = 0;
    inside[section] = 0;
  }
  int count = static_cast<int>(pieces.size());
  for (int section = valley.start; section < valley.end; ++section)
    for (int index = links[count + section].behind; index < count; index = links[index].behind) {
      const Piece &piece = pieces[index];
      if (piece.end > valley.end)
        continue;
      ++valley.inside;
      valley.smallest = std::min(valley.smallest, piece.size);
      ++choices[section];
      inside[section] += piece.size;
      if (piece.end < valley.end) {
        --choices[piece.end];
        inside[piece.end] -= piece.size;
      }
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

/// The section with the fewest choices for its trouble. False where some section has none.
bool ValleySearch::pick(Choice &best) {
  for (size_t index = 0; index < valleys.size(); ++index) {
    const Valley &valley = valleys[index];
    int64_t next =
        valley.smallest > height ? valley.wall : std::min(valley.wall, valley.floor + valley.smallest);
    int count = 0;
    int64_t sum = 0;
    for (int section = valley.start; section < valley.end; ++section) {
      count += choices[section];
      sum += inside[section];
      int total = count + (next + left[section] <= height ? 1 : 0);
      bool wallHolds = valley.wall + left[section] - sum <= height; // what crosses it stands on it or above
      if (total == 0 || !wallHolds) {
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
  double noise =
      static_cast<double>(mix((static_cast<uint64_t>(piece.rectangle) * 7919 + round) ^ seed) >> 40) *
      0x1p-24;
  return round < 3 ? value : value * (0.5 + noise);
}

ValleySearch::Result ValleySearch::tryChoices(int start, int end, const Valley &valley, int section) {
  std::vector<std::pair<double, int>> order;
  int64_t support = INT64_MAX; // the lowest piece of the valley that leaves the section free
  int count = static_cast<int>(pieces.size());
  for (int first = valley.start; first < valley.end; ++first)
    for (int index = links[count + first].behind; index < count; index = links[index].behind) {
      const Piece &piece = pieces[index];
      if (piece.end > valley.end)
        continue;
      if (piece.start > section || piece.end <= section) {
        support = std::min(support, piece.size);
        continue;
      }
      bool isTwin =
          !order.empty() &&
          std::tuple(pieces[order.back().second].start, pieces[order.back().second].end,
                     pieces[order.back().second].size) == std::tuple(piece.start, piece.end, piece.size);
      if (!isTwin)
        order.emplace_back(-preference(piece, valley), index);
    }
  std::sort(order.begin(), order.end());
  size_t mark = trail.size();
  for (auto [cost, index] : order) {
    place(index);
    Result result = solve(start, end);
    if (result != Result::Failed)
      return result;
    undo(mark);
  }
  int64_t next = support > height ? valley.wall : std::min(valley.wall, valley.floor + support);
  if (!raise(section, section + 1, next))
    return Result::Failed;
  Result result = solve(start, end);
  if (result == Result::Failed)
    undo(mark);
  return result;
}

bool ValleySearch::raise(int start, int end, int64_t to) {
  for (int section = start; section < end; ++section)
    if (to + left[section] > height)
      return false;
  trail.push_back({start, end, floor[start], -1});
  for (int section = start; section < end; ++section)
    setFloor(section, to);
  return true;
}

void ValleySearch::place(int index) {
  const Piece &piece = pieces[index];
  trail.push_back({piece.start, piece.end, floor[piece.start], index});
  unlink(index);
  prints[piece.start] -= piece.print;
  for (int section = piece.start; section < piece.end; ++section) {
    setFloor(section, floor[section] + piece.size);
    left[section] -= piece.size;
    crossing[section] -= section > piece.start;
  }
}

void ValleySearch::undo(size_t mark) {
  for (; trail.size() > mark; trail.pop_back()) {
    const Step &step = trail.back();
    for (int section = step.start; section < step.end; ++section)
      setFloor(section, step.floor);
    if (step.piece < 0)
      continue;
    link(step.piece);
    prints[step.start] += pieces[step.piece].print;
    for (int section = step.start; section < step.end; ++section) {
      left[section] += pieces[step.piece].size;
      crossing[section] += section > step.start;
    }
  }
}

uint64_t ValleySearch::fingerprint(int start, int end) const {
  uint64_t print = static_cast<uint64_t>(start) << 32 | static_cast<uint32_t>(end);
  for (int section = start; section < end; ++section)
    print += prints[section];
  return mix(print);
}

} // namespace accum::planner
