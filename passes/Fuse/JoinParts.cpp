// SPDX-License-Identifier: Apache-2.0
// Only where the reader computes element by element: a row reduction would compute its operand's elements
// once for each of its loops.
#include "passes/Fuse/JoinParts.h"
#include "dialects/NN/NNDialect.h"
#include "passes/Fuse/RowSpace.h"

using namespace mlir;

namespace accum {
namespace {

/// Members of a joined group: index arithmetic of a kernel grows with each part.
constexpr size_t kMostMembers = 16;

bool areOnes(ArrayRef<int64_t> strides) {
  return llvm::all_of(strides, [](int64_t stride) { return stride == 1; });
}

/// Where rows stay rows, neighbours stay neighbours.
bool keepsLastAxis(nn::TransposeOp op) {
  ArrayRef<int64_t> order = op.getPerm();
  return !order.empty() && order.back() == static_cast<int64_t>(order.size()) - 1;
}

bool movesRuns(Operation *op) {
  if (auto slice = dyn_cast<nn::SliceOp>(op))
    return areOnes(slice.getStrides());
  if (auto transpose = dyn_cast<nn::TransposeOp>(op))
    return keepsLastAxis(transpose);
  return isa<nn::ConcatOp, nn::PadOp>(op);
}

class Joining {
public:
  Joining(Block &block, const DenseMap<Operation *, Operation *> &leaders, std::vector<Group> &groups)
      : leaders(leaders), forward(forwardOps(block)), groups(groups) {
    for (auto [number, group] : llvm::enumerate(groups))
      for (Operation *op : group)
        groupOf[op] = number;
  }

  /// From the last to the first, so that a chain of parts ends in one group.
  void run() {
    for (size_t part = groups.size(); part-- > 0;)
      if (std::optional<size_t> reader = readerOf(part))
        join(part, *reader);
    llvm::erase_if(groups, [](const Group &group) { return group.empty(); });
  }

private:
  bool isPart(const Group &group) const {
    return llvm::all_of(
        group, [&](Operation *op) { return !leaders.contains(op) && (isCheap(op) || movesRuns(op)); });
  }
  bool computesByElement(const Group &group) const {
    return llvm::all_of(group, [&](Operation *op) {
      return !leaders.contains(op) && (isCheap(op) || isa<nn::ElementwiseOp>(op) || movesRuns(op));
    });
  }
  std::optional<size_t> readerOf(size_t part) const;
  void join(size_t part, size_t reader);

  const DenseMap<Operation *, Operation *> &leaders;
  const llvm::SetVector<Operation *> forward;
  std::vector<Group> &groups;
  DenseMap<Operation *, size_t> groupOf;
};

/// The one group that reads what `part` computes, if the two can be one. Elementwise ops on the same rows
/// have met already: something moves in one of the two.
std::optional<size_t> Joining::readerOf(size_t part) const {
  const Group &own = groups[part];
  std::optional<size_t> reader;
  for (Operation *op : own)
    for (Operation *user : op->getUsers()) {
      auto it = groupOf.find(user);
      if (it == groupOf.end() || (it->second != part && reader.value_or(it->second) != it->second))
        return std::nullopt;
      if (it->second != part)
        reader = it->second;
    }
  if (!reader || !isPart(own) || !computesByElement(groups[*reader]))
    return std::nullopt;
  const Group &its = groups[*reader];
  bool moves = llvm::any_of(own, movesRuns) || llvm::any_of(its, movesRuns);
  bool sameSide = forward.contains(own.front()) == forward.contains(its.front());
  return moves && sameSide && own.size() + its.size() <= kMostMembers ? reader : std::nullopt;
}

/// Nothing lies between a part and its only reader that needs the part: it can be moved there.
void Joining::join(size_t part, size_t reader) {
  Group joined = std::move(groups[part]);
  for (Operation *op : joined) {
    op->moveBefore(groups[reader].front());
    groupOf[op] = reader;
  }
  llvm::append_range(joined, groups[reader]);
  groups[reader] = std::move(joined);
  groups[part].clear();
}

} // namespace

void joinParts(Block &block, const DenseMap<Operation *, Operation *> &leaders, std::vector<Group> &groups) {
  Joining(block, leaders, groups).run();
}

} // namespace accum
