// SPDX-License-Identifier: Apache-2.0
// Where repetitions stand.
#include "compiler/Planner/Problem/Recompute.h"
#include <algorithm>

namespace accum::planner {

template <class Each> Recomputation::Lists Recomputation::Lists::from(size_t count, Each each) {
  Lists lists;
  lists.begins.assign(count + 2, 0); // one behind, so that filling a list moves the begin of the next
  each([&](int list, int) { ++lists.begins[list + 2]; });
  for (size_t list = 2; list < lists.begins.size(); ++list)
    lists.begins[list] += lists.begins[list - 1];
  lists.items.resize(lists.begins.back());
  each([&](int list, int item) { lists.items[lists.begins[list + 1]++] = item; });
  lists.begins.pop_back();
  return lists;
}

void Recomputation::Lists::sortOut() {
  int kept = 0;
  for (size_t list = 0; list + 1 < begins.size(); ++list) {
    auto begin = items.begin() + begins[list], end = items.begin() + begins[list + 1];
    begins[list] = kept;
    std::sort(begin, end);
    end = std::unique(begin, end);
    kept = static_cast<int>(std::copy(begin, end, items.begin() + kept) - items.begin());
  }
  begins.back() = kept;
  items.resize(kept);
}

Recomputation::Recomputation(const Problem &problem) {
  size_t commands = problem.commands.size(), buffers = problem.buffers.size();
  std::vector<char> rewritten(buffers, 0), whole(buffers, 0), writers(commands, 0);
  for (size_t index = 0; index < buffers; ++index) {
    const Buffer &buffer = problem.buffers[index];
    int root = buffer.aliasOf == kNoIndex ? static_cast<int>(index) : roots[buffer.aliasOf];
    roots.push_back(root);
    // A view with a producer of its own is a new value in the old place.
    bool isRewritten = buffer.producer != kNoIndex && buffer.producer != problem.buffers[root].producer;
    rewritten[root] |= isRewritten;
    whole[root] |= buffer.wholeStep;
    if (isRewritten)
      writers[buffer.producer] = 1;
  }
  resultLists = Lists::from(commands, [&](auto add) {
    for (int index = 0; index < static_cast<int>(buffers); ++index)
      if (int producer = problem.buffers[index].producer; roots[index] == index && producer != kNoIndex)
        add(producer, index);
  });
  auto eachUse = [&](auto use) {
    for (size_t index = 0; index < buffers; ++index)
      for (int user : problem.buffers[index].users)
        use(roots[index], user);
  };
  userLists = Lists::from(buffers, eachUse);
  operandLists =
      Lists::from(commands, [&](auto add) { eachUse([&](int root, int user) { add(user, root); }); });
  userLists.sortOut();
  operandLists.sortOut();
  for (size_t index = 0; index < commands; ++index) {
    const Command &command = problem.commands[index];
    auto isMicro = [&](int user) { return problem.isMain(problem.commands[user]); };
    auto isSteady = [&](int storage) { return rewritten[storage] == 0; };
    auto isLocal = [&](int storage) {
      return isSteady(storage) && whole[storage] == 0 && std::ranges::all_of(this->users(storage), isMicro);
    };
    int at = static_cast<int>(index);
    backward.push_back(command.backward ? 1 : 0);
    allowed.push_back(problem.isMain(command) && !command.backward && !command.once && writers[index] == 0 &&
                      !this->results(at).empty() && std::ranges::all_of(this->results(at), isLocal) &&
                      std::ranges::all_of(this->operands(at), isSteady));
  }
}

std::vector<int> Recomputation::positions(const std::vector<char> &chosen) const {
  std::vector<int> before(allowed.size(), kNoIndex);
  for (int command = static_cast<int>(chosen.size()) - 1; command >= 0; --command) {
    if (chosen[command] == 0 || allowed[command] == 0)
      continue;
    int first = INT32_MAX;
    for (int storage : results(command))
      for (int user : users(storage)) {
        int at = backward[user] != 0 ? user : before[user];
        first = at == kNoIndex ? first : std::min(first, at);
      }
    before[command] = first == INT32_MAX ? kNoIndex : first;
  }
  return before;
}

RunningOrder::RunningOrder(const std::vector<int> &before)
    : original(before.size()), clone(before.size(), kNoIndex) {
  std::vector<int> next(before.size(), 0); // how many repetitions stand before it, then the place of the next
  for (int at : before)
    if (at != kNoIndex)
      ++next[at];
  for (size_t index = 0; index < before.size(); ++index) {
    int count = next[index];
    next[index] = length;
    length += count;
    original[index] = length++;
  }
  for (size_t index = 0; index < before.size(); ++index)
    if (before[index] != kNoIndex)
      clone[index] = next[before[index]]++;
}

} // namespace accum::planner
