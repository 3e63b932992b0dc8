// SPDX-License-Identifier: Apache-2.0
// Shapes that no memory holds are refused at the node that makes them, before anything overflows.
#include "compiler/Import/Import.h"
#include "dialects/Registration.h"
#include "test/compiler/Import/WireFormat.h"
#include <gmock/gmock.h>

using namespace accum::import;
using namespace accum::import::test;
using ::testing::HasSubstr;

namespace {
/// ValueInfoProto of an f32 tensor [batch, sizes...].
Message batched(std::string_view name, const std::vector<int64_t> &sizes) {
  Message shape = Message().bytes(1, Message().bytes(2, "batch"));
  for (int64_t size : sizes)
    shape.bytes(1, Message().number(1, static_cast<uint64_t>(size)));
  return Message().bytes(1, name).bytes(2, Message().bytes(1, Message().number(1, 1).bytes(2, shape)));
}

Message integers(std::string_view name, const std::vector<int64_t> &values) {
  constexpr int int64 = 7;
  std::string raw(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(int64_t));
  return tensor(name, {static_cast<int64_t>(values.size())}, int64, raw);
}

class AbsurdShapes : public FolderTest {
protected:
  /// `step` makes y of x [batch, columns], the loss is the mean of x w + y.
  std::string failureOf(Message step, const std::vector<int64_t> &numbers, int64_t columns = 2) {
    return failureOf(std::vector{step}, {integers("numbers", numbers)}, columns);
  }
  std::string failureOf(const std::vector<Message> &steps, const std::vector<Message> &constants,
                        int64_t columns = 2) {
    GraphBytes graph;
    graph.inputs = {batched("x", {columns})};
    graph.outputs = {value("loss")};
    graph.initializers = {tensor("w", {2, 2}, 1, rawFloats({1, 2, 3, 4}))};
    graph.initializers.insert(graph.initializers.end(), constants.begin(), constants.end());
    graph.nodes.assign(steps.begin(), steps.end());
    for (const Message &last :
         {node("MatMul", {"x", "w"}, {"xw"}, "product"), node("ReduceSum", {"xw"}, {"a"}, "a"),
          node("ReduceSum", {"y"}, {"b"}, "b"), node("Add", {"a", "b"}, {"c"}, "c"),
          node("Squeeze", {"c"}, {"loss"}, "last")})
      graph.nodes.push_back(last);
    mlir::DialectRegistry registry;
    accum::registerDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    ImportOptions options;
    options.path = write(graph.model()).string();
    ImportReport report;
    Failures failures;
    auto module = importModel(context, options, report, failures);
    if (module)
      return "accepted";
    EXPECT_EQ(failures.front().slug, slug) << failures.front().message;
    return failures.front().subject + ": " + failures.front().message;
  }

