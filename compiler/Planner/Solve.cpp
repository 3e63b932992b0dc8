// SPDX-License-Identifier: Apache-2.0
// The search over micro-batch sizes: bounds and times for all, packing where it decides, then the verdicts.
#include "compiler/Planner/Solve.h"
#include "compiler/Planner/MemoryLines.h"
#include "compiler/Planner/Storage.h"
#include "compiler/Planner/TimeModel.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <tuple>

namespace accum::planner {

namespace {

/// Rectangles that may be packed for the table alone, once the choice has been made.
constexpr size_t kTableRectangles = 400'000;
/// Everything the search keeps of one candidate besides what the user sees.
struct Trial {
  Candidate candidate = {};
  int64_t ticks = 0; ///< predicted picoseconds: what times are compared by
  int64_t fixedCounted = 0;
  RegionTime micro = {};
};

class Searcher {
public:
  Searcher(const Problem &problem, const DeviceProfile &profile, const Options &options)
      : problem(problem), profile(profile), options(options), lifetimes(problem),
        times(problem, profile, options.devices) {}

  Result<Search> run();

private:
  Trial bound(const Cut &cut) const;
  Packing packAt(Trial &trial) const;
  bool fits(const Trial &trial) const { return trial.candidate.counted <= search.budget; }
  bool allowed(const Trial &trial) const {
    return !options.requireDivisible || trial.candidate.cut.last == trial.candidate.cut.m;
  }
  int choose();
  void packForTable();
  void findSmallest();
  void giveVerdicts(int chosen);
  std::string whySlower(const Trial &trial, const Trial &chosen) const;
  Plan makePlan(int chosen, const Packing &packing) const;

