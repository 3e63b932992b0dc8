// SPDX-License-Identifier: Apache-2.0
// Lines of the state, gradients, and tokens.
#include "compiler/Driver/StepProblem.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/SplitBatch.h"
#include "runtime/artifact/Optimizers.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace accum::driver {

/// What all layers read (a mask) would be gathered for each of them.
static constexpr size_t kFewReaders = 4;

llvm::StringSet<> frozenInParts(ModuleOp module) {
  llvm::StringSet<> elsewhere;
  llvm::StringMap<size_t> readers; // in the step that has most
  for (auto step : module.getOps<train::StepOp>()) {
    llvm::StringMap<llvm::SmallPtrSet<Operation *, 4>> commands;
    step.walk([&](train::CommandOp command) {
      for (Value input : command.getInputs()) {
        auto load = nn::behindViews(input).getDefiningOp<train::LoadParamOp>();
        if (!load)
          continue;
        auto phase = cast<train::PhaseOp>(command->getParentOp());
        if (phase == step.getMainLoop())
          commands[load.getParam()].insert(command);
        else if (phase.getLoop() || phase.updates())
          elsewhere.insert(load.getParam());
      }
    });
    for (auto &entry : commands)
      readers[entry.getKey()] = std::max<size_t>(readers[entry.getKey()], entry.getValue().size());
  }
  llvm::StringSet<> names;
  for (auto param : module.getOps<train::ParamOp>()) {
    StringRef name = param.getSymName();
    size_t count = readers.lookup(name);
    if (!param.getTrained() && cast<RankedTensorType>(param.getType()).getRank() >= 2 && count > 0 &&
        count <= kFewReaders && !elsewhere.contains(name))
      names.insert(name);
  }
  return names;
}

int64_t rowBytes(ModuleOp module, const StateLayout &layout) {
  int64_t bytes = 0;
  if (train::splitBatchOf(module))
    for (auto entry : layout.contents.scalars.getAsRange<DictionaryAttr>())
      if (auto type = cast<RankedTensorType>(entry.getAs<TypeAttr>("type").getValue());
          type.getNumElements() > 1)
        bytes += static_cast<int64_t>(
            llvm::alignTo(device::bytesOf(type), static_cast<uint64_t>(device::kStateAlignment)));
  return bytes;
}

void addStateLines(const runtime::Manifest &manifest, const llvm::StringSet<> &inParts, int64_t rows,
                   planner::Problem &problem) {
  int64_t trained = 0, frozen = 0, cut = 0, slots = 0, average = 0;
  for (const runtime::ParameterSpec &param : manifest.params) {
    auto bytes = static_cast<int64_t>(param.bytes());
    (param.trained ? trained : inParts.contains(param.onnxName) ? cut : frozen) += bytes;
    for (const runtime::SlotSpec &slot : param.slots)
      (slot.name == runtime::kAverage ? average : slots) += static_cast<int64_t>(param.bytes(slot));
    problem.largestParameter = std::max(problem.largestParameter, param.trained ? bytes : 0);
  }
  auto gradients = static_cast<int64_t>(manifest.gradients.bytes);
  auto rest =
      static_cast<int64_t>(manifest.stateBytes) - trained - frozen - cut - slots - average - gradients - rows;
  using planner::StateRole;
  auto add = [&](const std::string &name, int64_t bytes, StateRole role = StateRole::Other) {
    if (bytes != 0)
      problem.fixed.push_back({planner::FixedKind::State, name, {.fixed = bytes}, role});
  };
  std::string type = manifest.gradients.dtype == ACCUM_F64 ? "f64" : "f32";
  add("weights " + type, trained, StateRole::Parameters);
  add("frozen weights", cut, StateRole::Frozen);
  add("frozen tensors", frozen);
  add("gradients " + type, gradients, StateRole::Gradients);
  // Where tensors are updated whole, their small state is everywhere.
  const runtime::OptimizerSpec &optimizer = *runtime::findOptimizer(manifest.optimizer);
  StateRole slotRole = optimizer.isByTensor() ? StateRole::Other : StateRole::Optimizer;
  problem.wholeUpdate = optimizer.isByTensor() ? 1 : 0;
  add(optimizer.baseName() + " state", slots, slotRole);
  add("EMA of weights " + type, average, slotRole);
  add("rows of the batch", rows);
  add(planner::kAlignmentLine, rest);
}

void orderParameters(const runtime::Manifest &manifest, const llvm::StringSet<> &inParts,
                     planner::Problem &problem) {
  llvm::StringMap<planner::Parameter> known;
  for (planner::Parameter &parameter : problem.parameters)
    known[parameter.label] = parameter;
  problem.parameters.clear();
  for (const runtime::ParameterSpec &spec : manifest.params)
    if (spec.trained || inParts.contains(spec.onnxName)) {
      auto found = known.find(spec.onnxName);
      planner::Parameter parameter = found == known.end() ? planner::Parameter{} : found->second;
      parameter.bytes =
          static_cast<int64_t>(llvm::alignTo(spec.bytes(), static_cast<uint64_t>(device::kStateAlignment)));
      parameter.label = spec.onnxName;
      (spec.trained ? problem.parameters : problem.frozen).push_back(std::move(parameter));
    }
}

void noteReadAs(std::vector<planner::Problem> &steps) {
  for (size_t number = 0; number < steps.front().parameters.size(); ++number) {
    bool isCopied = false, isRead = false;
    for (const planner::Problem &step : steps) {
      isCopied |= !step.parameters[number].copyReaders.empty();
      isRead |= !step.parameters[number].readers.empty();
    }
    for (planner::Problem &step : steps)
      step.parameters[number].readAs = !isCopied ? planner::ReadAs::Itself
                                       : isRead  ? planner::ReadAs::Both
                                                 : planner::ReadAs::Copy;
  }
}

int64_t tokensPerSample(train::StepOp step) {
  auto type = dyn_cast<RankedTensorType>(step.getBlock().getArgument(0).getType());
  bool isTokens = type && type.getRank() == 2 && type.getElementType().isInteger(64);
  return isTokens ? type.getNumElements() / train::wholeBatchOf(step->getParentOp()).value_or(1) : 0;
}

} // namespace accum::driver
