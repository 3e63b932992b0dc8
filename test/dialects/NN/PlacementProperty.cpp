// SPDX-License-Identifier: Apache-2.0
// What placements mean, on random graphs: a batch of six cut into 1 + 2 + 3 gives the same values as the
// whole, put together as each value's placement says.
#include "test/dialects/NN/RandomGraph.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;

namespace accum::test {
namespace {

/// `count` samples from `first` on, of a value with `samples` samples.
Array sliceOf(const Array &whole, nn::Placement placement, int64_t samples, int64_t first, int64_t count) {
  int64_t rows = whole.shape[placement.dim] / samples / placement.outer;
  SmallVector<int64_t> shape(whole.shape);
  shape[placement.dim] = placement.outer * count * rows;
  Array slice = Array::zeros(shape);
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index);
    int64_t i = index[placement.dim], block = i / (count * rows), rest = i % (count * rows);
    from[placement.dim] = (block * samples + first) * rows + rest;
    slice.at(index) = whole.at(from);
  });
  return slice;
}

bool isNear(double a, double b) {
  return (!std::isfinite(a) && !std::isfinite(b)) || std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b));
}

class Cut {
public:
  static constexpr int64_t samples = 6;

  explicit Cut(RandomGraph &graph) : graph(graph), whole({samples, 0, {}, graph.parameters}) {
    for (Value argument : graph.forward.getArguments())
      whole.set(argument, graph.dataFor(argument, samples));
    whole.run(graph.forward.getBody().front().getOperations());
    for (auto [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {1, 2}, {3, 3}})
      runPart(first, count);
  }

  /// The first op whose value is not what its placement says, or null.
  Operation *firstWrong() {
    for (Operation &op : graph.forward.getBody().front())
      for (Value value : op.getResults())
        if (!agrees(value))
          return &op;
    return nullptr;
  }

private:
  struct Part {
    int64_t first;
    Evaluator evaluator;
  };

  void runPart(int64_t first, int64_t count) {
    Batch batch{count, first, [this](nn::TotalOp total) { return whole.at(total); }, graph.parameters};
    parts.push_back({first, Evaluator(batch)});
    for (Value argument : graph.forward.getArguments())
      parts.back().evaluator.set(argument, sliceOf(whole.at(argument), nn::Placement::of(argument.getType()),
                                                   samples, first, count));
    parts.back().evaluator.run(graph.forward.getBody().front().getOperations());
  }

  bool agrees(Value value) {
    nn::Placement placement = nn::Placement::of(value.getType());
    Array sum = Array::zeros(whole.at(value).shape);
    for (Part &part : parts) {
      const Array &own = part.evaluator.at(value);
      Array wanted = whole.at(value);
      if (placement.isBatched())
        wanted = sliceOf(wanted, placement, samples, part.first, part.evaluator.batch.samples);
      for (auto [i, x] : llvm::enumerate(own.data)) {
        if (placement.isPartial())
          sum.data[i] += x;
        else if (!isNear(x, wanted.data[i]))
          return false;
      }
    }
    for (auto [a, b] : llvm::zip(sum.data, whole.at(value).data))
      if (placement.isPartial() && !isNear(a, b))
        return false;
    return true;
  }

  RandomGraph &graph;
  Evaluator whole;
  std::vector<Part> parts;
};

TEST(PlacementProperty, CutBatchesGiveTheWholeOnes) {
  MLIRContext context;
  std::map<std::string, std::pair<int, int>> tally;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomGraph graph(context, seed);
    graph.grow(60);
    Operation *wrong = Cut(graph).firstWrong();
    if (wrong) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      wrong->print(stream);
      FAIL() << "seed " << seed << ": " << text;
    }
    for (auto &[name, counts] : graph.tally) {
      tally[name].first += counts.first;
      tally[name].second += counts.second;
    }
  }
  // Every kind of op was tried, and both kept and refused where it can be refused.
  for (auto &[name, counts] : tally)
    RecordProperty(name.substr(3), std::to_string(counts.first) + " kept, " + std::to_string(counts.second));
  for (const char *name : {"elementwise",
                           "cast",
                           "contract",
                           "reduce",
                           "arg_reduce",
                           "cumsum",
                           "top_k",
                           "reshape",
                           "broadcast",
                           "slice",
                           "pad",
                           "concat",
                           "gather",
                           "scatter_add",
                           "gather_elements",
                           "scatter_elements_add",
                           "softmax",
                           "layer_norm",
                           "rms_norm",
                           "cross_entropy",
                           "cross_entropy_grad",
                           "iota"}) {
    auto [kept, refused] = tally[std::string("nn.") + name];
    EXPECT_GE(kept, 20) << name;
    EXPECT_GE(refused, 5) << name;
  }
  for (const char *name : {"transpose", "dropout", "random", "total", "share", "constant"})
    EXPECT_GE(tally[std::string("nn.") + name].first, 20) << name;
}

} // namespace
} // namespace accum::test
