// SPDX-License-Identifier: Apache-2.0
// Copies out in the order of making, as soon as the link is free; copies in as late as they can be.
#include "compiler/Planner/Moving.h"
#include <algorithm>
#include <climits>
#include <map>

namespace accum::planner {

namespace {

/// A copy that takes less than so many launches is not worth its own.
constexpr double kWorthwhile = 4;

/// `begins`: when each place begins that runs, and the end; `memory`: seconds of commands that wait for
/// memory; `bytes`: of the values that move.
MovingTime timeOf(const std::vector<double> &begins, double memory, const std::vector<double> &bytes,
                  const LinkSchedule &schedule, const TimeModel &times) {
  std::vector<double> seconds;
  double traffic = 0;
  for (double each : bytes) {
    seconds.push_back(times.overLink(each));
    traffic += times.throughMemory(2 * each);
  }
  LinkUse use = schedule.use(begins, seconds);
  double share = begins.back() > 0 ? memory / begins.back() : 0;
  return {use.waiting + share * traffic, std::max(0.0, use.busy - use.waiting)};
}

bool isSliced(const Command &command, int variant) { return command.variants[variant].slice > 0; }

} // namespace

int64_t Itinerary::bytesAt(int64_t m) const {
  int64_t sum = 0;
  for (const Amount &value : bytes)
    sum += value.at(m);
  return sum;
}

double Itinerary::seconds(const TimeModel &times, std::span<const RegionTime> classTimes, int64_t m) const {
  if (bytes.empty())
    return 0;
  std::vector<double> begins(classes.size() + 1, 0), each;
  double memory = 0;
  for (size_t place = 0; place < classes.size(); ++place) {
    const RegionTime *time = classes[place] == kNoIndex ? nullptr : &classTimes[classes[place]];
    begins[place + 1] = begins[place] + (time ? time->total : 0);
    memory += time ? time->memory : 0;
  }
  for (const Amount &value : bytes)
    each.push_back(value.real(m));
  return timeOf(begins, memory, each, schedule, times).exposed;
}

Moving::Moving(const Problem &problem, const Recomputation &flow, const TimeModel &times, int64_t smallest,
               int64_t largest)
    : problem(problem), flow(flow), times(times), smallest(smallest), largest(largest) {
  if (!times.hasHostLink())
    return;
  auto isLate = [&](int user) { return problem.commands[user].backward || flow.isAllowed(user); };
  for (int command = 0; command < static_cast<int>(problem.commands.size()); ++command) {
    if (!flow.isAllowed(command))
      continue;
    for (int buffer : flow.results(command)) {
      double bytes = problem.buffers[buffer].bytes.real(largest);
      if (times.overLink(bytes) > kWorthwhile * times.overLink(0) &&
          std::ranges::any_of(flow.users(buffer), isLate))
        values.push_back(buffer);
    }
  }
  if (values.empty())
    return;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    std::vector<double> &row = seconds.emplace_back();
    const Command &command = problem.commands[index];
    size_t ways = command.variants.size() + (command.companion.command == kNoIndex ? 0 : 1);
    for (size_t way = 0; command.region == Region::Micro && way < ways; ++way) {
      double least = 1e300;
      for (int64_t m : {smallest, largest})
        least = std::min(least, times.seconds(static_cast<int>(index), static_cast<int>(way), m) /
                                    static_cast<double>(m));
      row.push_back(least);
    }
  }
}

const Amount &Moving::bytesOf(int buffer, const Choice &choice) const {
  int producer = problem.buffers[buffer].producer;
  for (const auto &[resized, bytes] : problem.commands[producer].variants[choice.variants[producer]].results)
    if (resized == buffer)
      return bytes;
  return problem.buffers[buffer].bytes;
}

/// Per sample, the most there is.
double Moving::linkSeconds(int buffer, const Choice &choice) const {
  const Amount &bytes = bytesOf(buffer, choice);
  double most = 0;
  for (int64_t m : {smallest, largest})
    most = std::max(most, times.overLink(bytes.real(m)) / static_cast<double>(m));
  return most;
}

/// The place of the first late reader; INT_MAX where there is none.
int Moving::firstRead(int buffer, const RunningOrder &order) const {
  int first = INT_MAX;
  for (int user : flow.users(buffer)) {
    if (problem.commands[user].backward)
      first = std::min(first, order.original[user]);
    else if (order.clone[user] != kNoIndex)
      first = std::min(first, order.clone[user]);
  }
  return first;
}

