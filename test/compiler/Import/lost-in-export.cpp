// SPDX-License-Identifier: Apache-2.0
// What the metadata of exporters tells: label smoothing that was left out, rows of padding, detached values.
#include "compiler/Import/lost/AttentionDropout.h"
#include "compiler/Import/lost/DroppedValues.h"
#include "compiler/Import/lost/GradientMarks.h"
#include "compiler/Import/lost/LostArguments.h"
#include "compiler/Import/lost/SourceTrace.h"
#include "compiler/Import/lost/StraightThrough.h"
#include "compiler/Import/lost/TracedCall.h"
#include <gmock/gmock.h>

using namespace accum::import;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {
/// A node with a traced call of these arguments.
Node traced(std::string opType, const std::string &call) {
  Node node;
  node.opType = std::move(opType);
  node.metadata["pkg.torch.onnx.fx_node"] =
      "%y : [num_users=1] = call_function[target=torch.ops.aten." + call + ", kwargs = {})";
  return node;
}

TEST(LostArguments, labelSmoothing) {
  auto smoothing = [](const std::string &arguments) {
    return labelSmoothing(
        traced("SoftmaxCrossEntropyLoss", "cross_entropy_loss.default](args = (" + arguments + ")"));
  };
  EXPECT_EQ(smoothing("%view, %view_1, None, 1, -100, 0.1"), 0.1);
  EXPECT_EQ(smoothing("%view, %view_1, %weight, 2, -100, 1e-05"), 1e-5);
  EXPECT_EQ(smoothing("%view, %view_1, None, 1, -100, 0.0"), 0);
  EXPECT_EQ(smoothing("%view, %view_1, None, 1, -100"), 0);
  EXPECT_EQ(smoothing("%view, %view_1"), 0);
  EXPECT_EQ(labelSmoothing(traced("Gather", "embedding.default](args = (%w, %i, -1, True, 1, 0.1)")), 0);
}

TEST(LostArguments, frequencies) {
  auto refusal = [](const std::string &arguments) {
    auto lost = lostGradientArgument(traced("Gather", "embedding.default](args = (" + arguments + ")"));
    return lost ? lost->message : "";
  };
  EXPECT_THAT(refusal("%p_e_weight, %ids, -1, True"), HasSubstr("had scale_grad_by_freq = True"));
  EXPECT_EQ(refusal("%p_e_weight, %ids, -1, False, True"), "") << "sparse changes nothing";
  EXPECT_EQ(refusal("%p_e_weight, %ids"), "");
}

/// A model of these nodes, one behind the other, all of an attention that was called with these arguments.
Model attentionOf(const std::string &arguments, std::initializer_list<const char *> opTypes) {
  Model model;
  model.producer = "pytorch 2.15.0";
  std::string last = "scores";
  for (const char *opType : opTypes) {
    Node node = traced(opType, "scaled_dot_product_attention.default](args = (" + arguments + ")");
    node.name = opType;
    node.inputs = {last, "value"};
    last += std::string("_") + opType;
    node.outputs = {last};
    model.graph.nodes.push_back(std::move(node));
  }
  return model;
}

std::vector<std::string> opTypesOf(const Graph &graph) {
  std::vector<std::string> opTypes;
  for (const Node &node : graph.nodes)
    opTypes.push_back(node.opType);
  return opTypes;
}

TEST(AttentionDropout, isPutBack) {
  Model model = attentionOf("%q, %k, %v, %mask, 0.2", {"Softmax", "Where", "MatMul"});
  auto told = restoreAttentionDropout(model);
  ASSERT_TRUE(told);
  EXPECT_THAT(*told, ElementsAre(HasSubstr("dropout 0.2 on attention probabilities")));
  EXPECT_THAT(opTypesOf(model.graph),
              ElementsAre("Softmax", "Where", "Constant", "Constant", "Dropout", "MatMul"));
  EXPECT_EQ(model.graph.nodes[4].inputs[0], "scores_Softmax_Where");
  EXPECT_EQ(model.graph.nodes[5].inputs[0], model.graph.nodes[4].outputs[0]);
}

TEST(AttentionDropout, isSwitchedOn) {
  Model model = attentionOf("%q, %k, %v, None, 0.2", {"Softmax", "Dropout", "MatMul"});
  auto told = restoreAttentionDropout(model);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->size(), 1);
  EXPECT_THAT(opTypesOf(model.graph), ElementsAre("Softmax", "Constant", "Dropout", "MatMul"));
  EXPECT_EQ(model.graph.nodes[2].inputs[2], model.graph.nodes[1].outputs[0]);
}

