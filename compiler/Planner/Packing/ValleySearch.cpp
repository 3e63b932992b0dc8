// SPDX-License-Identifier: Apache-2.0
// Exact packing into a fixed height over the valleys of the skyline.
#include "compiler/Planner/Packing/ValleySearch.h"
#include <algorithm>
#include <cmath>
#include <tuple>

namespace accum::planner {

namespace {

/// Nodes of the first restart, how many times more each later one may take, and what none exceeds: paths may
/// end thousands of restarts long before their nodes do.
constexpr double kFirstLimit = 500, kGrowth = 1.05, kLastLimit = 1e15;
/// Failed skylines remembered at most; a later one takes the place of another.
constexpr size_t kFailed = size_t{1} << 18, kFirstFailed = size_t{1} << 12;
/// What the deepest attempt loses with a restart, so that others take its place.
constexpr double kDecay = 0.9;
/// How much rather a piece is placed where it stood in that attempt.
constexpr double kKept = 3;
/// What a section gains in trouble that cannot be raised, where one that has no choice gains 1.
constexpr double kStuck = 0.3;
/// Nodes between two looks at the clock.
constexpr int64_t kNodesPerLook = 64;
/// Choices below each other per piece, and beside that, before a restart: where sizes have no common measure
/// much can be given up in steps of the smallest, and each choice takes some of the call stack.
constexpr size_t kDepthPerPiece = 2, kDepth = 300;

} // namespace

ValleySearch::ValleySearch(std::span<const Rectangle> rectangles, int64_t height, uint64_t seed,
                           Deadline deadline)
    : height(height), seed(seed == 0 ? 0 : mix(seed)), deadline(deadline), quota(kFirstLimit) {
  makeSections(rectangles);
  failed.assign(kFirstFailed, 0);
  offsets.assign(rectangles.size(), 0);
}

ValleySearch::Outcome ValleySearch::run(int64_t more) {
  int64_t budget = nodes + more;
  int sections = static_cast<int>(floor.size());
  for (int64_t most : left)
    if (most > height)
      return Outcome::Impossible;
  for (; nodes < budget && !deadline.hasPassed(); ++round, quota = std::min(kLastLimit, quota * kGrowth)) {
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
    deepest *= kDecay;
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
  keepDeepest();
  if (++nodes > limit)
    return Result::Limit;
  if (nodes % kNodesPerLook == 0 && deadline.hasPassed())
    return Result::Limit;
  if (depth >= kDepthPerPiece * pieces.size() + kDepth)
    return Result::Limit;
  ++depth;
  size_t mark = trail.size();
  Result result = settle(start, end) ? descend(start, end) : Result::Failed;
  --depth;
  if (result == Result::Failed)
    blameRaises(mark, {start, end});
  return result;
}

void ValleySearch::keepDeepest() {
  if (static_cast<double>(trail.size()) <= deepest)
    return;
  deepest = static_cast<double>(trail.size());
  for (const Step &step : trail)
    if (step.piece >= 0)
      kept[step.piece] = step.floor;
}

ValleySearch::Result ValleySearch::descend(int start, int end) {
  Choice best;
  if (!pick(best))
    return Result::Failed;
  Valley valley = valleys[best.valley];
  if (isKnown(valley))
    return Result::Failed;
  Result result = tryChoices(start, end, valley, best.section);
  if (result == Result::Failed)
    remember(valley);
  return result;
}

/// Whether a failure of the same valley tells that this one fails as well.
bool ValleySearch::isKnown(const Valley &valley) {
  for (const Span &span : spans[valley.start]) {
    if (span.start >= span.end)
      break;
    uint64_t print = fingerprint(span.start, span.end);
    if (failed[print % failed.size()] != print)
      continue;
    conflict = span;
    return true;
  }
  return false;
}

/// Short searches need not clear a large table.
void ValleySearch::growTable() {
  std::vector<uint64_t> larger(4 * failed.size(), 0);
  for (uint64_t print : failed)
    if (print != 0)
      larger[print % larger.size()] = print;
  failed = std::move(larger);
}

void ValleySearch::remember(const Valley &valley) {
  if (++remembered > failed.size() && failed.size() < kFailed)
    growTable();
  uint64_t print = fingerprint(conflict.start, conflict.end);
  failed[print % failed.size()] = print;
  auto &known = spans[valley.start];
  auto at = std::find(known.begin(), known.end() - 1, conflict); // or the oldest
  std::rotate(known.begin(), at, at + 1);
  known.front() = conflict;
}

/// What follows from a raised floor follows from why it was raised: its valley and the walls.
void ValleySearch::blameRaises(size_t mark, const Span &part) {
  for (size_t index = trail.size(); index > mark; --index) {
    const Step &step = trail[index - 1];
    if (conflict.meets(step.start, step.end))
      conflict = conflict.with({std::max(part.start, step.start - 1), std::min(part.end, step.end + 1)});
  }
}

void ValleySearch::findValleys(int start, int end) {
  valleys.clear();
  for (int from = start, to; from < end; from = to) {
    for (to = from + 1; to < end && floor[to] == floor[from];)
      ++to;
    int64_t before = from == start ? height : floor[from - 1], behind = to == end ? height : floor[to];
    if (before <= floor[from] || behind <= floor[from])
      continue;
    Span around = {std::max(start, from - 1), std::min(end, to + 1)};
    valleys.push_back({from, to, floor[from], std::min(before, behind), around});
    countInside(valleys.back());
  }
}

/// What was counted before holds as long as no piece that starts there was placed or taken back, and no other
/// valley was counted over the same sections.
bool ValleySearch::isCounted(const Valley &valley) const {
  const Count &count = counts[valley.start];
  if (count.end != valley.end || count.number == 0)
    return false;
  for (int section = valley.start; section < valley.end; ++section)
    if (counted[section] != count.number)
      return false;
  return true;
}

void ValleySearch::countInside(const Valley &valley) {
  if (isCounted(valley))
    return;
  Count &count = counts[valley.start];
  count = {valley.end, 0, INT64_MAX, ++counter};
  for (int section = valley.start; section < valley.end; ++section) {
    counted[section] = counter;
    choices[section] = 0;
    inside[section] = 0;
  }
  int heads = static_cast<int>(pieces.size());
  int more = 0;
  int64_t sum = 0;
  for (int section = valley.start; section < valley.end; ++section) {
    for (int index = links[heads + section].behind; index < heads; index = links[index].behind) {
      const Piece &piece = pieces[index];
      if (piece.end > valley.end)
        break; // every later one ends later still
      ++count.inside;
      count.smallest = std::min(count.smallest, piece.size);
      ++more;
      sum += piece.size;
      if (piece.end < valley.end) {
        --choices[piece.end];
        inside[piece.end] -= piece.size;
      }
    }
    choices[section] = more += choices[section];
    inside[section] = sum += inside[section];
  }
}

/// Finds the valleys and what lies inside each; raises those that nothing fits into. False where that cannot
/// be.
bool ValleySearch::settle(int start, int end) {
  for (bool settled = false; !settled;) {
    findValleys(start, end);
    settled = true;
    for (const Valley &valley : valleys) {
      if (counts[valley.start].inside > 0)
        continue;
      if (!raise(valley.start, valley.end, valley.wall)) {
        for (int section = valley.start; section < valley.end; ++section)
          trouble[section] += valley.wall + left[section] > height ? kStuck : 0;
        conflict = valley.around;
        return false;
      }
      settled = false;
    }
  }
  return true;
}

/// The section with the fewest choices for its trouble. False where some section has none.
bool ValleySearch::pick(Choice &best) {
  for (size_t index = 0; index < valleys.size(); ++index) {
    const Valley &valley = valleys[index];
    int64_t smallest = counts[valley.start].smallest;
    int64_t next = smallest > height ? valley.wall : std::min(valley.wall, valley.floor + smallest);
    for (int section = valley.start; section < valley.end; ++section) {
      int count = choices[section];
      int64_t sum = inside[section];
      int total = count + (next + left[section] <= height ? 1 : 0);
      bool wallHolds = valley.wall + left[section] - sum <= height; // what crosses it stands on it or above
      if (total == 0 || !wallHolds) {
        trouble[section] += 1;
        conflict = valley.around;
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
  if (kept[&piece - pieces.data()] == valley.floor)
    value *= kKept;
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
        break;
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
  Span reasons = valley.around;
  for (auto [cost, index] : order) {
    place(index);
    Result result = solve(start, end);
    if (result != Result::Failed)
      return result;
    undo(mark);
    if (!conflict.meets(pieces[index].start, pieces[index].end))
      return Result::Failed; // wherever this piece stands
    reasons = reasons.with(conflict);
  }
  int64_t next = support > height ? valley.wall : std::min(valley.wall, valley.floor + support);
  if (raise(section, section + 1, next)) {
    Result result = solve(start, end);
    if (result != Result::Failed)
      return result;
    undo(mark);
    if (!conflict.meets(section, section + 1))
      return Result::Failed;
    reasons = reasons.with(conflict);
  }
  conflict = reasons;
  return Result::Failed;
}

} // namespace accum::planner