  const Problem &problem;
  const DeviceProfile &profile;
  const Options &options;
  Lifetimes lifetimes;
  TimeModel times;
  Search search;
  std::vector<Trial> trials; ///< as `search.candidates`, largest m first
  Packing chosenPacking;
};

Trial Searcher::bound(const Cut &cut) const {
  Trial trial;
  Candidate &candidate = trial.candidate;
  candidate.cut = cut;
  Layout layout = layOut(problem, lifetimes, cut.m, profile.alignment);
  candidate.scratch = candidate.lowerBound = maxLoad(layout.blocks);
  candidate.arena = candidate.scratch;
  for (const FixedMemory &fixed : problem.fixed) {
    int64_t bytes = fixed.bytes.at(cut.m);
    trial.fixedCounted += bytes;
    candidate.arena += fixed.kind == FixedKind::State ? bytes : 0;
  }
  for (const Overhead &overhead : profile.overheads)
    if (overhead.counted && (!overhead.onlyParallel || options.devices > 1))
      trial.fixedCounted += overhead.bytes;
  candidate.counted = trial.fixedCounted + candidate.scratch;
  for (const TimeLine &line : times.step(cut))
    candidate.seconds += line.seconds;
  trial.ticks = static_cast<int64_t>(std::llround(std::min(candidate.seconds, 9e6) * 1e12));
  trial.micro = times.regions(cut.m)[static_cast<int>(Region::Micro)];
  return trial;
}

/// Replaces the bound by a real packing.
Packing Searcher::packAt(Trial &trial) const {
  Candidate &candidate = trial.candidate;
  Packing packing = pack(layOut(problem, lifetimes, candidate.cut.m, profile.alignment).blocks);
  candidate.arena += packing.height - candidate.scratch;
  candidate.counted += packing.height - candidate.scratch;
  candidate.scratch = packing.height;
  candidate.packed = true;
  return packing;
}

/// The fastest that fits, by packing in the order of time; among equals the one with the least memory.
int Searcher::choose() {
  std::vector<int> order(trials.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::tuple(trials[a].ticks, trials[a].candidate.counted, a) <
           std::tuple(trials[b].ticks, trials[b].candidate.counted, b);
  });
  int chosen = kNoIndex;
  for (int index : order) {
    Trial &trial = trials[index];
    if (chosen != kNoIndex && trial.ticks > trials[chosen].ticks)
      break;
    if (!allowed(trial) || !fits(trial))
      continue;
    Packing packing = packAt(trial);
    if (!fits(trial) || (chosen != kNoIndex && trial.candidate.counted >= trials[chosen].candidate.counted))
      continue;
    chosen = index;
    chosenPacking = std::move(packing);
  }
  return chosen;
}

/// Packs the others that may fit, so that the table shows arenas and not bounds, as far as that stays cheap.
void Searcher::packForTable() {
  size_t rectangles = 0;
  for (Trial &trial : trials) {
    if (trial.candidate.packed || !fits(trial))
      continue;
    rectangles += problem.buffers.size() + problem.commands.size();
    if (rectangles > kTableRectangles)
      return;
    packAt(trial);
  }
}

/// The candidate that needs the least, packed for real: the smallest budget that works.
void Searcher::findSmallest() {
  while (true) {
    auto least = std::min_element(trials.begin(), trials.end(), [&](const Trial &a, const Trial &b) {
      return std::pair(!allowed(a), a.candidate.counted) < std::pair(!allowed(b), b.candidate.counted);
    });
    search.smallest = static_cast<size_t>(least - trials.begin());
    if (least->candidate.packed)
      return;
    packAt(*least);
  }
}

std::string Searcher::whySlower(const Trial &trial, const Trial &chosen) const {
  const Cut &cut = trial.candidate.cut, &best = chosen.candidate.cut;
  std::vector<std::string> reasons;
  auto count = [](int64_t n, const char *one, const char *many) {
    return fmt::format("{} {}", n == 1 ? "one" : fmt::format("{}", n), n == 1 ? one : many);
  };
  if (int64_t padded = cut.m * cut.steps - search.deviceBatch; padded > 0)
    reasons.push_back(count(padded, "padded row", "padded rows"));
  double launches = trial.micro.launch / trial.micro.total, memory = trial.micro.memory / trial.micro.total;
  if (launches > 0.3)
    reasons.push_back("launch-bound");
  else if (memory > chosen.micro.memory / chosen.micro.total + 0.05)
    reasons.push_back("more time waits for memory");
  if (cut.steps > best.steps)
    reasons.push_back(count(cut.steps - best.steps, "more micro-step", "more micro-steps"));
  else if (reasons.empty() && cut.steps < best.steps)
    reasons.push_back("the time per sample is higher");
  return fmt::format("{}", fmt::join(reasons, ", "));
}

void Searcher::giveVerdicts(int chosen) {
  for (Trial &trial : trials) {
    Candidate &candidate = trial.candidate;
    if (!fits(trial)) {
      candidate.verdict = Verdict::DoesNotFit;
      candidate.over = candidate.counted - search.budget;
    } else if (!allowed(trial)) {
      candidate.verdict = Verdict::NotDivisible;
      candidate.note = fmt::format("{} samples in the last micro-step", candidate.cut.last);
    } else if (chosen == static_cast<int>(&trial - trials.data())) {
      candidate.verdict = Verdict::Chosen;
    } else {
      candidate.verdict = trial.ticks == trials[chosen].ticks ? Verdict::MoreMemory : Verdict::Slower;
      candidate.note = whySlower(trial, trials[chosen]);
    }
    search.candidates.push_back(candidate);
  }
}

Plan Searcher::makePlan(int chosen, const Packing &packing) const {
  const Candidate &candidate = trials[chosen].candidate;
  Plan plan{.problem = problem.name, .target = profile.name, .basis = profile.basis};
  plan.batch = options.batch;
  plan.devices = options.devices;
  plan.cut = candidate.cut;
  plan.alignment = profile.alignment;
  plan.state = candidate.arena - candidate.scratch;
  plan.scratch = candidate.scratch;
  plan.lowerBound = candidate.lowerBound;
  plan.budget = search.budget;
  plan.memory = search.memory;
  plan.time = times.step(candidate.cut);
  plan.candidates = search.candidates;
  Layout layout = layOut(problem, lifetimes, candidate.cut.m, profile.alignment);
  for (size_t index = 0; index < problem.buffers.size(); ++index) {
    int block = layout.blockOfBuffer[index];
    plan.slots.emplace_back(problem.buffers[index].id, block == kNoIndex ? 0 : packing.offsets[block]);
  }
  for (size_t index = 0; index < problem.commands.size(); ++index)
    if (int block = layout.blockOfWorkspace[index]; block != kNoIndex)
      plan.slots.emplace_back(fmt::format("{}:w", problem.commands[index].id), packing.offsets[block]);
  std::sort(plan.slots.begin(), plan.slots.end());
  return plan;
}

Result<Search> Searcher::run() {
  Result<Cuts> cuts = enumerateCuts(options);
  if (!cuts)
    return cuts.error();
  search.budget = options.budget.value_or(profile.memoryUsable);
  if (search.budget < 1)
    return Error{fmt::format("target {} does not say how much memory there is", profile.name),
                 "usage",
                 {"--memory SIZE says it"}};
  if (Status status = checkAmounts(problem, cuts->cuts.back().m, cuts->cuts.front().m); !status)
    return status.error();
  search.problem = problem.name;
  search.target = profile.name;
  search.basis = profile.basis;
  search.batch = options.batch;
  search.devices = options.devices;
  search.deviceBatch = deviceBatch(options);
  search.memoryTotal = profile.memoryTotal;
  search.tokensPerSample = problem.tokensPerSample;
  search.notices = cuts->notices;
  for (const Cut &cut : cuts->cuts)
    trials.push_back(bound(cut));
  int chosen = choose();
  packForTable();
  findSmallest();
  giveVerdicts(chosen);
  const Candidate &shown =
      search.candidates[chosen == kNoIndex ? search.smallest : static_cast<size_t>(chosen)];
  search.peak = peakMoment(problem, shown.cut.m, profile.alignment);
  search.memory = memoryLines(problem, profile, options.devices, shown, search.peak);
  if (chosen != kNoIndex) {
    search.plan = makePlan(chosen, chosenPacking);
    search.mfu = times.utilisation(search.deviceBatch, shown.seconds);
  }
  return std::move(search);
}

} // namespace

Result<Search> solve(const Problem &problem, const DeviceProfile &profile, const Options &options) {
  auto begin = std::chrono::steady_clock::now();
  Result<Search> search = Searcher(problem, profile, options).run();
  if (search)
    search->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return search;
}

} // namespace accum::planner