std::vector<int> Moving::kept(const Choice &choice, const std::vector<int> &before) const {
  std::vector<int> result;
  auto isRead = [&](int user) { return problem.commands[user].backward || before[user] != kNoIndex; };
  for (int buffer : values) {
    int producer = problem.buffers[buffer].producer;
    if (before[producer] == kNoIndex && !isSliced(problem.commands[producer], choice.variants[producer]) &&
        !bytesOf(buffer, choice).isZero() && std::ranges::any_of(flow.users(buffer), isRead))
      result.push_back(buffer);
  }
  return result;
}

/// Not between a command and its tail, which are one kernel, nor between slices.
bool Moving::mayStandBefore(int command, const Choice &choice) const {
  const Command &next = problem.commands[command];
  bool isInside = command > 0 && problem.commands[command - 1].region == Region::Micro &&
                  isSliced(problem.commands[command - 1], choice.variants[command - 1]) &&
                  isSliced(next, choice.variants[command]);
  return next.region == Region::Micro && !next.tail && !isInside;
}

/// When everything runs, per sample.
struct Moving::Timeline {
  std::vector<double> begins;      ///< per place, and the end
  std::vector<int> gates;          ///< commands that copies may stand before, in order
  std::vector<double> gateSeconds; ///< when what stands there is reached
  std::vector<int> groupOf;        ///< per place, the command that it stands before, or is

  Timeline(const Moving &moving, const Choice &choice, const std::vector<int> &before,
           const RunningOrder &order)
      : begins(static_cast<size_t>(order.length) + 1, 0), groupOf(static_cast<size_t>(order.length), 0) {
    for (size_t index = 0; index < before.size(); ++index) {
      int command = static_cast<int>(index);
      const std::vector<double> &each = moving.seconds[index];
      double once = each.empty() ? 0 : each[choice.variants[index]];
      begins[order.original[index] + 1] = moving.problem.commands[index].tail ? 0 : once;
      groupOf[order.original[index]] = command;
      if (int again = order.clone[index]; again != kNoIndex) {
        begins[again + 1] = runsBeside(moving.problem, before, command) ? each.back() : once;
        groupOf[again] = before[index];
      }
    }
    for (size_t place = 1; place < begins.size(); ++place)
      begins[place] += begins[place - 1];
    for (int command = 0; command < static_cast<int>(before.size()); ++command)
      if (moving.mayStandBefore(command, choice)) {
        gates.push_back(command);
        gateSeconds.push_back(command == 0 ? 0 : begins[order.end[command - 1]]);
      }
  }
};

std::vector<Move> Moving::placed(const Choice &choice, const std::vector<int> &before, bool exact) const {
  if (choice.moves.empty())
    return {};
  double quota = 0;
  for (const Move &move : choice.moves)
    quota += bytesOf(move.buffer, choice).real(largest);
  RunningOrder order(problem, before, {});
  Timeline line(*this, choice, before, order);
  std::vector<int> wanted;
  for (const Move &move : choice.moves)
    wanted.push_back(move.buffer);
  std::ranges::sort(wanted);
  struct Going {
    Move move;
    int read;
    double link;
  };
  std::vector<Going> going;
  double free = 0;
  for (int buffer : kept(choice, before)) {
    if (exact ? !std::ranges::binary_search(wanted, buffer) : quota <= 0)
      continue;
    int producer = problem.buffers[buffer].producer, early = producer;
    for (int user : flow.users(buffer))
      early = problem.commands[user].backward ? early : std::max(early, user);
    double link = linkSeconds(buffer, choice);
    double gone = std::max(free, line.begins[order.original[producer] + 1]) + link;
    int read = firstRead(buffer, order);
    auto at = std::ranges::lower_bound(line.gateSeconds, gone) - line.gateSeconds.begin();
    auto behind = std::ranges::upper_bound(line.gates, early) - line.gates.begin();
    size_t gate = static_cast<size_t>(std::max(at, behind));
    if (gate >= line.gates.size() || line.gates[gate] > line.groupOf[read])
      continue;
    free = gone;
    quota -= bytesOf(buffer, choice).real(largest);
    going.push_back({{buffer, line.gates[gate], kNoIndex}, read, link});
  }
  std::vector<size_t> back(going.size());
  for (size_t index = 0; index < back.size(); ++index)
    back[index] = index;
  std::ranges::sort(back, {}, [&](size_t index) { return std::pair(-going[index].read, index); });
  double next = 1e300;
  for (size_t index : back) {
    Going &each = going[index];
    double begin = std::min(next, line.begins[each.read]) - each.link;
    auto inTime = std::ranges::upper_bound(line.gateSeconds, begin) - line.gateSeconds.begin();
    auto ahead = std::ranges::upper_bound(line.gates, line.groupOf[each.read]) - line.gates.begin();
    auto gate = static_cast<size_t>(std::min(inTime, ahead));
    int in = gate == 0 ? kNoIndex : line.gates[gate - 1];
    if (in < each.move.out)
      continue;
    each.move.in = in;
    next = begin;
  }
  std::vector<Move> result;
  for (const Going &each : going)
    if (each.move.in != kNoIndex)
      result.push_back(each.move);
  return result;
}

