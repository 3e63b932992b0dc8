// SPDX-License-Identifier: Apache-2.0
// The phases of a step of commands become ops of the program.
#include "passes/Schedule/StepSchedule.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/Outputs.h"
#include "dialects/Train/SplitBatch.h"
#include "passes/Schedule/GradientSums.h"
#include "passes/Schedule/UpdateSchedule.h"

using namespace mlir;

namespace accum {

using device::Space;

/// Inputs are in the manifest's order; rng is the runtime's seed and step.
Place StepSchedule::placeOfInput(BlockArgument input) {
  StringRef made = train::madeInput(input);
  auto type = cast<RankedTensorType>(input.getType());
  Space space = made == "rng" ? Space::rng : made == "hyper" ? Space::hyper : Space::input;
  int64_t number = train::isStaged(input) ? input.getArgNumber() : 0;
  return {space, number, type, train::inputName(input).str()};
}

/// A loop leaves sums in the state, other phases leave what their commands wrote, which may lie there, too.
FailureOr<Place> StepSchedule::placeOfResult(OpResult result) {
  auto phase = cast<train::PhaseOp>(result.getOwner());
  unsigned number = result.getResultNumber();
  auto type = cast<RankedTensorType>(result.getType());
  if (phase.getLoop())
    return buffers.target(phase.getAccumulators()[number], type);
  if (std::string name = train::nameInState(phase, number); !name.empty())
    return buffers.scalar(name, type);
  if (const Place *place = buffers.find(phase.getYield().getValues()[number]))
    return *place;
  return phase.emitOpError("yields a value that is in no buffer");
}

LogicalResult StepSchedule::placeCaptures(train::PhaseOp phase, train::PhaseOp later) {
  for (auto [argument, value] : llvm::zip(phase.getBlock().getArguments(), phase.getCaptures())) {
    if (later && value.getDefiningOp() == later)
      continue;
    auto input = dyn_cast<BlockArgument>(value);
    FailureOr<Place> place = input ? placeOfInput(input) : placeOfResult(cast<OpResult>(value));
    if (failed(place))
      return failure();
    buffers.place(argument, *place);
  }
  return success();
}

/// The rows of what a command makes, before anything else is written there.
void StepSchedule::handOut(train::PhaseOp phase, train::CommandOp command) {
  for (auto output : phase.getBlock().getOps<train::OutputOp>()) {
    if (nn::behindViews(output.getValue()).getDefiningOp() != command)
      continue;
    Place place =
        rowsOf(*buffers.find(output.getValue()), cast<RankedTensorType>(output.getValue().getType()));
    Value rows = buffers.at(place, builder, output.getLoc());
    device::OutputOp::create(builder, output.getLoc(), rows, train::outputNumber(step, output.getName()));
  }
}

namespace {

/// Ops of the first micro-step only, between others of its loop.
class FirstMicroStep {
public:
  FirstMicroStep(OpBuilder &builder, ProgramBuffers &buffers, Location loc)
      : builder(builder), buffers(buffers), loc(loc) {}

