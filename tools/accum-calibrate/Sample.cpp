// SPDX-License-Identifier: Apache-2.0
// Medians, because a neighbour's burst is not what a call costs.
#include "tools/accum-calibrate/Sample.h"
#include <algorithm>

namespace accum::calibrate {

Sample summarize(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  size_t count = seconds.size();
  double median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
  double between = seconds[count - 1 - count / 4] - seconds[count / 4];
  return {seconds.front(), median, median > 0 ? between / median : 0, static_cast<int>(count)};
}

Sample sample(const std::function<void()> &body, int enough, double seconds, const Clock &now) {
  constexpr double kShort = 20e-6;
  constexpr int kLeast = 3, kMost = 200;
  double begin = now();
  body();
  double first = now() - begin;
  int together = first < kShort ? static_cast<int>(kShort / std::max(first, 1e-7)) + 1 : 1;
  std::vector<double> times;
  double spent = 0;
  while (static_cast<int>(times.size()) < kLeast ||
         ((static_cast<int>(times.size()) < enough || spent < seconds / 2) && spent < seconds &&
          static_cast<int>(times.size()) < kMost)) {
    double start = now();
    for (int run = 0; run < together; ++run)
      body();
    double taken = now() - start;
    spent += taken;
    times.push_back(taken / together);
  }
  return summarize(std::move(times));
}

Sample sampleBeside(const std::function<void()> &body, const std::function<double()> &reference, int turns,
                    const Clock &now) {
  constexpr double kTurn = 0.006, kLong = 5 * kTurn;
  constexpr int kMost = 1000, kFew = 3;
  double begin = now();
  body();
  double first = now() - begin;
  int together = std::clamp(static_cast<int>(kTurn / std::max(first, 1e-7)), 1, kMost);
  if (first > kLong)
    turns = std::min(turns, kFew);
  std::vector<double> references = {reference()}, shares;
  for (int turn = 0; turn < turns; ++turn) {
    double start = now();
    for (int run = 0; run < together; ++run)
      body();
    double taken = (now() - start) / together;
    references.push_back(reference());
    shares.push_back(2 * taken / (references[turn] + references[turn + 1]));
  }
  Sample relative = summarize(std::move(shares));
  relative.reference = 1;
  return atSpeed(relative, summarize(std::move(references)).median);
}

Sample atSpeed(Sample sample, double reference) {
  if (sample.reference <= 0 || reference <= 0)
    return sample;
  double factor = reference / sample.reference;
  sample.least *= factor;
  sample.median *= factor;
  sample.reference = reference;
  return sample;
}

} // namespace accum::calibrate
