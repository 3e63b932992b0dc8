// SPDX-License-Identifier: Apache-2.0
// Where repetitions stand.
#include "compiler/Planner/Recompute.h"
#include <algorithm>

namespace accum::planner {

Recomputation::Lists Recomputation::Lists::from(const std::vector<std::vector<int>> &lists) {
  Lists result;
  result.begins.push_back(0);
  for (const std::vector<int> &list : lists) {
    result.items.insert(result.items.end(), list.begin(), list.end());
    result.begins.push_back(static_cast<int>(result.items.size()));
  }
  return result;
}

Recomputation::Recomputation(const Problem &problem) : problem(problem) {
  size_t commands = problem.commands.size(), buffers = problem.buffers.size();
  std::vector<std::vector<int>> results(commands), operands(commands), users(buffers);
  std::vector<char> rewritten(buffers, 0), whole(buffers, 0), writers(commands, 0);
  for (size_t index = 0; index < buffers; ++index) {
    const Buffer &buffer = problem.buffers[index];
    int root = buffer.aliasOf == kNoIndex ? static_cast<int>(index) : roots[buffer.aliasOf];
    roots.push_back(root);
    if (root == static_cast<int>(index) && buffer.producer != kNoIndex)
      results[buffer.producer].push_back(root);
    // A view with a producer of its own is a new value in the old place.
    bool isRewritten = buffer.producer != kNoIndex && buffer.producer != problem.buffers[root].producer;
    rewritten[root] |= isRewritten;
    whole[root] |= buffer.wholeStep;
    if (isRewritten)
      writers[buffer.producer] = 1;
    for (int user : buffer.users) {
      users[root].push_back(user);
      operands[user].push_back(root);
    }
  }
  for (std::vector<std::vector<int>> *lists : {&operands, &users})
    for (std::vector<int> &list : *lists) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  resultLists = Lists::from(results);
  operandLists = Lists::from(operands);
  userLists = Lists::from(users);
  for (size_t index = 0; index < commands; ++index) {
    const Command &command = problem.commands[index];
    auto isMicro = [&](int user) { return problem.commands[user].region == Region::Micro; };
    auto isSteady = [&](int storage) { return rewritten[storage] == 0; };
    auto isLocal = [&](int storage) {
      return isSteady(storage) && whole[storage] == 0 && std::ranges::all_of(this->users(storage), isMicro);
    };
    int at = static_cast<int>(index);
    allowed.push_back(command.region == Region::Micro && !command.backward && !command.once &&
                      writers[index] == 0 && !this->results(at).empty() &&
                      std::ranges::all_of(this->results(at), isLocal) &&
                      std::ranges::all_of(this->operands(at), isSteady));
  }
}

std::vector<int> Recomputation::positions(const std::vector<char> &chosen) const {
  std::vector<int> before(problem.commands.size(), kNoIndex);
  for (int command = static_cast<int>(chosen.size()) - 1; command >= 0; --command) {
    if (chosen[command] == 0 || allowed[command] == 0)
      continue;
    int first = INT32_MAX;
    for (int storage : results(command))
      for (int user : users(storage)) {
        int at = problem.commands[user].backward ? user : before[user];
        first = at == kNoIndex ? first : std::min(first, at);
      }
    before[command] = first == INT32_MAX ? kNoIndex : first;
  }
  return before;
}

} // namespace accum::planner
