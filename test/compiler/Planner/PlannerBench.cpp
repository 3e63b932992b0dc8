// SPDX-License-Identifier: Apache-2.0
// Prints what packing and search cost here: one table per kind of input, CPU seconds on one core.
#include "compiler/Planner/Solve.h"
#include "compiler/Planner/ValleySearch.h"
#include "test/compiler/Planner/RandomProblem.h"
#include "test/compiler/Planner/TransformerProblem.h"
#include <algorithm>
#include <fmt/format.h>

using namespace accum::planner;

namespace {

template <class Work> double timed(Work work) {
  double begin = accum::planner::cpuSeconds();
  work();
  return accum::planner::cpuSeconds() - begin;
}

/// A cut rectangle without some of its pieces: a packing of that height exists, with some room.
std::vector<Rectangle> tight(uint64_t seed, int pieces, int dropPercent, int64_t grain) {
  Random random(seed);
  auto rectangles = cutRectangle(random, pieces, pieces / 2, 1 << 20, grain);
  std::erase_if(rectangles, [&](const Rectangle &) { return draw(random, 0, 99) < dropPercent; });
  return rectangles;
}

void benchTight() {
  fmt::print("tight instances, height 2^20, 10 seeds, 100M visits\n");
  fmt::print("{:>6} {:>6} {:>7} {:>7} {:>9} {:>9}\n", "pieces", "drop %", "grain", "solved", "CPU s",
             "worst");
  for (int pieces : {150, 300, 450})
    for (int drop : {0, 5, 15})
      for (int64_t grain : {int64_t{1} << 14, int64_t{1}}) {
        int solved = 0;
        double total = 0, worst = 0;
        for (uint64_t seed = 0; seed < 10; ++seed) {
          auto rectangles = tight(1000 * seed + pieces, pieces, drop, grain);
          double seconds = timed([&] {
            solved += pack(rectangles, {.enough = 1 << 20, .visits = 100'000'000}).height <= 1 << 20;
          });
          total += seconds;
          worst = std::max(worst, seconds);
        }
        fmt::print("{:>6} {:>6} {:>7} {:>4}/10 {:>9.2f} {:>9.2f}\n", pieces, drop, grain, solved, total,
                   worst);
        std::fflush(stdout);
      }
}

void benchLarge() {
  fmt::print("\nlarge inputs, default effort\n{:>6} {:>18} {:>9} {:>8}\n", "n", "lives", "of load", "CPU s");
  for (int count : {400, 2000, 20000})
    for (int longest : {20, 200, count}) {
      Random random(static_cast<uint64_t>(count + longest));
      std::vector<Rectangle> rectangles;
      for (int index = 0; index < count; ++index) {
        int start = static_cast<int>(draw(random, 0, count - 1));
        rectangles.push_back(
            {start, start + static_cast<int>(draw(random, 1, longest)), 256 * draw(random, 1, 4000)});
      }
      Packing packing;
      double seconds = timed([&] { packing = pack(rectangles); });
      fmt::print("{:>6} {:>18} {:>9.4f} {:>8.3f}\n", count, fmt::format("1 to {}", longest),
                 static_cast<double>(packing.height) / static_cast<double>(maxLoad(rectangles)), seconds);
    }
}

void benchSearch() {
  fmt::print("\nwhole searches, batch 1024 on 4 devices\n");
  DeviceProfile profile = *loadProfile("h100");
  for (const TransformerShape &shape : {gpt2Small(), gpt3Largest()}) {
    Problem problem = transformerProblem(shape);
    size_t sizes = 0;
    double seconds = timed([&] {
      sizes = solve(problem, profile, {.batch = 1024, .devices = 4, .budget = int64_t{8} << 40})
                  ->candidates.size();
    });
    fmt::print("{:>24} {:>6} commands {:>6} buffers {:>4} sizes {:>8.3f} CPU s\n", problem.name,
               problem.commands.size(), problem.buffers.size(), sizes, seconds);
  }
}

} // namespace

int main() {
  benchTight();
  benchLarge();
  benchSearch();
}
