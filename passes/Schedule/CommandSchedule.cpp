// SPDX-License-Identifier: Apache-2.0
// train.command -> device.launch, device.gemm, device.attention.
#include "passes/Schedule/CommandSchedule.h"
#include "dialects/NN/Origin.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/AttentionShape.h"
#include "dialects/Train/GemmShape.h"
#include "dialects/Train/RowPitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Plan/Plan.h"
#include "passes/Schedule/SliceKernels.h"

using namespace mlir;

namespace accum {

using device::Space;

/// Buffers start on multiples of this, which kernels may rely on; those that get others are told.
constexpr int64_t kVectorBytes = 16;

static RankedTensorType typeOf(Operation *op) { return cast<RankedTensorType>(op->getResult(0).getType()); }

FailureOr<Place> CommandSchedule::placeOf(Operation *user, Value value) {
  if (const Place *place = buffers.find(value))
    return *place;
  Operation *op = nn::behindViews(value).getDefiningOp();
  if (auto load = dyn_cast_or_null<train::LoadParamOp>(op))
    return buffers.parameter(load.getParam());
  if (auto load = dyn_cast_or_null<train::LoadSlotOp>(op); load && load.getSlot() == train::kCopySlot)
    return buffers.copyOf(train::oneParameterOf(load).getValue(), typeOf(load));
  if (auto load = dyn_cast_or_null<train::LoadSlotOp>(op)) {
    auto unit = train::unitOf(load);
    return unit ? rowsOf(buffers.piece(load.getSlot(), *unit, train::pieceOf(load)), typeOf(load))
                : buffers.slot(load.getSlot(), train::oneParameterOf(load), typeOf(load));
  }
  if (auto load = dyn_cast_or_null<train::LoadDecayOp>(op))
    return buffers.decay(train::oneParameterOf(load), train::unitOf(load), typeOf(load));
  if (auto load = dyn_cast_or_null<train::LoadRankOp>(op))
    return Place{Space::rng, 3, typeOf(load), "rank"};
  if (auto load = dyn_cast_or_null<train::LoadNumberOp>(op))
    return Place{Space::rng, 4 + static_cast<int64_t>(load.getNumber()), typeOf(load),
                 std::to_string(load.getNumber())};
  return user->emitOpError("reads a value that is in no buffer");
}

FailureOr<Value> CommandSchedule::bufferOf(Operation *user, Value value) {
  auto place = placeOf(user, value);
  if (failed(place))
    return failure();
  return buffers.at(*place, builder, nn::behindViews(value).getLoc());
}

FlatSymbolRefAttr CommandSchedule::kernelOf(train::CommandOp command) const {
  return slices && slices->rest ? restKernel(command) : command.getKernelAttr();
}

Place CommandSchedule::sliced(train::CommandOp command, Place place, size_t index) const {
  if (!slices || (place.space != Space::scratch && place.space != Space::input))
    return place;
  int64_t stride = command.getSliceAttr().getStrides()[index];
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(command, kernelOf(command));
  size_t inputs = command.getInputs().size();
  Type type = index < inputs ? kernel.getArgumentTypes()[index] : kernel.getResultTypes()[index - inputs];
  // A view of another shape is still the same bytes.
  place.contents = cast<RankedTensorType>(type);
  // What has one element a sample is the same for all its pieces.
  int64_t row = slices->part > 0 ? place.bytes() < stride ? stride / slices->rows : 0 : stride;
  if (slices->rest)
    place.skip = *slices->rest * row;
  if (slices->overSamples)
    place.step.push_back(slices->samples * stride);
  if (slices->overPieces)
    place.step.push_back(slices->part * row);
  auto isShifted = [](int64_t bytes) { return bytes % kVectorBytes != 0; };
  if (isShifted(place.skip) || llvm::any_of(place.step, isShifted))
    kernel->setAttr("accum.shifted", UnitAttr::get(command.getContext()));
  if (llvm::all_of(place.step, [](int64_t bytes) { return bytes == 0; }))
    place.step.clear();
  return place;
}

/// Accumulated results lie in their targets, others where the plan says. Those that a command can only add to
/// are zero before it.
LogicalResult CommandSchedule::placeResults(train::CommandOp command, const Contributions *contributions) {
  if (!contributions && !command.getAccumulate().empty())
    return command.emitOpError("accumulates outside a loop over micro-steps");
  for (OpResult result : command->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    if (buffers.find(result))
      continue; // stored in place
    if (Attribute target = contributions ? contributions->target(result) : Attribute()) {
      Place place = buffers.target(target, type);
      if (device::bytesOf(place.contents) != device::bytesOf(type))
        return command.emitOpError("result ")
               << result.getResultNumber() << " does not have the size of " << target;
      buffers.place(result, place);
      continue;
    }
    std::string slot = slotName(result);
    auto offset = plan.getSlots().getAs<IntegerAttr>(slot);
    if (!offset)
      return command.emitOpError("result ") << slot << " has no slot in the plan";
    std::string label = resultLabel(result);
    Place place{Space::scratch, offset.getInt(), type, label.empty() ? command.getKernel().str() : label};
    place.pitch = pitchOf(result, symbols);
    buffers.place(result, place);
  }
  if (contributions)
    for (OpResult result : contributions->zeroed(command))
      device::ZeroOp::create(builder, command.getLoc(),
                             buffers.at(*buffers.find(result), builder, command.getLoc()),
                             /*if_first=*/!contributions->isZeroedEach(result));
  return success();
}

LogicalResult CommandSchedule::runGemm(train::CommandOp command, device::Update update, ValueRange inputs,
                                       Value output) {
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(command, kernelOf(command));
  auto product = kernel ? analyseGemmKernel(kernel) : std::nullopt;
  if (!product)
    return command.emitOpError("asks the library for a kernel that is not one matrix product");
  const Gemm &gemm = product->gemm;
  auto input = [&](unsigned operand) { return inputs[product->operands[operand]]; };
  Value bias = product->bias ? inputs[*product->bias] : Value();
  device::GemmOp::create(
      builder, command.getLoc(), command.getId(), kernelOf(command).getValue(), update, output, input(gemm.a),
      input(gemm.b), bias, ArrayRef<int64_t>{gemm.m, gemm.n, gemm.k}, ArrayRef<int64_t>{gemm.aRow, gemm.aCol},
      ArrayRef<int64_t>{gemm.bRow, gemm.bCol}, gemm.cRow, gemm.batch, gemm.aBatch, gemm.bBatch, gemm.cBatch);
  return success();
}

LogicalResult CommandSchedule::runAttention(train::CommandOp command, ValueRange buffers) {
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(command, kernelOf(command));
  auto views = kernel ? analyseAttention(kernel) : std::nullopt;
  if (!views)
    return command.emitOpError("asks the library for a kernel that is not one attention");
  Operation *op = attentionOf(kernel);
  auto backward = dyn_cast<nn::AttentionBwdOp>(op);
  auto forward = dyn_cast<nn::AttentionOp>(op);
  SmallVector<Value> args;
  SmallVector<int64_t> offsets, strides;
  for (const StridedView &view : *views) {
    args.push_back(buffers[view.buffer]);
    offsets.push_back(view.offset);
    strides.append(view.strides);
  }
  ArrayRef<int64_t> query = (*views)[0].shape, key = (*views)[1].shape;
  int64_t sizes[] = {query[0], query[1], key[1], query[2], key[2], key[3], (*views)[2].shape[3]};
  auto hidden = backward ? backward.getHidden() : forward.getHidden();
  device::AttentionOp::create(
      builder, command.getLoc(), command.getId(), kernelOf(command).getValue(), bool(backward), args, sizes,
      offsets, strides, backward ? backward.getScale() : forward.getScale(),
      backward ? backward.getCausal() : forward.getCausal(),
      bool(backward ? backward.getMask() : forward.getMask()), static_cast<device::Hidden>(hidden));
  return success();
}

LogicalResult CommandSchedule::runKernel(train::CommandOp command, std::optional<device::Update> update,
                                         ValueRange arguments) {
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(command, kernelOf(command));
  auto index = kernel ? kernel->getAttrOfType<IntegerAttr>("accum.kernel") : IntegerAttr();
  if (!index)
    return command.emitOpError("calls a kernel without a number");
  device::UpdateAttr mode;
  if (update)
    mode = device::UpdateAttr::get(builder.getContext(), *update);
  device::LaunchOp::create(builder, command.getLoc(), command.getId(), kernelOf(command).getValue(),
                           index.getInt(), arguments, mode);
  return success();
}

LogicalResult CommandSchedule::run(train::CommandOp command, const Contributions *contributions) {
  if (failed(placeResults(command, contributions)))
    return failure();
  return call(command, contributions);
}

LogicalResult CommandSchedule::call(train::CommandOp command, const Contributions *contributions) {
  SmallVector<Value> arguments;
  for (Value input : command.getInputs()) {
    auto place = placeOf(command, input);
    if (failed(place))
      return failure();
    arguments.push_back(
        buffers.at(sliced(command, *place, arguments.size()), builder, nn::behindViews(input).getLoc()));
  }
  for (Value result : command.getResults())
    arguments.push_back(
        buffers.at(sliced(command, *buffers.find(result), arguments.size()), builder, command.getLoc()));
  auto update = contributions ? contributions->update(command) : std::nullopt;
  if (update && slices && slices->rest)
    update = device::Update::add; // to what the slices before left
  if (command.getLibrary() == "gemm")
    return runGemm(command, update.value_or(device::Update::write), ArrayRef(arguments).drop_back(),
                   arguments.back());
  if (command.getLibrary() == "attention")
    return runAttention(command, arguments);
  if (command.getLibrary())
    return command.emitOpError("asks for the unknown library ") << *command.getLibrary();
  return runKernel(command, update, arguments);
}

LogicalResult CommandSchedule::loop(int64_t count, StringRef name, const Twine &title,
                                    llvm::function_ref<LogicalResult()> body) {
  auto loop = device::ForSlicesOp::create(builder, builder.getUnknownLoc(), count,
                                          builder.getStringAttr(name), builder.getStringAttr(title));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(builder.createBlock(&loop.getBody()));
  buffers.enterLoop();
  LogicalResult result = body();
  buffers.leaveLoop();
  return result;
}

LogicalResult CommandSchedule::overSamples(llvm::function_ref<LogicalResult()> body) {
  int64_t m = plan.getM(), samples = slices->samples, whole = m / samples;
  if (whole == 1)
    return body();
  slices->overSamples = true;
  LogicalResult result = samples == 1 ? loop(whole, "sample", "the micro-batch sample by sample", body)
                                      : loop(whole, "slice", Twine(samples) + " samples at a time", body);
  slices->overSamples = false;
  return result;
}

LogicalResult CommandSchedule::overPieces(llvm::function_ref<LogicalResult()> body) {
  if (slices->part == 0)
    return body();
  int64_t whole = slices->rows / slices->part, rest = slices->rows % slices->part;
  LogicalResult result = success();
  if (whole > 1) {
    slices->overPieces = true;
    result = loop(whole, "piece", Twine(slices->part) + " rows of a sample at a time", body);
    slices->overPieces = false;
  } else {
    result = body();
  }
  if (rest == 0 || failed(result))
    return result;
  slices->rest = whole * slices->part;
  device::SectionOp::create(builder, builder.getUnknownLoc(),
                            "the last " + std::to_string(rest) + " of them");
  result = body();
  slices->rest.reset();
  return result;
}

LogicalResult CommandSchedule::runSlices(ArrayRef<train::CommandOp> group,
                                         const Contributions *contributions) {
  train::CommandOp leader = group.front();
  train::SliceAttr slice = leader.getSliceAttr();
  int64_t m = plan.getM(), samples = slice.getSamples();
  for (train::CommandOp command : group)
    if (failed(placeResults(command, contributions)))
      return failure();
  auto runGroup = [&] {
    return success(llvm::all_of(
        group, [&](train::CommandOp command) { return succeeded(call(command, contributions)); }));
  };
  slices = {.samples = samples, .part = slice.getPart(), .rows = slice.getRows()};
  LogicalResult result = overSamples([&] { return overPieces(runGroup); });
  if (int64_t rest = m % samples; rest > 0 && succeeded(result)) {
    slices = {.samples = rest, .rest = m - rest};
    device::SectionOp::create(builder, leader.getLoc(), "the last " + std::to_string(rest) + " of them");
    result = runGroup();
  }
  slices.reset();
  return result;
}

LogicalResult CommandSchedule::runAll(Block &body, const Contributions *contributions,
                                      llvm::function_ref<void(train::CommandOp)> begin,
                                      llvm::function_ref<void(train::CommandOp)> done) {
  SmallVector<train::CommandOp> group;
  auto flush = [&] {
    if (!group.empty() && begin)
      begin(group.front());
    LogicalResult result = group.empty() ? success() : runSlices(group, contributions);
    if (!group.empty() && done)
      done(group.back());
    group.clear();
    return result;
  };
  for (auto command : body.getOps<train::CommandOp>()) {
    if (command.getSlice()) {
      group.push_back(command);
      continue;
    }
    if (failed(flush()))
      return failure();
    if (begin)
      begin(command);
    if (failed(run(command, contributions)))
      return failure();
    if (done)
      done(command);
  }
  return flush();
}

} // namespace accum
