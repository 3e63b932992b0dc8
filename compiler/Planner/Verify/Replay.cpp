// SPDX-License-Identifier: Apache-2.0
// The checker's own expansion of a plan.
#include "compiler/Planner/Verify/Replay.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

namespace accum::planner {

Error invalid(std::string message) { return {std::move(message), "invalid-plan"}; }

namespace {

/// A command in the order that runs.
struct Turn {
  int command = kNoIndex;
  bool again = false;
};

/// Per command a few buffers; all lists in one piece, as there may be a million.
class Lists {
public:
  /// `each(add)` calls add(command, buffer), the same ones each time it is called.
  template <class Each> Lists(size_t commands, Each each) : ends(commands + 1, 0) {
    each([&](int command, int) { ++ends[command + 1]; });
    for (size_t command = 0; command < commands; ++command)
      ends[command + 1] += ends[command];
    buffers.resize(ends.back());
    each([&](int command, int buffer) { buffers[ends[command]++] = buffer; });
  }
  std::span<const int> of(int command) const {
    int begin = command == 0 ? 0 : ends[command - 1];
    return std::span(buffers).subspan(begin, ends[command] - begin);
  }

private:
  std::vector<int> ends, buffers;
};

class Player {
public:
  Player(const Problem &problem, const Plan &plan)
      : problem(problem), plan(plan), reads(problem.commands.size(), [&](auto add) {
          for (size_t index = 0; index < problem.buffers.size(); ++index) {
            const std::vector<int> &users = problem.buffers[index].users;
            for (size_t use = 0; use < users.size(); ++use)
              if (use == 0 || users[use] != users[use - 1])
                add(users[use], static_cast<int>(index));
          }
        }) {}

  Result<Problem> run() {
    size_t commands = problem.commands.size();
    bool namesAny = !plan.recompute.empty() || !plan.variants.empty();
    for (size_t index = 0; namesAny && index < commands; ++index)
      byId[problem.commands[index].id] = static_cast<int>(index);
    again.assign(commands, 0);
    repeated.assign(commands, 0);
    unasked.assign(commands, 0);
    for (size_t index = 0; index < problem.buffers.size(); ++index) {
      const Buffer &buffer = problem.buffers[index];
      storage.push_back(buffer.aliasOf == kNoIndex ? static_cast<int>(index) : storage[buffer.aliasOf]);
    }
    for (auto step : {&Player::readRecompute, &Player::checkWrites, &Player::readVariants, &Player::play})
      if (Status status = (this->*step)(); !status)
        return status.error();
    for (size_t command = 0; command < commands; ++command)
      if (again[command] > repeated[command] || unasked[command] != 0)
        return invalid(fmt::format("command {} runs again, but nothing backward needs it",
                                   problem.commands[command].id));
    return build();
  }

private:
  Status readRecompute();
  Status checkWrites();
  Status readVariants();
  Status play();
  struct Draft;
  void addBuffers(Draft &draft) const;
  void addCommand(const Turn &turn, const Lists &makes, Draft &draft) const;
  Problem build() const;

  int maker(int buffer) const { return problem.buffers[storage[buffer]].producer; }
  bool isAgain(int command) const { return command != kNoIndex && again[command] != 0; }
  bool isRepeated(int command) const { return command != kNoIndex && repeated[command] != 0; }

