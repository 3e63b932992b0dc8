// SPDX-License-Identifier: Apache-2.0
// The update of all parameters -> one for each unit, of a rank's part; of tensors, unit by unit.
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/OneParameter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Fuse/UpdateKernels.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/StateLayout.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_SHARDUPDATE
#include "passes/Schedule/Passes.h.inc"

namespace {

struct ShardUpdate : impl::ShardUpdateBase<ShardUpdate> {
  using ShardUpdateBase::ShardUpdateBase;
  void runOnOperation() override;
};

/// The one command that updates, with the optimizer's name on its kernel.
train::CommandOp updateOf(train::StepOp step, SymbolTable &symbols) {
  train::PhaseOp update = step.getUpdate();
  auto commands = update ? llvm::to_vector(update.getBlock().getOps<train::CommandOp>())
                         : SmallVector<train::CommandOp>();
  for (train::CommandOp command : commands)
    if (symbols.lookup<func::FuncOp>(command.getKernel())->hasAttr("accum.update"))
      return command;
  return {};
}

/// First rows of a unit's parameters; the last entry is the end, padding included.
SmallVector<int64_t> startsOf(const StateLayout &layout, const StateLayout::Unit &unit) {
  SmallVector<int64_t> starts;
  size_t number = 0;
  for (const runtime::ParameterSpec &param : layout.manifest.params) {
    if (!param.trained)
      continue;
    if (number >= unit.first && number < unit.first + unit.count)
      starts.push_back(static_cast<int64_t>(param.gradOffset - unit.gradients) / device::kStateAlignment);
    ++number;
  }
  starts.push_back(static_cast<int64_t>(unit.bytes) / device::kStateAlignment);
  return starts;
}

/// Writes the update of a piece of a unit in front of `whole`.
void writePiece(train::CommandOp whole, int64_t unit, int64_t piece, int64_t id, func::FuncOp kernel,
                bool isParted, const runtime::OptimizerSpec &optimizer) {
  OpBuilder builder(whole);
  Location loc = whole.getLoc();
  auto types = kernel.getArgumentTypes();
  // Behind hyper-parameters and decay: the rank and the piece's number, where there are several, and the
  // ranges.
  size_t first = types.size() - 2 - optimizer.slots.size();
  auto mark = [&](Operation *op) {
    op->setAttr(train::kUnit, builder.getI64IntegerAttr(unit));
    op->setAttr(train::kPiece, builder.getI64IntegerAttr(piece));
    return op;
  };
  SmallVector<StringRef> slots = {"parameter", "gradient"};
  for (const runtime::SlotRow &slot : optimizer.slots)
    slots.push_back(slot.name);
  SmallVector<Value> inputs = {whole.getInputs().front(),
                               mark(train::LoadDecayOp::create(builder, loc, types[1]))->getResult(0)};
  if (isParted)
    inputs.push_back(train::LoadRankOp::create(builder, loc, types[2]));
  if (inputs.size() < first)
    inputs.push_back(train::LoadNumberOp::create(builder, loc, types[2], piece));
  for (StringRef slot : slots)
    inputs.push_back(mark(train::LoadSlotOp::create(builder, loc, types[first], slot))->getResult(0));
  auto command = cast<train::CommandOp>(builder.clone(*whole));
  command.setId(id);
  command.setKernelAttr(FlatSymbolRefAttr::get(kernel));
  command.getInputsMutable().assign(inputs);
  slots.erase(std::next(slots.begin())); // gradients are read only
  SmallVector<Attribute> inPlace;
  for (auto [i, result] : llvm::enumerate(command.getResults())) {
    result.setType(types[first]);
    auto operand = static_cast<int64_t>(i == 0 ? first : first + 1 + i);
    inPlace.push_back(builder.getDenseI64ArrayAttr({static_cast<int64_t>(i), operand}));
    mark(train::StoreOp::create(builder, loc, result, slots[i]));
  }
  command.setMayAliasAttr(builder.getArrayAttr(inPlace));
}

/// Writes a command for each piece of each unit in the place of `whole`.
void writeParts(train::CommandOp whole, const StateLayout &layout, const runtime::OptimizerSpec &optimizer,
                SymbolTable &symbols, int64_t &id) {
  Type element = cast<RankedTensorType>(whole.getResult(0).getType()).getElementType();
  llvm::MapVector<ArrayRef<int64_t>, func::FuncOp> kernels; // units of one shape share theirs
  std::vector<SmallVector<int64_t>> known;
  known.reserve(layout.units.size());
  int64_t next = static_cast<int64_t>(whole.getId());
  for (auto [number, unit] : llvm::enumerate(layout.units)) {
    known.push_back(startsOf(layout, unit));
    func::FuncOp &kernel = kernels[known.back()];
    if (!kernel) {
      kernel = buildUpdateKernel(optimizer, known.back(), element, layout.manifest.parts(), unit.pieces);
      kernel.setPrivate();
      symbols.insert(kernel);
    }
    for (int64_t piece = 0; piece < unit.pieces; ++piece, next = ++id)
      writePiece(whole, static_cast<int64_t>(number), piece, next, kernel, layout.manifest.parts() > 1,
                 optimizer);
  }
  SmallVector<Operation *> loads;
  for (Value input : whole.getInputs().drop_front())
    loads.push_back(input.getDefiningOp());
  for (Operation *user : llvm::to_vector(whole->getUsers()))
    user->erase(); // stores
  whole.erase();
  for (Operation *load : loads)
    if (load->use_empty())
      load->erase();
}

/// Kernel (part of gradients) -> the same, to be added.
func::FuncOp buildAddKernel(int64_t rows, Type element) {
  MLIRContext *context = element.getContext();
  Location loc = NameLoc::get(StringAttr::get(context, "gradients"));
  int64_t columns = device::kStateAlignment * 8 / element.getIntOrFloatBitWidth();
  nn::Placement replicated = nn::Placement::replicated();
  Type type = replicated.place(RankedTensorType::get({rows, columns}, element));
  auto kernel = func::FuncOp::create(loc, "add_gradients", FunctionType::get(context, {type}, {type}));
  kernel.setPrivate();
  Block *body = kernel.addEntryBlock();
  ImplicitLocOpBuilder b(loc, context);
  b.setInsertionPointToEnd(body);
  Type scalar = replicated.place(RankedTensorType::get({}, element));
  Value one = nn::ConstantOp::create(
      b, scalar, DenseElementsAttr::get(nn::slabOf(scalar), Attribute(b.getFloatAttr(element, 1))));
  auto same = nn::ElementwiseOp::create(b, nn::ElementwiseFn::mul, ValueRange{body->getArgument(0), one});
  same->getResult(0).setType(type);
  func::ReturnOp::create(b, same->getResult(0));
  return kernel;
}

/// Where each micro-step scatters its gradients: the commands that add up what comes.
void writeAdders(train::StepOp step, const StateLayout &layout, SymbolTable &symbols, Type element,
                 int64_t &id) {
  OpBuilder builder(step.getUpdate().getYield());
  llvm::DenseMap<int64_t, func::FuncOp> kernels; // by rows
  for (auto [number, unit] : llvm::enumerate(layout.units)) {
    int64_t rows = static_cast<int64_t>(unit.bytes) / device::kStateAlignment / layout.manifest.parts();
    func::FuncOp &kernel = kernels[rows];
    if (!kernel) {
      kernel = buildAddKernel(rows, element);
      symbols.insert(kernel);
    }
    Type type = kernel.getArgumentTypes().front();
    Value part = train::LoadSlotOp::create(builder, step.getLoc(), type, "gradient");
    part.getDefiningOp()->setAttr(train::kUnit, builder.getI64IntegerAttr(static_cast<int64_t>(number)));
    auto none = train::PolyAttr::get(builder.getContext(), 0, 0);
    auto command = train::CommandOp::create(builder, step.getLoc(), type, FlatSymbolRefAttr::get(kernel),
                                            part, ++id, none, none);
    command.setAccumulate(0);
    command.setAddsUnit(static_cast<int64_t>(number));
  }
}

/// Ops that update one tensor, from those that load what belongs to it on.
struct TensorUpdate {
  size_t unit;
  SmallVector<Operation *> ops;
};

/// Fails, with a diagnostic, where two tensors' updates are mixed.
FailureOr<std::vector<TensorUpdate>> tensorUpdates(train::StepOp step, const StateLayout &layout) {
  std::vector<TensorUpdate> updates;
  FlatSymbolRefAttr tensor;
  for (Operation &op : step.getUpdate().getBlock().without_terminator()) {
    FlatSymbolRefAttr of = train::oneParameterOf(&op);
    if (isa<train::LoadDecayOp>(op) && of) {
      updates.push_back({*layout.unitOf(of.getValue()), {}});
      tensor = of;
    }
    bool isMixed = llvm::any_of(op.getOperands(), [&](Value value) {
      Operation *producer = value.getDefiningOp();
      return producer && !updates.empty() && !llvm::is_contained(updates.back().ops, producer);
    });
    if (updates.empty() || (of && of != tensor) || isMixed)
      return op.emitOpError("stands among the updates of several tensors [malformed-dump]");
    updates.back().ops.push_back(&op);
  }
  return updates;
}

/// A unit is whole while its tensors are updated. Values live within the update of one tensor, so that they
/// keep the places that they were planned.
LogicalResult orderByUnits(train::StepOp step, const StateLayout &layout) {
  auto updates = tensorUpdates(step, layout);
  if (failed(updates))
    return failure();
  Operation *end = step.getUpdate().getYield();
  for (size_t unit = 0; unit < layout.units.size(); ++unit)
    for (const TensorUpdate &update : *updates)
      for (Operation *op : update.ops)
        if (update.unit == unit)
          op->moveBefore(end);
  return success();
}

LogicalResult shardUpdate(ModuleOp module, train::PlanAttr plan) {
  auto step = module.lookupSymbol<train::StepOp>("step");
  SymbolTable symbols(module);
  train::CommandOp whole = step ? updateOf(step, symbols) : train::CommandOp();
  if (!whole)
    return success();
  auto layout = layOutState(module, plan.getDevices());
  if (failed(layout))
    return failure();
  const runtime::OptimizerSpec *optimizer = runtime::findOptimizer(layout->contents.optimizer.str());
  if (optimizer->isByTensor() && failed(orderByUnits(step, *layout)))
    return failure();
  int64_t id = 0;
  module.walk([&](train::CommandOp command) { id = std::max(id, static_cast<int64_t>(command.getId())); });
  Type element = cast<RankedTensorType>(whole.getResult(0).getType()).getElementType();
  if (!optimizer->isByTensor())
    writeParts(whole, *layout, *optimizer, symbols, id);
  if (layout->hasPartsOf("gradient"))
    writeAdders(step, *layout, symbols, element, id);
  return success();
}

} // namespace

void ShardUpdate::runOnOperation() {
  auto plan = getOperation()->getAttrOfType<train::PlanAttr>("train.plan");
  if (plan && plan.getShard() && failed(shardUpdate(getOperation(), plan)))
    signalPassFailure();
}

} // namespace accum