TEST(AttentionDropout, whereThereIsNone) {
  for (const char *arguments : {"%q, %k, %v, %mask, 0.0, True", "%q, %k, %v, %mask", "%q, %k, %v"}) {
    Model model = attentionOf(arguments, {"Softmax", "MatMul"});
    EXPECT_THAT(*restoreAttentionDropout(model), testing::IsEmpty());
    EXPECT_EQ(model.graph.nodes.size(), 2);
  }
  Model model = attentionOf("%q, %k, %v, None, 0.0", {"Softmax", "Dropout", "MatMul"});
  EXPECT_THAT(*restoreAttentionDropout(model), testing::IsEmpty());
  EXPECT_EQ(model.graph.nodes.size(), 3) << "an export without optimising holds those of ratio 0";
  Model constants = attentionOf("%q, %k, %v, None, 0.2", {"Constant"});
  EXPECT_TRUE(restoreAttentionDropout(constants)) << "other calls read them";
}

TEST(AttentionDropout, isMissedElsewhere) {
  Model model = attentionOf("%q, %k, %v, None, 0.1, True", {"Attention"});
  auto told = restoreAttentionDropout(model);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.failures().front().slug, "lost-in-export");
}

TEST(GradientMarks, rowsOfPadding) {
  auto row = [](const std::string &arguments) {
    return paddingRow(traced("Gather", "embedding.default](args = (" + arguments + ")"));
  };
  EXPECT_EQ(row("%p_weight, %ids, 3"), 3);
  EXPECT_EQ(row("%p_weight, %ids, 0, True"), 0);
  EXPECT_EQ(row("%p_weight, %ids, -1, True"), std::nullopt);
  EXPECT_EQ(row("%p_weight, %ids"), std::nullopt);
  EXPECT_EQ(paddingRow(traced("Gather", "index.Tensor](args = (%x, [%ids], 3)")), std::nullopt);
  EXPECT_EQ(paddingRow(Node()), std::nullopt);
}

TEST(GradientMarks, hiddenScores) {
  EXPECT_TRUE(
      isMaskOfAttention(traced("Where", "scaled_dot_product_attention.default](args = (%q, %k, %v, %mask)")));
  EXPECT_FALSE(isMaskOfAttention(traced("Where", "where.self](args = (%mask, %zero, %lowest)")));
}

TEST(GradientMarks, detachedValues) {
  EXPECT_TRUE(isDetach(traced("Identity", "detach.default](args = (%x,)")));
  EXPECT_FALSE(isDetach(traced("Identity", "alias.default](args = (%x,)")));
}

