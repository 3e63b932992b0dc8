// SPDX-License-Identifier: Apache-2.0
// Graphs around one op, and how they are evaluated.
#include "test/passes/Differentiate/DerivativeCase.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Check/Passes.h"
#include "passes/Differentiate/Passes.h"

using namespace mlir;

namespace accum::test {

static Array randomArray(std::mt19937_64 &random, ArrayRef<int64_t> shape) {
  Array array = Array::zeros(shape);
  for (double &x : array.data)
    x = std::uniform_real_distribution(0.2, 1.8)(random);
  return array;
}

Value Ingredients::constant(ArrayRef<int64_t> shape) const {
  std::mt19937_64 random(11);
  Array array = randomArray(random, shape);
  return nn::ConstantOp::create(builder, loc(), typeOf(shape),
                                DenseElementsAttr::get(typeOf(shape), ArrayRef(array.data)));
}

Value Ingredients::scalar(double value) const {
  return nn::ConstantOp::create(builder, loc(), typeOf({}), DenseElementsAttr::get(typeOf({}), value));
}

Value Ingredients::map(nn::ElementwiseFn fn, ValueRange operands) const {
  return nn::ElementwiseOp::create(builder, loc(), fn, operands);
}

Value Ingredients::masked(Value value) const {
  nn::Placement placement = nn::Placement::of(value.getType());
  if (!placement.isBatched())
    return value;
  return nn::MaskRowsOp::create(builder, loc(), value.getType(), value, valid, placement.dim,
                                placement.outer);
}

static Value load(OpBuilder &builder, train::ParamOp param) {
  return train::LoadParamOp::create(builder, param.getLoc(),
                                    nn::Placement::replicated().place(param.getType()), param.getSymName());
}

void DerivativeCase::addParameter(StringRef name, ArrayRef<int64_t> shape) {
  OpBuilder builder = OpBuilder::atBlockEnd(forward->getBody());
  auto source = train::FileAttr::get(builder.getContext(), "m.onnx", 0, 8, 0);
  train::ParamOp::create(builder, builder.getUnknownLoc(), name,
                         RankedTensorType::get(shape, builder.getF64Type()), source, /*trained=*/true);
  parameters[name.str()] = randomArray(random, shape);
}

static func::FuncOp addForward(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto type = [](ArrayRef<int64_t> shape, Type element, nn::Placement placement) -> Type {
    return placement.place(RankedTensorType::get(shape, element));
  };
  Type i64 = builder.getI64Type();
  SmallVector<Type> types{
      type({1, 3, 4}, builder.getF64Type(), nn::Placement::batched(0)),
      type({1, 3}, i64, nn::Placement::batched(0)), type({2, 3}, i64, nn::Placement::replicated()),
      type({1}, builder.getI1Type(), nn::Placement::batched(0)), type({}, i64, nn::Placement::replicated())};
  auto function =
      func::FuncOp::create(builder, module.getLoc(), "forward", builder.getFunctionType(types, {}));
  const char *names[] = {"x", "ids", "places", "valid", "first_row"};
  for (auto [i, name] : llvm::enumerate(names))
    function.setArgAttr(i, "train.name", builder.getStringAttr(name));
  function.addEntryBlock();
  return function;
}

DerivativeCase::DerivativeCase(MLIRContext &context, const Graph &graph, bool isBatched) {
  context.loadDialect<nn::NNDialect, train::TrainDialect, func::FuncDialect>();
  forward = ModuleOp::create(UnknownLoc::get(&context));
  addParameter("w", {isBatched ? 1 : 2, 3, 4});
  addParameter("v", {isBatched ? 1 : 2, 3, 4});
  addParameter("table", {5, 4});
  func::FuncOp function = addForward(*forward);
  nn::PlacedBuilder builder(&context);
  builder.setInsertionPointToStart(&function.getBody().front());
  SmallVector<Value> loaded;
  for (auto param : forward->getOps<train::ParamOp>())
    loaded.push_back(load(builder, param));
  Value x = function.getArgument(0);
  Ingredients ingredients{builder,
                          loaded[0],
                          loaded[1],
                          loaded[2],
                          function.getArgument(isBatched ? 1 : 2),
                          function.getArgument(3)};
  if (isBatched) {
    ingredients.in = ingredients.map(nn::ElementwiseFn::add, {x, loaded[0]});
    ingredients.other = ingredients.map(nn::ElementwiseFn::mul, {x, loaded[1]});
  }
  Value out = graph(ingredients);
  SmallVector<int64_t> shape(cast<RankedTensorType>(out.getType()).getShape());
  nn::Placement placement = nn::Placement::of(out.getType());
  auto sumOf = [&](Value value) -> Value {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(cast<RankedTensorType>(value.getType()).getRank()));
    return nn::ReduceOp::create(builder, builder.getUnknownLoc(), nn::ReduceKind::sum,
                                ingredients.masked(value), axes);
  };
  if (placement.isBatched())
    shape[placement.dim] = 1;
  Value loss = sumOf(ingredients.map(nn::ElementwiseFn::mul, {out, ingredients.constant(shape)}));
  if (placement.isReplicated())
    loss = ingredients.map(nn::ElementwiseFn::mul, {sumOf(x), loss});
  func::ReturnOp::create(builder, builder.getUnknownLoc(), loss);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), loss.getType()));
  inputs["x"] = randomArray(random, {samples, 3, 4});
  inputs["ids"] = {{samples, 3}, {0, 2, 1, 1, 1, 0, 2, 0, 2}};
  inputs["places"] = {{2, 3}, {2, 0, 0, 1, 2, 1}};
}

