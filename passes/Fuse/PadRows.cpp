// SPDX-License-Identifier: Apache-2.0
// Which values between commands have rows that begin on round addresses.
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/CommandTail.h"
#include "dialects/Train/GemmShape.h"
#include "dialects/Train/Phases.h"
#include "dialects/Train/RowPitch.h"
#include "dialects/Train/SplitBatch.h"
#include "passes/Fuse/Passes.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_PADROWS
#include "passes/Fuse/Passes.h.inc"

namespace {

/// Shorter rows are a few sectors of 32 bytes, and what is left of them behind the last whole vector is much.
constexpr int64_t kShortestRow = 64;
/// Bytes that threads and products move at once; a cache line. Vectors have eight elements at most.
constexpr int64_t kVectorBytes = 16, kLineBytes = 128, kVectorElements = 8;
/// Memory that a pitch may cost: the 16th part.
constexpr int64_t kMostPadding = 16;

/// Elements from row to row that pay for a type; 0 where rows had better lie one behind the other.
int64_t pitchFor(RankedTensorType type) {
  if (type.getRank() == 0 || !isa<FloatType>(type.getElementType()))
    return 0;
  int64_t width = type.getShape().back(), element = type.getElementTypeBitWidth() / 8;
  auto placement = nn::Placement::of(type);
  bool isBatched = placement.isBatched();
  bool isOneRow = type.getNumElements() == width && !isBatched;
  if (width < kShortestRow || width * element % kVectorBytes == 0 || isOneRow ||
      (isBatched && placement.dim == type.getRank() - 1))
    return 0;
  for (int64_t unit : {kLineBytes / element, kVectorElements})
    if (int64_t pitch = llvm::alignTo(width, unit); (pitch - width) * kMostPadding <= width)
      return pitch;
  return 0;
}

int64_t widthOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 0 ? 0 : type.getShape().back();
}

/// Whether every reshape on the way from a result to what the kernel computes keeps rows whole.
bool keepsRows(Value value) {
  int64_t width = widthOf(value);
  for (; value.getDefiningOp<nn::ReshapeOp>(); value = value.getDefiningOp()->getOperand(0))
    if (widthOf(value.getDefiningOp()->getOperand(0)) != width)
      return false;
  return true;
}

/// Pitches of a command's operands, then of its results.
using Pitches = SmallVector<int64_t>;

class StepPitches {
public:
  StepPitches(train::StepOp step, SymbolTable &symbols) : step(step), symbols(symbols) {}

  void decide();
  /// `value` as a command of this step reads it.
  int64_t of(Value value) const { return pitches.lookup(owner(value)); }
  Pitches of(train::CommandOp command) const;

private:
  struct Uses {
    bool fits = true;       ///< nobody needs rows one behind the other
    bool isProduct = false; ///< a matrix product reads them
  };

  int64_t wanted(train::CommandOp command, OpResult result);
  void collectUses(Value value, int64_t width, Uses &uses) const;
  bool agrees(train::CommandOp product);
  Value owner(Value value) const;
  std::optional<SmallVector<Value>> seenLater(OpOperand &use) const;

  mutable train::StepOp step;
  SymbolTable &symbols;
  DenseMap<Value, int64_t> pitches; ///< of commands' results
};

/// What an earlier phase has computed once, for an argument that brings it; other values themselves.
Value StepPitches::owner(Value value) const {
  value = nn::behindViews(value);
  Value kept = train::keptValue(value);
  return kept ? nn::behindViews(kept) : value;
}

/// What later phases see of a value that leaves a phase which runs once; nothing for other uses.
std::optional<SmallVector<Value>> StepPitches::seenLater(OpOperand &use) const {
  auto phase = dyn_cast<train::PhaseOp>(use.getOwner()->getParentOp());
  if (!phase || phase.getLoop() || !isa<train::YieldOp>(use.getOwner()) ||
      phase->hasAttr(train::kLeavesInState))
    return std::nullopt;
  SmallVector<Value> arguments;
  for (OpOperand &later : phase->getResult(use.getOperandNumber()).getUses())
    arguments.push_back(
        cast<train::PhaseOp>(later.getOwner()).getBlock().getArgument(later.getOperandNumber()));
  return arguments;
}

void StepPitches::collectUses(Value value, int64_t width, Uses &uses) const {
  uses.fits &= widthOf(value) == width;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    auto command = dyn_cast<train::CommandOp>(user);
    if (isa<nn::ReshapeOp>(user))
      collectUses(user->getResult(0), width, uses);
    else if (auto arguments = seenLater(use))
      for (Value argument : *arguments)
        collectUses(argument, width, uses);
    else
      uses.fits &= command && command.getLibrary() != "attention";
    uses.isProduct |= command && command.getLibrary() == "gemm";
  }
}

/// Products gain by it most: a value that none of them touches stays as it is, and its kernels' flat loops.
int64_t StepPitches::wanted(train::CommandOp command, OpResult result) {
  auto number = result.getResultNumber();
  int64_t pitch = pitchFor(cast<RankedTensorType>(result.getType()));
  if (pitch == 0 || command.getLibrary() == "attention" ||
      llvm::is_contained(command.getAccumulate(), static_cast<int64_t>(number)))
    return 0;
  auto kernel = symbols.lookup<func::FuncOp>(command.getKernel());
  Uses uses;
  collectUses(result, widthOf(result), uses);
  bool isProduct = uses.isProduct || command.getLibrary() == "gemm";
  Value returned = kernel.getBody().front().getTerminator()->getOperand(number);
  return isProduct && uses.fits && keepsRows(returned) ? pitch : 0;
}

