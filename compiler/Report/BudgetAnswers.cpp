// SPDX-License-Identifier: Apache-2.0
// What other budgets would give: the search, asked again; and the words for its answers.
#include "compiler/Report/BudgetAnswers.h"
#include "base/FormatBytes.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Report/ExplainText.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accum::planner {

Result<BudgetAnswers> askBudgets(const Problem &problem, const DeviceProfile &profile, const Options &options,
                                 const Search &search) {
  BudgetAnswers answers;
  if (options.deadline.hasPassed())
    return answers;
  const Candidate *chosen = chosenOf(search);
  int64_t least = search.candidates[search.smallest].counted;
  std::vector<int64_t> budgets;
  for (int64_t units : {1, 4, 10})
    budgets.push_back(search.budget + units * unitOf(search.budget).bytes);
  if (!chosen && least > budgets.back())
    budgets.push_back(least);
  size_t larger = budgets.size();
  for (int64_t quarters : {3, 2, 1})
    if (int64_t budget = chosen ? chosen->counted / 4 * quarters : 0; budget > least)
      budgets.push_back(budget);
  if (chosen && least < chosen->counted)
    budgets.push_back(least);
  Result<std::vector<std::optional<Candidate>>> choices = chooseFor(problem, profile, options, budgets);
  if (!choices)
    return choices.error();
  for (size_t index = 0; index < budgets.size(); ++index)
    (index < larger ? answers.larger : answers.tighter)
        .push_back({budgets[index], budgets[index] - search.budget, (*choices)[index]});
  return answers;
}

namespace {

constexpr size_t kLineWidth = 110;

/// Rounded up to a tenth: who adds as much as it says gets what it says.
std::string changeText(int64_t change) {
  ByteUnit unit = unitOf(change);
  double tenths = std::ceil(unit.of(change) * 10) / 10;
  return fmt::format("+{:.{}f} {}", tenths, tenths == std::floor(tenths) ? 0 : 1, unit.name);
}

std::string saves(const Candidate *now, const Candidate &then) {
  if (!now || then.seconds >= now->seconds)
    return "";
  return fmt::format(" and saves {}", formatSeconds(now->seconds - then.seconds));
}

/// `m = 8`, and where the plan has that size already what else differs.
std::string boughtText(const Candidate *now, const Candidate &then) {
  std::string size = fmt::format("m = {}", then.cut.m);
  if (!now || now->cut != then.cut)
    return size;
  if (then.recomputed == now->recomputed)
    return size + " in another way";
  return then.recomputed == 0 ? size + " with nothing recomputed"
                              : fmt::format("{} with {} recomputed", size, then.recomputed);
}

/// What each larger budget buys; those that buy the same stand together.
std::vector<std::string> purchases(const Candidate *now, const std::vector<BudgetAnswer> &larger) {
  std::vector<std::string> phrases;
  for (size_t index = 0; index < larger.size();) {
    std::string changes = changeText(larger[index].change), bought = "nothing";
    const std::optional<Candidate> &chosen = larger[index].chosen;
    bool buys = chosen && (!now || chosen->seconds < now->seconds);
    if (buys)
      bought = boughtText(now, *chosen) + saves(now, *chosen);
    size_t next = index + 1;
    auto isSame = [&](const BudgetAnswer &other) {
      bool alsoBuys = other.chosen && (!now || other.chosen->seconds < now->seconds);
      return buys == alsoBuys && (!buys || other.chosen->seconds == chosen->seconds);
    };
    for (; next < larger.size() && isSame(larger[next]); ++next) {
      bool isLast = next + 1 == larger.size() || !isSame(larger[next + 1]);
      changes += (isLast ? " or " : ", ") + changeText(larger[next].change);
    }
    phrases.push_back(fmt::format("{} buys {}", changes, bought));
    index = next;
  }
  return phrases;
}

} // namespace

int64_t contextOf(const Search &search) {
  int64_t context = 0;
  for (const MemoryLine &line : search.memory)
    context += line.kind == MemoryClass::Context ? line.bytes : 0;
  return context;
}

