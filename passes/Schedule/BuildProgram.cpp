// SPDX-License-Identifier: Apache-2.0
// Steps of commands and a plan -> device.program.
#include "dialects/Train/Phases.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Schedule/CommandSchedule.h"
#include "passes/Schedule/GradientSums.h"
#include "passes/Schedule/OffloadMoves.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/UnitTransfers.h"
#include "passes/Schedule/UpdateSchedule.h"
#include "passes/Schedule/WholeUnits.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_BUILDPROGRAM
#include "passes/Schedule/Passes.h.inc"

namespace {

using device::Space;

/// One step op -> one region of the program.
class StepSchedule {
public:
  /// `firstPhase`: where its phases begin in the program's list.
  StepSchedule(train::StepOp step, Block *top, const StateLayout &layout, train::PlanAttr plan,
               size_t firstPhase)
      : step(step), firstPhase(firstPhase), layout(layout), plan(plan), builder(OpBuilder::atBlockEnd(top)),
        buffers(layout, top), commands(plan, buffers, builder), offload(layout, buffers, builder),
        transfers(step, layout, buffers, offload, builder),
        wholeUnits(layout, buffers, offload, transfers, builder) {}

  LogicalResult build();

private:
  LogicalResult buildLoop(train::PhaseOp phase, size_t number);
  LogicalResult buildOnce(train::PhaseOp phase);
  LogicalResult buildUpdate(train::PhaseOp phase);
  void reduceScalars(train::PhaseOp phase);
  LogicalResult verifyPlaces(const UnitMoves &moves);
  void reduceGradients();
  void gatherParameters(size_t unit, bool start);
  /// Devices update parts of parameters that all of them have.
  bool gathersUpdated() const {
    return layout.isSharded() && !layout.hasPartsOf("parameter") && !layout.updatesWholeUnits();
  }

  void section(StringRef title) { device::SectionOp::create(builder, step.getLoc(), title); }
  Place placeOfInput(BlockArgument input);
  FailureOr<Place> placeOfResult(OpResult result);
  LogicalResult placeCaptures(train::PhaseOp phase);
  LogicalResult runLoop(train::PhaseOp phase, size_t number);

  train::StepOp step;
  size_t firstPhase;
  const StateLayout &layout;
  train::PlanAttr plan;
  OpBuilder builder;
  ProgramBuffers buffers;
  CommandSchedule commands;
  OffloadMoves offload;
  UnitTransfers transfers;
  WholeUnits wholeUnits;
};

struct BuildProgram : impl::BuildProgramBase<BuildProgram> {
  using BuildProgramBase::BuildProgramBase;
  void runOnOperation() override;
};

} // namespace

/// Inputs are in the manifest's order; rng is the runtime's seed and step.
Place StepSchedule::placeOfInput(BlockArgument input) {
  StringRef made = train::madeInput(input);
  auto type = cast<RankedTensorType>(input.getType());
  Space space = made == "rng" ? Space::rng : made == "hyper" ? Space::hyper : Space::input;
  int64_t number = train::isStaged(input) ? input.getArgNumber() : 0;
  return {space, number, type, train::inputName(input).str()};
}

/// A loop leaves sums in the state, other phases leave what their commands wrote.
FailureOr<Place> StepSchedule::placeOfResult(OpResult result) {
  auto phase = cast<train::PhaseOp>(result.getOwner());
  unsigned number = result.getResultNumber();
  if (phase.getLoop())
    return buffers.target(phase.getAccumulators()[number], cast<RankedTensorType>(result.getType()));
  if (const Place *place = buffers.find(phase.getYield().getValues()[number]))
    return *place;
  return phase.emitOpError("yields a value that is in no buffer");
}

LogicalResult StepSchedule::placeCaptures(train::PhaseOp phase) {
  for (auto [argument, value] : llvm::zip(phase.getBlock().getArguments(), phase.getCaptures())) {
    auto input = dyn_cast<BlockArgument>(value);
    FailureOr<Place> place = input ? placeOfInput(input) : placeOfResult(cast<OpResult>(value));
    if (failed(place))
      return failure();
    buffers.place(argument, *place);
  }
  return success();
}

