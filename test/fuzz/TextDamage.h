// SPDX-License-Identifier: Apache-2.0
// Seeded damage to a text: what a person, an editor or a careless script would do to it.
#pragma once
#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace accum::planner::test {

/// Changes a few places of a text: numbers become extreme ones, lines go, come twice or change places, words
/// are swapped for others of the same text, bytes flip.
class TextDamage {
public:
  explicit TextDamage(uint64_t seed) : random(seed) {}

  std::string operator()(std::string text) {
    for (size_t count = 1 + below(4); count > 0 && !text.empty(); --count)
      change(text);
    return text;
  }

private:
  size_t below(size_t bound) { return random() % bound; }

  /// A run of characters for which `belongs`, from a random place on; empty where there is none.
  template <class Belongs> std::pair<size_t, size_t> findRun(const std::string &text, Belongs belongs) {
    size_t start = below(text.size());
    while (start < text.size() && !belongs(text[start]))
      ++start;
    size_t end = start;
    while (end < text.size() && belongs(text[end]))
      ++end;
    return {start, end - start};
  }

  void change(std::string &text) {
    static const std::vector<std::string> numbers = {"0",
                                                     "1",
                                                     "-1",
                                                     "9223372036854775807",
                                                     "9223372036854775808",
                                                     "1152921504606846976",
                                                     "4611686018427387904",
                                                     "-9",
                                                     "1e400",
                                                     "0.5",
                                                     "NaN",
                                                     "0x10",
                                                     "007",
                                                     "99999999999999999999999",
                                                     "",
                                                     "2305843009213693951"};
    auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    auto isWord = [](char c) { return c > ' ' && c != ',' && c != '='; };
    auto isInLine = [](char c) { return c != '\n'; };
    switch (below(8)) {
    case 0:
    case 1:
      if (auto [at, size] = findRun(text, isDigit); size > 0)
        text.replace(at, size, numbers[below(numbers.size())]);
      return;
    case 2:
      if (auto [at, size] = findRun(text, isWord); size > 0) {
        auto [from, length] = findRun(text, isWord);
        text.replace(at, size, text.substr(from, length));
      }
      return;
    case 3:
    case 4:
      if (auto [at, size] = findRun(text, isInLine); size > 0) {
        std::string line = text.substr(at, size) + "\n";
        text.erase(at, std::min(size + 1, text.size() - at));
        for (size_t copies = below(3); copies > 0; --copies)
          text.insert(text.find('\n', below(text.size() + 1)) + 1, line);
      }
      return;
    case 5:
      text.resize(below(text.size()));
      return;
    case 6:
      text.insert(below(text.size()), 1, static_cast<char>(below(256)));
      return;
    default:
      text[below(text.size())] = static_cast<char>(below(256));
      return;
    }
  }

  std::mt19937_64 random;
};

} // namespace accum::planner::test