bool DerivativeCase::differentiate() {
  step = forward->clone();
  PassManager passes(step->getContext());
  passes.addPass(createVerifyPlacement());
  passes.addPass(createDifferentiate());
  passes.addPass(createVerifyPlacement());
  return succeeded(passes.run(*step));
}

/// Samples `first` to `first + count`; rows behind the last sample repeat it and are not valid.
void DerivativeCase::bind(Evaluator &evaluator, Block &block, int64_t first, int64_t count) const {
  const char *names[] = {"x", "ids", "places"};
  for (unsigned i = 0; i < 3; ++i) {
    Array array = inputs.at(names[i]);
    if (i < 2) {
      int64_t size = static_cast<int64_t>(array.data.size()) / samples;
      Array rows{array.shape, {}};
      rows.shape[0] = count;
      for (int64_t row = first; row < first + count; ++row) {
        auto begin = array.data.begin() + std::min(row, samples - 1) * size;
        rows.data.insert(rows.data.end(), begin, begin + size);
      }
      array = std::move(rows);
    }
    evaluator.set(block.getArgument(i), std::move(array));
  }
  Array valid = Array::zeros({count});
  for (int64_t row = 0; row < count; ++row)
    valid.data[row] = first + row < samples;
  evaluator.set(block.getArgument(3), std::move(valid));
  evaluator.set(block.getArgument(4), {{}, {static_cast<double>(first)}});
}

double DerivativeCase::loss(const Parameters &values) const {
  auto function = *ModuleOp(forward.get()).getOps<func::FuncOp>().begin();
  Evaluator evaluator({samples, 0, {}, values});
  bind(evaluator, function.getBody().front(), 0, samples);
  evaluator.run(function.getBody().front().getOperations());
  return evaluator.at(function.getBody().front().getTerminator()->getOperand(0)).data[0];
}

static void addInto(Array &sum, const Array &term) {
  if (sum.data.empty())
    sum = Array::zeros(term.shape);
  for (auto [a, b] : llvm::zip_equal(sum.data, term.data))
    a += b;
}

Parameters DerivativeCase::gradients(int64_t m) const {
  Parameters sums;
  auto program = ModuleOp(step.get()).lookupSymbol<train::StepOp>("step");
  for (int64_t first = 0; first < samples; first += m) {
    Evaluator evaluator({m, first, {}, parameters});
    bind(evaluator, program.getBlock(), first, m);
    evaluator.set(program.getBlock().getArgument(5), {{3}, {0, 0, 0}}); // seed, step, samples before
    for (train::PhaseOp phase : program.getPhases()) {
      if (phase.updates())
        continue;
      for (auto [argument, value] : llvm::zip_equal(phase.getBlock().getArguments(), phase.getCaptures()))
        evaluator.set(argument, evaluator.at(value));
      evaluator.run(phase.getBlock().getOperations());
      auto yielded = phase.getYield().getValues();
      if (!phase.getLoop())
        for (auto [result, value] : llvm::zip_equal(phase->getResults(), yielded))
          evaluator.set(result, evaluator.at(value));
      for (auto [value, target] : llvm::zip(yielded, phase.getYield().getTargets())) {
        auto symbol = dyn_cast<FlatSymbolRefAttr>(target);
        addInto(sums[symbol ? symbol.getValue().str() : cast<StringAttr>(target).str()], evaluator.at(value));
      }
    }
  }
  return sums;
}

} // namespace accum::test