TEST(TracedCall, parts) {
  auto call = TracedCall::of(traced("Slice", "slice.Tensor](args = (%x, 1, [%s, 2], (3, '4, )'), None)"));
  ASSERT_TRUE(call);
  EXPECT_EQ(call->result, "y");
  EXPECT_EQ(call->target, "aten.slice.Tensor");
  EXPECT_EQ(call->operation(), "slice");
  EXPECT_THAT(call->arguments, ElementsAre("%x", "1", "[%s, 2]", "(3, '4, )')", "None"));
  EXPECT_THAT(call->operands(), ElementsAre("x")) << "extents are no operands";
  EXPECT_EQ(call->argument(1, "dim"), "1");
  EXPECT_EQ(call->argument(9, "step"), "");
  EXPECT_EQ(withoutNumber("add_12"), "add");
  EXPECT_EQ(withoutNumber("conv2d"), "conv2d");
}
/// What is told of `y = first + second` in a file whose one node of that call reads `loss` and `other`, and
/// whose model had the parameters `p_w`, which a call names, and these.
std::string tellDropped(const std::string &call, const std::string &parameters = "") {
  Graph graph;
  graph.metadata["pkg.torch.export.ExportedProgram.graph_signature"] =
      "\n# inputs\np_w: PARAMETER target='w'\n" + parameters + "x: USER_INPUT\n\n# outputs\n";
  auto make = [&](std::string opType, const std::string &fx, std::vector<std::string> inputs,
                  const std::string &output) {
    Node node = traced(std::move(opType), fx);
    node.metadata["pkg.torch.onnx.fx_node"].replace(1, 1, output);
    node.inputs = std::move(inputs);
    node.outputs = {output};
    graph.nodes.push_back(std::move(node));
  };
  make("MatMul", "matmul.default](args = (%x, %p_w)", {"x", "w"}, "loss");
  make("Exp", "exp.default](args = (%loss,)", {"loss"}, "other");
  make("Add", call, {"loss", "other"}, "y");
  auto lost = DroppedValues(graph).refusal(graph.nodes.back(), [](const std::string &) { return true; });
  return lost ? lost->message : "";
}

TEST(DroppedValues, aRunningSumBeginsWithZero) {
  EXPECT_EQ(tellDropped("add.Tensor](args = (%add, %other)"), "");
  EXPECT_THAT(tellDropped("sub.Tensor](args = (%add, %other)"),
              HasSubstr("reads `add`, which the exporter left out"));
  EXPECT_THAT(tellDropped("add.Tensor](args = (%mul, %other)"), HasSubstr("reads `mul`"));
  EXPECT_THAT(tellDropped("add.Tensor](args = (%detach, %other)"), HasSubstr("detached from its gradient"));
  EXPECT_THAT(tellDropped("add.Tensor](args = (%add, %other)", "p_bias: PARAMETER target='bias'\n"),
              HasSubstr("reads `add`"))
      << "a bias of zero may be what was added";
}

/// What is told of `y = reader(kept)`, whose call reads `read` in place of what `source` computes; both come
/// from this line, or the source from the line before it.
std::string tellOfLine(const std::string &code, const std::string &source, const std::string &reader,
                       const std::string &read, bool isOneLine = true) {
  Graph graph;
  auto make = [&](const std::string &fx, const std::string &input, const std::string &output, int line) {
    Node node = traced("Any", fx + ".default](args = (%" + input + ",)");
    node.metadata["pkg.torch.onnx.fx_node"].replace(1, 1, output);
    node.metadata["pkg.torch.onnx.stack_trace"] =
        "File \"/model.py\", line " + std::to_string(line) + ", in forward\n    " + code;
    node.inputs = {graph.nodes.empty() ? "x" : graph.nodes.back().outputs[0]};
    node.outputs = {output};
    graph.nodes.push_back(std::move(node));
  };
  make(source, "x", source, isOneLine ? 7 : 6);
  make(reader, read, "y", 7);
  auto lost = DroppedValues(graph).refusal(graph.nodes.back(), [](const std::string &) { return true; });
  return lost ? lost->message : "";
}

TEST(DroppedValues, stepsOfOneLineChangeNothing) {
  const std::string line = "return self.smooth(x)";
  for (const char *step : {"mul_3", "div", "add", "sub_1"}) {
    EXPECT_EQ(tellOfLine(line, "pow", "where", step), "") << step;
    EXPECT_THAT(tellOfLine(line, "pow", "where", step, false), HasSubstr("left out since it equals")) << step;
  }
  EXPECT_THAT(tellOfLine("y = f(x.detach())", "pow", "where", "mul"), HasSubstr("left out since it equals"));
  EXPECT_THAT(tellOfLine("y = f(Reverse.apply(x))", "pow", "where", "mul"), HasSubstr("left out since"));
  EXPECT_EQ(tellOfLine(line, "linalg_vector_norm", "clamp_min", "clone"), "");
  EXPECT_THAT(tellOfLine(line, "pow", "clamp_min", "clone"), HasSubstr("a copy of `pow`"));
}

