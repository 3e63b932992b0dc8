// SPDX-License-Identifier: Apache-2.0
// Steps of commands and their plans -> device.program.
#include "dialects/Train/Outputs.h"
#include "dialects/Train/SplitBatch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Schedule/Lengths.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/StepSchedule.h"
#include "llvm/ADT/SetVector.h"
#include <deque>

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_BUILDPROGRAM
#include "passes/Schedule/Passes.h.inc"

namespace {

/// Steps, one for each length in ascending order, -> one region of the program.
class RegionSchedule {
public:
  /// `firstPhase`: where their phases begin in the program's list.
  RegionSchedule(ArrayRef<SizedStep> steps, Block *top, const StateLayout &layout, size_t firstPhase)
      : region(top, layout), number(firstPhase) {
    for (const SizedStep &sized : steps)
      all.emplace_back(sized.step, sized.plan, region);
  }

  LogicalResult build();

private:
  StepSchedule &largest() { return all.back(); }
  LogicalResult buildLoop(size_t position);
  LogicalResult prepare(StepSchedule &schedule, train::PhaseOp phase);

  ProgramRegion region;
  std::deque<StepSchedule> all;
  size_t number; ///< of the next phase, in the program's list
};

struct BuildProgram : impl::BuildProgramBase<BuildProgram> {
  using BuildProgramBase::BuildProgramBase;
  void runOnOperation() override;
};

} // namespace

/// A phase without commands.
static bool isEmpty(train::PhaseOp phase) {
  return llvm::hasSingleElement(phase.getBlock()) && !phase.getLoop();
}

/// The phases that run once and that `phase` reads, in order; without those that leave it in the state.
static void collectOnce(train::PhaseOp phase, llvm::SetVector<Operation *> &earlier) {
  for (Value value : phase.getCaptures())
    if (auto once = value.getDefiningOp<train::PhaseOp>();
        once && !once.getLoop() && !isEmpty(once) && !once->hasAttr(train::kLeavesInState)) {
      collectOnce(once, earlier);
      earlier.insert(once);
    }
}

/// The arena is other lengths' too: what `phase` needs of those that ran once is computed again.
LogicalResult RegionSchedule::prepare(StepSchedule &schedule, train::PhaseOp phase) {
  llvm::SetVector<Operation *> earlier;
  collectOnce(phase, earlier);
  for (Operation *once : earlier)
    if (failed(schedule.buildOnce(cast<train::PhaseOp>(once))))
      return failure();
  return success();
}

/// One after the other, since what they add up is the same.
LogicalResult RegionSchedule::buildLoop(size_t position) {
  largest().section(largest().getStep().getPhases()[position].getHeading());
  for (StepSchedule &schedule : all) {
    train::PhaseOp phase = schedule.getStep().getPhases()[position];
    if (all.size() > 1 && failed(prepare(schedule, phase)))
      return failure();
    if (failed(schedule.buildLoop(phase, number++)))
      return failure();
  }
  largest().finishLoop(largest().getStep().getPhases()[position]);
  return success();
}

/// The last micro-step of the loop that adds to gradients ends with the step.
LogicalResult RegionSchedule::build() {
  std::optional<size_t> open;
  for (auto [position, phase] : llvm::enumerate(largest().getStep().getPhases())) {
    if (phase.getLoop()) {
      if (failed(buildLoop(position)))
        return failure();
      if (phase.addsGradients())
        open = number - 1;
      continue;
    }
    ++number;
    // By each loop that needs it.
    bool isPrepared = all.size() > 1 && !phase.updates() && !phase->hasAttr(train::kLeavesInState);
    if (isEmpty(phase) || isPrepared || largest().runsInLoop(phase))
      continue;
    if (all.size() > 1 && failed(prepare(largest(), phase)))
      return failure();
    if (failed(largest().buildOnce(phase)))
      return failure();
  }
  if (open)
    device::EndMicroOp::create(region.builder, largest().getStep().getLoc(), static_cast<int64_t>(*open));
  return success();
}

/// What the program says of a step's phases: loops have a row for each length.
/// `part`: `eval`, `predict`, or empty for the step.
static void describePhases(train::StepOp step, StringRef part, size_t lengths,
                           SmallVector<Attribute> &phases) {
  Builder builder(step.getContext());
  for (train::PhaseOp phase : step.getPhases()) {
    SmallVector<NamedAttribute> entries = {builder.getNamedAttr("name", phase.getNameAttr())};
    for (auto [key, isSet] : {std::pair(StringRef("loop"), phase.getLoop()),
                              {"gradients", phase.addsGradients()},
                              {part, !part.empty()}})
      if (isSet)
        entries.push_back(builder.getNamedAttr(key, builder.getUnitAttr()));
    if (lengths == 1 || !phase.getLoop()) {
      phases.push_back(builder.getDictionaryAttr(entries));
      continue;
    }
    for (size_t length = 0; length < lengths; ++length) {
      NamedAttrList row(entries);
      row.set("length", builder.getI64IntegerAttr(static_cast<int64_t>(length)));
      phases.push_back(row.getDictionary(step.getContext()));
    }
  }
}