  std::string slug = "malformed-model";
};

TEST_F(AbsurdShapes, repeats) {
  Message tile = node("Tile", {"x", "numbers"}, {"y"}, "tile");
  EXPECT_EQ(failureOf(tile, {1, 2}), "accepted");
  for (int64_t times : {int64_t{1} << 48, int64_t{1} << 61, int64_t{1} << 62, INT64_MAX})
    EXPECT_THAT(failureOf(tile, {1, times}), HasSubstr("`tile`: Tile has a value of the absurd shape"));
  EXPECT_THAT(failureOf(tile, {1, -1}), HasSubstr("`tile`: Tile"));
  EXPECT_EQ(failureOf(tile, {0, 1}), "`tile`: Tile has a batch axis without rows: [0*N, 2]");
}

TEST_F(AbsurdShapes, permutations) {
  auto transposed = [&](const std::vector<int64_t> &axes) {
    Message perm = Message().bytes(1, "perm").number(20, 7);
    for (int64_t axis : axes)
      perm.number(8, static_cast<uint64_t>(axis));
    return failureOf(node("Transpose", {"x"}, {"y"}, "t").bytes(5, perm), {1});
  };
  EXPECT_EQ(transposed({-1, 0}), "accepted") << "as the TorchScript exporter writes permute(-1, 0)";
  EXPECT_THAT(transposed({0, -2}), HasSubstr("names an axis twice"));
  EXPECT_THAT(transposed({0, 2}), HasSubstr("`t`: Transpose"));
  EXPECT_THAT(transposed({0}), HasSubstr("does not name every axis"));
}

TEST_F(AbsurdShapes, expansions) {
  Message expand = node("Expand", {"x", "numbers"}, {"y"}, "expand");
  EXPECT_EQ(failureOf(expand, {3, 1, 1}), "accepted");
  for (int64_t extent : {int64_t{1} << 48, int64_t{1} << 62, INT64_MAX, int64_t{-1}})
    EXPECT_THAT(failureOf(expand, {extent, 1, 1}), HasSubstr("`expand`: Expand"));
}

TEST_F(AbsurdShapes, reshapedTo) {
  Message reshape = node("Reshape", {"x", "numbers"}, {"y"}, "reshape");
  EXPECT_EQ(failureOf(reshape, {-1, 2}), "accepted");
  constexpr int64_t root = int64_t{1} << 32; // its square is 0 in 64 bits
  for (const std::vector<int64_t> &target :
       {std::vector<int64_t>{root, root}, {root, 2 * root, 1}, {-1, root, root}, {-1, root, root, 2}})
    EXPECT_THAT(failureOf(reshape, target), HasSubstr("`reshape`: Reshape has a value of the absurd shape"));
}

TEST_F(AbsurdShapes, blocks) {
  Message step = node("DepthToSpace", {"image"}, {"y"}, "blocks");
  Message image = node("Reshape", {"x", "numbers"}, {"image"}, "image");
  for (uint64_t size : {uint64_t{1}, uint64_t{1} << 32, (uint64_t{1} << 32) + 1, UINT64_MAX}) {
    Message sized = step;
    sized.bytes(5, Message().bytes(1, "blocksize").number(3, size).number(20, 2));
    std::string failure = failureOf({image, sized}, {integers("numbers", {-1, 2, 1, 1})});
    EXPECT_EQ(failure, size == 1 ? "accepted"
                                 : "`blocks`: DepthToSpace has blocks of " + std::to_string(int64_t(size)));
  }
}

TEST_F(AbsurdShapes, stepsOfSlices) {
  std::vector<Message> steps = {node("Slice", {"x", "starts", "ends", "axis", "steps"}, {"cut"}, "slice"),
                                node("Squeeze", {"cut", "axis"}, {"y"}, "squeeze")};
  auto failure = [&](int64_t start, int64_t end, int64_t step) {
    return failureOf(steps, {integers("starts", {start}), integers("ends", {end}), integers("axis", {1}),
                             integers("steps", {step})});
  };
  EXPECT_EQ(failure(0, 2, 2), "accepted");
  EXPECT_THAT(failure(0, 2, 1), HasSubstr("squeezes an axis of 2 elements"));
  EXPECT_EQ(failure(0, 2, INT64_MAX), "accepted");
  EXPECT_EQ(failure(0, INT64_MAX, INT64_MAX), "accepted");
  EXPECT_EQ(failure(-1, INT64_MIN, INT64_MIN), "accepted");
  EXPECT_THAT(failure(-1, INT64_MIN, -1), HasSubstr("squeezes an axis of 2 elements"));
}

TEST_F(AbsurdShapes, nothingReversed) {
  std::vector<Message> steps = {node("Shape", {"x"}, {"sizes"}, "shape"),
                                node("Slice", {"sizes", "zero", "zero"}, {"none"}, "cut"),
                                node("Slice", {"none", "last", "least", "zero", "last"}, {"back"}, "reverse"),
                                node("Concat", {"back", "once"}, {"times"}, "join")
                                    .bytes(5, Message().bytes(1, "axis").number(3, 0).number(20, 2)),
                                node("Tile", {"x", "times"}, {"y"}, "tile")};
  EXPECT_EQ(failureOf(steps, {integers("zero", {0}), integers("last", {-1}), integers("least", {INT64_MIN}),
                              integers("once", {1, 1})}),
            "accepted");
}

TEST_F(AbsurdShapes, pads) {
  Message pad = node("Pad", {"x", "numbers"}, {"y"}, "pad");
  EXPECT_EQ(failureOf(pad, {0, 1, 0, 1}), "accepted");
  for (int64_t amount : {int64_t{1} << 41, INT64_MAX, INT64_MIN})
    EXPECT_THAT(failureOf(pad, {0, amount, 0, 0}), HasSubstr("`pad`: Pad pads by an absurd amount"));
}

TEST_F(AbsurdShapes, pieces) {
  Message split = node("Split", {"x", "numbers"}, {"y", "rest"}, "split")
                      .bytes(5, Message().bytes(1, "axis").number(3, 1).number(20, 2));
  EXPECT_EQ(failureOf(split, {1, 1}), "accepted");
  EXPECT_THAT(failureOf(split, {1, INT64_MAX}),
              HasSubstr("`split`: Split splits off more than the axis holds"));
}

/// Resize along `axes`, by `numbers` as scales or to them as sizes.
Message resize(const std::string &mode, const std::vector<int64_t> &axes, bool isSized) {
  Message named = Message().bytes(1, "axes").number(20, 7);
  for (int64_t axis : axes)
    named.number(8, static_cast<uint64_t>(axis));
  auto step = isSized ? node("Resize", {"x", "", "", "numbers"}, {"y"}, "resize")
                      : node("Resize", {"x", "", "numbers"}, {"y"}, "resize");
  return step.bytes(5, named).bytes(5, Message().bytes(1, "mode").bytes(4, mode).number(20, 3));
}

TEST_F(AbsurdShapes, resizedTo) {
  EXPECT_EQ(failureOf(resize("linear", {1}, true), {5}), "accepted");
  EXPECT_EQ(failureOf({resize("linear", {0, 1}, false)}, {tensor("numbers", {2}, 1, rawFloats({1, 2.5}))}),
            "accepted");
  EXPECT_EQ(failureOf(resize("nearest", {1}, true), {1 << 16}), "accepted");
  slug = "unsupported";
  for (int64_t extent : {(int64_t{1} << 22) + 1, int64_t{1} << 40, int64_t{1} << 48})
    for (const char *mode : {"nearest", "linear"})
      EXPECT_THAT(failureOf(resize(mode, {1}, true), {extent}),
                  HasSubstr("`resize`: Resize resizes an axis from 2 to " + std::to_string(extent)));
  for (const char *mode : {"nearest", "linear"}) // 2^52 elements and more would be
    EXPECT_THAT(failureOf({resize(mode, {1}, false)}, {tensor("numbers", {1}, 1, rawFloats({999999}))},
                          int64_t{1} << 40),
                HasSubstr("which is too large"));
}

TEST_F(AbsurdShapes, resizedTwice) {
  for (const char *mode : {"nearest", "linear", "cubic"})
    for (int64_t axis : {1, -1})
      EXPECT_THAT(failureOf({resize(mode, {1, axis}, false)},
                            {tensor("numbers", {2}, 1, rawFloats({0.01, 0.01}))}, 512),
                  HasSubstr("`resize`: Resize names an axis twice"));
}

TEST_F(AbsurdShapes, inputsWithoutElements) {
  EXPECT_EQ(failureOf(node("Relu", {"x"}, {"y"}, "act"), {}, 0), "`x`: has no elements: its shape is [N, 0]");
}
} // namespace
