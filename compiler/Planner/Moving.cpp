// SPDX-License-Identifier: Apache-2.0
// Copies out in the order of making, as soon as the link is free; copies in as late as they can be.
#include "compiler/Planner/Moving.h"
#include <algorithm>
#include <climits>
#include <map>
#include <numeric>

namespace accum::planner {

namespace {

/// A copy that takes less than so many launches is not worth its own.
constexpr double kWorthwhile = 4;

/// `begins`: when each place begins that runs, and the end; `memory`: seconds of commands that wait for
/// memory; `bytes`: of values that move, `bytesOf`: of each of them, which.
MovingTime timeOf(const std::vector<double> &begins, double memory, const std::vector<double> &bytes,
                  const std::vector<int> &bytesOf, const LinkSchedule &schedule, const TimeModel &times) {
  std::vector<std::pair<double, double>> each; // per copy: over the link, and through memory
  for (double size : bytes)
    each.emplace_back(times.overLink(size), times.throughMemory(2 * size));
  std::vector<double> seconds;
  double traffic = 0;
  for (int size : bytesOf) {
    seconds.push_back(each[size].first);
    traffic += each[size].second;
  }
  LinkUse use = schedule.use(begins, seconds);
  double share = begins.back() > 0 ? memory / begins.back() : 0;
  return {use.waiting + share * traffic, std::max(0.0, use.busy - use.waiting)};
}

} // namespace

int64_t Itinerary::bytesAt(int64_t m) const {
  __int128 sum = 0;
  for (const auto &[size, count] : sizes)
    sum += static_cast<__int128>(size.at(m)) * count;
  return sum > kAmountLimit ? kAmountLimit + 1 : static_cast<int64_t>(sum);
}

double Itinerary::seconds(const TimeModel &times, std::span<const RegionTime> classTimes, int64_t m) const {
  if (isEmpty())
    return 0;
  std::vector<double> begins(classes.size() + 1, 0), bytes;
  double memory = 0;
  for (size_t place = 0; place < classes.size(); ++place) {
    const RegionTime *time = classes[place] == kNoIndex ? nullptr : &classTimes[classes[place]];
    begins[place + 1] = begins[place] + (time ? time->total : 0);
    memory += time ? time->memory : 0;
  }
  for (const auto &[size, count] : sizes)
    bytes.push_back(size.real(m));
  return timeOf(begins, memory, bytes, sizeOf, schedule, times).exposed;
}

Moving::Moving(const Problem &problem, const Recomputation &flow, const TimeModel &times, int64_t smallest,
               int64_t largest)
    : problem(problem), flow(flow), times(times), smallest(smallest), largest(largest) {
  if (!times.hasHostLink())
    return;
  auto isLate = [&](int user) { return flow.isBackward(user) || flow.isAllowed(user); };
  indices.assign(problem.buffers.size(), kNoIndex);
  for (int command = 0; command < static_cast<int>(problem.commands.size()); ++command) {
    if (!flow.isAllowed(command))
      continue;
    for (int buffer : flow.results(command)) {
      double bytes = problem.buffers[buffer].bytes.real(largest);
      if (times.overLink(bytes) <= kWorthwhile * times.overLink(0) ||
          std::ranges::none_of(flow.users(buffer), isLate))
        continue;
      indices[buffer] = static_cast<int>(values.size());
      std::vector<Value> &ways = values.emplace_back();
      for (size_t variant = 0; variant < problem.commands[command].variants.size(); ++variant)
        ways.push_back(valueOf(buffer, static_cast<int>(variant)));
      for (Value &value : ways) {
        auto known = std::ranges::find(sizes, value.bytes);
        value.size = static_cast<int>(known - sizes.begin());
        if (known == sizes.end())
          sizes.push_back(value.bytes);
      }
    }
  }
  if (!values.empty())
    describeCommands();
}

/// What a walk over all commands asks for.
void Moving::describeCommands() {
  auto isEverSliced = [](const Command &command) {
    return std::ranges::any_of(command.variants, [](const Variant &way) { return way.slice > 0; });
  };
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    isTail.push_back(command.tail ? 1 : 0);
    mayStand.push_back(command.region == Region::Micro && !command.tail ? 1 : 0);
    maySlice.push_back(index > 0 && isEverSliced(command) && isEverSliced(problem.commands[index - 1]) ? 1
                                                                                                       : 0);
    waysOf.push_back(seconds.size());
    size_t ways = command.variants.size() + (command.companion.command == kNoIndex ? 0 : 1);
    for (size_t way = 0; command.region == Region::Micro && way < ways; ++way) {
      double least = 1e300;
      for (int64_t m : {smallest, largest})
        least = std::min(least, times.seconds(static_cast<int>(index), static_cast<int>(way), m) /
                                    static_cast<double>(m));
      seconds.push_back(least);
    }
  }
  waysOf.push_back(seconds.size());
}

Moving::Value Moving::valueOf(int buffer, int variant) const {
  int producer = problem.buffers[buffer].producer;
  const Variant &way = problem.commands[producer].variants[variant];
  Value value{.buffer = buffer, .producer = producer, .lastEarly = producer};
  for (int user : flow.users(buffer)) {
    if (!flow.isBackward(user))
      value.lastEarly = std::max(value.lastEarly, user);
    else if (value.firstBackward == kNoIndex)
      value.firstBackward = user;
  }
  value.bytes = problem.buffers[buffer].bytes;
  for (const auto &[resized, bytes] : way.results)
    if (resized == buffer) {
      value.bytes = bytes;
      break;
    }
  value.isSliced = way.slice > 0;
  value.most = value.bytes.real(largest);
  for (int64_t m : {smallest, largest})
    value.link = std::max(value.link, times.overLink(value.bytes.real(m)) / static_cast<double>(m));
  return value;
}

