// SPDX-License-Identifier: Apache-2.0
// Grouped heads under every mask whose derivative differences can see.
#include "test/passes/Differentiate/AttentionGraphs.h"
#include "dialects/NN/Placement.h"

using namespace mlir;

namespace accum::test {

/// Two heads of queries, one of keys: `in` as [n, 2, 3, 2], `other` as [n, 1, 6, 2], their product as [n, 1,
/// 6, 2].
static Value attend(Ingredients i, Value mask, nn::HiddenScore hidden, bool causal) {
  int64_t n = cast<RankedTensorType>(i.in.getType()).getDimSize(0);
  auto reshape = [&](Value x, ArrayRef<int64_t> shape) -> Value {
    return nn::ReshapeOp::create(i.builder, i.loc(), nn::Placement::of(i.in.getType()).place(i.typeOf(shape)),
                                 x);
  };
  Value query =
      nn::TransposeOp::create(i.builder, i.loc(), reshape(i.in, {n, 3, 2, 2}), ArrayRef<int64_t>{0, 2, 1, 3});
  return nn::AttentionOp::create(i.builder, i.loc(), query, reshape(i.other, {n, 1, 6, 2}),
                                 reshape(i.map(nn::ElementwiseFn::mul, {i.in, i.other}), {n, 1, 6, 2}), mask,
                                 hidden, causal, APFloat(0.7))
      .getResult();
}

std::vector<std::pair<std::string, Graph>> attentionGraphs() {
  using nn::HiddenScore;
  std::vector<std::pair<std::string, Graph>> graphs;
  auto add = [&](std::string name, HiddenScore hidden, bool causal, std::function<Value(Ingredients)> mask) {
    graphs.emplace_back("attention_" + name,
                        [=](Ingredients i) { return attend(i, mask ? mask(i) : Value(), hidden, causal); });
  };
  // Constants lie between 0.2 and 1.8; some rows of the second see nothing.
  auto above = [](Ingredients i, ArrayRef<int64_t> shape, double bound) {
    return i.map(nn::ElementwiseFn::gt, {i.constant(shape), i.scalar(bound)});
  };
  auto some = [=](Ingredients i) { return above(i, {1, 1, 3, 6}, 0.8); };
  auto none = [=](Ingredients i) { return above(i, {1, 2, 3, 1}, 1.0); };
  add("plain", HiddenScore::infinite, false, nullptr);
  add("causal", HiddenScore::infinite, true, nullptr);
  add("added", HiddenScore::infinite, true, [](Ingredients i) { return i.constant({1, 2, 1, 6}); });
  for (HiddenScore hidden : {HiddenScore::excluded, HiddenScore::replaced})
    for (bool causal : {false, true}) {
      std::string name = stringifyHiddenScore(hidden).str() + (causal ? "_causal" : "");
      add(name + "_some", hidden, causal, some);
      add(name + "_none", hidden, causal, none);
    }
  add("lowered_some", HiddenScore::lowered, false, some);
  return graphs;
}

} // namespace accum::test
