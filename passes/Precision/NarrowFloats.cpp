// SPDX-License-Identifier: Apache-2.0
// Stores in bf16 what a step's commands hand to each other, and multiplies in it.
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/AttentionShape.h"
#include "dialects/Train/GemmShape.h"
#include "dialects/Train/Phases.h"
#include "dialects/Train/SplitBatch.h"
#include "passes/Precision/NarrowKernels.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/ValueTraits.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_NARROWFLOATS
#include "passes/Precision/Passes.h.inc"

namespace {

bool isF32(Value value) { return cast<RankedTensorType>(value.getType()).getElementType().isF32(); }

bool isBf16(Value value) { return cast<RankedTensorType>(value.getType()).getElementType().isBF16(); }

train::ParamOp paramOf(train::LoadParamOp load) {
  return SymbolTable::lookupNearestSymbolFrom<train::ParamOp>(load, load.getParamAttr());
}

/// A copy of a parameter goes by the parameter's name, not by that of the node that reads it.
Location copyLocation(train::LoadParamOp load) {
  train::ParamOp param = paramOf(load);
  StringAttr name = param.getModule() ? param.getModuleAttr() : param.getSymNameAttr();
  auto label = StringAttr::get(load.getContext(), name.getValue() + " in bf16");
  return FusedLoc::get(load.getContext(), {NameLoc::get(name)}, ArrayAttr::get(load.getContext(), label));
}

Value behindViews(Value value) {
  while (auto view = value.getDefiningOp<nn::ReshapeOp>())
    value = view.getInput();
  return value;
}

/// One step: first decides, then changes types in place.
class StepNarrowing {
public:
  StepNarrowing(train::StepOp step, NarrowKernels &kernels, bool wideWeights)
      : step(step), kernels(kernels), wideWeights(wideWeights), traits(step) {}

  void run() {
    SmallVector<train::CommandOp> commands;
    for (train::PhaseOp phase : step.getPhases()) {
      if (isNarrowed(phase))
        llvm::append_range(commands, phase.getBlock().getOps<train::CommandOp>());
      else if (train::relatesSamples(phase))
        for (auto load : phase.getBlock().getOps<train::LoadParamOp>())
          readWide.insert(load.getParamAttr());
    }
    for (train::CommandOp command : commands)
      if (command.getLibrary() == "gemm" && !isNarrowCall(command))
        for (Value input : command.getInputs())
          wide.insert(storedAs(input));
      else if (command.getLibrary() == "attention")
        keepMaskWide(command);
    for (train::CommandOp command : commands)
      choose(command);
    // Copies that are made here are commands too, but ask for nothing.
    for (train::CommandOp command : commands)
      if (isNarrowCall(command))
        for (OpOperand &operand : command->getOpOperands())
          if (isBias(command, operand.getOperandNumber()) ? narrow.contains(command.getResult(0))
                                                          : isNarrowOperand(command, operand))
            operand.set(demand(operand.get()));
    retype();
  }

private:
  /// What runs once before the update, and loops that read trained weights: totals over the inputs stay
  /// exact, and so does what compares all samples.
  static bool isNarrowed(train::PhaseOp phase) {
    if (!phase.getLoop())
      return !phase.updates() && !train::relatesSamples(phase);
    return llvm::any_of(phase.getBlock().getOps<train::LoadParamOp>(),
                        [](train::LoadParamOp load) { return paramOf(load).getTrained(); });
  }
  bool isLearned(Value value) const { return traits.of(value).learned && !traits.of(value).statistic; }

  /// A library call in bf16: a product of what was learned, whatever bias is added to it; every attention.
  bool isNarrowCall(train::CommandOp command) const {
    auto float32 = [](Value value) { return isF32(value); };
    if (command.getLibrary() == "attention")
      return isF32(command.getResult(0));
    return command.getLibrary() == "gemm" && llvm::all_of(command.getInputs(), float32) &&
           llvm::all_of(llvm::enumerate(command.getInputs()), [&](const auto &input) {
             return isBias(command, input.index()) || isLearned(behindViews(input.value()));
           });
  }