TEST(DroppedValues, aCallWrittenTwiceDetachesNothing) {
  auto tell = [](const std::string &code) { return tellOfLine(code, "sigmoid", "rsub", "sigmoid_1"); };
  EXPECT_EQ(tell("return -(t * u.sigmoid().log() + (1 - t) * (1 - u.sigmoid()).log())"), "");
  EXPECT_EQ(tell("y = (1 - torch.sigmoid(f(u)[0])) * torch.sigmoid(f(u)[0])"), "");
  for (const char *code : {"y = u.sigmoid() * (1 - v.sigmoid())", "y = f(u).sigmoid() * (1 - g(u).sigmoid())",
                           "y = 1 - u.sigmoid()", "y = self.loss(u)", "y = my_sigmoid(u) - my_sigmoid(u)"})
    EXPECT_THAT(tell(code), HasSubstr("merged with the equal `sigmoid`")) << code;
}

/// As torch.export writes them in its strict mode: all frames, and marks below the code.
TEST(SourceTrace, forwardsAlone) {
  Node node;
  node.metadata["pkg.torch.onnx.stack_trace"] =
      "  File \"/lib/torch/_dynamo/functional_export.py\", line 243, in forward\n"
      "    res = self._export_root(*args)\n          ^^^^^^^^^^^^^\n"
      "  File \"/lib/transformers/utils/generic.py\", line 943, in wrapper\n"
      "    output = func(self, *args)\n             ^^^^^^^^^^^\n"
      "  File \"/lib/transformers/modeling_clip.py\", line 209, in forward\n"
      "    patches = self.patch_embedding(\n              ^^^^^^^^^^^^\n";
  std::vector<SourceFrame> frames = sourceFrames(node);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].line, "209");
  EXPECT_EQ(frames[0].code, "patches = self.patch_embedding(");
}

Node plain(const std::string &opType, std::vector<std::string> inputs, const std::string &output) {
  Node node;
  node.opType = opType;
  node.name = output;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return node;
}

/// Of the last of two nodes, in a file without metadata.
std::string straightThrough(Node first, Node last, std::vector<std::string> trusted = {}) {
  Graph graph;
  graph.nodes = {std::move(first), std::move(last)};
  auto isTrained = [](const std::string &value) { return value != "data"; };
  std::optional<Refusal> lost =
      StraightThrough(graph, std::move(trusted)).refusal(graph.nodes.back(), isTrained);
  return lost ? lost->message : "";
}

