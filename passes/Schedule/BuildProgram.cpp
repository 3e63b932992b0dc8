// SPDX-License-Identifier: Apache-2.0
// Steps of commands and a plan -> device.program.
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

using device::Phase;
using device::Space;

/// One step op -> one region of the program.
class StepSchedule {
public:
  StepSchedule(train::StepOp step, Block *top, const StateLayout &layout, train::PlanAttr plan)
      : step(step), layout(layout), plan(plan), builder(OpBuilder::atBlockEnd(top)), buffers(layout, top),
        commands(plan, buffers, builder), offload(layout, buffers, builder),
        transfers(step, layout, buffers, offload, builder),
        wholeUnits(layout, buffers, offload, transfers, builder) {}

  LogicalResult build(Phase microPhase);

private:
  LogicalResult buildPrepasses();
  LogicalResult buildPrepass(Block &body, StringRef title);
  LogicalResult buildPrologue();
  LogicalResult buildMicro(Phase phase);
  void reduceScalars(Block &body);
  LogicalResult buildUpdate();
  LogicalResult verifyPlaces(const UnitMoves &moves);
  void reduceGradients();
  void gatherParameters(size_t unit, bool start);
  /// Devices update parts of parameters that all of them have.
  bool gathersUpdated() const {
    return layout.isSharded() && !layout.hasPartsOf("parameter") && !layout.updatesWholeUnits();
  }

  void section(StringRef title) { device::SectionOp::create(builder, step.getLoc(), title); }
  void placeInputs(Block &body);
  void placeTotals(Block::BlockArgListType arguments);
  LogicalResult buildLoop(Block &body, Phase phase);

