// SPDX-License-Identifier: Apache-2.0
// Memory for units grows as long as a point needs it, then as long as it saves time.
#include "compiler/Planner/Search/ModeSearch.h"
#include <algorithm>
#include <limits>

namespace accum::planner {

namespace {

/// Other points that are chosen because one needs more memory for its units than it was chosen with. It grows
/// with each.
constexpr int kMostGrowth = 16;

} // namespace

void ModeSearch::take(const ModeChoice &choice) {
  points.consider(choice.modes);
  points.forgetRepeatedGathers();
  if (choice.chosen.point != kNoIndex)
    points.addRepeatedGathers(choice.chosen.point);
}

/// The best point with so much memory for units, or with more where the point needs more for that amount:
/// repeated commands read units again.
ModeChoice ModeSearch::withRoom(const ModeChoice &sharings, UnitRoom room, Amount amount) {
  ModeChoice choice{sharings.sharings};
  for (int turn = 0; turn < kMostGrowth; ++turn) {
    choice.modes.clear();
    for (const Sharing &sharing : choice.sharings)
      choice.modes.push_back(points.addMode({sharing, room}));
    points.consider(choice.modes);
    points.forgetRepeatedGathers();
    choice.chosen = chooser.choose();
    int point = choice.chosen.point;
    auto rooms = point == kNoIndex ? std::nullopt : points.unitRooms(point);
    if (!rooms || isEnough(points.sharing(point), points.room(point), (*rooms).*amount, options.devices))
      break;
    room = room.atLeast((*rooms).*amount);
  }
  take(choice);
  choice.seconds = choice.chosen.point == kNoIndex ? 0 : points.seconds(choice.chosen.point);
  return choice;
}

/// Takes more memory for units where that is faster by more than the error of predictions. Not tried where
/// the choice waits for units no longer than that.
void ModeSearch::tryRoom(ModeChoice &choice, UnitRoom now, UnitRoom more, Amount amount) {
  double enough = choice.seconds * tolerance;
  if (now == now.atLeast(more) || points.secondsForUnits(choice.chosen.point) <= enough)
    return;
  ModeChoice other = withRoom(choice, now.atLeast(more), amount);
  if (other.chosen.point != kNoIndex && other.seconds < choice.seconds - enough)
    choice = std::move(other);
  else
    take(choice);
}

void ModeSearch::search(ModeChoice &choice) {
  choice = withRoom(choice, {}, &UnitRooms::onDemand);
  if (options.prefer == "memory")
    return;
  for (Amount amount : {&UnitRooms::next, &UnitRooms::nextTwo, &UnitRooms::kept}) {
    int point = choice.chosen.point;
    auto rooms = point == kNoIndex ? std::nullopt : points.unitRooms(point);
    if (!rooms)
      return;
    UnitRoom now = points.askedRoom(point).atLeast(rooms->onDemand), more = (*rooms).*amount;
    if (amount == &UnitRooms::kept) { // any number of units, as many as there is memory for
      more = {std::min(more.gathered, now.gathered + chooser.budget - points.counted(point)), 0};
      amount = &UnitRooms::onDemand;
    }
    tryRoom(choice, now, more, amount);
  }
}

/// The first mode of all that are as fast as the fastest; where nothing fits, the one that needs least.
size_t ModeSearch::best() {
  double fastest = std::numeric_limits<double>::infinity();
  for (const ModeChoice &each : choices)
    if (each.chosen.point != kNoIndex)
      fastest = std::min(fastest, each.seconds);
  for (size_t index = 0; index < choices.size(); ++index)
    if (choices[index].chosen.point != kNoIndex && choices[index].seconds <= fastest * (1 + tolerance))
      return index;
  auto least = std::ranges::min_element(
      choices, {}, [&](const ModeChoice &each) { return points.counted(each.smallest); });
  return static_cast<size_t>(least - choices.begin());
}

size_t ModeSearch::run(const std::vector<Sharing> &sharings) {
  choices.clear();
  bool isFound = false;
  for (const Sharing &sharing : sharings) {
    auto isSame = [&](const Sharing &other) {
      return other.shard == sharing.shard && other.offload == sharing.offload;
    };
    if (!choices.empty() && isSame(choices.back().sharings.back())) {
      choices.back().sharings.push_back(sharing);
      continue;
    }
    choices.push_back({{sharing}});
  }
  std::vector<ModeChoice> tried;
  for (ModeChoice &choice : choices) {
    if (isFound && choice.sharings.front().offload != tried.back().sharings.front().offload)
      break;
    search(choice);
    isFound |= choice.chosen.point != kNoIndex;
    if (choice.chosen.point == kNoIndex)
      choice.smallest = chooser.smallest();
    tried.push_back(std::move(choice));
  }
  choices = std::move(tried);
  return best();
}

} // namespace accum::planner
