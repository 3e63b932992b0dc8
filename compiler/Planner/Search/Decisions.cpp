// SPDX-License-Identifier: Apache-2.0
// Classes of commands, and the choices that are built from them.
#include "compiler/Planner/Search/Decisions.h"
#include <algorithm>
#include <map>

namespace accum::planner {

namespace {

/// Combinations of variants that the search starts from at most.
constexpr int kVariantStarts = 16;

bool isVaried(const Problem &problem, int index) {
  const Command &command = problem.commands[index];
  return command.variants.size() > 1 && command.follows == kNoIndex && problem.isMain(command);
}

} // namespace

Decisions::Decisions(const Problem &problem, const Recomputation &flow, bool recompute)
    : problem(problem), flow(flow) {
  auto isMicro = [&](const Command &command) { return problem.isMain(command); };
  auto first = std::ranges::find_if(problem.commands, isMicro);
  auto last = std::find_if_not(first, problem.commands.end(), isMicro);
  int begin = static_cast<int>(first - problem.commands.begin()),
      end = static_cast<int>(last - problem.commands.begin());
  auto mayRepeat = [&](int command) { return recompute && flow.isAllowed(command); };
  auto decides = [&](int command) { return mayRepeat(command) || isVaried(problem, command); };
  for (size_t index = 0; index < problem.commands.size(); ++index)
    unitOf.push_back(static_cast<int>(index));
  placeOf.assign(problem.commands.size(), {kNoIndex, 0});
  bool any = false;
  for (int command = begin; command < end; ++command)
    any |= decides(command);
  if (!any)
    return;
  runs = repeatedWindows(problem, begin, end);
  for (const WindowRun &run : runs)
    for (int at = 0; at < run.period * run.count; ++at)
      unitOf[run.begin + at] = run.begin + at / run.period * run.period;
  repeatable = classesOf(mayRepeat);
  varied = classesOf([&](int command) { return isVaried(problem, command); });
  for (size_t index = 0; index < repeatable.size(); ++index)
    for (size_t member = 0; member < repeatable[index].members.size(); ++member)
      placeOf[repeatable[index].members[member]] = {static_cast<int>(index), member};
}

std::vector<DecisionClass> Decisions::classesOf(const std::function<bool(int)> &takes) const {
  std::map<int, DecisionClass> byFirst; // the command of the first window that the members stand for
  std::vector<int> standsFor(problem.commands.size());
  for (size_t index = 0; index < standsFor.size(); ++index)
    standsFor[index] = static_cast<int>(index);
  for (const WindowRun &run : runs)
    for (int at = 0; at < run.period * run.count; ++at)
      standsFor[run.begin + at] = run.begin + at % run.period;
  for (size_t index = 0; index < standsFor.size(); ++index)
    if (takes(static_cast<int>(index)))
      byFirst[standsFor[index]].members.push_back(static_cast<int>(index));
  std::vector<DecisionClass> result;
  for (auto &[command, entry] : byFirst)
    result.push_back(std::move(entry));
  return result;
}

Choice Decisions::none() const {
  return {std::vector<char>(problem.commands.size(), 0), std::vector<int>(problem.commands.size(), 0)};
}

int64_t Decisions::combinations(int64_t limit) const {
  int64_t count = 1;
  auto times = [&](size_t ways) { count = count > limit ? count : count * static_cast<int64_t>(ways); };
  for (const DecisionClass &entry : repeatable)
    for (size_t member = 0; member < entry.members.size(); ++member)
      times(2);
  for (const DecisionClass &entry : varied)
    for (int member : entry.members)
      times(problem.commands[member].variants.size());
  return count;
}

void Decisions::forAll(const Visit &visit) const {
  std::vector<std::pair<int, bool>> open; // command, whether its variant is meant
  for (const DecisionClass &entry : varied)
    for (int member : entry.members)
      open.emplace_back(member, true);
  for (const DecisionClass &entry : repeatable)
    for (int member : entry.members)
      open.emplace_back(member, false);
  Choice choice = none();
  while (true) { // counts up, the first decision fastest
    visit(choice);
    size_t at = 0;
    for (; at < open.size(); ++at) {
      auto [command, isVariant] = open[at];
      auto ways = isVariant ? static_cast<int>(problem.commands[command].variants.size()) : 2;
      int value = (isVariant ? choice.variants[command] : choice.recomputed[command]) + 1;
      int kept = value == ways ? 0 : value;
      if (isVariant)
        choice = withVariant(choice, {{command}}, kept);
      else
        choice.recomputed[command] = static_cast<char>(kept);
      if (kept != 0)
        break;
    }
    if (at == open.size())
      return;
  }
}

Choice Decisions::with(const Choice &start, const std::vector<char> &again) const {
  Choice choice = start;
  for (size_t index = 0; index < again.size(); ++index)
    for (int member : repeatable[index].members)
      choice.recomputed[member] = again[index];
  return choice;
}

std::optional<Choice> Decisions::checkpoints(const Choice &start, int windows) const {
  if (runs.empty() || repeatable.empty())
    return std::nullopt;
  Choice choice = start;
  for (const WindowRun &run : runs)
    for (int at = 0; at < run.period * run.count; ++at) {
      int command = run.begin + at, group = at / run.period / windows;
      int next = run.begin + (group + 1) * windows * run.period;
      auto crosses = [&](int storage) {
        return std::ranges::any_of(
            flow.users(storage), [&](int user) { return user >= next && !problem.commands[user].backward; });
      };
      choice.recomputed[command] =
          flow.isAllowed(command) && std::ranges::none_of(flow.results(command), crosses) ? 1 : 0;
    }
  return choice;
}

/// Followers have the variant of the same name, where they have one.
Choice Decisions::withVariant(const Choice &start, const DecisionClass &entry, int variant) const {
  Choice choice = start;
  for (int member : entry.members)
    choice.variants[member] = variant;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    if (command.follows == kNoIndex)
      continue;
    const std::string &name =
        problem.commands[command.follows].variants[choice.variants[command.follows]].name;
    auto same = std::ranges::find(command.variants, name, &Variant::name);
    choice.variants[index] =
        same == command.variants.end() ? 0 : static_cast<int>(same - command.variants.begin());
  }
  return choice;
}

