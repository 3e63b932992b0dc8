// SPDX-License-Identifier: Apache-2.0
// train.command -> device.launch, device.gemm, device.attention.
#include "passes/Schedule/CommandSchedule.h"
#include "dialects/NN/Origin.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/AttentionShape.h"
#include "dialects/Train/GemmShape.h"
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
  if (auto load = dyn_cast_or_null<train::LoadSlotOp>(op))
    return buffers.slot(load.getSlot(), typeOf(load));
  if (auto load = dyn_cast_or_null<train::LoadDecayOp>(op))
    return buffers.decay(typeOf(load));
  return user->emitOpError("reads a value that is in no buffer");
}

FailureOr<Value> CommandSchedule::bufferOf(Operation *user, Value value) {
  auto place = placeOf(user, value);
  if (failed(place))
    return failure();
  return buffers.at(*place, builder, nn::behindViews(value).getLoc());
}

FlatSymbolRefAttr CommandSchedule::kernelOf(train::CommandOp command) const {
  return slice && slice->isRest ? restKernel(command) : command.getKernelAttr();
}

Place CommandSchedule::sliced(train::CommandOp command, Place place, size_t index) const {
  if (!slice || (place.space != Space::scratch && place.space != Space::input))
    return place;
  auto strides = command->getAttrOfType<DenseI64ArrayAttr>(kStrides).asArrayRef();
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(command, kernelOf(command));
  size_t inputs = command.getInputs().size();
  Type type = index < inputs ? kernel.getArgumentTypes()[index] : kernel.getResultTypes()[index - inputs];
  // A view of another shape is still the same bytes.
  place.contents = cast<RankedTensorType>(type);
  place.skip = slice->sample * strides[index];
  bool isCut = slice->pieces > 1 && device::bytesOf(place.contents) < strides[index];
  if (isCut)
    place.skip += slice->piece * (strides[index] / slice->pieces);
  if (place.skip % kVectorBytes != 0)
    kernel->setAttr("accum.shifted", UnitAttr::get(command.getContext()));
  return place;
}

/// Accumulated results lie in their targets, others where the plan says.
LogicalResult CommandSchedule::placeResults(train::CommandOp command, const Contributions *contributions) {
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
    buffers.place(result,
                  {Space::scratch, offset.getInt(), type, label.empty() ? command.getKernel().str() : label});
  }
  return success();
}

LogicalResult CommandSchedule::runGemm(train::CommandOp command, device::Update update, ValueRange inputs,
                                       Value output) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(command, kernelOf(command));
  auto contract = kernel ? dyn_cast<nn::ContractOp>(kernel.getBody().front().front()) : nn::ContractOp();
  if (!contract || !isa<func::ReturnOp>(contract->getNextNode()))
    return command.emitOpError("asks the library for a kernel that is not one contraction");
  auto gemm = analyseGemm(contract);
  if (!gemm)
    return command.emitOpError("asks the library for a contraction that is no matrix product");
  auto input = [&](unsigned operand) {
    return inputs[cast<BlockArgument>(contract->getOperand(operand)).getArgNumber()];
  };
  device::GemmOp::create(builder, command.getLoc(), command.getId(), kernelOf(command).getValue(), update,
                         output, input(gemm->a), input(gemm->b), ArrayRef<int64_t>{gemm->m, gemm->n, gemm->k},
                         ArrayRef<int64_t>{gemm->aRow, gemm->aCol}, ArrayRef<int64_t>{gemm->bRow, gemm->bCol},
                         gemm->cRow, gemm->batch, gemm->aBatch, gemm->bBatch, gemm->cBatch);
  return success();
}

LogicalResult CommandSchedule::runAttention(train::CommandOp command, ValueRange buffers) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(command, kernelOf(command));
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
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(command, kernelOf(command));
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
  if (!contributions && !command.getAccumulate().empty())
    return command.emitOpError("accumulates outside a loop over micro-steps");
  if (failed(placeResults(command, contributions)))
    return failure();
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
  bool isLater = slice && !slice->isFirst(); // adds to what the first slice left
  if (contributions && !isLater)
    for (OpResult result : contributions->zeroed(command))
      device::ZeroOp::create(builder, command.getLoc(),
                             arguments[command.getInputs().size() + result.getResultNumber()],
                             /*if_first=*/true);
  auto update = contributions ? contributions->update(command) : std::nullopt;
  if (update && isLater)
    update = device::Update::add;
  if (command.getLibrary() == "gemm")
    return runGemm(command, update.value_or(device::Update::write), ArrayRef(arguments).drop_back(),
                   arguments.back());
  if (command.getLibrary() == "attention")
    return runAttention(command, arguments);
  if (command.getLibrary())
    return command.emitOpError("asks for the unknown library ") << *command.getLibrary();
  return runKernel(command, update, arguments);
}

LogicalResult CommandSchedule::runSlices(MutableArrayRef<train::CommandOp> group,
                                         const Contributions *contributions) {
  int64_t m = plan.getM(), samples = group.front()->getAttrOfType<IntegerAttr>(kSlice).getInt(),
          pieces = group.front()->getAttrOfType<IntegerAttr>(kPieces).getInt();
  for (int64_t first = 0; first < m; first += samples)
    for (int64_t piece = 0; piece < pieces; ++piece) {
      slice = Slice{first, piece, pieces, m - first < samples};
      std::string title =
          ("samples " + Twine(first) + " to " + Twine(std::min(m, first + samples) - 1)).str();
      if (samples == 1)
        title = "sample " + std::to_string(first);
      if (pieces > 1)
        title += (", piece " + Twine(piece + 1) + " of " + Twine(pieces)).str();
      device::SectionOp::create(builder, group.front().getLoc(), "slice of the micro-batch: " + title);
      for (train::CommandOp command : group)
        if (failed(run(command, contributions)))
          return failure();
    }
  slice.reset();
  return success();
}

LogicalResult CommandSchedule::runAll(Block &body, const Contributions *contributions,
                                      llvm::function_ref<void(train::CommandOp)> done) {
  SmallVector<train::CommandOp> group;
  auto flush = [&] {
    LogicalResult result = group.empty() ? success() : runSlices(group, contributions);
    if (!group.empty() && done)
      done(group.back());
    group.clear();
    return result;
  };
  for (auto command : body.getOps<train::CommandOp>()) {
    if (command->hasAttr(kSlice)) {
      group.push_back(command);
      continue;
    }
    if (failed(flush()) || failed(run(command, contributions)))
      return failure();
    if (done)
      done(command);
  }
  return flush();
}

} // namespace accum
