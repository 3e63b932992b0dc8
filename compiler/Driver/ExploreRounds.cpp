// SPDX-License-Identifier: Apache-2.0
// One burst of a neighbour is longer than a few steps of one size: turns are taken one size after the other.
#include "compiler/Driver/ExploreRounds.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::driver {

namespace {

constexpr double kScatters = 0.10, kAbove = 1.15;

/// Above which part of its prediction each size stands, at the least.
double leastRatio(const std::vector<ExploredSize> &sizes) {
  double least = sizes.front().measured / sizes.front().predicted;
  for (const ExploredSize &size : sizes)
    least = std::min(least, size.measured / size.predicted);
  return least;
}

/// How far apart, in words: `38 %`, `a factor of 9`.
std::string apart(double scatter) {
  return scatter < 1 ? fmt::format("{:.0f} %", 100 * scatter)
                     : fmt::format("a factor of {:.0f}", 1 + scatter);
}

class Rounds {
public:
  Rounds(std::vector<ExploredSize> &sizes, TimeSteps time) : sizes(sizes), time(time), taken(sizes.size()) {}

  /// One turn of each; the first one that does not run, or null.
  const ExploredSize *take(const std::vector<size_t> &which) {
    for (size_t index : which) {
      std::vector<double> seconds = time(sizes[index]);
      if (seconds.empty())
        return &sizes[index];
      taken[index].insert(taken[index].end(), seconds.begin(), seconds.end());
      sizes[index].measured = undisturbed(taken[index]);
      sizes[index].scatter = scatter(taken[index]);
      sizes[index].steps = static_cast<int64_t>(taken[index].size());
    }
    return nullptr;
  }

  size_t fastest() const {
    return static_cast<size_t>(std::ranges::min_element(sizes, {}, &ExploredSize::measured) - sizes.begin());
  }

  /// Those that were disturbed, and the fastest beside them.
  std::vector<size_t> disturbed() const {
    double least = leastRatio(sizes);
    std::vector<size_t> found;
    for (size_t index = 0; index < sizes.size(); ++index)
      if (sizes[index].scatter > kScatters || sizes[index].measured > kAbove * least * sizes[index].predicted)
        found.push_back(index);
    if (!found.empty() && std::ranges::find(found, fastest()) == found.end())
      found.push_back(fastest());
    return found;
  }

private:
  std::vector<ExploredSize> &sizes;
  TimeSteps time;
  std::vector<std::vector<double>> taken;
};

} // namespace

int64_t turnSteps(const ExploredSize &size) {
  constexpr double kLong = 5, kTurn = 0.05;
  constexpr int64_t kLeast = 2, kMost = 20;
  double expected = size.measured > 0 ? size.measured : size.predicted;
  if (expected > kLong)
    return 1 + 1;
  double steps = std::min(kTurn / std::max(expected, 1e-9), double(kMost));
  return 1 + std::max(kLeast, static_cast<int64_t>(steps));
}

double undisturbed(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return seconds[(seconds.size() - 1) / 4];
}

double scatter(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  size_t quarter = (seconds.size() - 1) / 4;
  return seconds[seconds.size() - 1 - quarter] / seconds[quarter] - 1;
}

const ExploredSize *timeInTurns(std::vector<ExploredSize> &sizes, TimeSteps time) {
  Rounds rounds(sizes, time);
  std::vector<size_t> order;
  for (size_t index = 0; index < sizes.size(); ++index)
    order.push_back(index);
  for (int round = 0; round < kExploreRounds; ++round) {
    if (const ExploredSize *failed = rounds.take(order))
      return failed;
    std::ranges::reverse(order);
  }
  for (int round = 0; round < kMoreRounds; ++round)
    if (const ExploredSize *failed = rounds.take(rounds.disturbed()))
      return failed;
  sizes[rounds.fastest()].chosen = true;
  return nullptr;
}

std::string describeExplored(const std::vector<ExploredSize> &sizes, int64_t compared) {
  std::string text = fmt::format("explore  {} of {} sizes timed here, in turns\n", sizes.size(), compared);
  double most = 0;
  for (const ExploredSize &size : sizes) {
    text += fmt::format(
        "         micro-batch {:>5}: {:>9.1f} ms per step predicted, {:>9.1f} measured ({:+.1f} %), "
        "{} steps within {}{}\n",
        size.m, size.predicted * 1e3, size.measured * 1e3, 100 * (size.predicted / size.measured - 1),
        size.steps, apart(size.scatter), size.chosen ? "   chosen" : "");
    most = std::max(most, size.scatter);
  }
  if (most > kScatters)
    text +=
        fmt::format("         steps of one size lie up to {} apart: something else runs here, or the machine "
                    "changes its speed;\n"
                    "         which of these sizes is the fastest is uncertain by as much\n",
                    apart(most));
  return text;
}

std::string whyExplored(const std::vector<ExploredSize> &sizes, int64_t compared) {
  if (sizes.empty() || compared < 2)
    return {};
  if (sizes.size() == 1)
    return fmt::format("the only one of {} sizes that fits", compared);
  return fmt::format("the fastest of {} sizes timed here, of {}", sizes.size(), compared);
}

} // namespace accum::driver