Pitches StepPitches::of(train::CommandOp command) const {
  Pitches all;
  for (Value input : command.getInputs())
    all.push_back(of(input));
  for (Value result : command.getResults())
    all.push_back(of(result));
  return all;
}

/// Whether a product is the same one with these pitches: axes that it takes as one may be one no more. If
/// not, its values lose theirs.
bool StepPitches::agrees(train::CommandOp product) {
  Pitches own = of(product);
  if (llvm::all_of(own, [](int64_t pitch) { return pitch == 0; }))
    return true;
  auto kernel = symbols.lookup<func::FuncOp>(product.getKernel());
  auto contract = cast<nn::ContractOp>(kernel.getBody().front().front());
  auto pitchOfOperand = [&](Value operand) { return own[cast<BlockArgument>(operand).getArgNumber()]; };
  auto plain = analyseGemm(contract, {0, 0, 0});
  auto padded = analyseGemm(
      contract, {pitchOfOperand(contract.getLhs()), pitchOfOperand(contract.getRhs()), own.back()});
  if (plain && padded &&
      std::tie(plain->a, plain->m, plain->n, plain->k, plain->batch) ==
          std::tie(padded->a, padded->m, padded->n, padded->k, padded->batch))
    return true;
  for (Value value : product->getOperands())
    pitches.erase(owner(value));
  for (Value value : product->getResults())
    pitches.erase(value);
  return false;
}

void StepPitches::decide() {
  SmallVector<train::CommandOp> products;
  for (train::PhaseOp phase : step.getPhases()) {
    if (phase.updates())
      continue;
    for (auto command : phase.getBlock().getOps<train::CommandOp>()) {
      if (command.getLibrary() == "gemm")
        products.push_back(command);
      for (OpResult result : command->getResults())
        if (int64_t pitch = wanted(command, result))
          pitches[result] = pitch;
    }
  }
  while (!llvm::all_of(products, [&](train::CommandOp product) { return agrees(product); })) {
  }
}

/// Kernels by what they are told about their rows.
class PaddedKernels {
public:
  explicit PaddedKernels(SymbolTable &symbols) : symbols(symbols) {}

  FlatSymbolRefAttr version(FlatSymbolRefAttr symbol, const Pitches &pitches) {
    auto key = DenseI64ArrayAttr::get(symbol.getContext(), pitches);
    FlatSymbolRefAttr &known = versions[{symbol, key}];
    if (known)
      return known;
    auto kernel = symbols.lookup<func::FuncOp>(symbol.getValue());
    if (!taken.insert(symbol).second) {
      kernel = kernel.clone();
      symbols.insert(kernel); // renames it
    }
    for (auto [i, pitch] : llvm::enumerate(pitches))
      if (auto number = static_cast<unsigned>(i); number < kernel.getNumArguments())
        setArgumentPitch(kernel, number, pitch);
      else
        setResultPitch(kernel, number - kernel.getNumArguments(), pitch);
    return known = FlatSymbolRefAttr::get(kernel);
  }

private:
  SymbolTable &symbols;
  DenseMap<std::pair<Attribute, Attribute>, FlatSymbolRefAttr> versions;
  DenseSet<Attribute> taken;
};

/// Results take the place of operands whose rows lie as theirs.
void dropAliases(train::CommandOp command, const Pitches &pitches) {
  size_t inputs = command.getInputs().size();
  SmallVector<Attribute> pairs;
  for (auto pair : command.getMayAlias().getAsRange<DenseI64ArrayAttr>())
    if (pitches[inputs + pair[0]] == pitches[pair[1]])
      pairs.push_back(pair);
  if (pairs.size() != command.getMayAlias().size())
    command.setMayAliasAttr(ArrayAttr::get(command.getContext(), pairs));
}

/// Of `operands` as CommandTail numbers them, then of the results `numbers`.
Pitches pitchesOfPart(train::CommandOp command, const Pitches &whole, ArrayRef<int64_t> operands,
                      ArrayRef<int64_t> numbers) {
  size_t inputs = command.getInputs().size();
  Pitches part;
  for (int64_t operand : operands)
    part.push_back(operand < 0 ? whole[inputs + ~operand] : whole[operand]);
  for (int64_t number : numbers)
    part.push_back(whole[inputs + number]);
  return part;
}

void padCommand(train::CommandOp command, const Pitches &pitches, PaddedKernels &kernels) {
  command.setKernelAttr(kernels.version(command.getKernelAttr(), pitches));
  dropAliases(command, pitches);
  auto tail = tailOf(command);
  if (!tail)
    return;
  SmallVector<int64_t> others;
  for (int64_t number = 0; number < command.getNumResults(); ++number)
    if (number != tail->result)
      others.push_back(number);
  tail->kernel =
      kernels.version(tail->kernel, pitchesOfPart(command, pitches, tail->operands, {tail->result}));
  tail->head = kernels.version(tail->head, pitchesOfPart(command, pitches, tail->headOperands, others));
  setTail(command, *tail);
}

struct PadRows : impl::PadRowsBase<PadRows> {
  using PadRowsBase::PadRowsBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    PaddedKernels kernels(symbols);
    for (auto step : getOperation().getOps<train::StepOp>()) {
      StepPitches pitches(step, symbols);
      pitches.decide();
      step.walk([&](train::CommandOp command) { padCommand(command, pitches.of(command), kernels); });
    }
  }
};

} // namespace
} // namespace accum