  void keepMaskWide(train::CommandOp command);
  bool isMask(train::CommandOp command, Value operand) const {
    return command.getLibrary() == "attention" && masks.contains(behindViews(operand));
  }
  /// Of its product's type. A frozen one, which is a short table of the file, too.
  bool isBias(train::CommandOp command, size_t operand) const {
    if (command.getLibrary() != "gemm")
      return false;
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(command, command.getKernelAttr());
    auto product = analyseGemmKernel(kernel);
    return product && product->bias == operand;
  }
  bool isNarrowOperand(train::CommandOp command, OpOperand &operand) const {
    return isLearned(operand.get()) && !isMask(command, operand.get()) && !isWideWeight(command, operand);
  }
  bool isWideWeight(train::CommandOp command, OpOperand &operand) const;
  void choose(train::CommandOp command);
  bool mayStore(Value value) const {
    return isF32(value) && isLearned(value) && !traits.of(value).extreme && !traits.of(value).summed &&
           !wide.contains(value) && !masks.contains(value);
  }
  bool canHold(Value stored) const;
  Value demand(Value value);
  Value copyOf(Value root);
  Value roundedOnce(train::LoadParamOp load);
  Value storedAs(Value value);
  void retype();

  train::StepOp step;
  NarrowKernels &kernels;
  bool wideWeights;
  TraitAnalysis traits;
  SetVector<Value> narrow;            ///< results and loads of frozen parameters that become bf16
  DenseSet<Value> wide;               ///< what products in f32 read: both of their operands are of one type
  DenseSet<Value> masks;              ///< what attentions add to scores, which are f32
  DenseSet<Attribute> readWide;       ///< parameters where samples meet
  DenseMap<Value, Value> copies;      ///< of what stays f32
  DenseMap<Attribute, Value> weights; ///< the copy of a trained parameter, where it is made
};

struct NarrowFloats : impl::NarrowFloatsBase<NarrowFloats> {
  using NarrowFloatsBase::NarrowFloatsBase;
  void runOnOperation() override;
};

} // namespace

/// Scores are f32, and what is added to them.
void StepNarrowing::keepMaskWide(train::CommandOp command) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(command, command.getKernelAttr());
  Operation *attention = attentionOf(kernel);
  auto forward = dyn_cast<nn::AttentionOp>(attention);
  SmallVector<Value> open = {forward ? forward.getMask() : cast<nn::AttentionBwdOp>(attention).getMask()};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (auto argument = dyn_cast_or_null<BlockArgument>(value))
      masks.insert(behindViews(command.getInputs()[argument.getArgNumber()]));
    else if (value)
      llvm::append_range(open, value.getDefiningOp()->getOperands());
  }
}

/// A trained weight that its product rounds as it reads: its B, beside an A that is not such a weight too.
bool StepNarrowing::isWideWeight(train::CommandOp command, OpOperand &operand) const {
  auto load = behindViews(operand.get()).getDefiningOp<train::LoadParamOp>();
  if (!wideWeights || command.getLibrary() != "gemm" || !load || !paramOf(load).getTrained())
    return false;
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(command, command.getKernelAttr());
  auto product = analyseGemmKernel(kernel);
  if (!product || product->operands[product->gemm.b] != operand.getOperandNumber())
    return false;
  Value a = command.getInputs()[product->operands[product->gemm.a]];
  return !behindViews(a).getDefiningOp<train::LoadParamOp>();
}

/// Activations and their cotangents, one slab per sample. Sums over samples, statistics of rows and what
/// every sample shares stay f32.
void StepNarrowing::choose(train::CommandOp command) {
  if (command.getLibrary() && !isNarrowCall(command))
    return;
  for (Value result : command.getResults())
    if (mayStore(result) && nn::Placement::of(result.getType()).isBatched())
      narrow.insert(result);
}

/// What holds the elements of `value`: behind views, and in the phase that has computed it once.
Value StepNarrowing::storedAs(Value value) {
  Value root = behindViews(value);
  Value kept = train::keptValue(root);
  return kept ? behindViews(kept) : root;
}