  const Problem &problem;
  const Plan &plan;
  std::unordered_map<int64_t, int> byId;
  std::vector<int> storage;
  Lists reads;
  std::vector<char> again, repeated;   ///< per command
  std::vector<char> unasked;           ///< per command: it ran again, and nothing has read it so far
  std::vector<const Variant *> chosen; ///< per command
  std::vector<Turn> turns;
};

Status Player::readRecompute() {
  for (int64_t id : plan.recompute) {
    auto found = byId.find(id);
    if (found == byId.end() || again[found->second] != 0)
      return invalid(fmt::format("command {} of the recomputed ones is unknown, or stands there twice", id));
    again[found->second] = 1;
    const Command &command = problem.commands[found->second];
    if (!problem.isMain(command) || command.backward || command.once)
      return invalid(fmt::format("command {} may not run again", id));
  }
  return {};
}

/// Running again gives the same only where nobody else writes what is read or made.
Status Player::checkWrites() {
  std::set<int> overwritten; // storages
  for (size_t index = 0; index < problem.buffers.size(); ++index) {
    int writer = problem.buffers[index].producer;
    if (writer == kNoIndex || writer == maker(static_cast<int>(index)))
      continue;
    overwritten.insert(storage[index]);
    if (isAgain(writer))
      return invalid(
          fmt::format("command {} overwrites a value, and runs again", problem.commands[writer].id));
  }
  for (size_t index = 0; index < problem.buffers.size(); ++index) {
    const Buffer &buffer = problem.buffers[index];
    bool made = isAgain(maker(static_cast<int>(index)));
    bool read = std::ranges::any_of(buffer.users, [&](int user) { return isAgain(user); });
    if (overwritten.contains(storage[index]) && (made || read))
      return invalid(fmt::format("buffer {} is overwritten, and made or read again", buffer.id));
    bool escapes = buffer.wholeStep || std::ranges::any_of(buffer.users, [&](int user) {
                     return !problem.isMain(problem.commands[user]);
                   });
    if (made && escapes)
      return invalid(fmt::format("buffer {} is made again, but lives beyond the micro-step", buffer.id));
  }
  return {};
}

Status Player::readVariants() {
  std::map<int64_t, std::string> names(plan.variants.begin(), plan.variants.end());
  if (names.size() != plan.variants.size())
    return invalid("a command has two variants");
  for (const auto &[id, name] : names)
    if (!byId.contains(id))
      return invalid(fmt::format("command {} has a variant, but is unknown", id));
  const std::string normal = "default";
  for (const Command &command : problem.commands) {
    auto named = names.find(command.id);
    const std::string &name = named == names.end() ? normal : named->second;
    const Variant *variant = nullptr;
    bool hasLeaders = false;
    for (const Variant &way : command.variants) {
      variant = way.name == name ? &way : variant;
      hasLeaders |= command.follows != kNoIndex && way.name == chosen[command.follows]->name;
    }
    if (!variant)
      return invalid(fmt::format("command {} has no variant {}", command.id, name));
    if (command.follows != kNoIndex && name != (hasLeaders ? chosen[command.follows]->name : normal))
      return invalid(fmt::format("command {} does not follow command {}", command.id,
                                 problem.commands[command.follows].id));
    chosen.push_back(variant);
  }
  return {};
}

Status Player::play() {
  turns.reserve(problem.commands.size());
  std::vector<int> open;
  for (int command = 0; command < static_cast<int>(problem.commands.size()); ++command) {
    std::set<int> wanted;
    if (problem.commands[command].backward)
      open.push_back(command);
    while (!open.empty()) {
      int asks = open.back();
      open.pop_back();
      for (int buffer : reads.of(asks))
        if (int made = maker(buffer); isAgain(made)) {
          unasked[made] = 0;
          if (!isRepeated(made) && wanted.insert(made).second)
            open.push_back(made);
        }
    }
    for (int made : wanted) {
      turns.push_back({made, true});
      repeated[made] = 1;
    }
    turns.push_back({command, false});
  }
  return {};
}

/// The problem under construction, and where its buffers stand: as asked for, and those made again.
struct Player::Draft {
  Problem result;
  std::vector<int> placeOf[2];
  int64_t base = 0; ///< of the ids of repetitions
};

void Player::addBuffers(Draft &draft) const {
  for (std::vector<int> &places : draft.placeOf)
    places.assign(problem.buffers.size(), kNoIndex);
  for (int index = 0; index < static_cast<int>(problem.buffers.size()); ++index)
    for (bool copy : {false, true}) {
      int made = maker(index);
      if (copy && !isRepeated(made))
        continue;
      std::vector<int> &places = draft.placeOf[copy ? 1 : 0];
      places[index] = static_cast<int>(draft.result.buffers.size());
      const Buffer &source = problem.buffers[index];
      Buffer buffer{.id = source.id,
                    .kind = source.kind,
                    .bytes = source.bytes,
                    .aliasOf = source.aliasOf == kNoIndex ? kNoIndex : places[source.aliasOf],
                    .wholeStep = source.wholeStep,
                    .role = source.role};
      buffer.users.reserve(source.users.size());
      if (copy) {
        std::string own = fmt::format("{}:", problem.commands[made].id);
        buffer.id = fmt::format("{}:{}", draft.base + problem.commands[made].id,
                                buffer.id.starts_with(own) ? buffer.id.substr(own.size()) : buffer.id);
      }
      draft.result.buffers.push_back(std::move(buffer));
    }
}

void Player::addCommand(const Turn &turn, const Lists &makes, Draft &draft) const {
  int at = static_cast<int>(draft.result.commands.size());
  const Command &command = problem.commands[turn.command];
  bool late = command.backward || turn.again;
  auto read = [&](int buffer) {
    return draft.placeOf[late && draft.placeOf[1][buffer] != kNoIndex ? 1 : 0][buffer];
  };
  for (int buffer : reads.of(turn.command))
    draft.result.buffers[read(buffer)].users.push_back(at);
  for (int buffer : makes.of(turn.command)) {
    Buffer &slot = draft.result.buffers[draft.placeOf[turn.again ? 1 : 0][buffer]];
    slot.producer = at;
    for (int operand : problem.buffers[buffer].mayAlias)
      slot.mayAlias.push_back(read(operand));
    for (const auto &[resized, bytes] : chosen[turn.command]->results)
      if (resized == buffer)
        slot.bytes = bytes;
  }
  Command &runs = draft.result.commands.emplace_back(Command{.id = command.id + (turn.again ? draft.base : 0),
                                                             .phase = command.phase,
                                                             .backward = command.backward,
                                                             .once = command.once,
                                                             .tail = command.tail,
                                                             .cloneOf = turn.again ? command.id : -1});
  runs.variants.front().workspace = chosen[turn.command]->workspace;
}

Problem Player::build() const {
  Draft draft{withoutLists(problem), {}, problem.cloneIds};
  draft.result.commands.reserve(turns.size());
  draft.result.buffers.reserve(problem.buffers.size());
  for (const Command &command : problem.commands)
    draft.base = problem.cloneIds > 0 ? draft.base : std::max(draft.base, command.id + 1);
  addBuffers(draft);
  Lists makes(problem.commands.size(), [&](auto add) {
    for (int index = 0; index < static_cast<int>(problem.buffers.size()); ++index)
      if (int producer = problem.buffers[index].producer; producer != kNoIndex)
        add(producer, index);
  });
  for (const Turn &turn : turns)
    addCommand(turn, makes, draft);
  return std::move(draft.result);
}

} // namespace

Result<Problem> replay(const Problem &problem, const Plan &plan) { return Player(problem, plan).run(); }

} // namespace accum::planner
