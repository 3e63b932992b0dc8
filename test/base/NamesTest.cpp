// SPDX-License-Identifier: Apache-2.0
// What a name that is not known may have meant.
#include "base/NearestNames.h"
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using testing::ElementsAre;

namespace accum {
namespace {

/// By its definition, over all ways to change a letter.
size_t changesOf(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty())
    return a.size() + b.size();
  size_t replaced = changesOf(a.substr(1), b.substr(1)) + (a[0] != b[0]);
  return std::min({replaced, changesOf(a.substr(1), b) + 1, changesOf(a, b.substr(1)) + 1});
}

} // namespace

TEST(NearestNames, DistanceIsTheLeastNumberOfChanges) {
  std::mt19937 random(7);
  auto word = [&] {
    std::string text(random() % 6, 'a');
    for (char &letter : text)
      letter = static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int i = 0; i < 200; ++i) {
    std::string a = word(), b = word();
    EXPECT_EQ(editDistance(a, b), changesOf(a, b)) << a << " " << b;
  }
}

TEST(NearestNames, CountChangesOfLettersAndStarsAreFree) {
  std::vector<std::string> names = {"layer.0.weight", "layer.0.bias", "head.weight"};
  EXPECT_THAT(nearestNames("layer.*.wieght", names, 1), ElementsAre("layer.0.weight"));
  EXPECT_THAT(nearestNames("hed*", names, 1), ElementsAre("head.weight"));
  EXPECT_EQ(nearestNames("x", names, 9).size(), 3u);
}

TEST(NearestNames, OneLetterOfThreeMayBeWrong) {
  EXPECT_EQ(nearestName("--stpes", {"--seed", "--steps"}), "--steps");
  EXPECT_EQ(nearestName("abc", {"xyz", "abd", "adc"}), "abd");
  EXPECT_EQ(nearestName("abc", {"xyc"}), "");
  EXPECT_EQ(nearestName("", {"a"}), "");
}

} // namespace accum
