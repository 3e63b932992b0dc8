// SPDX-License-Identifier: Apache-2.0
// Yield targets, sorted by who comes first.
#include "passes/Schedule/Contributions.h"
#include "dialects/NN/Views.h"
#include "passes/Schedule/ProgramBuffers.h"

using namespace mlir;

namespace accum {

static bool accumulates(train::CommandOp command, unsigned result) {
  return llvm::is_contained(command.getAccumulate(), static_cast<int64_t>(result));
}

FailureOr<Contributions> Contributions::of(Block &body) {
  Contributions contributions;
  auto yield = cast<train::YieldOp>(body.getTerminator());
  if (yield.getValues().size() != yield.getTargets().size())
    return yield.emitOpError("names ")
           << yield.getTargets().size() << " targets for " << yield.getValues().size() << " values";
  for (auto [value, target] : llvm::zip(yield.getValues(), yield.getTargets())) {
    auto result = dyn_cast<OpResult>(nn::behindViews(value));
    auto command = result ? dyn_cast<train::CommandOp>(result.getOwner()) : train::CommandOp();
    if (!command || !accumulates(command, result.getResultNumber()))
      return yield.emitOpError("value for ") << target << " is not accumulated by a command";
    if (!contributions.targets.try_emplace(result, target).second)
      return command.emitOpError("result is yielded twice");
  }
  DenseSet<Attribute> seen;
  DenseSet<std::pair<Operation *, Attribute>> added;
  for (auto command : body.getOps<train::CommandOp>())
    for (int64_t i : command.getAccumulate()) {
      Attribute target = contributions.targets.lookup(command->getResult(i));
      if (!target)
        return command.emitOpError("accumulates result ") << i << ", which is not yielded";
      if (!added.insert({command, target}).second)
        return command.emitOpError("accumulates two results in ") << target;
      if (seen.insert(target).second)
        contributions.first.insert(command->getResult(i));
    }
  return contributions;
}

bool Contributions::isMixed(train::CommandOp command) const {
  auto isFirst = [&](int64_t i) { return first.contains(command->getResult(i)); };
  return llvm::any_of(command.getAccumulate(), isFirst) && !llvm::all_of(command.getAccumulate(), isFirst);
}

std::optional<device::Update> Contributions::update(train::CommandOp command) const {
  if (command.getAccumulate().empty())
    return std::nullopt;
  bool writes = !isMixed(command) && first.contains(command->getResult(command.getAccumulate().front()));
  return writes ? device::Update::accumulate : device::Update::add;
}

SmallVector<OpResult> Contributions::zeroed(train::CommandOp command) const {
  SmallVector<OpResult> results;
  if (isMixed(command))
    for (int64_t i : command.getAccumulate())
      if (first.contains(command->getResult(i)))
        results.push_back(command->getResult(i));
  return results;
}

} // namespace accum
