// SPDX-License-Identifier: Apache-2.0
// Maximal flow, then what the source still reaches.
#include "compiler/Planner/Search/MinimumCut.h"
#include <algorithm>

namespace accum::planner {

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

} // namespace accum::planner
