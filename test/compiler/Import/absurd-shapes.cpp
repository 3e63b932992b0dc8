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
    GraphBytes graph;
    graph.inputs = {batched("x", {columns})};
    graph.outputs = {value("loss")};
    graph.initializers = {tensor("w", {2, 2}, 1, rawFloats({1, 2, 3, 4})), integers("numbers", numbers)};
    graph.nodes = {step,
                   node("MatMul", {"x", "w"}, {"xw"}, "product"),
                   node("ReduceSum", {"xw"}, {"a"}, "a"),
                   node("ReduceSum", {"y"}, {"b"}, "b"),
                   node("Add", {"a", "b"}, {"c"}, "c"),
                   node("Squeeze", {"c"}, {"loss"}, "last")};
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
    EXPECT_EQ(failures.front().slug, "malformed-model") << failures.front().message;
    return failures.front().subject + ": " + failures.front().message;
  }
};

TEST_F(AbsurdShapes, repeats) {
  Message tile = node("Tile", {"x", "numbers"}, {"y"}, "tile");
  EXPECT_EQ(failureOf(tile, {1, 2}), "accepted");
  for (int64_t times : {int64_t{1} << 48, int64_t{1} << 61, int64_t{1} << 62, INT64_MAX})
    EXPECT_THAT(failureOf(tile, {1, times}), HasSubstr("`tile`: Tile has a value of the absurd shape"));
  EXPECT_THAT(failureOf(tile, {1, -1}), HasSubstr("`tile`: Tile"));
}

TEST_F(AbsurdShapes, expansions) {
  Message expand = node("Expand", {"x", "numbers"}, {"y"}, "expand");
  EXPECT_EQ(failureOf(expand, {3, 1, 1}), "accepted");
  for (int64_t extent : {int64_t{1} << 48, int64_t{1} << 62, INT64_MAX, int64_t{-1}})
    EXPECT_THAT(failureOf(expand, {extent, 1, 1}), HasSubstr("`expand`: Expand"));
}

TEST_F(AbsurdShapes, inputsWithoutElements) {
  EXPECT_EQ(failureOf(node("Relu", {"x"}, {"y"}, "act"), {}, 0), "`x`: has no elements: its shape is [N, 0]");
}
} // namespace