/// What the program hands out: the slabs. Their micro-batch is bound.
static ArrayAttr describeOutputs(train::StepOp predict, int64_t m) {
  Builder builder(predict.getContext());
  SmallVector<Attribute> outputs;
  for (train::OutputOp output : train::outputsOf(predict)) {
    auto type = cast<RankedTensorType>(output.getValue().getType());
    SmallVector<int64_t> slab(type.getShape());
    slab.front() /= m;
    outputs.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("name", output.getNameAttr()),
         builder.getNamedAttr("type", TypeAttr::get(RankedTensorType::get(slab, type.getElementType())))}));
  }
  return builder.getArrayAttr(outputs);
}

/// The inputs that the runtime binds.
static ArrayAttr boundInputs(train::StepOp step) {
  SmallVector<Attribute> inputs;
  for (auto [input, argument] : llvm::zip(step.getInputs(), step.getBlock().getArguments()))
    if (train::isStaged(argument))
      inputs.push_back(input);
  return ArrayAttr::get(step.getContext(), inputs);
}

/// A run hands over what it can read from files.
static LogicalResult verifyInputs(train::StepOp step) {
  for (auto [input, argument] :
       llvm::zip(step.getInputs().getAsRange<DictionaryAttr>(), step.getBlock().getArguments()))
    if (Type element = cast<RankedTensorType>(argument.getType()).getElementType(); !dtypeOf(element))
      return step.emitError() << "input " << input.getAs<StringAttr>("name") << " has elements of " << element
                              << ", which no run reads [unsupported]";
  return success();
}

static LogicalResult buildProgram(ModuleOp module, train::PlanAttr plan) {
  auto layout = layOutState(module, plan.getDevices());
  if (failed(layout))
    return failure();
  auto state = static_cast<int64_t>(layout->manifest.stateBytes);
  if (state != plan.getState())
    return module.emitError("the plan counts ")
           << plan.getState() << " bytes of state, the layout has " << state;
  SmallVector<SizedStep> parts[] = {stepsByLength(module, "step", plan), stepsByLength(module, "eval", plan),
                                    stepsByLength(module, train::kPredictFunction, plan)};
  train::StepOp step = parts[0].back().step;
  if (failed(verifyInputs(step)))
    return failure();
  SmallVector<Attribute> phases;
  SmallVector<size_t> firstPhases;
  for (auto [part, sized] : llvm::zip_equal(ArrayRef<StringRef>{"", "eval", "predict"}, parts)) {
    firstPhases.push_back(phases.size());
    if (!sized.empty())
      describePhases(sized.back().step, part, sized.size(), phases);
  }
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  ArrayAttr outputs = parts[2].empty() ? ArrayAttr() : describeOutputs(parts[2].back().step, plan.getM());
  auto program = device::ProgramOp::create(
      builder, step.getLoc(), "program", plan.getM(), plan.getDevices(), state, plan.getScratch(),
      boundInputs(step), layout->contents.gradients, layout->contents.scalars, layout->contents.optimizer,
      layout->contents.shard, builder.getArrayAttr(phases), module->getAttrOfType<ArrayAttr>(kLengths),
      outputs);
  Region *regions[] = {&program.getStep(), &program.getEval(), &program.getPredict()};
  for (auto [number, region] : llvm::enumerate(regions)) {
    if (number == 2 && parts[number].empty())
      break;
    Block *block = builder.createBlock(region);
    if (!parts[number].empty() &&
        failed(RegionSchedule(parts[number], block, *layout, firstPhases[number]).build()))
      return failure();
  }
  for (SmallVector<SizedStep> &part : parts)
    for (SizedStep &sized : part)
      sized.step.erase();
  return success();
}

void BuildProgram::runOnOperation() {
  auto plan = getOperation()->getAttrOfType<train::PlanAttr>("train.plan");
  if (!plan)
    getOperation().emitError("has no train.plan");
  if (!plan || failed(buildProgram(getOperation(), plan)))
    signalPassFailure();
}

} // namespace accum
