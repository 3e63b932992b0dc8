// SPDX-License-Identifier: Apache-2.0
// Annealing with thresholds instead of probabilities: no exponentials, so that it is the same anywhere.
#include "compiler/Planner/Search/PeakAnnealing.h"
#include <cmath>

namespace accum::planner {

namespace {

/// How much worse a step may be at the beginning of each walk, as a part; in the end a thirtieth of it.
constexpr double kThresholds[] = {0.03, 0.01, 0.003};
/// Looks per command that may run again in which walks of all thresholds come to rest. Where there are fewer,
/// there is one cold walk; where there are more, all walks are taken again.
constexpr int64_t kWarm = 48;
/// Times that the threshold is halved in a walk.
constexpr int kHalvings = 5;
/// Of ten steps, those that change what is there at the fullest moment.
constexpr uint64_t kAimed = 7;

class Walker {
public:
  Walker(const Problem &problem, const Recomputation &flow, const LoadModel &loads,
         const Decisions &decisions, const PeakAnnealingOptions &asked)
      : problem(problem), flow(flow), loads(loads), decisions(decisions), asked(asked),
        random(static_cast<uint64_t>(asked.m)) {}

  std::vector<Choice> run(const Choice &start) {
    lowest = judged(start);
    int64_t commands = 1;
    for (const DecisionClass &entry : decisions.classes())
      commands += static_cast<int64_t>(entry.members.size());
    int64_t rounds = asked.looks / (kWarm * commands);
    if (rounds == 0)
      randomMoves(kThresholds[std::size(kThresholds) - 1], asked.looks);
    for (int64_t round = 0; round < rounds; ++round)
      for (double threshold : kThresholds)
        randomMoves(threshold, asked.looks / rounds / static_cast<int64_t>(std::size(kThresholds)));
    return std::move(found);
  }

private:
  struct State {
    Choice choice = {};
    FullestMoment moment = {};
    double cost = 0; ///< what walks go down: of equal peaks the less crowded is less
  };

  State judged(Choice choice) const {
    std::vector<int> before = flow.positions(choice.recomputed);
    for (size_t index = 0; index < before.size(); ++index)
      choice.recomputed[index] = before[index] == kNoIndex ? 0 : 1;
    FullestMoment moment = loads.fullest(RunningOrder(before), choice, asked.m);
    double cost = static_cast<double>(moment.bytes) * std::sqrt(moment.crowded);
    return {std::move(choice), std::move(moment), cost};
  }

  /// Commands that may run again, and make or read what is there at the fullest moment: as often as they do.
  std::vector<int> aims(const State &state) const {
    std::vector<int> commands;
    auto add = [&](int command) {
      if (command != kNoIndex && flow.isAllowed(command))
        commands.push_back(command);
    };
    for (int storage : state.moment.there) {
      add(problem.buffers[storage].producer);
      for (int user : flow.users(storage))
        add(user);
    }
    return commands;
  }

  void randomMoves(double threshold, int64_t looks) {
    State state = lowest;
    std::vector<int> commands = aims(state);
    for (int64_t look = 0; look < looks && !asked.deadline.hasPassed(); ++look) {
      if (look > 0 && look % (looks / (kHalvings + 1) + 1) == 0)
        threshold /= 2;
      bool isAimed = !commands.empty() && random() % 10 < kAimed;
      Choice choice = isAimed ? decisions.disturbedAt(state.choice, commands, random)
                              : decisions.disturbed(state.choice, random);
      State next = judged(std::move(choice));
      auto drawn = static_cast<double>(random() % 1024) / 512; // below 2: small ones are drawn more often
      if (next.choice == state.choice || next.cost > state.cost * (1 + threshold * drawn * drawn / 2))
        continue;
      state = std::move(next);
      commands = aims(state);
      if (state.moment.bytes < lowest.moment.bytes) {
        lowest = state;
        found.push_back(state.choice);
      }
    }
  }

  const Problem &problem;
  const Recomputation &flow;
  const LoadModel &loads;
  const Decisions &decisions;
  const PeakAnnealingOptions &asked;
  std::mt19937_64 random;
  State lowest;
  std::vector<Choice> found;
};

} // namespace

std::vector<Choice> annealPeaks(const Problem &problem, const Recomputation &flow, const LoadModel &loads,
                                const Decisions &decisions, const Choice &start,
                                const PeakAnnealingOptions &asked) {
  return Walker(problem, flow, loads, decisions, asked).run(start);
}

} // namespace accum::planner
