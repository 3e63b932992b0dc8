// SPDX-License-Identifier: Apache-2.0
// Prints what packing and search cost here: one table per kind of input, CPU seconds on one core. Arguments:
// tables by name, all of them by default; `--full` takes ten seeds of each kind instead of two, `--from=N`
// others of the networks.
#include "compiler/Planner/Search/Solve.h"
#include "test/compiler/Planner/NetworkInstances.h"
#include "test/compiler/Planner/TransformerProblem.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <vector>

using namespace accum::planner;

namespace {

template <class Work> double timed(Work work) {
  double begin = accum::planner::cpuSeconds();
  work();
  return accum::planner::cpuSeconds() - begin;
}

uint64_t seeds = 2, firstSeed = 0;

/// Packs some of one kind into 2^20 and prints a row.
void benchTight(const Cutting &cutting, int dropped) {
  int solved = 0;
  double total = 0, worst = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Random random(1000 * seed + static_cast<uint64_t>(cutting.pieces));
    auto rectangles = cutRectangle(random, cutting);
    drop(random, rectangles, dropped);
    double seconds = timed([&] {
      solved += pack(rectangles, {.enough = cutting.height, .visits = 100'000'000}).height <= cutting.height;
    });
    total += seconds;
    worst = std::max(worst, seconds);
  }
  fmt::print("{:>6} {:>8} {:>9} {:>6} {:>6} {:>4}/{:<2} {:>9.2f} {:>9.2f}\n", cutting.pieces,
             cutting.largestFirst ? "even" : "slivers", cutting.pinwheelPercent, dropped, cutting.grain,
             solved, seeds, total, worst);
  std::fflush(stdout);
}

/// Memories full of tiles.
void benchTiles() {
  fmt::print("\ntile loops, height 2^20, {} seeds, 300M visits\n{:>16} {:>8} {:>9} {:>7} {:>9} {:>9}\n",
             seeds, "kind", "buffers", "shrunk %", "solved", "CPU s", "worst");
  constexpr std::pair<TileKind, const char *> kinds[] = {{TileKind::DoubleBuffered, "double buffers"},
                                                         {TileKind::Skewed, "skewed pipeline"},
                                                         {TileKind::Fan, "fan-in, fan-out"},
                                                         {TileKind::Prefetched, "prefetched"}};
  for (auto [kind, name] : kinds)
    for (int buffers : {150, 450})
      for (int shrunk : {0, 20}) {
        int solved = 0;
        double total = 0, worst = 0;
        for (uint64_t seed = 0; seed < seeds; ++seed) {
          Random random(1000 * seed + static_cast<uint64_t>(buffers));
          auto rectangles = tileLoop(random, {.kind = kind, .buffers = buffers, .shrunkPercent = shrunk});
          double seconds = timed([&] {
            solved += pack(rectangles, {.enough = 1 << 20, .visits = 300'000'000}).height <= 1 << 20;
          });
          total += seconds;
          worst = std::max(worst, seconds);
        }
        fmt::print("{:>16} {:>8} {:>9} {:>4}/{:<2} {:>9.3f} {:>9.3f}\n", name, buffers, shrunk, solved, seeds,
                   total, worst);
        std::fflush(stdout);
      }
}

/// Plans of some 400 buffers, as accumc asks for them: each is to take 20 ms at most.
void benchPlans() {
  fmt::print("\nplans of about 400 buffers, 20 seeds, 2M visits\n{:>16} {:>8} {:>9} {:>9} {:>9}\n", "kind",
             "at load", "mean of", "mean ms", "worst ms");
  for (bool layered : {true, false}) {
    int reached = 0;
    double total = 0, worst = 0, ratio = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed);
      auto rectangles = layered ? layeredRectangles(random, 12, 11)
                                : tileLoop(random, {.kind = static_cast<TileKind>(seed % 4), .buffers = 400});
      double seconds = timed([&] {
        auto height = static_cast<double>(pack(rectangles).height);
        reached += height == static_cast<double>(maxLoad(rectangles));
        ratio += height / static_cast<double>(maxLoad(rectangles)) / 20;
      });
      total += seconds;
      worst = std::max(worst, seconds);
    }
    fmt::print("{:>16} {:>5}/20 {:>9.4f} {:>9.2f} {:>9.2f}\n", layered ? "layers" : "tile loops", reached,
               ratio, 1e3 * total / 20, 1e3 * worst);
  }
}

void benchTight() {
  fmt::print("tight instances, height 2^20, {} seeds, 100M visits\n{:>6} {:>8} {:>9} {:>6} {:>6} {:>7} {:>9} "
             "{:>9}\n",
             seeds, "pieces", "areas", "pinwheel%", "drop %", "grain", "solved", "CPU s", "worst");
  for (int pieces : seeds > 2 ? std::vector{150, 300, 450} : std::vector{150, 300})
    for (bool largestFirst : {true, false})
      for (int pinwheel : {0, 40})
        for (int dropped : {0, 5, 15})
          for (int64_t grain : {1024, 1})
            benchTight({pieces, pieces / 2, 1 << 20, grain, pinwheel, largestFirst}, dropped);
}

/// Networks at their load: solved, and CPU seconds of a plan's effort.
void benchNetworks() {
  fmt::print("\nnetworks, capacity = load, 50 seeds, 2M visits\n{:>16} {:>8} {:>7} {:>9} {:>9}\n", "kind",
             "buffers", "solved", "CPU s", "worst");
  for (size_t kind = 0; kind < kNetworkKinds.size(); ++kind)
    for (int buffers : {150, 400}) {
      int solved = 0;
      double total = 0, worst = 0;
      for (uint64_t seed = 0; seed < 50; ++seed) {
        Random random(1000003 * (firstSeed + seed) + 31 * static_cast<uint64_t>(buffers) + kind);
        auto rectangles = networkInstance(random, static_cast<NetworkKind>(kind), buffers);
        double seconds = timed([&] { solved += pack(rectangles, {}).height <= maxLoad(rectangles) ? 1 : 0; });
        total += seconds;
        worst = std::max(worst, seconds);
      }
      fmt::print("{:>16} {:>8} {:>4}/50 {:>9.3f} {:>9.4f}\n", kNetworkKinds[kind], buffers, solved, total,
                 worst);
      std::fflush(stdout);
    }
}

void benchLarge() {
  fmt::print("\nlarge inputs, 2M visits, beyond 2,000 rectangles 100M\n{:>6} {:>18} {:>9} {:>8}\n", "n",
             "lives", "of load", "CPU s");
  for (int count : {400, 2000, 20000})
    for (int longest : std::set{20, 200, 2000, count}) {
      if (longest > count)
        continue;
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

int main(int argc, char **argv) {
  std::vector<std::string_view> names(argv + 1, argv + argc);
  if (std::erase(names, "--full") > 0)
    seeds = 10;
  std::erase_if(names, [](std::string_view name) {
    constexpr std::string_view flag = "--from=";
    if (name.starts_with(flag))
      firstSeed = std::strtoull(name.data() + flag.size(), nullptr, 10);
    return name.starts_with(flag);
  });
  constexpr std::pair<std::string_view, void (*)()> tables[] = {
      {"plans", benchPlans},   {"tiles", benchTiles}, {"large", benchLarge},
      {"search", benchSearch}, {"tight", benchTight}, {"networks", benchNetworks}};
  for (auto [name, print] : tables)
    if (names.empty() || std::ranges::find(names, name) != names.end())
      print();
}
