// SPDX-License-Identifier: Apache-2.0
// Which row kernel takes the first stage of a column sum along.
#include "passes/Fuse/TileSums.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/PlacedBuilder.h"
#include "dialects/NN/Placement.h"
#include "dialects/NN/Views.h"
#include "passes/Fuse/Outline.h"
#include "passes/Fuse/RowSpace.h"

using namespace mlir;

namespace accum {
namespace {

/// Rows of a tile. Fewer: what is written for them would be much of what is spared. More: too few tiles fill
/// a card.
constexpr int64_t kLeastRows = 8, kMostRows = 64;
/// Narrower rows are no cache line of sums.
constexpr int64_t kLeastColumns = 32;
/// Of rows that reduce over themselves, whose columns are held by one block.
constexpr int64_t kMostColumns = 8192;
/// Tile sums of one kernel: each is a register for every column of a thread.
constexpr size_t kMostSums = 4;

/// The largest number of rows in range that cuts `rows` evenly; 0: none does.
int64_t heightOf(int64_t rows) {
  for (int64_t height = std::min(rows, kMostRows); height >= kLeastRows; --height)
    if (rows % height == 0)
      return height;
  return 0;
}

/// Rows one behind the other, those of a sample together.
bool isSampleMajor(RankedTensorType type) {
  auto placement = nn::Placement::of(type);
  return placement.isBatched() && placement.dim == 0 && placement.outer == 1 && type.getRank() >= 2;
}

bool isSumOverRows(nn::ReduceOp sum) {
  auto rows = cast<RankedTensorType>(sum.getInput().getType());
  return isa<FloatType>(rows.getElementType()) && isSampleMajor(rows) &&
         static_cast<int64_t>(sum.getAxes().size()) == rows.getRank() - 1;
}

/// A group that may take sums along.
struct RowKernel {
  Group *ops;
  RowSpace space;       ///< of its largest values
  size_t sums = 0;      ///< that it took along
  bool reduces = false; ///< rows over themselves
  Operation *first;     ///< what stands before it can be read by it

  bool contains(Operation *op) const { return llvm::is_contained(*ops, op); }
};

class Tiling {
public:
  Tiling(Block &block, const DenseMap<Operation *, Operation *> &leaders, std::vector<Group> &groups)
      : leaders(leaders), forward(forwardOps(block)), groups(groups), builder(block.back().getContext()) {}

  void run() {
    for (Group &group : groups)
      if (auto kernel = rowKernelOf(group))
        kernels.push_back(*kernel);
    for (Group &group : groups) {
      auto sum = dyn_cast<nn::ReduceOp>(group.back());
      if (sum && leaders.lookup(sum) == sum && isColumnSum(sum) && isSumOverRows(sum))
        shareSum(group, sum);
    }
  }

private:
  std::optional<RowKernel> rowKernelOf(Group &group) const;
  bool takes(const RowKernel &kernel, const Group &group, nn::ReduceOp sum) const;
  void shareSum(Group &group, nn::ReduceOp sum);
  Value asSeenBy(const RowKernel &kernel, Value value, RankedTensorType rows) const;
  Value rebuild(const RowKernel &kernel, const Group &group, Value value, RankedTensorType rows);
  void cut(RowKernel &kernel, Group &group, nn::ReduceOp sum);

