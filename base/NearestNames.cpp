// SPDX-License-Identifier: Apache-2.0
// Levenshtein's distance, in which a * stands for any letters at no cost.
#include "base/NearestNames.h"
#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace accum {

size_t editDistance(std::string_view glob, std::string_view name) {
  std::vector<size_t> row(name.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (char letter : glob) {
    bool isAny = letter == '*';
    size_t diagonal = row[0];
    row[0] += isAny ? 0 : 1;
    for (size_t j = 1; j <= name.size(); ++j) {
      size_t above = row[j];
      bool isSame = letter == '?' || letter == name[j - 1];
      row[j] = isAny ? std::min(above, row[j - 1])
                     : std::min({above + 1, row[j - 1] + 1, diagonal + (isSame ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

std::vector<std::string> nearestNames(std::string_view glob, const std::vector<std::string> &names,
                                      size_t count) {
  std::set<std::pair<size_t, std::string>> ranked;
  for (const std::string &name : names)
    ranked.emplace(editDistance(glob, name), name);
  std::vector<std::string> nearest;
  for (const auto &[far, name] : ranked)
    if (nearest.size() < count)
      nearest.push_back(name);
  return nearest;
}

std::string nearestName(std::string_view name, const std::vector<std::string> &names) {
  std::string nearest;
  size_t least = name.size() / 3 + 1; // one letter of three may be wrong
  for (const std::string &other : names) {
    size_t apart = std::max(name.size(), other.size()) - std::min(name.size(), other.size());
    size_t changed = apart < least ? editDistance(name, other) : least;
    if (changed < least) {
      least = changed;
      nearest = other;
    }
  }
  return nearest;
}

} // namespace accum
