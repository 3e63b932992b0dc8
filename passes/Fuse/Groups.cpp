// SPDX-License-Identifier: Apache-2.0
// Which ops of a region run in one command.
#include "passes/Fuse/Groups.h"
#include "dialects/NN/Boundary.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/SplitBatch.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/Fuse/AttentionViews.h"
#include "passes/Fuse/Biases.h"
#include "passes/Fuse/JoinParts.h"
#include "passes/Fuse/Outline.h"
#include "passes/Fuse/RowSpace.h"
#include "passes/Fuse/TileSums.h"
#include <queue>

using namespace mlir;

namespace accum {

bool isCommandOp(Operation *op) {
  return isa<nn::NNDialect>(op->getDialect()) && !isKernelConstant(op) && !isa<nn::ReshapeOp>(op);
}

std::vector<Group> singleGroups(Block &block) {
  materialiseMasks(block);
  std::vector<Group> groups;
  for (Operation &op : block)
    if (isCommandOp(&op))
      groups.push_back({&op});
  return groups;
}

llvm::SetVector<Operation *> forwardOps(Block &block) {
  llvm::SetVector<Operation *> forward;
  if (block.getParentOp()->hasAttr(train::kGoesOn))
    return train::forwardByOrigin(block);
  auto yield = dyn_cast<train::YieldOp>(block.getTerminator());
  if (!yield)
    return forward;
  BackwardSliceOptions options;
  options.inclusive = true;
  for (auto [value, target] : llvm::zip(yield.getValues(), yield.getTargets()))
    if (isa<StringAttr>(target) && value.getDefiningOp())
      (void)getBackwardSlice(value.getDefiningOp(), &forward, options);
  for (auto output : block.getOps<train::OutputOp>())
    if (Operation *op = output.getValue().getDefiningOp())
      (void)getBackwardSlice(op, &forward, options);
  return forward;
}

namespace {

constexpr size_t kMaxGroupSize = 32; // keeps a kernel's live rows within the registers and the first cache

/// Partition of a block's ops into groups, each closed under paths between its members.
class Grouping {
public:
  explicit Grouping(Block &block, const DenseMap<Operation *, Operation *> &leaders)
      : block(block), leaders(leaders), forward(forwardOps(block)) {
    int position = 0;
    for (Operation &op : block.without_terminator())
      positions[&op] = position++;
  }

  void run() {
    for (Operation &op : block.without_terminator())
      if (Operation *leader = leaders.lookup(&op))
        joinLeader(&op, leader);
      else if (!joinProducers(&op))
        open(&op);
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
    groups.push_back({{op}, isCommandOp(op) ? rowSpaceOf(op) : std::nullopt});
  }

  void joinLeader(Operation *op, Operation *leader);
  bool joinProducers(Operation *op);
  bool fits(Operation *op, const Members &group) const;
  bool isClosed(ArrayRef<size_t> merged, Operation *op) const;