  const DenseMap<Operation *, Operation *> &leaders;
  const llvm::SetVector<Operation *> forward;
  std::vector<Group> &groups;
  std::vector<RowKernel> kernels;
  nn::PlacedBuilder builder;
};

/// Elementwise ops and row reductions over rows of whole samples, which writes such rows.
std::optional<RowKernel> Tiling::rowKernelOf(Group &group) const {
  std::optional<RowSpace> widest;
  bool reduces = false;
  for (Operation *op : group) {
    if (leaders.contains(op) || isa<nn::CrossEntropyOp, nn::CrossEntropyGradOp>(op))
      return std::nullopt;
    if (isa<nn::ReshapeOp>(op))
      continue;
    auto space = isDataMovement(op) ? std::nullopt : rowSpaceOf(op);
    if (!space)
      return std::nullopt;
    if (!widest || space->full.getNumElements() > widest->full.getNumElements())
      widest = space;
    reduces |= isa<nn::ReduceOp, nn::SoftmaxOp, nn::LayerNormOp, nn::RmsNormOp>(op);
  }
  if (!widest || !isSampleMajor(widest->full))
    return std::nullopt;
  int64_t columns = widest->full.getShape().back();
  bool writesRows = false;
  for (Operation *op : group)
    for (Value result : op->getResults()) {
      bool isRead =
          llvm::any_of(result.getUsers(), [&](Operation *user) { return !llvm::is_contained(group, user); });
      if (isRead && !widest->isFull(result.getType()) && !widest->isStatistic(result.getType()))
        return std::nullopt;
      writesRows |= isRead && widest->isFull(result.getType());
    }
  if (!writesRows || columns < kLeastColumns || (reduces && columns > kMostColumns) ||
      heightOf(widest->full.getShape().rbegin()[1]) == 0)
    return std::nullopt;
  return RowKernel{&group, *widest, 0, reduces, group.front()};
}

/// `value`, which a sum over `rows` reads, as this kernel may: a value of whole rows only where it has it
/// anyway. Null: it may not.
Value Tiling::asSeenBy(const RowKernel &kernel, Value value, RankedTensorType rows) const {
  auto type = cast<RankedTensorType>(value.getType());
  RankedTensorType full = kernel.space.full;
  if (type.getNumElements() == rows.getNumElements() && nn::Placement::of(type).isBatched()) {
    Value stored = nn::behindViews(value);
    for (Operation *op : *kernel.ops)
      for (ValueRange known : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
        for (Value each : known)
          if (nn::behindViews(each) == stored && kernel.space.isFull(each.getType()))
            return each;
    return Value();
  }
  bool isSpread = nn::Placement::of(type).isReplicated() && type.getRank() <= 1;
  if (!isSpread && rows.getShape() != full.getShape())
    return Value();
  Operation *producer = value.getDefiningOp();
  bool isThere = !producer || producer->getBlock() != kernel.first->getBlock() ||
                 producer->isBeforeInBlock(kernel.first) || kernel.contains(producer);
  return isThere ? value : Value();
}

/// What the ops of `group` before the sum are made of can be read by the kernel.
bool Tiling::takes(const RowKernel &kernel, const Group &group, nn::ReduceOp sum) const {
  auto rows = cast<RankedTensorType>(sum.getInput().getType());
  RankedTensorType full = kernel.space.full;
  if (kernel.sums >= kMostSums || full.getNumElements() != rows.getNumElements() ||
      full.getShape().back() != rows.getShape().back() ||
      forward.contains(sum) != forward.contains(kernel.first))
    return false;
  for (Operation *user : sum->getUsers())
    if (user->getBlock() == sum->getBlock() && user->isBeforeInBlock(kernel.ops->back()))
      return false;
  return llvm::all_of(group, [&](Operation *op) {
    bool isCopied = op == sum || isa<nn::ElementwiseOp, nn::CastOp>(op);
    return isCopied && llvm::all_of(op->getOperands(), [&](Value operand) {
             return llvm::is_contained(group, operand.getDefiningOp()) || asSeenBy(kernel, operand, rows);
           });
  });
}

Value Tiling::rebuild(const RowKernel &kernel, const Group &group, Value value, RankedTensorType rows) {
  Operation *op = value.getDefiningOp();
  if (!llvm::is_contained(group, op))
    return asSeenBy(kernel, value, rows);
  auto operands =
      llvm::map_to_vector(op->getOperands(), [&](Value each) { return rebuild(kernel, group, each, rows); });
  if (auto elementwise = dyn_cast<nn::ElementwiseOp>(op))
    return nn::ElementwiseOp::create(builder, op->getLoc(), elementwise.getFn(), operands);
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return nn::CastOp::create(builder, op->getLoc(), operands.front(), element);
}

/// The kernel adds up tiles, `group` the tiles.
void Tiling::cut(RowKernel &kernel, Group &group, nn::ReduceOp sum) {
  Location loc = sum.getLoc();
  Operation *last = kernel.ops->back();
  builder.setInsertionPointAfter(last);
  Value rows = rebuild(kernel, group, sum.getInput(), cast<RankedTensorType>(sum.getInput().getType()));
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<int64_t> tiles(type.getShape());
  int64_t axis = type.getRank() - 2, height = heightOf(tiles[axis]);
  tiles[axis] /= height;
  tiles.insert(tiles.end() - 1, height);
  auto view = nn::ReshapeOp::create(
      builder, loc, nn::Placement::of(type).place(RankedTensorType::get(tiles, type.getElementType())), rows);
  auto partial = nn::ReduceOp::create(builder, loc, nn::ReduceKind::sum, view, {axis + 1});
  for (Operation *op = last->getNextNode(); op != partial->getNextNode(); op = op->getNextNode())
    kernel.ops->push_back(op);
  ++kernel.sums;
  if (last->isBeforeInBlock(sum))
    builder.setInsertionPoint(sum);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, axis + 1));
  auto total = nn::ReduceOp::create(builder, loc, nn::ReduceKind::sum, partial, axes);
  sum.getResult().replaceAllUsesWith(total);
  for (Operation *op : llvm::reverse(group))
    op->erase();
  group = {total};
}

void Tiling::shareSum(Group &group, nn::ReduceOp sum) {
  for (RowKernel &kernel : kernels)
    if (takes(kernel, group, sum))
      return cut(kernel, group, sum);
}

} // namespace

void tileColumnSums(Block &block, const DenseMap<Operation *, Operation *> &leaders,
                    std::vector<Group> &groups) {
  Tiling(block, leaders, groups).run();
}

} // namespace accum
