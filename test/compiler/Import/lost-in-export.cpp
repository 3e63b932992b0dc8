// SPDX-License-Identifier: Apache-2.0
// What the metadata of exporters tells: label smoothing that was left out, rows of padding, detached values.
#include "compiler/Import/GradientMarks.h"
#include "compiler/Import/LostArguments.h"
#include "compiler/Import/LostInExport.h"
#include "compiler/Import/TracedCall.h"
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

/// The way out that is offered where a loss of these inputs lost its smoothing.
std::string smoothingAdvice(std::vector<std::string> inputs, const std::string &reduction) {
  Node loss =
      traced("SoftmaxCrossEntropyLoss", "cross_entropy_loss.default](args = (%x, %y, %w, 1, -100, 0.1)");
  loss.inputs = std::move(inputs);
  loss.attributes.emplace("reduction", reduction);
  auto lost = lostArgument(loss);
  return lost ? lost->notes.front() : "";
}

TEST(LostSmoothing, asPyTorchComputesIt) {
  EXPECT_EQ(
      smoothingAdvice({"x", "y"}, "mean"),
      "write it out in the model: (1 - e) * nll - e * log_softmax(logits).mean(-1), summed over the counted "
      "targets and divided by their number");
  EXPECT_EQ(smoothingAdvice({"x", "y", "w"}, "mean"),
            "write it out in the model: (1 - e) * w[y] * nll - e * (w * log_softmax(logits)).mean(-1), "
            "summed over the "
            "counted targets y and divided by the sum of w over them");
  EXPECT_THAT(smoothingAdvice({"x", "y", "w"}, "sum"),
              testing::EndsWith(", summed over the counted targets"));
  EXPECT_THAT(smoothingAdvice({"x", "y", ""}, "none"), testing::EndsWith("log_softmax(logits).mean(-1)"));
}

TEST(LostArguments, labelSmoothing) {
  auto refusal = [](const std::string &arguments) {
    auto lost = lostArgument(
        traced("SoftmaxCrossEntropyLoss", "cross_entropy_loss.default](args = (" + arguments + ")"));
    return lost ? lost->message : "";
  };
  EXPECT_THAT(refusal("%view, %view_1, None, 1, -100, 0.1"),
              HasSubstr("had label_smoothing = 0.1, which the exporter left out"));
  EXPECT_THAT(refusal("%view, %view_1, %weight, 2, -100, 1e-05"), HasSubstr("label_smoothing = 1e-05"));
  EXPECT_EQ(refusal("%view, %view_1, None, 1, -100, 0.0"), "");
  EXPECT_EQ(refusal("%view, %view_1, None, 1, -100"), "");
  EXPECT_EQ(refusal("%view, %view_1"), "");
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

/// What is said of a graph with these nodes, traced from attention with these arguments.
std::string lostFrom(const std::string &arguments, std::initializer_list<const char *> opTypes) {
  Graph graph;
  for (const char *opType : opTypes)
    graph.nodes.push_back(traced(opType, "scaled_dot_product_attention.default](args = (" + arguments + ")"));
  return lostDropout(graph).value_or("");
}

TEST(LostDropout, ofAttention) {
  EXPECT_THAT(lostFrom("%q, %k, %v, %mask, 0.2", {"MatMul", "Softmax", "MatMul"}),
              HasSubstr("dropout 0.2 on attention probabilities is not in the file"));
  EXPECT_THAT(lostFrom("%q, %k, %v, None, 0.1, True", {"Attention"}), HasSubstr("dropout 0.1"));
  EXPECT_EQ(lostFrom("%q, %k, %v, %mask, 0.2", {"MatMul", "Softmax", "Dropout", "MatMul"}), "");
  EXPECT_EQ(lostFrom("%q, %k, %v, %mask, 0.0, True", {"MatMul"}), "");
  EXPECT_EQ(lostFrom("%q, %k, %v, %mask", {"MatMul"}), "");
  EXPECT_EQ(lostFrom("%q, %k, %v", {"MatMul"}), "");
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
} // namespace
