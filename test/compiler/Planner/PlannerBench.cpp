// SPDX-License-Identifier: Apache-2.0
// Prints what packing and search cost here: one table per kind of input, CPU seconds on one core.
#include "compiler/Planner/Solve.h"
#include "test/compiler/Planner/PackingInstances.h"
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

/// Packs ten of one kind into 2^20 and prints a row.
void benchTight(const Cutting &cutting, int dropped) {
  int solved = 0;
  double total = 0, worst = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Random random(1000 * seed + static_cast<uint64_t>(cutting.pieces));
    auto rectangles = cutRectangle(random, cutting);
    drop(random, rectangles, dropped);
    double seconds = timed([&] {
      solved += pack(rectangles, {.enough = cutting.height, .visits = 100'000'000}).height <= cutting.height;
    });
    total += seconds;
    worst = std::max(worst, seconds);
  }
  fmt::print("{:>6} {:>8} {:>9} {:>6} {:>6} {:>4}/10 {:>9.2f} {:>9.2f}\n", cutting.pieces,
             cutting.largestFirst ? "even" : "slivers", cutting.pinwheelPercent, dropped, cutting.grain,
             solved, total, worst);
  std::fflush(stdout);
}

void benchTight() {
  fmt::print("tight instances, height 2^20, 10 seeds, 100M visits\n{:>6} {:>8} {:>9} {:>6} {:>6} {:>7} {:>9} "
             "{:>9}\n",
             "pieces", "areas", "pinwheel%", "drop %", "grain", "solved", "CPU s", "worst");
  for (int pieces : {150, 300, 450})
    for (bool largestFirst : {true, false})
      for (int pinwheel : {0, 40})
        for (int dropped : {0, 5, 15})
          for (int64_t grain : {1024, 1})
            benchTight({pieces, pieces / 2, 1 << 20, grain, pinwheel, largestFirst}, dropped);
}

void benchLarge() {
  fmt::print("\nlarge inputs, 2M visits, beyond 2,000 rectangles 100M\n{:>6} {:>18} {:>9} {:>8}\n", "n",
             "lives", "of load", "CPU s");
  for (int count : {400, 2000, 20000})
    for (int longest : {20, 200, count}) {
      Random random(static_cast<uint64_t>(count + longest));
      auto rectangles = scatteredRectangles(random, count, longest);
      Packing packing;
      double seconds =
          timed([&] { packing = pack(rectangles, {.visits = count > 2000 ? 100'000'000 : 2'000'000}); });
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