  void enter() {
    part = device::FirstMicroOp::create(builder, loc);
    builder.setInsertionPointToEnd(builder.createBlock(&part.getBody()));
    buffers.enterLoop();
  }
  void leave() {
    builder.setInsertionPointAfter(part);
    buffers.leaveLoop();
  }

private:
  OpBuilder &builder;
  ProgramBuffers &buffers;
  Location loc;
  device::FirstMicroOp part;
};

} // namespace

static SmallVector<train::CommandOp> commandsOf(Block &body) {
  return llvm::to_vector(body.getOps<train::CommandOp>());
}

/// In the order in which the first micro-step runs them.
static SmallVector<train::CommandOp> commandsOf(const train::KeptForward &kept) {
  SmallVector<train::CommandOp> commands = commandsOf(train::PhaseOp(kept.micro).getBlock());
  SmallVector<train::CommandOp> whole = commandsOf(train::PhaseOp(kept.whole).getBlock());
  auto *at = llvm::find(commands, kept.resumes());
  commands.insert(at, whole.begin(), whole.end());
  return commands;
}

/// The sums to which a loop adds in all of its micro-steps, and the main loop in its first one.
void StepSchedule::clearTerms() {
  for (OpResult result : kept->encode->getResults()) {
    Place place = *placeOfResult(result);
    device::ZeroOp::create(builder, step.getLoc(), buffers.at(place, builder, step.getLoc()),
                           /*if_first=*/false);
  }
}

/// The whole batch is computed from all terms.
LogicalResult StepSchedule::verifyTerms() {
  train::CommandOp resumes = kept->resumes();
  train::YieldOp yield = kept->micro.getYield();
  for (auto [value, target] : llvm::zip(yield.getValues(), yield.getTargets()))
    if (Operation *adder = nn::behindViews(value).getDefiningOp();
        isTerm(target) && (!adder || !adder->isBeforeInBlock(resumes)))
      return kept->micro.emitOpError("adds to ") << target << " after the whole batch has read it";
  return success();
}

/// Parameters that are gathered for it come in each micro-step: what goes on after it may need them, too.
LogicalResult StepSchedule::runWhole(const UnitMoves &moves) {
  if (failed(verifyTerms()) || failed(placeCaptures(kept->whole)))
    return failure();
  FirstMicroStep part(builder, buffers, step.getLoc());
  part.enter();
  section(kept->whole.getHeading());
  reduceScalars(kept->encode);
  LogicalResult result = commands.runAll(kept->whole.getBlock(), nullptr, [&](train::CommandOp command) {
    if (!UnitTransfers::bringsAny(command, moves))
      return;
    part.leave();
    transfers.bringParameters(command, moves);
    part.enter();
  });
  part.leave();
  return success(succeeded(result) && succeeded(placeCaptures(kept->micro)));
}

LogicalResult StepSchedule::runLoop(train::PhaseOp phase, size_t number) {
  Block &body = phase.getBlock();
  bool adds = phase.addsGradients(), scatters = adds && layout.hasPartsOf("gradient");
  bool goesOn = kept && kept->micro == phase, isRest = phase->hasAttr(train::kRest);
  auto contributions = Contributions::of(body, scatters, [&](Attribute target) { return isTerm(target); });
  if (failed(contributions))
    return failure();
  UnitMoves moves(goesOn ? commandsOf(*kept) : commandsOf(body), adds ? &*contributions : nullptr, layout);
  if (failed(verifyPlaces(moves)))
    return failure();
  if (isRest)
    clearTerms();
  auto loop = device::ForMicroOp::create(builder, step.getLoc(), static_cast<int64_t>(number), isRest);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(builder.createBlock(&loop.getBody()));
  buffers.enterLoop();
  std::optional<GradientSums> sums;
  if (adds && plan.getDevices() > 1 && !scatters)
    sums.emplace(body, *contributions, layout, buffers);
  LogicalResult whole = success();
  FirstMicroStep terms(builder, buffers, step.getLoc());
  train::CommandOp resumes = goesOn ? kept->resumes() : train::CommandOp();
  if (goesOn && !resumes)
    return phase.emitOpError("reads nothing of what the whole batch left");
  auto begin = [&](train::CommandOp command) {
    if (resumes && command == resumes)
      whole = runWhole(moves);
    transfers.bringParameters(command, moves);
    transfers.makeRoom(command, moves, *contributions);
    if (goesOn && kept->addsOnlyTerms(command))
      terms.enter();
  };
  LogicalResult result = commands.runAll(body, &*contributions, begin, [&](train::CommandOp command) {
    if (goesOn && kept->addsOnlyTerms(command))
      terms.leave();
    transfers.scatterGradients(command, moves);
    handOut(phase, command);
    for (const Place &run : sums ? sums->behind(command) : ArrayRef<Place>()) {
      Value range = buffers.at(run, builder, command.getLoc());
      if (!layout.isSharded())
        device::StartAllReduceOp::create(builder, command.getLoc(), range);
      else
        device::ReduceScatterOp::create(builder, command.getLoc(), range, /*start=*/true, /*if_last=*/true);
    }
  });
  buffers.leaveLoop();
  return success(succeeded(whole) && succeeded(result));
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
void StepSchedule::reduceScalars(train::PhaseOp phase, function_ref<bool(Attribute)> isDone) {
  train::YieldOp yield = phase.getYield();
  DenseSet<Attribute> seen;
  for (auto [value, target] : llvm::zip(yield.getValues(), yield.getTargets())) {
    if (!isa<StringAttr>(target) || !seen.insert(target).second || (isDone && isDone(target)))
      continue;
    Place place = buffers.target(target, cast<RankedTensorType>(value.getType()));
    device::AllReduceOp::create(builder, step.getLoc(), buffers.at(place, builder, step.getLoc()));
  }
}

LogicalResult StepSchedule::buildLoop(train::PhaseOp phase, size_t number) {
  train::PhaseOp later = kept ? kept->whole : train::PhaseOp();
  return success(succeeded(placeCaptures(phase, later)) && succeeded(runLoop(phase, number)));
}

void StepSchedule::finishLoop(train::PhaseOp phase) {
  if (phase == step.getMainLoop() && phase->getNumResults() > 0)
    section("sums over devices");
  // Sums that the whole batch needs are summed before that.
  reduceScalars(phase, [&](Attribute target) { return isTerm(target); });
  if (phase.addsGradients())
    reduceGradients();
}

LogicalResult StepSchedule::buildOnce(train::PhaseOp phase) {
  if (failed(placeCaptures(phase)))
    return failure();
  section(phase.getHeading());
  return phase.updates() ? buildUpdate(phase) : buildCommands(phase);
}

LogicalResult StepSchedule::buildCommands(train::PhaseOp phase) {
  Block &body = phase.getBlock();
  for (auto [number, value] : llvm::enumerate(phase.getYield().getValues()))
    if (std::string name = train::nameInState(phase, number); !name.empty())
      buffers.place(nn::behindViews(value),
                    buffers.scalar(name, cast<RankedTensorType>(nn::behindViews(value).getType())));
  for (auto command : body.getOps<train::CommandOp>())
    if (auto unit = command.getCopiesUnit()) {
      auto type = cast<RankedTensorType>(command.getResult(0).getType());
      buffers.place(command.getResult(0), rowsOf(buffers.copiedPart(*unit), type));
      if (failed(offload.placeCopied(command)))
        return failure();
    }
  UnitMoves moves(commandsOf(body), nullptr, layout);
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
    // Parameters are stored after the command that updates them.
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

} // namespace accum
