// SPDX-License-Identifier: Apache-2.0
// The network of a price, and the prices worth asking for.
#include "compiler/Planner/Search/CheckpointCut.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace accum::planner {

/// Dinic's algorithm: maximal flow by shortest augmenting paths, level by level.
class MinimumCut {
public:
  static constexpr int64_t kInfinite = int64_t{1} << 61;

  explicit MinimumCut(int nodes) : arcsOf(nodes) {}

  /// Capacities from one node add up over several arcs; the sum of all but the infinite ones stays below
  /// 2^61.
  void addArc(int from, int to, int64_t capacity);
  /// Per node, whether it stays on the source's side. Of equally cheap cuts the one with the fewest nodes
  /// there.
  std::vector<char> sourceSide(int source, int sink);

private:
  struct Arc {
    int to;
    int64_t rest;
  };
  bool findLevels(int source, int sink);
  int64_t push(int source, int sink);

  std::vector<Arc> arcs = {}; ///< an arc and its reverse stand side by side
  std::vector<std::vector<int>> arcsOf;
  std::vector<int> level = {}, next = {};
};

void MinimumCut::addArc(int from, int to, int64_t capacity) {
  arcsOf[from].push_back(static_cast<int>(arcs.size()));
  arcs.push_back({to, capacity});
  arcsOf[to].push_back(static_cast<int>(arcs.size()));
  arcs.push_back({from, 0});
}

bool MinimumCut::findLevels(int source, int sink) {
  level.assign(arcsOf.size(), -1);
  level[source] = 0;
  std::vector<int> queue = {source};
  for (size_t at = 0; at < queue.size(); ++at)
    for (int arc : arcsOf[queue[at]])
      if (int to = arcs[arc].to; arcs[arc].rest > 0 && level[to] < 0) {
        level[to] = level[queue[at]] + 1;
        queue.push_back(to);
      }
  return level[sink] >= 0;
}

/// One path of the level graph, by depth first search without recursion; 0 where there is none left.
int64_t MinimumCut::push(int source, int sink) {
  std::vector<int> path;
  for (int node = source; node != sink;) {
    int &at = next[node];
    for (; at < static_cast<int>(arcsOf[node].size()); ++at) {
      const Arc &arc = arcs[arcsOf[node][at]];
      if (arc.rest > 0 && level[arc.to] == level[node] + 1)
        break;
    }
    if (at < static_cast<int>(arcsOf[node].size())) {
      path.push_back(arcsOf[node][at]);
      node = arcs[path.back()].to;
      continue;
    }
    if (path.empty())
      return 0;
    level[node] = -1;
    node = arcs[path.back() ^ 1].to;
    path.pop_back();
  }
  int64_t amount = kInfinite;
  for (int arc : path)
    amount = std::min(amount, arcs[arc].rest);
  for (int arc : path) {
    arcs[arc].rest -= amount;
    arcs[arc ^ 1].rest += amount;
  }
  return amount;
}

std::vector<char> MinimumCut::sourceSide(int source, int sink) {
  while (findLevels(source, sink)) {
    next.assign(arcsOf.size(), 0);
    while (push(source, sink) > 0)
      ;
  }
  std::vector<char> side;
  for (int reached : level)
    side.push_back(reached >= 0 ? 1 : 0);
  return side;
}

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
    bool isLocal = buffer.producer != kNoIndex && problem.isMain(problem.commands[buffer.producer]) &&
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
