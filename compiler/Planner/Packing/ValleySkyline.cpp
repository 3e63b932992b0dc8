// SPDX-License-Identifier: Apache-2.0
// The search's skyline: its sections, what is still to come over each, and steps forth and back.
#include "compiler/Planner/Packing/ValleySearch.h"
#include <algorithm>
#include <tuple>

namespace accum::planner {

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
    factors.push_back(mix(static_cast<uint64_t>(section)) | 1);
  crossPrints.assign(sections + 1, 0);
  spans.assign(sections, {});
  counts.assign(sections, {});
  counted.assign(sections, 0);
  left.assign(sections, 0);
  crossing.assign(sections + 1, 0);
  choices.assign(sections + 1, 0);
  inside.assign(sections + 1, 0);
  trouble.assign(sections, 1);
  kept.assign(rectangles.size(), -1);
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
    for (int section = pieces[index].start + 1; section < pieces[index].end; ++section)
      crossPrints[section] += pieces[index].print;
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

/// A floor's print is a multiple of it, so that the sum needs only the difference.
void ValleySearch::setFloor(int section, int64_t to) {
  prints[section] += static_cast<uint64_t>(to - floor[section]) * factors[section];
  floor[section] = to;
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
  counted[piece.start] = 0;
  unlink(index);
  prints[piece.start] -= piece.print;
  for (int section = piece.start; section < piece.end; ++section) {
    setFloor(section, floor[section] + piece.size);
    left[section] -= piece.size;
    if (section > piece.start) {
      --crossing[section];
      crossPrints[section] -= piece.print;
    }
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
    counted[step.start] = 0;
    prints[step.start] += pieces[step.piece].print;
    for (int section = step.start; section < step.end; ++section) {
      left[section] += pieces[step.piece].size;
      if (section > step.start) {
        ++crossing[section];
        crossPrints[section] += pieces[step.piece].print;
      }
    }
  }
}

uint64_t ValleySearch::fingerprint(int start, int end) const {
  uint64_t print = static_cast<uint64_t>(start) << 32 | static_cast<uint32_t>(end);
  for (int section = start; section < end; ++section)
    print += prints[section];
  return mix(print + crossPrints[start]);
}

} // namespace accum::planner