LogicalResult StepSchedule::runLoop(train::PhaseOp phase, size_t number) {
  Block &body = phase.getBlock();
  bool adds = phase.addsGradients(), scatters = adds && layout.hasPartsOf("gradient");
  auto contributions = Contributions::of(body, scatters);
  if (failed(contributions))
    return failure();
  UnitMoves moves(body, adds ? &*contributions : nullptr, layout);
  if (failed(verifyPlaces(moves)))
    return failure();
  auto loop = device::ForMicroOp::create(builder, step.getLoc(), static_cast<int64_t>(number));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(builder.createBlock(&loop.getBody()));
  buffers.enterLoop();
  std::optional<GradientSums> sums;
  if (adds && plan.getDevices() > 1 && !scatters)
    sums.emplace(body, *contributions, layout, buffers);
  auto begin = [&](train::CommandOp command) {
    transfers.bringParameters(command, moves);
    transfers.makeRoom(command, moves, *contributions);
  };
  LogicalResult result = commands.runAll(body, &*contributions, begin, [&](train::CommandOp command) {
    transfers.scatterGradients(command, moves);
    for (const Place &run : sums ? sums->behind(command) : ArrayRef<Place>()) {
      Value range = buffers.at(run, builder, command.getLoc());
      if (!layout.isSharded())
        device::StartAllReduceOp::create(builder, command.getLoc(), range);
      else
        device::ReduceScatterOp::create(builder, command.getLoc(), range, /*start=*/true, /*if_last=*/true);
    }
  });
  buffers.leaveLoop();
  return result;
}

/// The planner counted places for what is here.
LogicalResult StepSchedule::verifyPlaces(const UnitMoves &moves) {
  if (moves.gatheredBytes() <= layout.gatheredBytes && moves.scatteredBytes() <= layout.scatteredBytes)
    return success();
  return step.emitError("the plan has ")
         << layout.gatheredBytes << " and " << layout.scatteredBytes
         << " bytes for gathered parameters and scattered gradients, which take " << moves.gatheredBytes()
         << " and " << moves.scatteredBytes();
}

/// One call each; a total or a loss is a few bytes.
void StepSchedule::reduceScalars(train::PhaseOp phase) {
  train::YieldOp yield = phase.getYield();
  DenseSet<Attribute> seen;
  for (auto [value, target] : llvm::zip(yield.getValues(), yield.getTargets())) {
    if (!isa<StringAttr>(target) || !seen.insert(target).second)
      continue;
    Place place = buffers.target(target, cast<RankedTensorType>(value.getType()));
    device::AllReduceOp::create(builder, step.getLoc(), buffers.at(place, builder, step.getLoc()));
  }
}

LogicalResult StepSchedule::buildLoop(train::PhaseOp phase, size_t number) {
  section(phase.getHeading());
  if (failed(runLoop(phase, number)))
    return failure();
  if (phase == step.getMainLoop())
    section("sums over devices");
  reduceScalars(phase);
  if (phase.addsGradients())
    reduceGradients();
  return success();
}

LogicalResult StepSchedule::buildOnce(train::PhaseOp phase) {
  Block &body = phase.getBlock();
  section(phase.getHeading());
  for (auto command : body.getOps<train::CommandOp>())
    if (auto unit = command.getCopiesUnit()) {
      auto type = cast<RankedTensorType>(command.getResult(0).getType());
      buffers.place(command.getResult(0), rowsOf(buffers.copiedPart(*unit), type));
      if (failed(offload.placeCopied(command)))
        return failure();
    }
  UnitMoves moves(body, nullptr, layout);
  if (failed(verifyPlaces(moves)))
    return failure();
  return commands.runAll(body, nullptr, [&](train::CommandOp command) {
    transfers.bringParameters(command, moves);
    offload.fetchCopied(command);
  });
}

/// All devices have all gradients, or each one its part.
void StepSchedule::reduceGradients() {
  Location loc = step.getLoc();
  if (!layout.isSharded()) {
    Place all = buffers.gradients();
    if (all.contents.getNumElements() == 0)
      return;
    Value range = buffers.at(all, builder, loc);
    device::AllReduceOp::create(builder, loc, range);
    device::InspectGradientsOp::create(builder, loc, range, /*part=*/false, /*last=*/true);
    return;
  }
  size_t units = layout.units.size();
  for (size_t unit = 0; unit < units && !layout.hasPartsOf("gradient"); ++unit)
    device::ReduceScatterOp::create(builder, loc, buffers.at(buffers.whole("gradient", unit), builder, loc),
                                    /*start=*/false, /*if_last=*/false);
  for (size_t unit = 0; unit < units; ++unit)
    device::InspectGradientsOp::create(builder, loc, buffers.at(buffers.part("gradient", unit), builder, loc),
                                       /*part=*/true, /*last=*/unit + 1 == units);
}

/// The parameters of a unit come back from the devices that have updated them.
void StepSchedule::gatherParameters(size_t unit, bool start) {
  Location loc = step.getLoc();
  device::AllGatherOp::create(builder, loc, buffers.at(buffers.part("parameter", unit), builder, loc),
                              buffers.at(buffers.whole("parameter", unit), builder, loc), start);
}