/// A rounded copy of a weight, made once per step. What it returns, the phase of `load` reads.
Value StepNarrowing::roundedOnce(train::LoadParamOp load) {
  auto reader = cast<train::PhaseOp>(load->getParentOp());
  Value &copy = weights[load.getParamAttr()];
  if (!copy) {
    train::PhaseOp once = train::onceBefore(reader);
    OpBuilder builder(once.getYield());
    Value wide = builder.clone(*load)->getResult(0);
    copy = kernels.round(wide, builder, copyLocation(load));
  }
  auto once = cast<train::PhaseOp>(copy.getDefiningOp()->getParentOp());
  Location location = copy.getLoc();
  for (OpOperand &use : copy.getUses())
    if (use.getOwner() == once.getYield())
      return reader.capture(once->getResult(use.getOperandNumber()), location);
  return reader.capture(train::keep(once, copy), location);
}

/// A rounded copy of what stays f32, made once per step for weights, per micro-step for other values.
Value StepNarrowing::copyOf(Value root) {
  if (auto load = root.getDefiningOp<train::LoadParamOp>())
    return roundedOnce(load);
  Value &copy = copies[root];
  if (!copy) {
    OpBuilder builder(root.getContext());
    builder.setInsertionPointAfterValue(root);
    copy = kernels.round(root, builder, root.getLoc());
  }
  return copy;
}

/// Whether the command that computes `stored`, or the state, can hold it in bf16.
bool StepNarrowing::canHold(Value stored) const {
  if (auto load = stored.getDefiningOp<train::LoadParamOp>())
    return !paramOf(load).getTrained() && !wide.contains(stored) && !readWide.contains(load.getParamAttr());
  auto command = stored.getDefiningOp<train::CommandOp>();
  return command && mayStore(stored) && (!command.getLibrary() || isNarrowCall(command));
}

/// `value` as a product reads it: itself, where it can be stored in bf16, else a view of a copy.
Value StepNarrowing::demand(Value value) {
  Value root = behindViews(value);
  Value stored = storedAs(value);
  if (!isF32(root) || narrow.contains(stored))
    return value;
  if (canHold(stored)) {
    narrow.insert(stored);
    return value;
  }
  Value copy = copyOf(root);
  if (value == root)
    return copy;
  OpBuilder builder(value.getDefiningOp());
  return nn::ReshapeOp::create(builder, value.getLoc(), bf16Type(value.getType()), copy);
}

void StepNarrowing::retype() {
  for (Value value : narrow) {
    value.setType(bf16Type(value.getType()));
    if (auto load = value.getDefiningOp<train::LoadParamOp>())
      paramOf(load).setType(nn::slabOf(value.getType()));
  }
}

/// Every load of a parameter has its type, every view that of what it looks at, every result and argument of
/// a phase that of what it brings.
static void followTypes(train::StepOp step) {
  for (train::PhaseOp phase : step.getPhases()) {
    if (phase.updates())
      continue;
    for (auto [argument, value] : llvm::zip(phase.getBlock().getArguments(), phase.getCaptures()))
      argument.setType(value.getType());
    for (Operation &op : phase.getBlock())
      if (auto load = dyn_cast<train::LoadParamOp>(op))
        load.getResult().setType(nn::Placement::of(load.getType()).place(paramOf(load).getType()));
      else if (auto view = dyn_cast<nn::ReshapeOp>(op); view && isBf16(view.getInput()))
        view.getResult().setType(bf16Type(view.getType()));
    if (phase.getLoop())
      continue;
    for (auto [result, value] : llvm::zip(phase->getResults(), phase.getYield().getValues()))
      result.setType(value.getType());
  }
}

/// Kernels that nobody calls any more.
static void eraseUncalled(ModuleOp module) {
  DenseSet<StringAttr> called;
  module.walk([&](train::CommandOp command) { called.insert(command.getKernelAttr().getAttr()); });
  for (auto kernel : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!called.contains(kernel.getSymNameAttr()))
      kernel.erase();
}

void NarrowFloats::runOnOperation() {
  ModuleOp module = getOperation();
  NarrowKernels kernels(module);
  for (auto step : module.getOps<train::StepOp>())
    StepNarrowing(step, kernels, wideWeights).run();
  for (auto step : module.getOps<train::StepOp>())
    followTypes(step);
  int64_t id = 0;
  module.walk([&](train::CommandOp command) {
    kernels.fit(command);
    command.setId(id++);
  });
  eraseUncalled(module);
}

} // namespace accum