TEST(StraightThrough, isKnownByWhatItTakesBack) {
  Node difference = plain("Sub", {"q", "z"}, "d");
  auto sum = [](const std::string &a, const std::string &b) { return plain("Add", {a, b}, "sum"); };
  EXPECT_THAT(straightThrough(difference, sum("z", "d")), HasSubstr("takes back what `d` did"));
  EXPECT_THAT(straightThrough(difference, sum("d", "z")), HasSubstr("takes back what `d` did"));
  EXPECT_THAT(straightThrough(plain("Sub", {"z", "q"}, "d"), plain("Sub", {"z", "d"}, "y")),
              HasSubstr("takes back"));
  EXPECT_EQ(straightThrough(difference, sum("z", "d"), {"s*"}), "");
  // Something is done with the difference, or something else is added.
  EXPECT_EQ(straightThrough(plain("Mul", {"q", "z"}, "d"), sum("z", "d")), "");
  EXPECT_EQ(straightThrough(difference, sum("q", "d")), "");
  EXPECT_EQ(straightThrough(plain("Sub", {"z", "q"}, "d"), sum("z", "d")), "");
  EXPECT_EQ(straightThrough(difference, plain("Sub", {"d", "z"}, "y")), "");
  EXPECT_EQ(straightThrough(difference, plain("Mul", {"z", "d"}, "y")), "");
  // (q + z) - z, z * (q / z) and (q * z) / z.
  EXPECT_THAT(straightThrough(plain("Add", {"q", "z"}, "d"), plain("Sub", {"d", "z"}, "y")),
              HasSubstr("takes back"));
  EXPECT_THAT(straightThrough(plain("Div", {"q", "z"}, "d"), plain("Mul", {"z", "d"}, "y")),
              HasSubstr("takes back"));
  EXPECT_THAT(straightThrough(plain("Mul", {"z", "q"}, "d"), plain("Div", {"d", "z"}, "y")),
              HasSubstr("takes back"));
  EXPECT_THAT(straightThrough(plain("Neg", {"z"}, "d"), sum("d", "z")), HasSubstr("takes back"));
  EXPECT_THAT(straightThrough(plain("Reciprocal", {"z"}, "d"), plain("Mul", {"z", "d"}, "y")),
              HasSubstr("takes back"));
  EXPECT_EQ(straightThrough(plain("Div", {"z", "q"}, "d"), plain("Mul", {"z", "d"}, "y")), "");
  EXPECT_EQ(straightThrough(plain("Mul", {"z", "q"}, "d"), plain("Sub", {"d", "z"}, "y")), "");
  EXPECT_EQ(straightThrough(plain("Add", {"q", "data"}, "d"), plain("Sub", {"d", "data"}, "y")), "")
      << "a large constant rounds";
  // The dynamo exporter tells of each detach().
  difference.metadata["pkg.torch.onnx.name_scopes"] = "['']";
  EXPECT_EQ(straightThrough(difference, sum("z", "d")), "");
}

TEST(StraightThrough, nothingIsTakenFromItself) {
  auto told = [](const std::string &opType, const std::string &x, const std::string &y) {
    return straightThrough(plain("Exp", {"x"}, "e"), plain(opType, {x, y}, "y"));
  };
  EXPECT_THAT(told("Sub", "e", "e"), HasSubstr("has two equal operands, as in x - x.detach()"));
  EXPECT_THAT(told("Div", "e", "e"), HasSubstr("as in x / x.detach()"));
  EXPECT_EQ(told("Sub", "data", "data"), "") << "it has no gradient";
  EXPECT_EQ(told("Mul", "e", "e"), "");
  EXPECT_EQ(told("Sub", "e", "x"), "");
}

/// Of `last(a, b)`, where two nodes compute a and b of x.
std::string ofTwo(Node a, Node b, const std::string &last = "Sub") {
  Graph graph;
  graph.nodes = {std::move(a), std::move(b), plain(last, {"a", "b"}, "y")};
  auto isTrained = [](const std::string &) { return true; };
  std::optional<Refusal> lost = StraightThrough(graph, {}).refusal(graph.nodes.back(), isTrained);
  return lost ? lost->message : "";
}

TEST(StraightThrough, equalHalves) {
  EXPECT_THAT(ofTwo(plain("Exp", {"x"}, "a"), plain("Exp", {"x"}, "b")), HasSubstr("two equal operands"));
  EXPECT_EQ(ofTwo(plain("Exp", {"x"}, "a"), plain("Exp", {"z"}, "b")), "");
  EXPECT_EQ(ofTwo(plain("Exp", {"x"}, "a"), plain("Log", {"x"}, "b")), "");
  Node first = plain("Concat", {"x", "x"}, "a"), second = plain("Concat", {"x", "x"}, "b");
  first.attributes.emplace("axis", int64_t{0});
  second.attributes.emplace("axis", int64_t{1});
  EXPECT_EQ(ofTwo(first, second), "");
  second.attributes["axis"] = int64_t{0};
  EXPECT_THAT(ofTwo(first, second, "Div"), HasSubstr("two equal operands"));
  Node mode = plain("Dropout", {"x", "ratio", "mode"}, "a"), other = mode;
  other.outputs = {"b"};
  EXPECT_EQ(ofTwo(mode, other), "") << "two draws";
}
} // namespace