const Candidate *chosenOf(const Search &search) {
  for (const Candidate &candidate : search.candidates)
    if (candidate.verdict == Verdict::Chosen)
      return &candidate;
  return nullptr;
}

std::string withoutSavings(const Search &search, const Candidate &candidate) {
  const Candidate *chosen = chosenOf(search);
  bool isLarger = candidate.verdict == Verdict::DoesNotFit || candidate.verdict == Verdict::MoreMemory;
  if (!chosen || candidate.cut != chosen->cut || !isLarger)
    return "";
  if (candidate.recomputed > 0)
    return candidate.verdict == Verdict::MoreMemory ? fmt::format(" with {} recomputed", candidate.recomputed)
                                                    : "";
  if (search.slices.empty())
    return " with everything kept";
  return search.recomputed.empty() ? " with the loss in one piece"
                                   : " with everything kept, the loss in one piece";
}

std::string moreMemoryText(const Search &search, const Candidate &candidate) {
  const Candidate &chosen = *chosenOf(search);
  double percent =
      chosen.seconds > 0 ? 100 * (1 - candidate.seconds / chosen.seconds) : 0; // of a step of nothing
  std::string faster =
      percent < 0.05 ? "as fast" : fmt::format("{:.{}f} % faster", percent, percent < 10 ? 1 : 0);
  return fmt::format("{} and takes {} more", faster, formatBytes(candidate.counted - chosen.counted));
}

std::string formatRate(const Search &search) {
  double seconds = search.plan->seconds();
  int64_t count = search.batch * std::max<int64_t>(1, search.tokensPerSample);
  return seconds > 0 ? formatCount(static_cast<double>(count) / seconds) : std::string();
}

size_t sizeCount(const Search &search) {
  size_t sizes = 0;
  for (size_t index = 0; index < search.candidates.size(); ++index)
    sizes += index == 0 || search.candidates[index].cut != search.candidates[index - 1].cut ? 1 : 0;
  return sizes;
}

std::string wrapped(const std::string &label, const std::vector<std::string> &phrases) {
  std::string text = fmt::format("{:<9}", label), line;
  for (size_t index = 0; index < phrases.size(); ++index) {
    std::string phrase = phrases[index] + (index + 1 < phrases.size() ? "; " : "");
    if (!line.empty() && 9 + line.size() + phrase.size() > kLineWidth) {
      text += line.substr(0, line.size() - 1) + "\n         ";
      line.clear();
    }
    line += phrase;
  }
  return text + line + "\n";
}

std::string budgetLine(const Search &search, const BudgetAnswers &budgets) {
  const Candidate *now = chosenOf(search);
  const Candidate &least = search.candidates[search.smallest];
  int64_t context = contextOf(search); // in what --memory says
  std::vector<std::string> phrases = {
      fmt::format("least {} (m = {})", formatBudget(least.counted + context), least.cut.m)};
  for (std::string &phrase : purchases(now, budgets.larger))
    phrases.push_back(std::move(phrase));
  // Largest m first: the last one that is faster is the next larger.
  const Candidate *next = nullptr, *fastest = nullptr;
  for (const Candidate &candidate : search.candidates) {
    if (candidate.verdict != Verdict::DoesNotFit || (now && candidate.seconds >= now->seconds))
      continue;
    next = &candidate;
    if (!fastest || candidate.seconds < fastest->seconds)
      fastest = &candidate;
  }
  auto isBought = [&](const Candidate &candidate) {
    return std::any_of(budgets.larger.begin(), budgets.larger.end(), [&](const BudgetAnswer &answer) {
      return answer.chosen && answer.chosen->cut == candidate.cut;
    });
  };
  for (const Candidate *candidate : {next, fastest == next ? nullptr : fastest})
    if (candidate && !isBought(*candidate))
      phrases.push_back(fmt::format("m = {}{} needs {}{}", candidate->cut.m,
                                    withoutSavings(search, *candidate),
                                    formatBudget(candidate->counted + context), saves(now, *candidate)));
  return wrapped("budget", phrases);
}

} // namespace accum::planner
