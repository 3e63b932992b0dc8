// SPDX-License-Identifier: Apache-2.0
// What `check` promises, on random graphs: the loss of ragged micro-steps, with totals from a pre-pass over
// the same micro-steps, adds up to the loss that the graph as imported has on the whole batch.
#include "passes/Check/CheckPlacement.h"
#include "test/dialects/NN/RandomGraph.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;

namespace accum::test {
namespace {

constexpr int64_t samples = 6, microBatch = 4;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Back to what import gives: extents instead of placements, and nothing that only check makes.
void unplace(func::FuncOp forward) {
  for (Operation &op : llvm::make_early_inc_range(forward.getBody().front()))
    if (isa<nn::TotalOp, nn::ShareOp, nn::DropoutOp>(op)) {
      op.getResult(0).replaceAllUsesWith(op.getOperand(0));
      op.erase();
    }
  auto unplaceValue = [](Value value) {
    nn::Placement placement = nn::Placement::of(value.getType());
    Attribute extent =
        placement.isBatched() ? nn::ExtentAttr::get(value.getContext(), {placement.dim}) : Attribute();
    value.setType(nn::withEncoding(value.getType(), extent));
  };
  for (Value argument : forward.getArguments())
    unplaceValue(argument);
  for (Operation &op : forward.getBody().front())
    for (Value result : op.getResults())
      unplaceValue(result);
}

/// loss = sum of all unused real values / number of samples; null where there are none.
Value addLoss(func::FuncOp forward) {
  OpBuilder builder = OpBuilder::atBlockEnd(&forward.getBody().front());
  Location loc = builder.getUnknownLoc();
  Value loss;
  SmallVector<Value> leaves;
  for (Operation &op : forward.getBody().front())
    for (Value value : op.getResults())
      if (value.use_empty() && typeOf(value).getElementType().isF64() && !isa<train::LoadParamOp>(op))
        leaves.push_back(value);
  for (Value leaf : leaves) {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(typeOf(leaf).getRank()));
    Value sum = nn::ReduceOp::create(builder, loc, nn::ReduceKind::sum, leaf, axes);
    loss =
        loss ? nn::ElementwiseOp::create(builder, loc, nn::ElementwiseFn::add, ValueRange{loss, sum}) : sum;
  }
  if (!loss)
    return {};
  Value size = nn::BatchSizeOp::create(builder, loc, RankedTensorType::get({}, builder.getI64Type()));
  Value divisor = nn::CastOp::create(builder, loc, size, builder.getF64Type());
  loss = nn::ElementwiseOp::create(builder, loc, nn::ElementwiseFn::div, ValueRange{loss, divisor});
  func::ReturnOp::create(builder, loc, loss);
  forward.setType(builder.getFunctionType(forward.getArgumentTypes(), loss.getType()));
  return loss;
}

class Program {
public:
  Program(RandomGraph &graph) : graph(graph) {
    for (Value argument : graph.forward.getArguments())
      data.push_back(graph.dataFor(argument, samples));
  }

  double wholeLoss() {
    Evaluator evaluator({samples, 0, {}, graph.parameters});
    for (auto [argument, array] : llvm::zip(graph.forward.getArguments(), data))
      evaluator.set(argument, array);
    evaluator.run(body().getOperations());
    return evaluator.at(body().getTerminator()->getOperand(0)).data[0];
  }

  double microLoss() {
    std::map<Operation *, Array> totals;
    auto anything = [](nn::TotalOp total) { return Array::zeros(typeOf(total).getShape()); };
    for (int64_t first = 0; first < samples; first += microBatch) {
      Evaluator evaluator = runMicro(first, anything);
      for (auto total : body().getOps<nn::TotalOp>()) {
        Array &sum = totals.try_emplace(total, Array::zeros(typeOf(total).getShape())).first->second;
        for (auto [a, b] : llvm::zip(sum.data, evaluator.at(total.getInput()).data))
          a += b;
      }
    }
    double loss = 0;
    for (int64_t first = 0; first < samples; first += microBatch)
      loss += runMicro(first, [&](nn::TotalOp total) { return totals.at(total); })
                  .at(body().getTerminator()->getOperand(0))
                  .data[0];
    return loss;
  }

private:
  Block &body() { return graph.forward.getBody().front(); }

  /// Spare rows repeat the last sample.
  Evaluator runMicro(int64_t first, std::function<Array(nn::TotalOp)> total) {
    Evaluator evaluator({microBatch, first, std::move(total), graph.parameters});
    unsigned inputs = data.size();
    for (unsigned i = 0; i < inputs; ++i) {
      BlockArgument argument = body().getArgument(i);
      int64_t dim = nn::Placement::of(argument.getType()).dim, rows = typeOf(argument).getDimSize(dim);
      Array slice = Array::zeros(evaluator.shapeOf(argument));
      forEachIndex(slice.shape, [&](ArrayRef<int64_t> index) {
        SmallVector<int64_t> from(index);
        from[dim] = std::min(first + index[dim] / rows, samples - 1) * rows + index[dim] % rows;
        slice.at(index) = data[i].at(from);
      });
      evaluator.set(argument, std::move(slice));
    }
    Array valid = Array::zeros({microBatch});
    for (int64_t row = 0; row < microBatch; ++row)
      valid.data[row] = first + row < samples;
    evaluator.set(body().getArgument(inputs), std::move(valid));
    evaluator.set(body().getArgument(inputs + 1), {{}, {static_cast<double>(first)}});
    evaluator.run(body().getOperations());
    return evaluator;
  }

  RandomGraph &graph;
  std::vector<Array> data;
};

TEST(CheckProperty, RaggedMicroStepsAddUpToTheWholeBatch) {
  MLIRContext context;
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  int accepted = 0, refused = 0, totals = 0, shares = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomGraph graph(context, seed);
    graph.grow(40);
    Program program(graph);
    unplace(graph.forward);
    if (!addLoss(graph.forward))
      continue;
    double whole = program.wholeLoss();
    Verdict verdict;
    if (failed(checkPlacement(*graph.module, verdict))) {
      ++refused;
      EXPECT_FALSE(verdict.accepted());
      continue;
    }
    ++accepted;
    totals += verdict.normalisers.size() > 1;
    shares += verdict.shares > 0;
    double cut = program.microLoss();
    if (std::isfinite(whole))
      ASSERT_NEAR(cut, whole, 1e-9 * std::max(1.0, std::abs(whole))) << "seed " << seed;
  }
  RecordProperty("graphs", std::to_string(accepted) + " accepted, " + std::to_string(refused) + " refused, " +
                               std::to_string(totals) + " with totals, " + std::to_string(shares) +
                               " with shares");
  EXPECT_GT(accepted, 500);
  EXPECT_GT(refused, 20);
  EXPECT_GT(totals, 200);
  EXPECT_GT(shares, 100);
}

} // namespace
} // namespace accum::test
