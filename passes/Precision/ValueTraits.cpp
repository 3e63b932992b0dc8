// SPDX-License-Identifier: Apache-2.0
// One walk in program order: a step has no loops between its commands.
#include "passes/Precision/ValueTraits.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/TileSum.h"
#include "dialects/Train/Phases.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accum {
namespace {

constexpr double kLargestBf16 = 3.3895313892515355e38; // bf16's largest finite number

using Traits = DenseMap<Value, ValueTraits>;

RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }
bool isFloat(Value value) { return isa<FloatType>(tensorOf(value).getElementType()); }

template <class Number> bool holdsExtremes(DenseElementsAttr values) {
  return llvm::any_of(values.getValues<Number>(), [](Number number) {
    return std::isfinite(number) && std::abs(static_cast<double>(number)) > kLargestBf16;
  });
}

/// Other float types hold nothing that bf16 could not.
bool holdsExtremes(DenseElementsAttr values) {
  if (values.getElementType().isF64())
    return holdsExtremes<double>(values);
  return values.getElementType().isF32() && holdsExtremes<float>(values);
}

/// Weights are learned, frozen ones too; a short table of the file (a rotary embedding's frequencies) is not.
bool isLearned(train::LoadParamOp load, SymbolTableCollection &symbols) {
  auto param = symbols.lookupNearestSymbolFrom<train::ParamOp>(load, load.getParamAttr());
  auto shape = cast<RankedTensorType>(param.getType()).getShape();
  return param.getTrained() || llvm::count_if(shape, [](int64_t extent) { return extent != 1; }) >= 2;
}

/// Of an op whose result elements are made of its operands' elements.
ValueTraits mapped(Operation *op, const Traits &traits) {
  ValueTraits result;
  int64_t elements = 0; // of the largest statistic
  bool others = false;
  for (Value operand : op->getOperands()) {
    ValueTraits own = traits.lookup(operand);
    result.extreme |= own.extreme;
    if (!own.learned)
      continue;
    result.learned = true;
    others |= !own.statistic;
    if (own.statistic)
      elements = std::max(elements, tensorOf(operand).getNumElements());
  }
  // Spread over rows, a statistic has become an activation.
  result.statistic = result.learned && !others && tensorOf(op->getResult(0)).getNumElements() <= elements;
  return result;
}

ValueTraits traitsOf(nn::ReduceOp op, const Traits &traits) {
  ValueTraits result = mapped(op, traits);
  int64_t last = tensorOf(op.getInput()).getRank() - 1;
  if (result.learned && llvm::is_contained(op.getAxes(), last))
    result.statistic = true;
  result.summed = nn::tileSumOf(op).has_value();
  return result;
}

/// A product with what was not learned is a table too: frequencies times positions.
ValueTraits traitsOf(nn::ContractOp op, const Traits &traits) {
  return {.learned = traits.lookup(op.getLhs()).learned && traits.lookup(op.getRhs()).learned};
}

void visitOp(Operation *op, Traits &traits, ConstantTraits &constants, SymbolTableCollection &symbols) {
  constexpr ValueTraits activation = {.learned = true}, statistic = {.learned = true, .statistic = true};
  auto set = [&](ArrayRef<ValueTraits> all) {
    for (auto [result, own] : llvm::zip_equal(op->getResults(), all))
      if (isFloat(result))
        traits[result] = own;
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](nn::ConstantOp constant) { set({constants.of(constant)}); })
      .Case([&](train::LoadParamOp load) { set({{.learned = isLearned(load, symbols)}}); })
      .Case([&](nn::ReduceOp reduce) { set({traitsOf(reduce, traits)}); })
      .Case([&](nn::ContractOp contract) { set({traitsOf(contract, traits)}); })
      .Case<nn::SoftmaxOp, nn::CrossEntropyGradOp>([&](Operation *) { set({activation}); })
      .Case([&](nn::LayerNormOp) { set({activation, statistic, statistic}); })
      .Case([&](nn::RmsNormOp) { set({activation, statistic}); })
      .Case([&](nn::CrossEntropyOp) { set({statistic, statistic}); })
      .Case([&](nn::AttentionOp) { set({activation, statistic}); })
      .Case([&](nn::AttentionBwdOp) { set({activation, activation, activation}); })
      .Default([&](Operation *) {
        if (!isa<nn::NNDialect>(op->getDialect()) || op->getNumResults() != 1)
          return;
        ValueTraits own = mapped(op, traits);
        if (auto elementwise = dyn_cast<nn::ElementwiseOp>(op))
          own.extreme &= elementwise.getFn() != nn::ElementwiseFn::exp;
        own.summed = isa<nn::ScatterAddOp, nn::ScatterElementsAddOp, nn::CumSumOp>(op) ||
                     (isa<nn::ReshapeOp>(op) && traits.lookup(op->getOperand(0)).summed);
        set({own});
      });
}

} // namespace

ValueTraits ConstantTraits::of(nn::ConstantOp op) {
  auto values = dyn_cast<DenseFPElementsAttr>(op.getValue());
  if (!values)
    return {};
  auto [known, isNew] = extreme.try_emplace(values);
  if (isNew)
    known->second = holdsExtremes(values);
  return {.extreme = known->second};
}

TraitAnalysis::TraitAnalysis(train::StepOp step) {
  for (train::PhaseOp phase : step.getPhases()) {
    if (phase.updates())
      continue;
    for (BlockArgument argument : phase.getBlock().getArguments())
      if (Value kept = train::keptValue(argument))
        traits[argument] = of(kept);
      else if (isa<BlockArgument>(phase.sourceOf(argument)) && isFloat(argument))
        traits[argument].learned = true;
    visitBlock(phase.getBlock());
  }
}

void TraitAnalysis::visitBlock(Block &block) {
  for (Operation &op : block)
    if (auto command = dyn_cast<train::CommandOp>(op))
      visitCommand(command);
    else
      visitOp(&op, traits, constants, symbols);
}

void TraitAnalysis::visitCommand(train::CommandOp command) {
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(command, command.getKernelAttr());
  Traits inside;
  for (auto [argument, input] : llvm::zip_equal(kernel.getArguments(), command.getInputs()))
    inside[argument] = of(input);
  Block &body = kernel.getBody().front();
  for (Operation &op : body.without_terminator())
    visitOp(&op, inside, constants, symbols);
  for (auto [result, value] : llvm::zip_equal(command.getResults(), body.getTerminator()->getOperands()))
    traits[result] = inside.lookup(value);
}

} // namespace accum
