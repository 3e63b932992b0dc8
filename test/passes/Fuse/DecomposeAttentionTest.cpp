// SPDX-License-Identifier: Apache-2.0
// Attention in primitive ops computes what attention computes, and so does its derivative: both by the
// interpreter in f64, under every mask, with grouped heads, with rows that see nothing.
#include "dialects/NN/PlacedBuilder.h"
#include "dialects/NN/Placement.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Check/Passes.h"
#include "passes/Fuse/Passes.h"
#include "test/dialects/NN/Evaluator.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace accum::test {
namespace {

using nn::HiddenScore;

constexpr int64_t kSamples = 2, kQueries = 5, kKeys = 6, kFeatures = 3, kValueFeatures = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity(), kLowest = -3.40282346638528859812e+38;

struct Case {
  int64_t heads = 4, groups = 4;
  HiddenScore hidden = HiddenScore::infinite;
  bool causal = false;
  SmallVector<int64_t> mask = {}; ///< shape; empty: none
  bool isBoolean = false;         ///< else added
  bool transposed = false;        ///< queries, and their cotangents' reader, have rows before heads
  std::string name() const;
};

std::string Case::name() const {
  std::string text = stringifyHiddenScore(hidden).str() + (causal ? " causal" : "") +
                     (transposed ? " transposed " : " ") + std::to_string(heads) + "/" +
                     std::to_string(groups);
  for (int64_t extent : mask)
    text += (isBoolean ? " b" : " f") + std::to_string(extent);
  return text;
}

/// A function of q, k, v, dy (and a mask) that returns y, lse, dq, dk, dv. The mask's first axis is the
/// batch.
class Graph {
public:
  explicit Graph(MLIRContext &context, const Case &c) : c(c), builder(&context) {
    module = ModuleOp::create(UnknownLoc::get(&context));
    SmallVector<Type> types = {type(queryShape()), type({1, c.groups, kKeys, kFeatures}),
                               type({1, c.groups, kKeys, kValueFeatures}),
                               type({1, c.heads, kQueries, kValueFeatures})};
    if (!c.mask.empty())
      types.push_back(type(c.mask, c.isBoolean ? Type(builder.getI1Type()) : builder.getF64Type()));
    function =
        func::FuncOp::create(module->getLoc(), "attention", FunctionType::get(&context, types, TypeRange()));
    module->push_back(function);
    function.addEntryBlock();
    build();
  }

  OwningOpRef<ModuleOp> module;

  std::vector<Array> run(ArrayRef<Array> data) {
    Block &body = function.getBody().front();
    Evaluator evaluator({kSamples, 0, {}, {}});
    for (auto [argument, array] : llvm::zip_equal(body.getArguments(), data))
      evaluator.set(argument, array);
    evaluator.run(body.getOperations());
    std::vector<Array> results;
    for (Value value : body.getTerminator()->getOperands())
      results.push_back(evaluator.at(value));
    return results;
  }

private:
  SmallVector<int64_t> queryShape() const {
    return c.transposed ? SmallVector<int64_t>{1, kQueries, c.heads, kFeatures}
                        : SmallVector<int64_t>{1, c.heads, kQueries, kFeatures};
  }
  Type type(ArrayRef<int64_t> shape, Type element = {}) {
    return nn::Placement::batched(0).place(
        RankedTensorType::get(shape, element ? element : builder.getF64Type()));
  }
  Value turned(Value value) {
    return c.transposed
               ? nn::TransposeOp::create(builder, value.getLoc(), value, ArrayRef<int64_t>{0, 2, 1, 3})
                     .getResult()
               : value;
  }
  void build() {
    Location loc = function.getLoc();
    builder.setInsertionPointToStart(&function.getBody().front());
    auto arguments = function.getArguments();
    Value query = turned(arguments[0]), mask = c.mask.empty() ? Value() : arguments[4];
    auto forward = nn::AttentionOp::create(builder, loc, query, arguments[1], arguments[2], mask, c.hidden,
                                           c.causal, APFloat(0.7));
    auto backward =
        nn::AttentionBwdOp::create(builder, loc, query, arguments[1], arguments[2], forward.getResult(),
                                   forward.getLse(), arguments[3], mask, c.hidden, c.causal, APFloat(0.7));
    func::ReturnOp::create(builder, loc,
                           ValueRange{turned(forward.getResult()), forward.getLse(),
                                      turned(backward.getDquery()), backward.getDkey(),
                                      backward.getDvalue()});
    function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                             function.getBody().front().getTerminator()->getOperandTypes()));
  }

  Case c;
  nn::PlacedBuilder builder;
  func::FuncOp function;
};

