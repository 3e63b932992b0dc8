// SPDX-License-Identifier: Apache-2.0
// The network of a price, and the prices worth asking for.
#include "compiler/Planner/Search/CheckpointCut.h"
#include "compiler/Planner/Search/MinimumCut.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace accum::planner {

CheckpointCut::CheckpointCut(const Problem &problem, const Recomputation &flow,
                             const std::vector<DecisionClass> &classes,
                             const std::vector<double> &commandSeconds, const std::vector<double> &bytes) {
  std::vector<int> classOf(problem.commands.size(), kNoIndex);
  for (const DecisionClass &entry : classes) {
    double sum = 0;
    for (int member : entry.members) {
      classOf[member] = static_cast<int>(seconds.size());
      sum += commandSeconds[member];
    }
    seconds.push_back(sum);
  }
  std::map<std::pair<int, int>, int> known; // class and number of the result, or no class and the buffer
  for (size_t index = 0; index < problem.buffers.size(); ++index) {
    int storage = static_cast<int>(index);
    const Buffer &buffer = problem.buffers[index];
    if (flow.root(storage) != storage || buffer.wholeStep || flow.users(storage).empty())
      continue;
    int source = buffer.producer == kNoIndex ? kNoIndex : classOf[buffer.producer];
    bool needed =
        std::ranges::any_of(flow.users(storage), [&](int user) { return problem.commands[user].backward; });
    bool isLocal = buffer.producer != kNoIndex && problem.commands[buffer.producer].region == Region::Micro &&
                   !problem.commands[buffer.producer].backward;
    if (!isLocal || (source == kNoIndex && needed))
      continue; // alive anyway
    int number = storage;
    if (source != kNoIndex)
      number = static_cast<int>(std::ranges::find(flow.results(buffer.producer), storage) -
                                flow.results(buffer.producer).begin());
    auto [at, isNew] = known.emplace(std::pair(source, number), static_cast<int>(values.size()));
    if (isNew)
      values.push_back({source});
    Value &value = values[at->second];
    value.needed |= needed;
    value.bytes += bytes[index];
    for (int user : flow.users(storage))
      if (classOf[user] != kNoIndex && std::ranges::find(value.askers, classOf[user]) == value.askers.end())
        value.askers.push_back(classOf[user]);
  }
}

CheckpointCut::Point CheckpointCut::solve(double secondsPerByte) const {
  constexpr int source = 0, sink = 1;
  int classes = static_cast<int>(seconds.size());
  MinimumCut network(2 + classes + static_cast<int>(values.size()));
  auto picoseconds = [](double value) {
    return static_cast<int64_t>(std::llround(std::min(value, 1e4) * 1e12));
  };
  auto nodeOf = [](int index) { return 2 + index; };
  for (int index = 0; index < classes; ++index)
    network.addArc(nodeOf(index), sink, picoseconds(seconds[index]) + 1);
  for (size_t index = 0; index < values.size(); ++index) {
    const Value &value = values[index];
    int node = 2 + classes + static_cast<int>(index);
    if (value.needed)
      network.addArc(source, node, MinimumCut::kInfinite);
    for (int asker : value.askers)
      network.addArc(nodeOf(asker), node, MinimumCut::kInfinite);
    network.addArc(node, value.source == kNoIndex ? sink : nodeOf(value.source),
                   picoseconds(value.bytes * secondsPerByte));
  }
  std::vector<char> side = network.sourceSide(source, sink);
  Point point;
  for (int index = 0; index < classes; ++index) {
    point.again.push_back(side[nodeOf(index)]);
    point.seconds += point.again.back() != 0 ? seconds[index] : 0;
  }
  for (const Value &value : values) {
    bool isNeeded =
        value.needed || std::ranges::any_of(value.askers, [&](int asker) { return point.again[asker] != 0; });
    if (isNeeded && (value.source == kNoIndex || point.again[value.source] == 0))
      point.bytes += value.bytes;
  }
  return point;
}

std::vector<std::vector<char>> CheckpointCut::hull(size_t most, Deadline deadline) const {
  double allSeconds = 0, allBytes = 0;
  for (double value : seconds)
    allSeconds += value;
  for (const Value &value : values)
    allBytes += value.bytes;
  std::vector<Point> points = {solve(0)};
  if (allBytes <= 0)
    return {points.front().again};
  // Values below a thousandth of all count for nothing.
  std::vector<std::pair<Point, Point>> open = {{points.front(), solve(1000 * allSeconds / allBytes)}};
  points.push_back(open.back().second);
  while (!open.empty() && points.size() < most && !deadline.hasPassed()) {
    auto [less, more] = open.back();
    open.pop_back();
    if (more.bytes >= less.bytes || more.seconds <= less.seconds)
      continue;
    double price = (more.seconds - less.seconds) / (less.bytes - more.bytes);
    Point middle = solve(price);
    double below = less.seconds + price * less.bytes - (middle.seconds + price * middle.bytes);
    if (below <= 1e-9 * (less.seconds + price * less.bytes))
      continue;
    points.push_back(middle);
    open.emplace_back(less, middle);
    open.emplace_back(middle, more);
  }
  std::ranges::sort(points, {}, [](const Point &point) { return std::tie(point.seconds, point.again); });
  std::vector<std::vector<char>> result;
  for (Point &point : points)
    if (result.empty() || result.back() != point.again)
      result.push_back(std::move(point.again));
  return result;
}

} // namespace accum::planner
