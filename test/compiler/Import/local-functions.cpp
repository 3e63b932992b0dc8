// SPDX-License-Identifier: Apache-2.0
// Calls of local functions are replaced by their bodies.
#include "compiler/Import/model/Model.h"
#include "test/compiler/Import/WireFormat.h"
#include <gmock/gmock.h>

using namespace accum::import;
using namespace accum::import::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {
using LocalFunctions = FolderTest;

Message call(std::string_view function, const std::vector<std::string> &inputs,
             const std::vector<std::string> &outputs, std::string_view name) {
  return node(function, inputs, outputs, name).bytes(7, "my");
}

Message function(std::string_view name, const std::vector<std::string> &inputs,
                 const std::vector<std::string> &outputs, const std::vector<std::string> &nodes) {
  Message message = Message().bytes(1, name).bytes(10, "my");
  for (const std::string &input : inputs)
    message.bytes(4, input);
  for (const std::string &output : outputs)
    message.bytes(5, output);
  for (const std::string &body : nodes)
    message.bytes(7, body);
  return message.bytes(9, Message().number(2, 17));
}

GraphBytes calling(std::vector<std::string> nodes) {
  GraphBytes graph;
  graph.inputs = {value("x", {2})};
  graph.outputs = {value("y", {2})};
  graph.nodes = std::move(nodes);
  return graph;
}

Message integer(std::string_view name, uint64_t number) {
  return Message().bytes(1, name).number(3, number).number(20, 2);
}
Message reference(std::string_view name, std::string_view target) {
  return Message().bytes(1, name).number(20, 2).bytes(21, target);
}

TEST_F(LocalFunctions, namesAreMadeUnique) {
  GraphBytes graph = calling({call("Twice", {"x"}, {"t"}, "c1"), call("Twice", {"t"}, {"y"}, "c2")});
  graph.functions = {
      function("Twice", {"a"}, {"b"}, {node("Neg", {"a"}, {"t"}, "n"), node("Neg", {"t"}, {"b"}, "m")})};
  auto model = readModel(write(graph.model()));
  ASSERT_TRUE(model) << model.failures().front().message;
  const auto &nodes = model->graph.nodes;
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[0].name, "c1/n");
  EXPECT_THAT(nodes[0].outputs, ElementsAre("c1/t"));
  EXPECT_THAT(nodes[1].outputs, ElementsAre("t"));
  EXPECT_THAT(nodes[2].inputs, ElementsAre("t"));
  EXPECT_THAT(nodes[3].inputs, ElementsAre("c2/t"));
  EXPECT_EQ(nodes[0].opset, 17) << "a body speaks the operator set of its function";
}

TEST_F(LocalFunctions, attributesAreSubstituted) {
  Message body = node("Softmax", {"a"}, {"b"}, "s").bytes(5, reference("axis", "dim"));
  Message flatten = node("Flatten", {"b"}, {"c"}, "f").bytes(5, reference("axis", "absent"));
  Message soft = function("Soft", {"a"}, {"c"}, {body, flatten});
  soft.bytes(6, "absent").bytes(11, integer("dim", 7));
  GraphBytes graph = calling(
      {call("Soft", {"x"}, {"t"}, "c1"), call("Soft", {"t"}, {"y"}, "c2").bytes(5, integer("dim", 3))});
  graph.functions = {soft};
  auto model = readModel(write(graph.model()));
  ASSERT_TRUE(model) << model.failures().front().message;
  EXPECT_EQ(*model->graph.nodes[0].attribute<int64_t>("axis"), 7) << "the function's default";
  EXPECT_FALSE(model->graph.nodes[1].attribute<int64_t>("axis")) << "no value and no default: absent";
  EXPECT_EQ(*model->graph.nodes[2].attribute<int64_t>("axis"), 3);
}

TEST_F(LocalFunctions, nestAndPassThrough) {
  GraphBytes graph = calling({call("Outer", {"x"}, {"y"}, "c")});
  graph.functions = {
      function("Outer", {"a"}, {"b"}, {call("Inner", {"a"}, {"h"}, "i"), node("Relu", {"h"}, {"b"}, "r")}),
      function("Inner", {"p"}, {"p"}, {})};
  auto model = readModel(write(graph.model()));
  ASSERT_TRUE(model) << model.failures().front().message;
  ASSERT_EQ(model->graph.nodes.size(), 2u);
  EXPECT_EQ(model->graph.nodes[0].opType, "Identity");
  EXPECT_THAT(model->graph.nodes[0].inputs, ElementsAre("x"));
  EXPECT_EQ(model->graph.nodes[1].name, "c/r");
}

TEST_F(LocalFunctions, refuseRecursion) {
  GraphBytes graph = calling({call("F", {"x"}, {"y"}, "c")});
  graph.functions = {function("F", {"a"}, {"b"}, {call("G", {"a"}, {"b"}, "g")}),
                     function("G", {"a"}, {"b"}, {call("F", {"a"}, {"b"}, "f")})};
  auto model = readModel(write(graph.model()));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.failures().front().subject, "`c/g/f`");
  EXPECT_THAT(model.failures().front().message, HasSubstr("calls itself"));
}

TEST_F(LocalFunctions, refuseExplosion) {
  GraphBytes graph = calling({call("F0", {"x"}, {"y"}, "c")});
  for (int i = 0; i < 40; ++i) {
    std::string next = "F" + std::to_string(i + 1);
    graph.functions.push_back(function("F" + std::to_string(i), {"a"}, {"b"},
                                       {call(next, {"a"}, {"h"}, "l"), call(next, {"h"}, {"b"}, "r")}));
  }
  graph.functions.push_back(function("F40", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"}, "n")}));
  auto model = readModel(write(graph.model()));
  ASSERT_FALSE(model);
  EXPECT_THAT(model.failures().front().message, HasSubstr("inline to more than 64 MiB"));
}

/// Thirty thousand copies of an unnamed node: each name is looked for once, not behind all that are taken.
TEST_F(LocalFunctions, manyCopiesOfOneName) {
  constexpr int kLevels = 15;
  GraphBytes graph = calling({call("F0", {"x"}, {"y"}, "c")});
  for (int i = 0; i < kLevels; ++i) {
    std::string next = "F" + std::to_string(i + 1 < kLevels ? i + 1 : 99);
    graph.functions.push_back(function("F" + std::to_string(i), {"a"}, {"b"},
                                       {call(next, {"a"}, {"h"}, ""), call(next, {"h"}, {"b"}, "")}));
  }
  graph.functions.push_back(function("F99", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"}, "n")}));
  auto model = readModel(write(graph.model()));
  ASSERT_TRUE(model) << model.failures().front().message;
  EXPECT_EQ(model->graph.nodes.size(), size_t(1) << kLevels);
}

TEST_F(LocalFunctions, refuseSurplusArguments) {
  for (auto [inputs, outputs] :
       {std::pair<std::vector<std::string>, std::vector<std::string>>{{"x", "x"}, {"y"}},
        {{"x"}, {"y", "z"}}}) {
    GraphBytes graph = calling({call("F", inputs, outputs, "c")});
    graph.functions = {function("F", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"}, "n")})};
    auto model = readModel(write(graph.model()));
    ASSERT_FALSE(model);
    EXPECT_THAT(model.failures().front().message,
                HasSubstr("calls the function `F`, which has 1 inputs and 1 outputs, with"));
  }
  GraphBytes graph = calling({call("F", {"x", ""}, {"y", ""}, "c")}); // left out
  graph.functions = {function("F", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"}, "n")})};
  EXPECT_TRUE(readModel(write(graph.model())));
}
} // namespace
