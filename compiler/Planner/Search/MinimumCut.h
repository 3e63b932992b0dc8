// SPDX-License-Identifier: Apache-2.0
// The cheapest way to split a network between a source and a sink.
#pragma once
#include <cstdint>
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

} // namespace accum::planner
