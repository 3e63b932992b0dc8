// SPDX-License-Identifier: Apache-2.0
// Slices as variants of a group's first command that the others follow.
#include "passes/Plan/Slices.h"
#include "dialects/NN/Views.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace accum {

namespace {

constexpr int64_t kMostRows = 16384;
constexpr int64_t kMostRowsOfPiece = 1024, kFewestRows = 8;
constexpr size_t kMostSizes = 5;

std::optional<ArrayRef<int64_t>> slicedResults(Operation *op) {
  auto command = dyn_cast_if_present<train::CommandOp>(op);
  return command ? command.getSliced() : std::nullopt;
}

} // namespace

bool isSliced(train::CommandOp command) { return command.getSliced().has_value(); }

bool isHeldInSlices(Value value) {
  value = nn::behindViews(value);
  auto results = slicedResults(value.getDefiningOp());
  return results &&
         llvm::is_contained(*results, static_cast<int64_t>(cast<OpResult>(value).getResultNumber()));
}

SmallVector<train::CommandOp> slicedCommands(Block &block) {
  SmallVector<train::CommandOp> group;
  for (auto command : block.getOps<train::CommandOp>())
    if (isSliced(command))
      group.push_back(command);
  return group;
}

std::string SliceSize::name() const {
  return pieces == 1 ? "slices" + std::to_string(samples) : "pieces" + std::to_string(pieces);
}

int64_t rowsToCut(train::CommandOp leader) { return static_cast<int64_t>(leader.getRows().value_or(0)); }

/// Into how many pieces of so many rows `rows` are cut, none of them empty.
static int64_t piecesOf(int64_t rows, int64_t each) { return llvm::divideCeil(rows, each); }

/// The fewest pieces that are small enough, of nearly equal rows; 1 where there are too few rows to cut.
static int64_t piecesOf(int64_t rows) {
  if (rows < kFewestRows)
    return 1;
  int64_t least = piecesOf(rows, std::min<int64_t>(kMostRowsOfPiece, llvm::divideCeil(rows, 4)));
  return piecesOf(rows, llvm::divideCeil(rows, least));
}

SmallVector<SliceSize> sliceSizes(train::CommandOp leader) {
  int64_t rows = 1;
  for (Value result : leader.getResults())
    if (auto type = cast<RankedTensorType>(result.getType()); isHeldInSlices(result))
      rows = std::max(rows, type.getNumElements() / std::max<int64_t>(1, type.getShape().back()));
  SmallVector<SliceSize> sizes;
  int64_t pieces = piecesOf(rowsToCut(leader));
  if (pieces > 1)
    sizes.push_back({1, pieces});
  if (pieces > 2) // between a sample and its quarters a product loses the most
    sizes.push_back({1, piecesOf(rowsToCut(leader), llvm::divideCeil(rowsToCut(leader), (pieces + 1) / 2))});
  for (int64_t samples = 1; sizes.size() < kMostSizes && (samples == 1 || samples * rows <= kMostRows);
       samples *= 4)
    sizes.push_back({samples});
  return sizes;
}

SliceSize plannedSlice(train::PlanAttr plan, ArrayRef<train::CommandOp> group) {
  if (group.empty() || !plan.getVariant())
    return {};
  train::CommandOp leader = group.front();
  auto name = plan.getVariant().getAs<StringAttr>(std::to_string(leader.getId()));
  for (SliceSize size : sliceSizes(leader))
    if (name && name.getValue() == size.name() && !size.isWhole(plan.getM()))
      return size;
  return {};
}

/// Of a value that is held for one slice only.
static int64_t heldBytes(const planner::Buffer &buffer, SliceSize size, int64_t rows) {
  int64_t whole = buffer.bytes.at(size.samples);
  return size.pieces > 1 ? llvm::divideCeil(whole, rows) * size.rowsOfPiece(rows) : whole;
}

void addSliceVariants(ArrayRef<train::CommandOp> group, ArrayRef<int> indices, planner::Problem &problem) {
  if (group.empty())
    return;
  int first = indices.front(), last = indices.back();
  SmallVector<int> held; // buffers that are held in slices
  for (auto [index, buffer] : llvm::enumerate(problem.buffers)) {
    auto isMember = [&](int command) { return command >= first && command <= last; };
    bool made = isMember(buffer.producer), read = llvm::any_of(buffer.users, isMember);
    if (!made && !read)
      continue;
    train::CommandOp producer;
    if (made)
      producer = group[buffer.producer - first];
    auto number = StringRef(buffer.id).rsplit(':').second;
    int64_t result = 0;
    if (made && !number.getAsInteger(10, result) && isHeldInSlices(producer->getResult(result))) {
      held.push_back(static_cast<int>(index));
      llvm::erase_if(buffer.mayAlias, [&](int operand) { return !llvm::is_contained(held, operand); });
      continue;
    }
    if (made) {
      buffer.producer = first;
      buffer.mayAlias.clear();
    }
    if (llvm::none_of(buffer.users, [&](int user) { return user == last; }))
      buffer.users.insert(llvm::upper_bound(buffer.users, last), last);
  }
  int64_t rows = rowsToCut(group.front());
  for (SliceSize size : sliceSizes(group.front()))
    for (auto [member, index] : llvm::zip(group, indices)) {
      planner::Command &command = problem.commands[index];
      planner::Variant variant = command.variants.front();
      variant.name = size.name();
      variant.slice = size.samples;
      variant.pieces = size.pieces;
      variant.results.clear();
      for (int buffer : held)
        if (problem.buffers[buffer].producer == index)
          variant.results.emplace_back(
              buffer, planner::Amount{.fixed = heldBytes(problem.buffers[buffer], size, rows)});
      command.variants.push_back(std::move(variant));
      command.follows = index == first ? planner::kNoIndex : first;
    }
}

} // namespace accum
