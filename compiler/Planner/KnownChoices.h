// SPDX-License-Identifier: Apache-2.0
// Which choices were looked at, by hash.
#pragma once
#include "compiler/Planner/Alternatives.h"
#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace accum::planner {

/// Of what is recomputed, varied and moved.
inline size_t hashOf(const Choice &choice) {
  auto hash = []<class Item>(const std::vector<Item> &items) {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char *>(items.data()), items.size() * sizeof(Item)});
  };
  std::vector<int> moved;
  for (const Move &move : choice.moves)
    moved.push_back(move.buffer);
  size_t key = hash(choice.recomputed);
  for (size_t part : {hash(choice.variants), hash(moved)})
    key = key * 0x9e3779b97f4a7c15 + part;
  return key;
}

class KnownChoices {
public:
  /// Whether nothing in `list` recomputes, varies and moves the same. If so, it is the next of the list.
  bool add(const Choice &choice, const std::vector<Alternative> &list) {
    size_t key = hashOf(choice);
    auto [begin, end] = indices.equal_range(key);
    for (; begin != end; ++begin)
      if (isAlike(list[begin->second].choice, choice))
        return false;
    indices.emplace(key, static_cast<int>(list.size()));
    return true;
  }

private:
  static bool isAlike(const Choice &one, const Choice &other) {
    return one.recomputed == other.recomputed && one.variants == other.variants &&
           std::ranges::equal(one.moves, other.moves, {}, &Move::buffer, &Move::buffer);
  }

  std::unordered_multimap<size_t, int> indices;
};

} // namespace accum::planner
