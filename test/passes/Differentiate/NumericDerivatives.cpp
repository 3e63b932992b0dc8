// SPDX-License-Identifier: Apache-2.0
// Every derivative rule against central differences in f64, on batched and on replicated values, and in
// micro-steps against the whole batch.
#include "test/passes/Differentiate/AttentionGraphs.h"
#include "test/passes/Differentiate/ElementwiseGraphs.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;

namespace accum::test {
namespace {

using Fn = nn::ElementwiseFn;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The type that a cast of `value`'s slab to `shape` has, asking for the batch on axis 0 where it has one.
RankedTensorType like(Ingredients i, Value value, ArrayRef<int64_t> shape) {
  return nn::Placement::of(value.getType()).place(i.typeOf(shape));
}

std::vector<NamedGraph> contractionGraphs() {
  std::vector<NamedGraph> graphs;
  for (const char *spec : {"abc,ek->abe", "abc,kc->kab", "abc,kc->bak"})
    graphs.push_back({std::string("contract_") + spec, [spec](Ingredients i) -> Value {
                        std::string letters = spec;
                        return nn::ContractOp::create(i.builder, i.loc(), letters, i.in, i.table);
                      }});
  graphs.erase(graphs.begin()); // "e" stands in one operand only
  for (const char *spec :
       {"abc,adc->abd", "abc,abd->acd", "abc,adc->dba", "abc,abc->ac", "abc,abd->cd", "abc,abc->bc"})
    graphs.push_back({std::string("contract_") + spec, [spec](Ingredients i) -> Value {
                        return nn::ContractOp::create(i.builder, i.loc(), spec, i.masked(i.in), i.other);
                      }});
  return graphs;
}

std::vector<NamedGraph> rowGraphs() {
  std::vector<NamedGraph> graphs;
  for (int64_t axis : {1, 2})
    for (bool log : {false, true})
      graphs.push_back({"softmax_" + std::to_string(axis) + (log ? "_log" : ""), [=](Ingredients i) -> Value {
                          return nn::SoftmaxOp::create(i.builder, i.loc(), i.in, axis, log);
                        }});
  auto row = [](Ingredients i, int64_t which) -> Value {
    Value slice = nn::SliceOp::create(i.builder, i.loc(), i.typeOf({1, 4}), i.table,
                                      ArrayRef<int64_t>{which, 0}, ArrayRef<int64_t>{1, 1});
    return nn::ReshapeOp::create(i.builder, i.loc(), i.typeOf({4}), slice);
  };
  for (int parts : {0, 1, 2})
    graphs.push_back({"layer_norm_" + std::to_string(parts), [=](Ingredients i) -> Value {
                        Value scale = parts > 0 ? row(i, 0) : Value(), bias = parts > 1 ? row(i, 3) : Value();
                        return nn::LayerNormOp::create(i.builder, i.loc(), i.in, scale, bias,
                                                       i.builder.getI64IntegerAttr(2),
                                                       i.builder.getF64FloatAttr(1e-5))
                            .getResult();
                      }});
  for (int parts : {0, 1})
    graphs.push_back({"rms_norm_" + std::to_string(parts), [=](Ingredients i) -> Value {
                        return nn::RmsNormOp::create(i.builder, i.loc(), i.in, parts ? row(i, 0) : Value(),
                                                     i.builder.getI64IntegerAttr(2),
                                                     i.builder.getF64FloatAttr(1e-5))
                            .getResult();
                      }});
  graphs.push_back({"layer_norm_two_axes", [](Ingredients i) -> Value {
                      return nn::LayerNormOp::create(i.builder, i.loc(), i.in, Value(), Value(),
                                                     i.builder.getI64IntegerAttr(1),
                                                     i.builder.getF64FloatAttr(1e-5))
                          .getResult();
                    }});
  for (bool ignores : {false, true})
    graphs.push_back({ignores ? "cross_entropy_ignore" : "cross_entropy", [=](Ingredients i) -> Value {
                        auto ignored = ignores ? i.builder.getI64IntegerAttr(1) : IntegerAttr();
                        return nn::CrossEntropyOp::create(i.builder, i.loc(), i.in, i.ids, ignored).getLoss();
                      }});
  return graphs;
}

std::vector<NamedGraph> reductionGraphs() {
  std::vector<NamedGraph> graphs;
  for (auto kind : {nn::ReduceKind::sum, nn::ReduceKind::max, nn::ReduceKind::min, nn::ReduceKind::prod})
    for (std::vector<int64_t> axes : {std::vector<int64_t>{1}, {1, 2}, {2}})
      graphs.push_back({"reduce_" + nn::stringifyReduceKind(kind).str() + std::to_string(axes.size()),
                        [=](Ingredients i) -> Value {
                          return nn::ReduceOp::create(i.builder, i.loc(), kind, i.in, axes);
                        }});
  // Products with no, one and several zeros.
  graphs.push_back({"reduce_prod_zeros", [](Ingredients i) -> Value {
                      int64_t n = typeOf(i.in).getDimSize(0);
                      Value ids = nn::CastOp::create(i.builder, i.loc(), i.ids, i.builder.getF64Type());
                      Value column = nn::ReshapeOp::create(i.builder, i.loc(), like(i, ids, {n, 3, 1}), ids);
                      return nn::ReduceOp::create(i.builder, i.loc(), nn::ReduceKind::prod,
                                                  i.map(Fn::mul, {i.in, column}), ArrayRef<int64_t>{1});
                    }});
  for (int flags = 0; flags < 4; ++flags)
    graphs.push_back({"cumsum_" + std::to_string(flags), [=](Ingredients i) -> Value {
                        return nn::CumSumOp::create(i.builder, i.loc(), nn::slabOf(i.in.getType()), i.in, 1,
                                                    flags & 1, flags & 2);
                      }});
  for (int64_t axis : {1, 2})
    for (bool reverse : {false, true})
      graphs.push_back(
          {"cumsum_log_" + std::to_string(axis) + (reverse ? "_reverse" : ""), [=](Ingredients i) -> Value {
             return nn::CumSumOp::create(i.builder, i.loc(), nn::slabOf(i.in.getType()), i.in, axis, false,
                                         reverse, true);
           }});
  for (int64_t axis : {1, 2})
    for (bool smallest : {false, true})
      graphs.push_back(
          {"top_k_" + std::to_string(axis) + (smallest ? "_smallest" : ""), [=](Ingredients i) -> Value {
             SmallVector<int64_t> shape(typeOf(i.in).getShape());
             shape[axis] = 2;
             auto indices = RankedTensorType::get(shape, i.builder.getI64Type());
             auto top = nn::TopKOp::create(i.builder, i.loc(), i.typeOf(shape), indices, i.in,
                                           i.builder.getI64IntegerAttr(axis), i.builder.getI64IntegerAttr(2),
                                           smallest ? i.builder.getUnitAttr() : UnitAttr());
             return top.getValues();
           }});
  graphs.push_back(
      {"dropout", [](Ingredients i) -> Value {
         bool batched = nn::Placement::of(i.in.getType()).isBatched();
         auto number = [&](int64_t n) { return batched ? i.builder.getI64IntegerAttr(n) : IntegerAttr(); };
         return nn::DropoutOp::create(i.builder, i.loc(), nn::slabOf(i.in.getType()), i.in, ValueRange(),
                                      i.builder.getF64FloatAttr(0.4), i.builder.getI64IntegerAttr(5),
                                      number(0), number(1), number(1), UnitAttr(), DenseI64ArrayAttr());
       }});
  graphs.push_back(
      {"random", [](Ingredients i) -> Value {
         bool batched = nn::Placement::of(i.in.getType()).isBatched();
         auto number = [&](int64_t n) { return batched ? i.builder.getI64IntegerAttr(n) : IntegerAttr(); };
         Value drawn = nn::RandomOp::create(i.builder, i.loc(), i.in.getType(), Value(), ValueRange(),
                                            nn::RandomKind::normal, 5, false, FloatAttr(), number(0),
                                            number(1), number(1), DenseI64ArrayAttr());
         return i.map(Fn::mul, {i.in, drawn});
       }});
  graphs.push_back({"share",
                    [](Ingredients i) -> Value {
                      Value sum = nn::ReduceOp::create(i.builder, i.loc(), nn::ReduceKind::sum,
                                                       i.map(Fn::mul, {i.in, i.other}), ArrayRef<int64_t>{1});
                      return nn::ShareOp::create(i.builder, i.loc(), nn::slabOf(sum.getType()), sum,
                                                 ValueRange());
                    },
                    false});
  return graphs;
}

std::vector<NamedGraph> shapeGraphs() {
  std::vector<NamedGraph> graphs;
  auto add = [&](std::string name, Graph graph) {
    graphs.push_back({std::move(name), std::move(graph), {}});
  };
  add("reshape", [](Ingredients i) -> Value {
    int64_t n = typeOf(i.in).getDimSize(0);
    return nn::ReshapeOp::create(i.builder, i.loc(), like(i, i.in, {n * 3, 2, 2}), i.in);
  });
  add("transpose", [](Ingredients i) -> Value {
    return nn::TransposeOp::create(i.builder, i.loc(), i.in, ArrayRef<int64_t>{2, 0, 1});
  });
  add("broadcast", [](Ingredients i) -> Value {
    Value sum = nn::ReduceOp::create(i.builder, i.loc(), nn::ReduceKind::sum, i.in, ArrayRef<int64_t>{1});
    int64_t n = typeOf(i.in).getDimSize(0);
    Value one = nn::ReshapeOp::create(i.builder, i.loc(), like(i, i.in, {n, 1, 4}), sum);
    return nn::BroadcastOp::create(i.builder, i.loc(), i.typeOf({2, n, 5, 4}), one);
  });
  add("slice", [](Ingredients i) -> Value {
    return nn::SliceOp::create(i.builder, i.loc(), i.typeOf({typeOf(i.in).getDimSize(0), 2, 2}), i.in,
                               ArrayRef<int64_t>{0, 1, 2}, ArrayRef<int64_t>{1, 1, 1});
  });
  add("slice_every_second", [](Ingredients i) -> Value {
    return nn::SliceOp::create(i.builder, i.loc(), i.typeOf({typeOf(i.in).getDimSize(0), 2, 2}), i.in,
                               ArrayRef<int64_t>{0, 0, 1}, ArrayRef<int64_t>{1, 2, 2});
  });
  add("slice_backwards", [](Ingredients i) -> Value {
    return nn::SliceOp::create(i.builder, i.loc(), i.typeOf({typeOf(i.in).getDimSize(0), 3, 2}), i.in,
                               ArrayRef<int64_t>{0, 2, 3}, ArrayRef<int64_t>{1, -1, -2});
  });
  add("pad_value", [](Ingredients i) -> Value {
    Value value =
        nn::ReduceOp::create(i.builder, i.loc(), nn::ReduceKind::sum, i.table, ArrayRef<int64_t>{0, 1});
    return nn::PadOp::create(i.builder, i.loc(), i.typeOf({typeOf(i.in).getDimSize(0), 3, 7}), i.in, value,
                             ArrayRef<int64_t>{0, 0, 2});
  });
  add("pad", [](Ingredients i) -> Value {
    return nn::PadOp::create(i.builder, i.loc(), i.typeOf({typeOf(i.in).getDimSize(0), 5, 4}), i.in,
                             i.scalar(0.5), ArrayRef<int64_t>{0, 1, 0});
  });
  add("concat", [](Ingredients i) -> Value {
    return nn::ConcatOp::create(i.builder, i.loc(), ValueRange{i.in, i.other}, uint64_t{1});
  });
  add("concat_first", [](Ingredients i) -> Value {
    return nn::ConcatOp::create(i.builder, i.loc(), ValueRange{i.in, i.other, i.in}, uint64_t{0});
  });
  graphs.push_back({"blocks",
                    [](Ingredients i) -> Value {
                      Value both =
                          nn::ConcatOp::create(i.builder, i.loc(), ValueRange{i.in, i.other}, uint64_t{0});
                      return nn::SliceOp::create(i.builder, i.loc(), i.typeOf({1, 3, 4}), both,
                                                 ArrayRef<int64_t>{1, 0, 0}, ArrayRef<int64_t>{1, 1, 1});
                    },
                    true});
  graphs.push_back({"broadcast_to_batch",
                    [](Ingredients i) -> Value {
                      auto type = nn::Placement::batched(0).place(i.typeOf({1, 5, 4}));
                      return nn::BroadcastOp::create(i.builder, i.loc(), type, i.table);
                    },
                    true});
  return graphs;
}

std::vector<NamedGraph> gatherGraphs() {
  std::vector<NamedGraph> graphs;
  auto add = [&](std::string name, Graph graph) {
    graphs.push_back({std::move(name), std::move(graph), {}});
  };
  add("gather_table", [](Ingredients i) -> Value {
    return nn::GatherOp::create(i.builder, i.loc(), i.table, i.ids, int64_t{0});
  });
  add("gather_within", [](Ingredients i) -> Value {
    return nn::GatherOp::create(i.builder, i.loc(), i.in, i.ids, int64_t{1}, int64_t{1});
  });
  add("gather_fixed", [](Ingredients i) -> Value {
    auto type = RankedTensorType::get({2}, i.builder.getI64Type());
    Value fixed = nn::ConstantOp::create(i.builder, i.loc(), type,
                                         DenseElementsAttr::get(type, ArrayRef<int64_t>{2, -1}));
    return nn::GatherOp::create(i.builder, i.loc(), i.in, fixed, int64_t{2});
  });
  add("scatter_add_within", [](Ingredients i) -> Value {
    return nn::ScatterAddOp::create(i.builder, i.loc(), i.typeOf({typeOf(i.in).getDimSize(0), 5, 4}), i.ids,
                                    i.in, 1, 1);
  });
  add("gather_elements", [](Ingredients i) -> Value {
    int64_t n = typeOf(i.in).getDimSize(0);
    Value ids = nn::ReshapeOp::create(
        i.builder, i.loc(),
        nn::Placement::of(i.ids.getType()).place(RankedTensorType::get({n, 3, 1}, i.builder.getI64Type())),
        i.ids);
    return nn::GatherElementsOp::create(i.builder, i.loc(), i.typeOf({n, 3, 1}), i.in, ids, 2);
  });
  add("scatter_elements_add", [](Ingredients i) -> Value {
    int64_t n = typeOf(i.in).getDimSize(0);
    Value sum = nn::ReduceOp::create(i.builder, i.loc(), nn::ReduceKind::sum, i.in, ArrayRef<int64_t>{2});
    return nn::ScatterElementsAddOp::create(i.builder, i.loc(), i.typeOf({n, 4}), i.ids, sum, 1);
  });
  return graphs;
}

/// Results beside the main one: statistics of norms, the log-sum-exp of cross-entropy; alone and together
/// with it.
std::vector<NamedGraph> statisticGraphs() {
  std::vector<NamedGraph> graphs;
  auto sum = [](Ingredients i, Value value) -> Value {
    return nn::ReduceOp::create(i.builder, i.loc(), nn::ReduceKind::sum, value, ArrayRef<int64_t>{2});
  };
  auto eps = [](Ingredients i) { return i.builder.getF64FloatAttr(1e-5); };
  for (bool alone : {true, false}) {
    std::string suffix = alone ? "_alone" : "_too";
    for (int which : {1, 2})
      graphs.push_back({"layer_norm_statistic" + std::to_string(which) + suffix, [=](Ingredients i) -> Value {
                          auto norm = nn::LayerNormOp::create(i.builder, i.loc(), i.in, Value(), Value(),
                                                              i.builder.getI64IntegerAttr(2), eps(i));
                          Value square = i.map(Fn::mul, {norm.getResult(), norm.getResult()});
                          Value statistic = i.map(Fn::exp, {norm->getResult(which)});
                          return alone
                                     ? statistic
                                     : i.map(Fn::mul, {statistic, sum(i, i.map(Fn::mul, {square, i.other}))});
                        }});
    graphs.push_back({"rms_norm_statistic" + suffix, [=](Ingredients i) -> Value {
                        auto norm = nn::RmsNormOp::create(i.builder, i.loc(), i.in, Value(),
                                                          i.builder.getI64IntegerAttr(2), eps(i));
                        Value statistic = i.map(Fn::exp, {norm.getRstd()});
                        return alone ? statistic : i.map(Fn::mul, {statistic, sum(i, norm.getResult())});
                      }});
    graphs.push_back({"log_sum_exp" + suffix, [=](Ingredients i) -> Value {
                        auto loss =
                            nn::CrossEntropyOp::create(i.builder, i.loc(), i.in, i.ids, IntegerAttr());
                        return alone ? Value(loss.getLse()) : i.map(Fn::mul, {loss.getLse(), loss.getLoss()});
                      }});
  }
  return graphs;
}

/// Largest difference over largest magnitude.
double distance(const Array &a, const Array &b) {
  double difference = 0, magnitude = 1e-3;
  for (auto [x, y] : llvm::zip_equal(a.data, b.data)) {
    difference = std::max(difference, std::abs(x - y));
    magnitude = std::max(magnitude, std::abs(y));
  }
  return difference / magnitude;
}

Array centralDifferences(const DerivativeCase &tested, const std::string &name) {
  Parameters moved = tested.parameters;
  Array result = moved[name];
  const double step = 1e-5;
  for (size_t i = 0; i < result.data.size(); ++i) {
    double &x = moved[name].data[i], at = x;
    x = at + step;
    double above = tested.loss(moved);
    x = at - step;
    result.data[i] = (above - tested.loss(moved)) / (2 * step);
    x = at;
  }
  return result;
}

void test(const NamedGraph &graph, bool isBatched) {
  SCOPED_TRACE(graph.name + (isBatched ? " of a batched value" : " of a replicated value"));
  MLIRContext context;
  DerivativeCase tested(context, graph.graph, isBatched);
  ASSERT_TRUE(tested.differentiate());
  Parameters whole = tested.gradients(DerivativeCase::samples);
  ASSERT_GT(whole.size(), 1u) << "no gradient";
  for (auto &[name, gradient] : whole) {
    if (name != "loss")
      EXPECT_LT(distance(gradient, centralDifferences(tested, name)), 1e-7) << name;
  }
  for (int64_t m : {1, 2}) {
    Parameters cut = tested.gradients(m);
    for (auto &[name, gradient] : whole)
      EXPECT_LT(distance(cut[name], gradient), 1e-12) << name << " in micro-steps of " << m;
  }
}

void testAll(const std::vector<NamedGraph> &graphs) {
  for (const NamedGraph &graph : graphs)
    for (bool isBatched : {true, false})
      if (graph.onlyBatched.value_or(isBatched) == isBatched)
        test(graph, isBatched);
}

TEST(NumericDerivatives, Elementwise) { testAll(elementwiseGraphs()); }
TEST(NumericDerivatives, Contractions) { testAll(contractionGraphs()); }
TEST(NumericDerivatives, Rows) { testAll(rowGraphs()); }
TEST(NumericDerivatives, Reductions) { testAll(reductionGraphs()); }
TEST(NumericDerivatives, Shapes) { testAll(shapeGraphs()); }
TEST(NumericDerivatives, Statistics) { testAll(statisticGraphs()); }
TEST(NumericDerivatives, Attention) {
  std::vector<NamedGraph> graphs;
  for (auto &[name, graph] : attentionGraphs())
    graphs.push_back({name, graph});
  testAll(graphs);
}
TEST(NumericDerivatives, Gathers) { testAll(gatherGraphs()); }

} // namespace
} // namespace accum::test
