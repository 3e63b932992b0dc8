// SPDX-License-Identifier: Apache-2.0
// Which ops of a region run in one command.
#include "passes/Fuse/Groups.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Fuse/Outline.h"
#include "passes/Fuse/RowSpace.h"
#include <queue>

using namespace mlir;

namespace accum {

bool isCommandOp(Operation *op) {
  return isa<nn::NNDialect>(op->getDialect()) && !isKernelConstant(op) && !isa<nn::ReshapeOp>(op);
}

std::vector<Group> singleGroups(Block &block) {
  std::vector<Group> groups;
  for (Operation &op : block)
    if (isCommandOp(&op))
      groups.push_back({&op});
  return groups;
}

namespace {

constexpr size_t kMaxGroupSize = 32; // keeps a kernel's live rows within the registers and the first cache

/// Partition of a block's ops into groups, each closed under paths between its members.
class Grouping {
public:
  explicit Grouping(Block &block) : block(block) {
    int position = 0;
    for (Operation &op : block.without_terminator())
      positions[&op] = position++;
  }

  void run() {
    for (Operation &op : block.without_terminator()) {
      if (isColumnSum(&op))
        claimProducers(&op);
      else
        joinProducer(&op);
      if (!groupOf.contains(&op))
        open(&op);
    }
  }

  /// Puts the block's ops in an order in which groups are contiguous, and returns the groups that are
  /// commands.
  std::vector<Group> arrange();

private:
  struct Members {
    Group ops;
    std::optional<RowSpace> space; // absent: closed
  };

  void open(Operation *op) {
    groupOf[op] = groups.size();
    groups.push_back({{op}, isCommandOp(op) && !isColumnSum(op) ? rowSpaceOf(op) : std::nullopt});
  }

  void add(Operation *op, size_t group) {
    groups[group].ops.push_back(op);
    groupOf[op] = group;
  }

  void joinProducer(Operation *op);
  void claimProducers(Operation *columnSum);
  bool fits(Operation *op, const Members &group) const;
  bool reaches(size_t group, Operation *op) const;

  Block &block;
  std::vector<Members> groups;
  DenseMap<Operation *, size_t> groupOf;
  DenseMap<Operation *, int> positions;
};

bool Grouping::fits(Operation *op, const Members &group) const {
  if (!group.space || group.ops.size() >= kMaxGroupSize)
    return false;
  // Statistics reshaped from [rows] to [rows, 1] and back stay in the kernel.
  if (isa<nn::ReshapeOp>(op))
    return group.space->isStatistic(op->getOperand(0).getType()) &&
           group.space->isStatistic(op->getResult(0).getType());
  auto own = isCommandOp(op) ? rowSpaceOf(op) : std::nullopt;
  return own && (group.space->isFull(own->full) || group.space->isStatistic(own->full)) &&
         group.space->holds(op);
}

/// Whether a path from a member of `group` leads to `op` through an op outside: then op cannot join.
bool Grouping::reaches(size_t group, Operation *op) const {
  int first = positions.lookup(groups[group].ops.front());
  SmallVector<Operation *> stack;
  DenseSet<Operation *> seen;
  auto push = [&](Operation *from) {
    for (Value operand : from->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && positions.lookup(producer) >= first && seen.insert(producer).second)
        stack.push_back(producer);
    }
  };
  push(op);
  while (!stack.empty()) {
    Operation *current = stack.pop_back_val();
    auto it = groupOf.find(current);
    if (it != groupOf.end() && it->second == group)
      continue; // a direct edge, or the end of a path that was counted when it left
    // The whole group of an outside op runs together: what any member needs, it needs.
    Group companions = it == groupOf.end() ? Group{current} : groups[it->second].ops;
    for (Operation *companion : companions)
      for (Value operand : companion->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (!producer)
          continue;
        auto producerGroup = groupOf.find(producer);
        if (producerGroup != groupOf.end() && producerGroup->second == group)
          return true;
        if (positions.lookup(producer) >= first && seen.insert(producer).second)
          stack.push_back(producer);
      }
  }
  return false;
}

void Grouping::joinProducer(Operation *op) {
  SmallVector<size_t> candidates;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      if (auto it = groupOf.find(producer);
          it != groupOf.end() && !llvm::is_contained(candidates, it->second))
        candidates.push_back(it->second);
  llvm::sort(candidates, std::greater<>());
  for (size_t group : candidates)
    if (fits(op, groups[group]) && !reaches(group, op))
      return add(op, group);
}

/// A column sum computes what it sums itself: cheap elementwise producers are copied into its group, so that
/// no temporary of the input's size is written for it.
void Grouping::claimProducers(Operation *columnSum) {
  Group group;
  std::function<void(OpOperand &, int)> claim = [&](OpOperand &use, int depth) {
    Operation *producer = use.get().getDefiningOp();
    if (!producer || depth == 0 || !isCheap(producer) || group.size() >= 8)
      return;
    OpBuilder builder(columnSum);
    Operation *copy = builder.clone(*producer);
    use.set(copy->getResult(cast<OpResult>(use.get()).getResultNumber()));
    positions[copy] = positions.lookup(columnSum);
    for (OpOperand &operand : copy->getOpOperands())
      claim(operand, depth - 1);
    group.push_back(copy);
  };
  claim(columnSum->getOpOperand(0), 3);
  group.push_back(columnSum);
  for (Operation *op : group)
    groupOf[op] = groups.size();
  groups.push_back({std::move(group), std::nullopt});
}

/// Groups in an order that respects their dependences and stays close to the ops' own: the group whose last
/// member comes first runs first.
std::vector<Group> Grouping::arrange() {
  size_t count = groups.size();
  std::vector<DenseSet<size_t>> successors(count);
  std::vector<int> blockers(count, 0), keys(count, 0);
  for (size_t i = 0; i < count; ++i)
    for (Operation *op : groups[i].ops) {
      keys[i] = std::max(keys[i], positions.lookup(op));
      for (Value operand : op->getOperands())
        if (auto it = groupOf.find(operand.getDefiningOp()); operand.getDefiningOp() && it != groupOf.end())
          if (it->second != i && successors[it->second].insert(i).second)
            ++blockers[i];
    }
  using Entry = std::pair<int, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i)
    if (blockers[i] == 0)
      ready.emplace(keys[i], i);
  std::vector<Group> commands;
  while (!ready.empty()) {
    size_t i = ready.top().second;
    ready.pop();
    for (Operation *op : groups[i].ops)
      op->moveBefore(block.getTerminator());
    if (llvm::any_of(groups[i].ops, isCommandOp))
      commands.push_back(groups[i].ops);
    for (size_t next : successors[i])
      if (--blockers[next] == 0)
        ready.emplace(keys[next], next);
  }
  return commands;
}

} // namespace

std::vector<Group> fusedGroups(Block &block) {
  Grouping grouping(block);
  grouping.run();
  return grouping.arrange();
}

} // namespace accum