Itinerary Moving::itinerary(const Choice &choice, const std::vector<int> &before,
                            const std::vector<std::vector<int>> &classOf) const {
  Itinerary result;
  if (choice.moves.empty())
    return result;
  RunningOrder order(problem, before, choice.moves);
  result.classes.assign(static_cast<size_t>(order.length), kNoIndex);
  for (size_t index = 0; index < before.size(); ++index) {
    const Command &command = problem.commands[index];
    if (command.region != Region::Micro)
      continue;
    int cost = classOf[index][choice.variants[index]];
    result.classes[order.original[index]] = command.tail ? kNoIndex : cost;
    if (int again = order.clone[index]; again != kNoIndex)
      result.classes[again] =
          runsBeside(problem, before, static_cast<int>(index)) ? classOf[index].back() : cost;
  }
  std::vector<LinkTrip> trips;
  for (size_t index = 0; index < choice.moves.size(); ++index) {
    int buffer = choice.moves[index].buffer;
    trips.push_back({order.original[problem.buffers[buffer].producer], order.outs[index], order.ins[index],
                     firstRead(buffer, order)});
    result.bytes.push_back(bytesOf(buffer, choice));
  }
  result.schedule = LinkSchedule(trips);
  return result;
}

MovingTime movingTime(const Problem &expanded, const TimeModel &times, int64_t m) {
  std::map<int64_t, int> known; // half of the ids of a value's two commands -> index
  std::vector<LinkTrip> trips;
  std::vector<double> bytes;
  auto isMove = [&](int command) {
    return command != kNoIndex && expanded.commands[command].kind == CommandKind::Move;
  };
  auto valueOf = [&](int command) {
    auto [at, isNew] = known.emplace(expanded.commands[command].id / 2, static_cast<int>(trips.size()));
    if (isNew) {
      trips.push_back({.read = INT_MAX});
      bytes.push_back(0);
    }
    return at->second;
  };
  std::vector<int> roots;
  for (size_t index = 0; index < expanded.buffers.size(); ++index) {
    const Buffer &buffer = expanded.buffers[index];
    int root = buffer.aliasOf == kNoIndex ? static_cast<int>(index) : roots[buffer.aliasOf];
    roots.push_back(root);
    int producer = expanded.buffers[root].producer;
    if (isMove(producer)) {
      LinkTrip &trip = trips[valueOf(producer)];
      trip.in = producer;
      for (int user : buffer.users)
        trip.read = std::min(trip.read, user);
    }
    for (int user : buffer.users)
      if (isMove(user)) {
        int value = valueOf(user);
        trips[value].made = producer;
        trips[value].out = user;
        bytes[value] = buffer.bytes.real(m);
      }
  }
  std::vector<double> begins = {0};
  double memory = 0;
  for (size_t index = 0; index < expanded.commands.size(); ++index) {
    bool isMicro = expanded.commands[index].region == Region::Micro;
    RegionTime time = isMicro ? times.command(index, m) : RegionTime();
    begins.push_back(begins.back() + time.total);
    memory += time.memory;
  }
  return timeOf(begins, memory, bytes, LinkSchedule(trips), times);
}

} // namespace accum::planner
