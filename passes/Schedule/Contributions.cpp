// SPDX-License-Identifier: Apache-2.0
// Yield targets, sorted by who comes first.
#include "passes/Schedule/Contributions.h"
#include "dialects/NN/Views.h"
#include "passes/Schedule/ProgramBuffers.h"
#include "passes/Schedule/SliceKernels.h"

using namespace mlir;

namespace accum {

static bool accumulates(train::CommandOp command, unsigned result) {
  return llvm::is_contained(command.getAccumulate(), static_cast<int64_t>(result));
}

FailureOr<Contributions> Contributions::of(Block &body, bool scatters,
                                           function_ref<bool(Attribute)> isBegun) {
  Contributions contributions;
  contributions.scatters = scatters;
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
      if (!(isBegun && isBegun(target)) && seen.insert(target).second)
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
  if (writes && writesEach(command))
    return device::Update::write;
  return writes ? device::Update::accumulate : device::Update::add;
}

bool Contributions::isGradient(OpResult result) const {
  return isa_and_nonnull<FlatSymbolRefAttr>(targets.lookup(result));
}

bool Contributions::hasTarget(StringRef parameter) const {
  return llvm::any_of(targets, [&](const auto &entry) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(entry.second);
    return symbol && symbol.getValue() == parameter;
  });
}

/// In slices the first one of a micro-step would write, which no flag says.
bool Contributions::writesEach(train::CommandOp command) const {
  return scatters && !command.getSlice() &&
         llvm::all_of(command.getAccumulate(), [&](int64_t i) { return isGradient(command->getResult(i)); });
}

SmallVector<OpResult> Contributions::zeroed(train::CommandOp command) const {
  SmallVector<OpResult> results;
  for (int64_t i : command.getAccumulate()) {
    OpResult result = command->getResult(i);
    bool isLate = scatters && isGradient(result) && !writesEach(command);
    if (first.contains(result) && (isMixed(command) || isLate))
      results.push_back(result);
  }
  return results;
}

} // namespace accum
