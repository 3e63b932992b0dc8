// SPDX-License-Identifier: Apache-2.0
// Numbers commands and gradients for the planner's rule, and makes places of its answer.
#include "passes/Schedule/GradientSums.h"
#include "compiler/Planner/Time/GradientBuckets.h"
#include "passes/Schedule/SliceKernels.h"

using namespace mlir;

namespace accum {
namespace {

/// Trained parameters in the order of the state, with the bytes that each takes there.
struct Gradients {
  SmallVector<const runtime::ParameterSpec *> specs;
  llvm::StringMap<size_t> number;
  std::vector<int64_t> bytes;

  explicit Gradients(const StateLayout &layout) {
    for (const runtime::ParameterSpec &spec : layout.manifest.params) {
      if (!spec.trained)
        continue;
      number[spec.onnxName] = specs.size();
      specs.push_back(&spec);
      bytes.push_back(
          static_cast<int64_t>(llvm::alignTo(spec.bytes(), static_cast<uint64_t>(device::kStateAlignment))));
    }
  }
};

/// Commands that are done at once: one, or neighbours that run in slices.
SmallVector<SmallVector<train::CommandOp>> unitsOf(Block &body) {
  SmallVector<SmallVector<train::CommandOp>> units;
  bool inSlices = false;
  for (auto command : body.getOps<train::CommandOp>()) {
    bool isSliced = command.getSlice().has_value();
    if (!isSliced || !inSlices)
      units.emplace_back();
    units.back().push_back(command);
    inSlices = isSliced;
  }
  return units;
}

} // namespace

/// The last of the commands behind which a unit's gradients are final; nothing where none contributes.
static std::optional<size_t> finalAfterAll(const StateLayout::Unit &unit,
                                           const std::vector<size_t> &finalAfter) {
  std::optional<size_t> last;
  for (size_t i = unit.first; i < unit.first + unit.count; ++i)
    if (finalAfter[i] != planner::kNeverFinal)
      last = std::max(last.value_or(0), finalAfter[i]);
  return last;
}

GradientSums::GradientSums(Block &body, const Contributions &contributions, const StateLayout &layout,
                           const ProgramBuffers &buffers) {
  Gradients gradients(layout);
  auto units = unitsOf(body);
  std::vector<size_t> finalAfter(gradients.bytes.size(), planner::kNeverFinal);
  for (auto [i, unit] : llvm::enumerate(units))
    for (train::CommandOp command : unit)
      for (OpResult result : command->getResults())
        if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(contributions.target(result)))
          finalAfter[gradients.number.lookup(symbol.getValue())] = i;
  size_t end = units.empty() ? 0 : units.size() - 1;
  for (auto [i, unit] : llvm::enumerate(layout.units))
    if (auto last = finalAfterAll(unit, finalAfter); last && *last < end)
      places[units[*last].back()].push_back(buffers.whole("gradient", i));
  if (!layout.units.empty())
    return;
  for (const planner::GradientBucket &bucket : planner::gradientBuckets(gradients.bytes, finalAfter, end)) {
    const runtime::ParameterSpec &first = *gradients.specs[bucket.first],
                                 &last = *gradients.specs[bucket.last];
    std::string label = "gradients of " + first.onnxName;
    if (bucket.first != bucket.last)
      label += " to " + last.onnxName;
    places[units[bucket.after].back()].push_back(
        ProgramBuffers::gradientRange(layout, body.getParentOp()->getContext(), first.gradOffset,
                                      static_cast<uint64_t>(bucket.bytes), std::move(label)));
  }
}

ArrayRef<Place> GradientSums::behind(train::CommandOp command) const {
  auto it = places.find(command);
  return it == places.end() ? ArrayRef<Place>() : ArrayRef<Place>(it->second);
}

} // namespace accum
