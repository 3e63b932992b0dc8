// SPDX-License-Identifier: Apache-2.0
// Which choices were looked at, by hash.
#pragma once
#include "compiler/Planner/Search/Alternatives.h"
#include <string_view>
#include <unordered_map>

namespace accum::planner {

/// Of what is recomputed and varied.
inline size_t hashOf(const Choice &choice) {
  auto hash = []<class Item>(const std::vector<Item> &items) {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char *>(items.data()), items.size() * sizeof(Item)});
  };
  return hash(choice.recomputed) * 0x9e3779b97f4a7c15 + hash(choice.variants);
}

class KnownChoices {
public:
  /// Whether nothing in `list` is the same choice. If so, it is the next of the list.
  bool add(const Choice &choice, const std::vector<Alternative> &list) {
    size_t key = hashOf(choice);
    auto [begin, end] = indices.equal_range(key);
    for (; begin != end; ++begin)
      if (list[begin->second].choice == choice)
        return false;
    indices.emplace(key, static_cast<int>(list.size()));
    return true;
  }

private:
  std::unordered_multimap<size_t, int> indices;
};

} // namespace accum::planner