void Decisions::forVariants(const Visit &visit) const {
  std::vector<Choice> starts = {none()};
  for (const DecisionClass &entry : varied) {
    size_t known = starts.size();
    for (size_t variant = 1; variant < problem.commands[entry.members.front()].variants.size(); ++variant)
      for (size_t index = 0; index < known && starts.size() < kVariantStarts; ++index)
        starts.push_back(withVariant(starts[index], entry, static_cast<int>(variant)));
  }
  for (const Choice &start : starts)
    visit(start);
}

void Decisions::forNeighbours(const Choice &start, bool single, const Visit &visit,
                              const std::function<bool()> &isOver) const {
  auto change = [&](const DecisionClass &entry, bool isVariant) {
    if (isOver())
      return;
    int first = entry.members.front();
    if (!isVariant) {
      Choice choice = start;
      char again = choice.recomputed[first] == 0 ? 1 : 0;
      for (int member : entry.members)
        choice.recomputed[member] = again;
      visit(choice);
      return;
    }
    for (size_t variant = 0; variant < problem.commands[first].variants.size(); ++variant)
      if (start.variants[first] != static_cast<int>(variant))
        visit(withVariant(start, entry, static_cast<int>(variant)));
  };
  for (bool isVariant : {false, true})
    for (const DecisionClass &entry : isVariant ? varied : repeatable) {
      if (!single)
        change(entry, isVariant);
      for (size_t member = 0; single && member < entry.members.size(); ++member)
        change({{entry.members[member]}}, isVariant);
    }
}

Choice Decisions::disturbed(const Choice &start, std::mt19937_64 &random) const {
  auto below = [&](size_t count) { return static_cast<size_t>(random() % count); };
  Choice choice = start;
  if (repeatable.empty() && varied.empty())
    return choice;
  bool single = below(2) == 0;
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    size_t index = below(repeatable.size() + varied.size());
    bool isVariant = index >= repeatable.size();
    const DecisionClass &entry = isVariant ? varied[index - repeatable.size()] : repeatable[index];
    size_t first = below(entry.members.size()),
           last = single ? first : first + below(entry.members.size() - first);
    int command = entry.members[first];
    size_t ways = problem.commands[command].variants.size();
    if (isVariant) {
      auto begin = entry.members.begin();
      choice = withVariant(choice, {{begin + static_cast<long>(first), begin + static_cast<long>(last) + 1}},
                           static_cast<int>(below(ways)));
      continue;
    }
    char again = choice.recomputed[command] == 0 ? 1 : 0;
    for (size_t member = first; member <= last; ++member)
      choice.recomputed[entry.members[member]] = again;
  }
  return choice;
}

Choice Decisions::disturbedAt(const Choice &start, const std::vector<int> &commands,
                              std::mt19937_64 &random) const {
  auto below = [&](size_t count) { return static_cast<size_t>(random() % count); };
  Choice choice = start;
  for (size_t changes = 1 + below(3); changes > 0; --changes) {
    int command = commands[below(commands.size())];
    auto [index, member] = placeOf[command];
    const std::vector<int> &members = repeatable[index].members;
    size_t last = below(2) == 0 ? member : member + below(members.size() - member),
           first = below(2) == 0 ? member : below(member + 1);
    char again = choice.recomputed[command] == 0 ? 1 : 0;
    for (size_t at = first; at <= last; ++at)
      choice.recomputed[members[at]] = again;
  }
  return choice;
}

void Decisions::forMixtures(const Choice &less, const Choice &more, int64_t count, const Visit &visit) const {
  std::vector<int> units;
  auto differs = [&](size_t command) {
    return less.recomputed[command] != more.recomputed[command] ||
           less.variants[command] != more.variants[command];
  };
  for (size_t command = 0; command < unitOf.size(); ++command)
    if (differs(command) && problem.commands[command].follows == kNoIndex &&
        (units.empty() || units.back() != unitOf[command]))
      units.push_back(unitOf[command]);
  auto total = static_cast<int64_t>(units.size());
  for (int64_t step = 1; step <= count; ++step) {
    int64_t taken = total * step / (count + 1);
    if (taken == 0 || taken == total * (step - 1) / (count + 1))
      continue;
    Choice choice = less;
    for (size_t command = 0; command < unitOf.size(); ++command) {
      if (unitOf[command] >= units[taken])
        continue;
      choice.recomputed[command] = more.recomputed[command];
      choice.variants[command] = more.variants[command];
    }
    visit(withVariant(choice, {}, 0));
  }
}

} // namespace accum::planner