/// The place of the first late reader; INT_MAX where there is none.
int Moving::firstRead(const Value &value, const RunningOrder &order) const {
  int first = value.firstBackward == kNoIndex ? INT_MAX : order.original[value.firstBackward];
  for (int user : flow.users(value.buffer))
    if (!flow.isBackward(user) && order.clone[user] != kNoIndex)
      first = std::min(first, order.clone[user]);
  return first;
}

std::vector<size_t> Moving::keptValues(const Choice &choice, const std::vector<int> &before) const {
  std::vector<size_t> result;
  auto isRead = [&](int user) { return flow.isBackward(user) || before[user] != kNoIndex; };
  for (size_t index = 0; index < values.size(); ++index) {
    const Value &value = valueIn(index, choice);
    if (before[value.producer] == kNoIndex && !value.isSliced && !value.bytes.isZero() &&
        std::ranges::any_of(flow.users(value.buffer), isRead))
      result.push_back(index);
  }
  return result;
}

std::vector<int> Moving::kept(const Choice &choice, const std::vector<int> &before) const {
  std::vector<int> result;
  for (size_t index : keptValues(choice, before))
    result.push_back(values[index].front().buffer);
  return result;
}

/// Not between a command and its tail, which are one kernel, nor between slices.
bool Moving::mayStandBefore(int command, const Choice &choice) const {
  auto isSliced = [&](int each) { return problem.commands[each].variants[choice.variants[each]].slice > 0; };
  return mayStand[command] != 0 && !(maySlice[command] != 0 && isSliced(command - 1) && isSliced(command) &&
                                     problem.commands[command - 1].region == Region::Micro);
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
      size_t first = moving.waysOf[index], end = moving.waysOf[index + 1];
      double once = first == end ? 0 : moving.seconds[first + static_cast<size_t>(choice.variants[index])];
      begins[order.original[index] + 1] = moving.isTail[index] != 0 ? 0 : once;
      groupOf[order.original[index]] = command;
      if (int again = order.clone[index]; again != kNoIndex) {
        begins[again + 1] = moving.flow.runsBeside(before, command) ? moving.seconds[end - 1] : once;
        groupOf[again] = before[index];
      }
    }
    for (size_t place = 1; place < begins.size(); ++place)
      begins[place] += begins[place - 1];
    gates.reserve(before.size());
    gateSeconds.reserve(before.size());
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
    quota += valueIn(static_cast<size_t>(indices[move.buffer]), choice).most;
  RunningOrder order(flow, before, {});
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
  for (size_t index : keptValues(choice, before)) {
    const Value &value = valueIn(index, choice);
    if (exact ? !std::ranges::binary_search(wanted, value.buffer) : quota <= 0)
      continue;
    double gone = std::max(free, line.begins[order.original[value.producer] + 1]) + value.link;
    int read = firstRead(value, order);
    auto at = std::ranges::lower_bound(line.gateSeconds, gone) - line.gateSeconds.begin();
    auto behind = std::ranges::upper_bound(line.gates, value.lastEarly) - line.gates.begin();
    size_t gate = static_cast<size_t>(std::max(at, behind));
    if (gate >= line.gates.size() || line.gates[gate] > line.groupOf[read])
      continue;
    free = gone;
    quota -= value.most;
    going.push_back({{value.buffer, line.gates[gate], kNoIndex}, read, value.link});
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

Itinerary Moving::itinerary(const Choice &choice, const std::vector<int> &before, const RunningOrder &order,
                            const std::vector<std::vector<int>> &classOf) const {
  Itinerary result;
  if (choice.moves.empty())
    return result;
  result.classes.assign(static_cast<size_t>(order.length), kNoIndex);
  for (size_t index = 0; index < before.size(); ++index) {
    if (waysOf[index] == waysOf[index + 1]) // not of the micro-step
      continue;
    int cost = classOf[index][choice.variants[index]];
    result.classes[order.original[index]] = isTail[index] != 0 ? kNoIndex : cost;
    if (int again = order.clone[index]; again != kNoIndex)
      result.classes[again] = flow.runsBeside(before, static_cast<int>(index)) ? classOf[index].back() : cost;
  }
  std::vector<LinkTrip> trips;
  std::vector<int> known(sizes.size(), kNoIndex); // of all sizes, into those of the result
  for (size_t index = 0; index < choice.moves.size(); ++index) {
    const Value &value = valueIn(static_cast<size_t>(indices[choice.moves[index].buffer]), choice);
    trips.push_back(
        {order.original[value.producer], order.outs[index], order.ins[index], firstRead(value, order)});
    int &size = known[value.size];
    if (size == kNoIndex) {
      size = static_cast<int>(result.sizes.size());
      result.sizes.emplace_back(value.bytes, 0);
    }
    ++result.sizes[size].second;
    result.sizeOf.push_back(size);
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
  std::vector<int> bytesOf(bytes.size());
  std::iota(bytesOf.begin(), bytesOf.end(), 0);
  return timeOf(begins, memory, bytes, bytesOf, LinkSchedule(trips), times);
}

} // namespace accum::planner
