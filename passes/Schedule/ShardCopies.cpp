// SPDX-License-Identifier: Apache-2.0
// Copies of parameters, tensor by tensor -> one for each unit, of a rank's part.
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/OneParameter.h"
#include "dialects/Train/Phases.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Plan/Plan.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/StateLayout.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_SHARDCOPIES
#include "passes/Schedule/Passes.h.inc"

namespace {

struct ShardCopies : impl::ShardCopiesBase<ShardCopies> {
  using ShardCopiesBase::ShardCopiesBase;
  void runOnOperation() override;
};

Type rowsType(int64_t rows, int64_t columns, Type element) {
  return nn::Placement::replicated().place(RankedTensorType::get({rows, columns}, element));
}

/// Kernel (part of parameters) -> the same, in bf16.
func::FuncOp buildCopyKernel(Type wide, Type narrow) {
  MLIRContext *context = wide.getContext();
  Location loc = NameLoc::get(StringAttr::get(context, "copies in bf16"));
  auto kernel = func::FuncOp::create(loc, "copy_parameters", FunctionType::get(context, {wide}, {narrow}));
  kernel.setPrivate();
  OpBuilder builder = OpBuilder::atBlockEnd(kernel.addEntryBlock());
  Value rounded = nn::CastOp::create(builder, loc, narrow, kernel.getArgument(0));
  func::ReturnOp::create(builder, loc, rounded);
  return kernel;
}

/// One step, which copies units from here on, in the phases that copied parameters.
class StepCopies {
public:
  StepCopies(train::StepOp step, const StateLayout &layout, SymbolTable &symbols, int64_t &id)
      : step(step), layout(layout), symbols(symbols), id(id) {}

  void run() {
    llvm::SetVector<size_t> written;
    for (train::PhaseOp phase : step.getPhases())
      if (!phase.getLoop() && !phase.updates())
        run(phase, written);
  }

private:
  void run(train::PhaseOp phase, llvm::SetVector<size_t> &written);
  train::PhaseOp loadInstead(train::PhaseOp phase, Value copy, FlatSymbolRefAttr parameter);
  void writeCopy(train::PhaseOp phase, size_t unit);

  train::StepOp step;
  const StateLayout &layout;
  SymbolTable &symbols;
  int64_t &id; ///< the last one that a command has
  llvm::DenseMap<int64_t, func::FuncOp> kernels;
};

} // namespace

void StepCopies::run(train::PhaseOp phase, llvm::SetVector<size_t> &written) {
  llvm::SetVector<size_t> units;
  SymbolTableCollection known;
  SmallVector<Operation *> replaced;
  for (auto command : llvm::to_vector(phase.getBlock().getOps<train::CommandOp>()))
    if (auto parameter = copiedParameter(command, known)) {
      phase = loadInstead(phase, command.getResult(0), parameter);
      units.insert(*layout.unitOf(parameter.getValue()));
      replaced.push_back(command);
    }
  for (Operation *command : replaced) {
    Operation *load = command->getOperand(0).getDefiningOp();
    command->erase();
    if (load->use_empty())
      load->erase();
  }
  for (size_t unit : units)
    if (written.insert(unit))
      writeCopy(phase, unit);
}

/// Later phases read the parameter's copy in the state where they had what this one yields.
train::PhaseOp StepCopies::loadInstead(train::PhaseOp phase, Value copy, FlatSymbolRefAttr parameter) {
  for (unsigned i = phase->getNumResults(); i-- > 0;) {
    if (phase.getYield().getValues()[i] != copy)
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(phase->getResult(i).getUses())) {
      auto reader = cast<train::PhaseOp>(use.getOwner());
      BlockArgument argument = reader.getBlock().getArgument(use.getOperandNumber());
      OpBuilder builder = OpBuilder::atBlockBegin(&reader.getBlock());
      auto load = train::LoadSlotOp::create(builder, copy.getLoc(), argument.getType(), train::kCopySlot);
      load->setAttr(train::kOneParameter, parameter);
      argument.replaceAllUsesWith(load);
    }
    train::dropUnusedCaptures(step);
    phase = train::forget(phase, phase->getResult(i));
  }
  return phase;
}

void StepCopies::writeCopy(train::PhaseOp phase, size_t unit) {
  OpBuilder builder(phase.getYield());
  MLIRContext *context = builder.getContext();
  int64_t rows =
      static_cast<int64_t>(layout.units[unit].bytes) / device::kStateAlignment / layout.manifest.devices;
  int64_t columns = device::kStateAlignment / static_cast<int64_t>(sizeof(float));
  Type wide = rowsType(rows, columns, builder.getF32Type()),
       narrow = rowsType(rows, columns, builder.getBF16Type());
  func::FuncOp &kernel = kernels[rows];
  if (!kernel) {
    kernel = buildCopyKernel(wide, narrow);
    symbols.insert(kernel);
  }
  auto number = builder.getI64IntegerAttr(static_cast<int64_t>(unit));
  Value part = train::LoadSlotOp::create(builder, step.getLoc(), wide, "parameter");
  part.getDefiningOp()->setAttr(train::kUnit, number);
  auto none = train::PolyAttr::get(context, 0, 0);
  auto command = train::CommandOp::create(builder, step.getLoc(), narrow, FlatSymbolRefAttr::get(kernel),
                                          part, ++id, none, none);
  command.setCopiesUnitAttr(number);
}

static LogicalResult shardCopies(ModuleOp module, train::PlanAttr plan) {
  auto layout = layOutState(module, plan.getDevices());
  if (failed(layout))
    return failure();
  if (layout->copied == 0)
    return success();
  SymbolTable symbols(module);
  int64_t id = 0;
  module.walk([&](train::CommandOp command) { id = std::max(id, static_cast<int64_t>(command.getId())); });
  for (auto step : module.getOps<train::StepOp>())
    StepCopies(step, *layout, symbols, id).run();
  return success();
}

void ShardCopies::runOnOperation() {
  auto plan = getOperation()->getAttrOfType<train::PlanAttr>("train.plan");
  if (plan && plan.getShard() && failed(shardCopies(getOperation(), plan)))
    signalPassFailure();
}

} // namespace accum