Array randomArray(std::mt19937_64 &random, ArrayRef<int64_t> slab) {
  Array array = Array::zeros(slab);
  array.shape[0] *= kSamples;
  array.data.resize(array.data.size() * kSamples);
  for (double &x : array.data)
    x = std::uniform_real_distribution(-1.5, 1.5)(random);
  return array;
}

/// Of the i1 masks a third hides; of the added ones some hide too, whole rows among them.
Array maskFor(std::mt19937_64 &random, const Case &c) {
  Array mask = randomArray(random, c.mask);
  int64_t last = c.mask.back();
  for (size_t i = 0; i < mask.data.size(); ++i) {
    bool wholeRow = i / last % 3 == 1;
    if (c.isBoolean)
      mask.data[i] = !wholeRow && mask.data[i] > -0.5;
    else if (wholeRow || mask.data[i] < -1)
      mask.data[i] = c.hidden == HiddenScore::excluded ? -kInfinity : kLowest;
  }
  return mask;
}

/// Largest difference over largest magnitude; NaN equals NaN, and infinity itself.
double distance(const Array &a, const Array &b) {
  double difference = 0, magnitude = 1e-3;
  for (auto [x, y] : llvm::zip_equal(a.data, b.data)) {
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    if (std::isnan(x) || std::isnan(y))
      return kInfinity;
    difference = std::max(difference, std::abs(x - y));
    magnitude = std::max(magnitude, std::abs(y));
  }
  return difference / magnitude;
}

bool holdsAttention(ModuleOp module) {
  bool found = false;
  module.walk([&](Operation *op) { found |= isa<nn::AttentionOp, nn::AttentionBwdOp>(op); });
  return found;
}

void test(const Case &c) {
  SCOPED_TRACE(c.name());
  MLIRContext context;
  context.loadDialect<nn::NNDialect, func::FuncDialect>();
  std::mt19937_64 random(7);
  Graph graph(context, c);
  SmallVector<Array> data;
  auto forward = *graph.module->getOps<func::FuncOp>().begin();
  for (Type type : ArrayRef(forward.getArgumentTypes()).take_front(4))
    data.push_back(randomArray(random, cast<RankedTensorType>(type).getShape()));
  if (!c.mask.empty())
    data.push_back(maskFor(random, c));
  std::vector<Array> expected = graph.run(data);
  PassManager passes(&context);
  passes.addPass(createDecomposeAttention());
  passes.addPass(createVerifyPlacement());
  ASSERT_TRUE(succeeded(passes.run(*graph.module)));
  ASSERT_FALSE(holdsAttention(*graph.module));
  std::vector<Array> results = graph.run(data);
  const char *names[] = {"y", "lse", "dq", "dk", "dv"};
  for (size_t i = 0; i < 5; ++i)
    EXPECT_LT(distance(results[i], expected[i]), 1e-12) << names[i];
}

TEST(DecomposeAttention, IsTheSameAttention) {
  const SmallVector<int64_t> masks[] = {
      {}, {1, 1, 1, kKeys}, {1, 1, kQueries, kKeys}, {1, 4, kQueries, kKeys}};
  const std::pair<int64_t, int64_t> heads[] = {{4, 4}, {4, 2}, {4, 1}};
  for (HiddenScore hidden :
       {HiddenScore::excluded, HiddenScore::infinite, HiddenScore::lowered, HiddenScore::replaced})
    for (const SmallVector<int64_t> &mask : masks)
      for (auto [all, groups] : heads)
        for (int flags = 0; flags < 8; ++flags)
          if (!mask.empty() || !(flags & 2))
            test({all, groups, hidden, (flags & 1) != 0, mask, (flags & 2) != 0, (flags & 4) != 0});
}

} // namespace
} // namespace accum::test