  train::StepOp step;
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

/// The last input, the runtime's seed and step: a model may have an input of that name before it.
static bool isSeeds(train::StepOp step, size_t input) {
  auto inputs = step.getInputs();
  return input + 1 == inputs.size() &&
         cast<DictionaryAttr>(inputs[input]).getAs<StringAttr>("name").getValue() == "rng";
}

/// Inputs in the manifest's order; the last one, rng, is the runtime's seed and step.
void StepSchedule::placeInputs(Block &body) {
  for (auto [i, input] : llvm::enumerate(step.getInputs().getAsRange<DictionaryAttr>())) {
    StringRef name = input.getAs<StringAttr>("name").getValue();
    BlockArgument argument = body.getArgument(i);
    auto type = cast<RankedTensorType>(argument.getType());
    if (isSeeds(step, i))
      buffers.place(argument, {Space::rng, 0, type, "rng"});
    else
      buffers.place(argument, {Space::input, static_cast<int64_t>(i), type, name.str()});
  }
}

void StepSchedule::placeTotals(Block::BlockArgListType arguments) {
  for (auto [argument, target] : llvm::zip(arguments, step.getTotalTargets()))
    buffers.place(argument, buffers.target(target, cast<RankedTensorType>(argument.getType())));
}

LogicalResult StepSchedule::buildLoop(Block &body, Phase phase) {
  bool scatters = phase == Phase::micro && layout.hasPartsOf("gradient");
  auto contributions = Contributions::of(body, scatters);
  if (failed(contributions))
    return failure();
  UnitMoves moves(body, phase == Phase::micro ? &*contributions : nullptr, layout);
  if (failed(verifyPlaces(moves)))
    return failure();
  auto loop = device::ForMicroOp::create(builder, step.getLoc(), phase);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(builder.createBlock(&loop.getBody()));
  buffers.enterLoop();
  std::optional<GradientSums> sums;
  if (phase == Phase::micro && plan.getDevices() > 1 && !scatters)
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
void StepSchedule::reduceScalars(Block &body) {
  auto yield = cast<train::YieldOp>(body.getTerminator());
  DenseSet<Attribute> seen;
  for (auto [value, target] : llvm::zip(yield.getValues(), yield.getTargets())) {
    if (!isa<StringAttr>(target) || !seen.insert(target).second)
      continue;
    Place place = buffers.target(target, cast<RankedTensorType>(value.getType()));
    device::AllReduceOp::create(builder, step.getLoc(), buffers.at(place, builder, step.getLoc()));
  }
}

LogicalResult StepSchedule::buildPrepasses() {
  StringRef title = "pre-pass: totals over the global batch";
  for (Region *region : step.getPrepasses()) {
    if (failed(buildPrepass(region->front(), title)))
      return failure();
    title = "another pre-pass: totals that need those before";
  }
  return success();
}

LogicalResult StepSchedule::buildPrepass(Block &body, StringRef title) {
  if (body.getOps<train::CommandOp>().empty())
    return success();
  section(title);
  placeInputs(body);
  if (body.getNumArguments() > step.getInputs().size())
    placeTotals(body.getArguments().drop_front(step.getInputs().size()));
  if (failed(buildLoop(body, Phase::prepass)))
    return failure();
  reduceScalars(body);
  return success();
}

LogicalResult StepSchedule::buildPrologue() {
  Block &body = step.getPrologue().front();
  if (body.getOps<train::CommandOp>().empty())
    return success();
  section("prologue: what does not depend on the micro-batch");
  placeTotals(body.getArguments());
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

LogicalResult StepSchedule::buildMicro(Phase phase) {
  Block &body = step.getMicro().front();
  section("micro-steps");
  size_t inputs = step.getInputs().size(), totals = step.getTotals().size();
  placeInputs(body);
  placeTotals(body.getArguments().slice(inputs, totals));
  ValueRange kept = step.getPrologue().front().getTerminator()->getOperands();
  for (auto [value, argument] : llvm::zip(kept, body.getArguments().drop_front(inputs + totals))) {
    const Place *place = buffers.find(value);
    if (!place)
      return step.emitOpError("prologue yields a value that is in no buffer");
    buffers.place(argument, Place(*place));
  }
  if (failed(buildLoop(body, phase)))
    return failure();
  section("sums over devices");
  reduceScalars(body);
  return success();
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

LogicalResult StepSchedule::buildUpdate() {
  Block &body = step.getUpdate().front();
  reduceGradients();
  section("update");
  size_t totals = step.getTotals().size();
  BlockArgument hyper = body.getArgument(0);
  buffers.place(hyper, {Space::hyper, 0, cast<RankedTensorType>(hyper.getType()), "hyper"});
  placeTotals(body.getArguments().slice(1, totals));
  for (auto [symbol, argument] : llvm::zip(step.getGradients().getAsRange<FlatSymbolRefAttr>(),
                                           body.getArguments().drop_front(1 + totals)))
    buffers.place(argument, buffers.gradient(symbol.getValue()));
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
  device::EndMicroOp::create(builder, step.getLoc());
  return success();
}

LogicalResult StepSchedule::build(Phase microPhase) {
  if (failed(buildPrepasses()) || failed(buildPrologue()) || failed(buildMicro(microPhase)))
    return failure();
  return microPhase == Phase::micro ? buildUpdate() : success();
}

/// The inputs that the runtime binds: all but rng.
static ArrayAttr boundInputs(train::StepOp step) {
  ArrayRef<Attribute> inputs = step.getInputs().getValue();
  bool hasSeeds = !inputs.empty() && isSeeds(step, inputs.size() - 1);
  return ArrayAttr::get(step.getContext(), inputs.drop_back(hasSeeds));
}

/// A run hands over what it can read from files.
static LogicalResult verifyInputs(train::StepOp step) {
  for (auto [input, argument] :
       llvm::zip(step.getInputs().getAsRange<DictionaryAttr>(), step.getMicro().getArguments()))
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
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto program =
      device::ProgramOp::create(builder, step.getLoc(), "program", plan.getM(), plan.getDevices(), state,
                                plan.getScratch(), boundInputs(step), layout->contents.gradients,
                                layout->contents.scalars, layout->contents.optimizer, layout->contents.shard);
  Block *stepBlock = builder.createBlock(&program.getStep()),
        *evalBlock = builder.createBlock(&program.getEval());
  if (failed(StepSchedule(step, stepBlock, *layout, plan).build(Phase::micro)))
    return failure();
  if (eval && failed(StepSchedule(eval, evalBlock, *layout, plan).build(Phase::eval)))
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
