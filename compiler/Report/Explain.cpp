// SPDX-License-Identifier: Apache-2.0
// The search in words and tables.
#include "compiler/Report/Explain.h"
#include "base/FormatBytes.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Report/ExplainText.h"
#include "compiler/Report/TensorNames.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <numeric>
#include <set>

namespace accum::planner {

namespace {

using Out = std::back_insert_iterator<std::string>;

constexpr size_t kPeakTensors = 10;
constexpr double kMuchFeed = 0.01; ///< of a step; less is not worth words

std::string slowerBy(const Candidate &candidate, const Candidate &chosen) {
  double percent = 100 * (candidate.seconds / chosen.seconds - 1);
  return fmt::format("+{:.{}f} %", percent, percent < 10 ? 1 : 0);
}

void writeMemory(Out out, const Search &search) {
  int64_t arena = 0, total = 0;
  for (const MemoryLine &line : search.memory) {
    total += line.bytes;
    arena += line.kind == MemoryClass::State || line.kind == MemoryClass::Scratch ? line.bytes : 0;
  }
  ByteUnit unit = unitOf(arena);
  auto row = [&](const std::string &name, int64_t bytes) {
    return fmt::format("         {:<26} {:>9.2f}", shortened(name), unit.of(bytes));
  };
  fmt::format_to(out, "{:<9}{:<26} {:>9}\n", "memory", "per device", unit.name);
  std::vector<std::string> rest;
  for (const MemoryLine &line : search.memory) {
    if (line.kind == MemoryClass::State || line.kind == MemoryClass::Scratch)
      fmt::format_to(out, "{}\n", row(line.name, line.bytes));
    else
      rest.push_back(row(line.name, line.bytes));
  }
  int64_t capacity = search.memoryTotal > 0 ? search.memoryTotal : search.budget;
  bool reads = unit.of(capacity) < 1e5;                    // in the column's unit: a tiny model's is KiB
  bool isTight = unit.of(capacity) - unit.of(total) < 0.1; // the total must not read as more
  std::string sum =
      reads ? fmt::format("   total {:.2f} of {:.{}f}", unit.of(total), unit.of(capacity), isTight ? 2 : 1)
            : fmt::format("   total {} of {}", formatBytes(total), formatBytes(capacity));
  const Plan &plan = *search.plan;
  std::string bound = plan.scratch == plan.lowerBound
                          ? "   = lower bound"
                          : fmt::format("   lower bound {:.2f}", unit.of(plan.state + plan.lowerBound));
  fmt::format_to(out, "{}{}{}\n", row("arena", arena), bound, rest.empty() ? sum : "");
  for (size_t index = 0; index < rest.size(); ++index)
    fmt::format_to(out, "{}{}\n", rest[index], index + 1 == rest.size() ? sum : "");
}

/// `; 92 % of it from tables, 7 % from costs`: what the profile knows better than rates.
std::string sourcesText(const Search &search) {
  double seconds[3] = {};
  for (const CommandTime &command : search.commands)
    seconds[static_cast<int>(command.source)] +=
        command.seconds * static_cast<double>(command.count) * static_cast<double>(command.runs);
  double all = search.plan->seconds();
  double table = seconds[static_cast<int>(TimeSource::Table)],
         costs = seconds[static_cast<int>(TimeSource::Costs)];
  if (table + costs <= 0)
    return {};
  return fmt::format("; {:.0f} % of it from tables, {:.0f} % from costs of operations", 100 * table / all,
                     100 * costs / all);
}

/// How much of it a step waits for. The program begins these two before they are needed, as a unit's
/// gradients are final and while the next unit is updated, which the time model leaves out.
std::string exposureText(const TimeLine &line) {
  if (line.hidden > 0)
    return formatSeconds(line.seconds) + " exposed";
  return line.name == "reduce-scatter, once" || line.name == "all-gather of weights" ? "counted as exposed"
                                                                                     : "not overlapped";
}

std::string timeLine(const Search &search) {
  const Plan &plan = *search.plan;
  double seconds = plan.seconds();
  std::string text = fmt::format("{:<9}{} per step (predicted, {} rates{})", "time", formatSeconds(seconds),
                                 plan.basis, sourcesText(search));
  if (std::string rate = formatRate(search); !rate.empty())
    text += fmt::format(": {} {}/s", rate, search.tokensPerSample > 0 ? "tokens" : "samples");
  if (search.mfu > 0)
    text += fmt::format(", {:.1f} % MFU", 100 * search.mfu);
  auto isNoted = [&](const TimeLine &line) {
    return line.name.starts_with("all-") || line.name.starts_with("reduce-") ||
           line.name.starts_with("offload") ||
           (line.name == "feed" && line.seconds + line.hidden >= kMuchFeed * seconds);
  };
  for (const TimeLine &line : plan.time)
    if (isNoted(line))
      text += fmt::format("; {} {}, {}", line.name, formatSeconds(line.seconds + line.hidden),
                          exposureText(line));
  return text + "\n";
}

/// What would be faster and does not fit, the nearest smaller size with its total, and how many there were.
std::string whyLine(const Search &search, const Candidate &chosen) {
  std::vector<std::string> phrases;
  size_t at = static_cast<size_t>(&chosen - search.candidates.data());
  for (size_t larger = at; larger-- > 0;)
    if (const Candidate &other = search.candidates[larger]; other.verdict == Verdict::DoesNotFit) {
      phrases.push_back(fmt::format("{}{} does not fit ({} over)", other.cut.m, withoutSavings(search, other),
                                    formatBytes(other.over)));
      break;
    }
  auto isFaster = [&](const Candidate &other) {
    return other.verdict == Verdict::MoreMemory && other.seconds < chosen.seconds * 0.9995;
  };
  auto fastest = std::ranges::min_element(search.candidates, {}, [&](const Candidate &other) {
    return isFaster(other) ? other.seconds : chosen.seconds;
  });
  if (isFaster(*fastest))
    phrases.push_back(fmt::format("{}{} is {}", fastest->cut.m, withoutSavings(search, *fastest),
                                  moreMemoryText(search, *fastest)));
  for (size_t next = at + 1; next < search.candidates.size(); ++next)
    if (const Candidate &other = search.candidates[next];
        other.verdict == Verdict::Slower && other.cut.last == other.cut.m && other.cut != chosen.cut) {
      int64_t beside = search.plan->total() - search.plan->counted();
      phrases.push_back(fmt::format("{} takes {} and {}", other.cut.m, formatBytes(other.counted + beside),
                                    slowerBy(other, chosen)));
      break;
    }
  size_t sizes = sizeCount(search);
  if (sizes > 1)
    phrases.push_back(fmt::format("{} sizes compared in {:.2f} s: --explain", sizes, search.seconds));
  else
    phrases.push_back(search.settled.empty() ? "no other size to compare" : search.settled);
  return wrapped("why", phrases);
}

std::string verdictText(const Search &search, const Candidate &candidate, const Candidate *chosen) {
  int64_t budget = search.budget;
  ByteUnit unit = unitOf(budget);
  switch (candidate.verdict) {
  case Verdict::Chosen:
    return "chosen";
  case Verdict::DoesNotFit:
    return fmt::format("does not fit{}: {} over {}", withoutSavings(search, candidate),
                       formatBytes(candidate.over),
                       candidate.over >= 1024 && unitOf(candidate.over).bytes == unit.bytes
                           ? fmt::format("{:.1f}", unit.of(budget))
                           : formatBytes(budget));
  case Verdict::NotDivisible:
    return fmt::format("not divisible: {}", candidate.note);
  case Verdict::MoreMemory:
    if (std::string difference = withoutSavings(search, candidate); !difference.empty())
      return fmt::format("{}: {}", difference.substr(1), moreMemoryText(search, candidate));
    return moreMemoryText(search, candidate);
  case Verdict::Slower:
    break;
  }
  return fmt::format("{}: {}", chosen ? slowerBy(candidate, *chosen) : "slower", candidate.note);
}

/// Which candidates a table of `rows` shows: both ends, the chosen one and its neighbours, then the fastest;
/// where nothing fits, the smallest.
std::vector<size_t> shownCandidates(const Search &search, size_t rows) {
  std::vector<size_t> shown;
  auto show = [&](size_t index) {
    bool isNew =
        index < search.candidates.size() && std::find(shown.begin(), shown.end(), index) == shown.end();
    if (isNew && shown.size() < rows)
      shown.push_back(index);
  };
  const Candidate *chosen = chosenOf(search);
  if (chosen)
    show(static_cast<size_t>(chosen - search.candidates.data()));
  show(0);
  size_t last = search.candidates.size() - 1; // of the smallest size, the way that stands for it
  while (last > 0 && search.candidates[last - 1].cut == search.candidates[last].cut)
    --last;
  show(last);
  if (chosen) {
    show(static_cast<size_t>(chosen - search.candidates.data()) - 1);
    show(static_cast<size_t>(chosen - search.candidates.data()) + 1);
  }
  std::vector<size_t> best(search.candidates.size());
  std::iota(best.begin(), best.end(), size_t{0});
  std::sort(best.begin(), best.end(), [&](size_t a, size_t b) {
    auto cost = [&](size_t index) {
      const Candidate &candidate = search.candidates[index];
      return chosen ? candidate.seconds : static_cast<double>(candidate.counted);
    };
    return std::pair(cost(a), a) < std::pair(cost(b), b);
  });
  for (size_t index : best)
    show(index);
  std::sort(shown.begin(), shown.end());
  return shown;
}

/// Digits behind the point: four in front of the column's width for the fastest of the rows, so that a
/// reader finds the percentages in them.
int millisecondDigits(const Search &search, const std::vector<size_t> &rows) {
  double least = 1e300, most = 0;
  for (size_t row : rows) {
    least = std::min(least, search.candidates[row].seconds * 1e3);
    most = std::max(most, search.candidates[row].seconds * 1e3);
  }
  auto whole = [](double value) {
    return value < 1 ? 0 : static_cast<int>(std::floor(std::log10(value))) + 1;
  };
  return std::clamp(std::min(4 - whole(least), 7 - whole(most)), 1, 4);
}

void writeTable(Out out, const Search &search, size_t rows) {
  int64_t largest = 0;
  for (const Candidate &candidate : search.candidates)
    largest = std::max(largest, candidate.arena);
  ByteUnit unit = unitOf(largest);
  const Candidate *chosen = chosenOf(search);
  fmt::format_to(out, "{:>4} {:>4} {:>5} {:>10} {:>8}\n", "K", "m", "last",
                 fmt::format("arena {}", unit.name), "ms/step");
  std::vector<size_t> shown = shownCandidates(search, rows);
  int digits = millisecondDigits(search, shown);
  std::set<int64_t> sizes;
  for (size_t index : shown) {
    const Candidate &candidate = search.candidates[index];
    sizes.insert(candidate.cut.steps);
    fmt::format_to(out, "{:>4} {:>4} {:>5} {:>10.2f} {:>8.{}f}   {}\n", candidate.cut.steps, candidate.cut.m,
                   candidate.cut.last, unit.of(candidate.arena), candidate.seconds * 1e3, digits,
                   verdictText(search, candidate, chosen));
  }
  if (size_t more = sizeCount(search) - sizes.size(); more > 0)
    fmt::format_to(out, "         {} more size{}: --json\n", more, more == 1 ? "" : "s");
  else if (search.candidates.size() > shown.size())
    fmt::format_to(out, "         other ways to run these sizes: --json\n");
}

std::string peakLine(const Search &search) {
  if (search.peak.tensors.empty())
    return "peak     nothing is kept between commands\n";
  std::vector<std::string> phrases;
  std::vector<TensorGroup> groups = groupTensors(search.peak.tensors);
  ByteUnit unit = unitOf(search.peak.bytes);
  for (size_t index = 0; index < std::min(kPeakTensors, groups.size()); ++index) {
    const TensorGroup &group = groups[index];
    std::string size = fmt::format("{:.2f}{}{}", unit.of(group.bytesEach), index == 0 ? " " : "",
                                   index == 0 ? unit.name : "");
    if (unit.of(group.bytesEach) < 0.01) // many of them are large together
      size = formatBytes(group.bytesEach);
    if (group.count > group.numbers)
      size = fmt::format("{} x {}", group.count, size);
    else if (group.count > 1)
      size += " each";
    phrases.push_back(fmt::format("{}{} {}", index == 0 ? shortened(search.peak.where, 160) + ": " : "",
                                  shortened(group.label), size));
  }
  if (groups.size() > kPeakTensors)
    phrases.push_back(fmt::format("{} smaller groups", groups.size() - kPeakTensors));
  return wrapped("peak", phrases);
}

/// `zero3, optimizer state offloaded`.
std::string nameOf(const Sharing &sharing) {
  std::string name = sharing.shard == Shard::None ? "not sharded" : toText(sharing.shard);
  if (sharing.offload == Offload::None)
    return name;
  return fmt::format("{}, {} offloaded", name,
                     sharing.offload == Offload::Optimizer ? "optimizer state" : "parameters too");
}

/// `ways     zero1 as planned; not sharded does not fit (1.1 GiB over); zero2 takes 1.2 GiB and +3.0 %`.
std::string modesLine(const Search &search) {
  auto chosen = std::ranges::find(search.modes, true, &TriedMode::chosen);
  if (chosen == search.modes.end() || search.modes.size() < 2)
    return {};
  std::vector<std::string> phrases = {nameOf(chosen->sharing) + " as planned"};
  for (const TriedMode &each : search.modes)
    if (!each.fits)
      phrases.push_back(
          fmt::format("{} does not fit ({} over)", nameOf(each.sharing), formatBytes(each.over)));
    else if (!each.chosen)
      phrases.push_back(fmt::format("{} takes {} and {:+.1f} %", nameOf(each.sharing),
                                    formatBytes(each.bytes), 100 * (each.seconds / chosen->seconds - 1)));
  return wrapped("ways", phrases);
}

} // namespace

std::string explainPlan(const Search &search) {
  const Candidate &chosen = *chosenOf(search);
  std::string text;
  Out out(text);
  fmt::format_to(out, "{:<9}micro-batch {} x {} accumulation step{}, {}, {}{}{}\n", "plan", chosen.cut.m,
                 chosen.cut.steps, chosen.cut.steps == 1 ? "" : "s",
                 search.recomputed.empty() ? "no recompute" : "recompute " + search.recomputed, search.slices,
                 search.slices.empty() ? "" : ", ", search.sharing);
  writeMemory(out, search);
  return text + timeLine(search) + whyLine(search, chosen) + modesLine(search);
}

std::string explainSearch(const Search &search, const BudgetAnswers &budgets, size_t rows) {
  std::string text;
  writeTable(Out(text), search, rows);
  return text + peakLine(search) + budgetLine(search, budgets);
}

Error explainNoFit(const Search &search) {
  const Candidate &least = search.candidates[search.smallest];
  int64_t context = contextOf(search);
  auto bytes = [&](int64_t amount) { // in a unit in which the difference shows
    ByteUnit unit = unitOf(std::max<int64_t>(search.budget, 1 << 20));
    return search.budget > 0 ? fmt::format("{:.1f} {}", unit.of(amount), unit.name) : formatBytes(amount);
  };
  std::string less =
      context > 0 ? fmt::format(" ({} less {} for the driver)", bytes(search.memoryTotal), bytes(context))
                  : "";
  bool driverAlone = context > 0 && search.budget <= 0;
  Error error{
      driverAlone
          ? fmt::format(
                "the driver alone takes {}, more than the {} there are; the smallest micro-batch, {}, needs "
                "{} beside it",
                formatBytes(context), formatBytes(search.memoryTotal), least.cut.m,
                formatBytes(least.counted))
          : fmt::format("no micro-batch fits into {}{}: the smallest, {}, needs {} ({} over)",
                        formatBytes(search.budget), less, least.cut.m, formatBytes(least.counted),
                        formatBytes(least.over)),
      "does-not-fit"};
  std::vector<MemoryLine> lines = search.memory;
  std::erase_if(lines,
                [](const MemoryLine &line) { return line.kind == MemoryClass::Context || line.bytes == 0; });
  std::sort(lines.begin(), lines.end(), [](const MemoryLine &a, const MemoryLine &b) {
    return std::pair(-a.bytes, a.name) < std::pair(-b.bytes, b.name);
  });
  std::string dominates;
  int64_t state = 0;
  for (const MemoryLine &line : lines)
    state += line.kind == MemoryClass::State ? line.bytes : 0;
  for (size_t index = 0; index < std::min<size_t>(3, lines.size()); ++index)
    dominates += fmt::format("{}{} {}", index == 0 ? "" : ", ", shortened(lines[index].name),
                             formatBytes(lines[index].bytes));
  error.notes.push_back(fmt::format("what it needs most: {}", dominates));
  if (auto mode = std::ranges::min_element(search.modes, {}, &TriedMode::bytes); mode != search.modes.end())
    error.notes.insert(error.notes.begin(), "that is " + nameOf(mode->sharing) + ", which needs least");
  if (!search.peak.tensors.empty())
    error.notes.push_back(
        fmt::format("the peak is at {}; largest there: {} {}", shortened(search.peak.where, 160),
                    shortened(search.peak.tensors[0].label), formatBytes(search.peak.tensors[0].bytes)));
  if (least.cut.m > 1)
    error.notes.push_back("--micro-batch auto tries smaller sizes");
  if (state > search.budget && !driverAlone)
    error.notes.push_back(
        fmt::format("parameters, gradients and optimizer state alone take {}, at any micro-batch: "
                    "--optimizer sgd keeps no moments, --freeze GLOB no gradients",
                    formatBytes(state)));
  error.notes.push_back(
      fmt::format("--memory {}MiB is the least that works", (least.counted + context + (1 << 20) - 1) >> 20));
  return error;
}

} // namespace accum::planner
