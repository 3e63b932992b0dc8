// SPDX-License-Identifier: Apache-2.0
// Slices as variants of a group's first command that the others follow.
#include "passes/Plan/Slices.h"
#include "dialects/NN/NNDialect.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace accum {

namespace {

constexpr int64_t kMostRows = 16384;
constexpr size_t kMostSizes = 3;

DenseI64ArrayAttr slicedResults(Operation *op) {
  return op ? op->getAttrOfType<DenseI64ArrayAttr>("sliced") : DenseI64ArrayAttr();
}

} // namespace

bool isSliced(train::CommandOp command) { return bool(slicedResults(command)); }

bool isHeldInSlices(Value value) {
  while (auto view = value.getDefiningOp<nn::ReshapeOp>())
    value = view.getInput();
  auto results = slicedResults(value.getDefiningOp());
  return results && llvm::is_contained(results.asArrayRef(),
                                       static_cast<int64_t>(cast<OpResult>(value).getResultNumber()));
}

SmallVector<train::CommandOp> slicedCommands(Block &block) {
  SmallVector<train::CommandOp> group;
  for (auto command : block.getOps<train::CommandOp>())
    if (isSliced(command))
      group.push_back(command);
  return group;
}

SmallVector<int64_t> sliceSizes(train::CommandOp leader) {
  int64_t rows = 1;
  for (Value result : leader.getResults())
    if (auto type = cast<RankedTensorType>(result.getType()); isHeldInSlices(result))
      rows = std::max(rows, type.getNumElements() / std::max<int64_t>(1, type.getShape().back()));
  SmallVector<int64_t> sizes = {1};
  while (sizes.size() < kMostSizes && sizes.back() * 4 * rows <= kMostRows)
    sizes.push_back(sizes.back() * 4);
  return sizes;
}

std::string sliceVariant(int64_t samples) { return "slices" + std::to_string(samples); }

int64_t plannedSlice(train::PlanAttr plan, ArrayRef<train::CommandOp> group) {
  if (group.empty() || !plan.getVariant())
    return 0;
  train::CommandOp leader = group.front();
  auto name = plan.getVariant().getAs<StringAttr>(std::to_string(leader.getId()));
  for (int64_t samples : sliceSizes(leader))
    if (name && name.getValue() == sliceVariant(samples))
      return samples < plan.getM() ? samples : 0;
  return 0;
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
  for (int64_t samples : sliceSizes(group.front()))
    for (auto [member, index] : llvm::zip(group, indices)) {
      planner::Command &command = problem.commands[index];
      planner::Variant variant = command.variants.front();
      variant.name = sliceVariant(samples);
      variant.slice = samples;
      variant.results.clear();
      for (int buffer : held)
        if (problem.buffers[buffer].producer == index)
          variant.results.emplace_back(buffer,
                                       planner::Amount{.fixed = problem.buffers[buffer].bytes.at(samples)});
      command.variants.push_back(std::move(variant));
      command.follows = index == first ? planner::kNoIndex : first;
    }
}

} // namespace accum