static std::optional<OffloadMoves::Piece> pieceUpdatedBy(train::CommandOp command) {
  for (Value input : command.getInputs())
    if (auto load = input.getDefiningOp<train::LoadSlotOp>())
      if (auto unit = train::unitOf(load))
        return OffloadMoves::Piece{static_cast<size_t>(*unit), train::pieceOf(load)};
  return std::nullopt;
}

LogicalResult StepSchedule::buildUpdate(train::PhaseOp phase) {
  Block &body = phase.getBlock();
  section(phase.getHeading());
  DenseSet<Operation *> copies;
  if (layout.updatesWholeUnits() && failed(wholeUnits.place(step)))
    return failure();
  if (failed(placeStores(body, buffers, copies)))
    return failure();
  for (Operation &op : body) {
    auto command = dyn_cast<train::CommandOp>(op);
    if (command && command.getAddsUnit()) // ran in the micro-steps
      continue;
    if (layout.updatesWholeUnits())
      wholeUnits.enter(op);
    std::optional<OffloadMoves::Piece> updated = command ? pieceUpdatedBy(command) : std::nullopt;
    if (updated)
      offload.begin(*updated, op.getLoc());
    if (command && failed(commands.run(command, nullptr)))
      return failure();
    if (updated)
      offload.end(*updated, op.getLoc());
    // Parameters are stored behind the command that updates them.
    if (auto store = dyn_cast<train::StoreOp>(op); store && store.getSlot() == "parameter")
      if (auto unit = train::unitOf(store);
          unit && gathersUpdated() && train::pieceOf(store) + 1 == layout.units[*unit].pieces)
        gatherParameters(*unit, /*start=*/true);
    if (!copies.contains(&op))
      continue;
    auto store = cast<train::StoreOp>(op);
    auto source = commands.bufferOf(store, store.getValue());
    if (failed(source))
      return failure();
    device::CopyOp::create(builder, op.getLoc(), *source,
                           buffers.at(storePlace(store, buffers), builder, op.getLoc()));
  }
  for (size_t unit = 0; unit < layout.units.size() && gathersUpdated(); ++unit)
    gatherParameters(unit, /*start=*/false);
  wholeUnits.leave(step.getLoc());
  offload.finish(step.getLoc());
  return success();
}

/// The last micro-step of the loop that adds to gradients ends with the step.
LogicalResult StepSchedule::build() {
  std::optional<size_t> open;
  for (auto [i, phase] : llvm::enumerate(step.getPhases())) {
    size_t number = firstPhase + i;
    if (llvm::hasSingleElement(phase.getBlock()) && !phase.getLoop())
      continue;
    if (phase.addsGradients())
      open = number;
    if (failed(placeCaptures(phase)))
      return failure();
    if (failed(phase.getLoop()   ? buildLoop(phase, number)
               : phase.updates() ? buildUpdate(phase)
                                 : buildOnce(phase)))
      return failure();
  }
  if (open)
    device::EndMicroOp::create(builder, step.getLoc(), static_cast<int64_t>(*open));
  return success();
}

/// What the program says of a step's phases.
static void describePhases(train::StepOp step, bool isEval, SmallVector<Attribute> &phases) {
  Builder builder(step.getContext());
  for (train::PhaseOp phase : step.getPhases()) {
    SmallVector<NamedAttribute> entries = {builder.getNamedAttr("name", phase.getNameAttr())};
    for (auto [key, isSet] : {std::pair("loop", phase.getLoop()),
                              std::pair("gradients", phase.addsGradients()), std::pair("eval", isEval)})
      if (isSet)
        entries.push_back(builder.getNamedAttr(key, builder.getUnitAttr()));
    phases.push_back(builder.getDictionaryAttr(entries));
  }
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
  auto step = module.lookupSymbol<train::StepOp>("step"), eval = module.lookupSymbol<train::StepOp>("eval");
  if (failed(verifyInputs(step)))
    return failure();
  SmallVector<Attribute> phases;
  describePhases(step, /*isEval=*/false, phases);
  size_t evalPhases = phases.size();
  if (eval)
    describePhases(eval, /*isEval=*/true, phases);
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto program = device::ProgramOp::create(
      builder, step.getLoc(), "program", plan.getM(), plan.getDevices(), state, plan.getScratch(),
      boundInputs(step), layout->contents.gradients, layout->contents.scalars, layout->contents.optimizer,
      layout->contents.shard, builder.getArrayAttr(phases));
  Block *stepBlock = builder.createBlock(&program.getStep()),
        *evalBlock = builder.createBlock(&program.getEval());
  if (failed(StepSchedule(step, stepBlock, *layout, plan, 0).build()))
    return failure();
  if (eval && failed(StepSchedule(eval, evalBlock, *layout, plan, evalPhases).build()))
    return failure();
  step.erase();
  if (eval)
    eval.erase();
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
