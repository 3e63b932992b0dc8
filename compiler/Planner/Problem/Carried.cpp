// SPDX-License-Identifier: Apache-2.0
// What stays from the forward part of a micro-step until its backward part reads it.
#include "compiler/Planner/Problem/Amount.h"
#include "compiler/Planner/Problem/Problem.h"
#include <algorithm>
#include <utility>

namespace accum::planner {

namespace {

void add(Amount &sum, const Amount &bytes) {
  sum.fixed = saturatedSum(sum.fixed, bytes.fixed);
  sum.perSample = saturatedSum(sum.perSample, bytes.perSample);
}

/// Per buffer, the first command of a backward part that reads it or a view of it.
std::vector<int> firstLateReaders(const Problem &problem, const std::vector<int> &root) {
  std::vector<int> readers(problem.buffers.size(), kNoIndex);
  for (size_t index = 0; index < root.size(); ++index)
    for (int user : problem.buffers[index].users) {
      int &first = readers[root[index]];
      if (problem.commands[user].backward && (first == kNoIndex || user < first))
        first = user;
    }
  return readers;
}

/// Per buffer, the one whose storage it is. Views may chain, and stand before what they are views of; each
/// link is followed once or twice.
std::vector<int> rootsOf(const Problem &problem) {
  std::vector<int> root;
  for (const Buffer &buffer : problem.buffers)
    root.push_back(buffer.aliasOf == kNoIndex ? static_cast<int>(root.size()) : buffer.aliasOf);
  for (size_t index = 0; index < root.size(); ++index) {
    int storage = root[index];
    while (root[storage] != storage)
      storage = root[storage];
    for (int at = static_cast<int>(index); root[at] != storage;)
      at = std::exchange(root[at], storage);
  }
  return root;
}

} // namespace

void noteCarried(Problem &problem) {
  std::vector<int> readers = firstLateReaders(problem, rootsOf(problem));
  problem.carried = {};
  for (Command &command : problem.commands)
    command.carried = {};
  for (size_t index = 0; index < readers.size(); ++index) {
    const Buffer &buffer = problem.buffers[index];
    if (readers[index] == kNoIndex || buffer.producer == kNoIndex)
      continue;
    Command &producer = problem.commands[buffer.producer];
    if (producer.backward || !problem.isMain(producer))
      continue;
    add(problem.carried, buffer.bytes);
    add(producer.carried, buffer.bytes);
    add(problem.commands[readers[index]].carried, buffer.bytes);
  }
}

} // namespace accum::planner