  Block &block;
  const DenseMap<Operation *, Operation *> &leaders; ///< of groups that are settled
  std::vector<Members> groups;                       // empty ones were merged into others
  DenseMap<Operation *, size_t> groupOf;
  DenseMap<Operation *, int> positions;
  /// A backward op must not join a forward group: its result would be stored from there to the backward
  /// pass, where the whole point is to compute it again from what is kept anyway.
  const llvm::SetVector<Operation *> forward;
};

bool Grouping::fits(Operation *op, const Members &group) const {
  if (!group.space || op->hasAttr(nn::runningSumAttr) || group.ops.size() >= kMaxGroupSize ||
      forward.contains(op) != forward.contains(group.ops.front()))
    return false;
  // Statistics reshaped from [rows] to [rows, 1] and back stay in the kernel.
  if (isa<nn::ReshapeOp>(op))
    return group.space->isStatistic(op->getOperand(0).getType()) &&
           group.space->isStatistic(op->getResult(0).getType());
  auto own = isCommandOp(op) && !isDataMovement(op) ? rowSpaceOf(op) : std::nullopt;
  return own && (group.space->isFull(own->full) || group.space->isStatistic(own->full)) &&
         group.space->holds(op);
}

/// Whether the groups `merged` and `op` can run as one: no path leads from one of their members through an op
/// outside to another. Ops before the first member cannot be on one.
bool Grouping::isClosed(ArrayRef<size_t> merged, Operation *op) const {
  int first = positions.lookup(op);
  SmallVector<Operation *> stack;
  DenseSet<Operation *> seen;
  auto groupAt = [&](Operation *at) {
    auto it = groupOf.find(at);
    return it == groupOf.end() ? -1 : static_cast<int64_t>(it->second);
  };
  auto isInside = [&](Operation *at) {
    return at == op || llvm::is_contained(merged, static_cast<size_t>(groupAt(at)));
  };
  auto push = [&](Operation *from) {
    for (Value operand : from->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (positions.lookup(producer) >= first && !isInside(producer) && seen.insert(producer).second)
          stack.push_back(producer);
  };
  for (size_t group : merged)
    for (Operation *member : groups[group].ops)
      first = std::min(first, positions.lookup(member));
  push(op);
  for (size_t group : merged)
    for (Operation *member : groups[group].ops)
      push(member);
  while (!stack.empty()) {
    Operation *outside = stack.pop_back_val();
    // The whole group of an outside op runs together: what any member needs, it needs.
    Group companions = groupAt(outside) < 0 ? Group{outside} : groups[groupAt(outside)].ops;
    for (Operation *companion : companions) {
      if (llvm::any_of(companion->getOperands(),
                       [&](Value v) { return v.getDefiningOp() && isInside(v.getDefiningOp()); }))
        return false;
      push(companion);
    }
  }
  return true;
}

/// Adds `op` to the group of one of its producers, and merges those of the others into it where that is
/// possible.
bool Grouping::joinProducers(Operation *op) {
  SmallVector<size_t> candidates, merged;
  for (Value operand : op->getOperands())
    if (auto it = groupOf.find(operand.getDefiningOp()); operand.getDefiningOp() && it != groupOf.end())
      if (!llvm::is_contained(candidates, it->second))
        candidates.push_back(it->second);
  llvm::sort(candidates, std::greater<>());
  size_t size = 1;
  for (size_t group : candidates) {
    if (!fits(op, groups[group]) || size + groups[group].ops.size() > kMaxGroupSize)
      continue;
    if (!merged.empty() && !groups[merged.front()].space->isFull(groups[group].space->full))
      continue;
    merged.push_back(group);
    if (isClosed(merged, op))
      size += groups[group].ops.size();
    else
      merged.pop_back();
  }
  if (merged.empty())
    return false;
  Members &target = groups[merged.front()];
  for (size_t group : ArrayRef<size_t>(merged).drop_front()) {
    for (Operation *member : groups[group].ops)
      groupOf[member] = merged.front();
    llvm::append_range(target.ops, groups[group].ops);
    groups[group].ops.clear();
    groups[group].space.reset();
  }
  llvm::sort(target.ops,
             [&](Operation *a, Operation *b) { return positions.lookup(a) < positions.lookup(b); });
  target.ops.push_back(op);
  groupOf[op] = merged.front();
  return true;
}

void Grouping::joinLeader(Operation *op, Operation *leader) {
  auto it = groupOf.find(leader);
  if (it == groupOf.end()) {
    it = groupOf.try_emplace(leader, groups.size()).first;
    groups.push_back({{}, std::nullopt});
  }
  size_t group = it->second;
  groups[group].ops.push_back(op);
  groupOf[op] = group;
}

/// Whether a value is computed inside kernels only, so that nobody stores it: all its users are elementwise
/// or sums.
bool isInternal(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) {
    return isa<nn::ElementwiseOp, nn::CastOp, nn::MaskRowsOp, nn::ReduceOp>(user);
  });
}

/// Column sums compute what they sum themselves: cheap producers that nobody stores are copied, so that no
/// temporary of the input's size is written for them. Adds the column sum that each of its ops runs with.
void claimProducers(Block &block, DenseMap<Operation *, Operation *> &claimed) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isColumnSum(&op))
      continue;
    claimed[&op] = &op;
    int budget = 8;
    std::function<void(OpOperand &, Operation *)> claim = [&](OpOperand &use, Operation *before) {
      Operation *producer = use.get().getDefiningOp();
      if (!producer || claimed.contains(producer) || producer->hasAttr(nn::runningSumAttr) ||
          !isCheap(producer) || !isInternal(producer) || budget-- <= 0)
        return;
      OpBuilder builder(before);
      Operation *copy = builder.clone(*producer);
      use.set(copy->getResult(cast<OpResult>(use.get()).getResultNumber()));
      claimed[copy] = &op;
      for (OpOperand &operand : copy->getOpOperands())
        claim(operand, copy);
    };
    claim(op.getOpOperand(0), &op);
  }
}

/// Each group's key where what it is needed for comes first: in tiles, what needs nothing (masks) would all
/// be ready, and run, before a group that ends late.
void inheritKeys(ArrayRef<DenseSet<size_t>> successors, std::vector<int> blockers, std::vector<int> &keys) {
  SmallVector<size_t> order;
  for (size_t i = 0; i < keys.size(); ++i)
    if (blockers[i] == 0)
      order.push_back(i);
  for (size_t at = 0; at < order.size(); ++at)
    for (size_t next : successors[order[at]])
      if (--blockers[next] == 0)
        order.push_back(next);
  for (size_t i : llvm::reverse(order))
    for (size_t next : successors[i])
      keys[i] = std::min(keys[i], keys[next]);
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
  if (llvm::any_of(block, [](Operation &op) { return op.hasAttr(nn::runningSumAttr); }))
    inheritKeys(successors, blockers, keys);
  using Entry = std::pair<int, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i)
    if (blockers[i] == 0 && !groups[i].ops.empty())
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

void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

std::vector<Group> fusedGroups(Block &block, FusedForms forms) {
  materialiseMasks(block);
  DenseMap<Operation *, Operation *> leaders;
  claimBiases(block, /*onlyOfLosses=*/!forms.biases, leaders);
  claimProducers(block, leaders);
  eraseDeadOps(block);
  claimViews(block, leaders);
  eraseDeadOps(block);
  Grouping grouping(block, leaders);
  grouping.run();
  std::vector<Group> groups = grouping.arrange();
  joinParts(block, leaders, groups);
  if (forms.tiles)
    tileColumnSums(block, leaders, groups);
  return groups;
}

} // namespace accum
