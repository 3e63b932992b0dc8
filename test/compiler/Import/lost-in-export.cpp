// SPDX-License-Identifier: Apache-2.0
// What the metadata of exporters tells: label smoothing that was left out, rows of padding, detached values.
#include "compiler/Import/GradientMarks.h"
#include "compiler/Import/LostInExport.h"
#include "test/compiler/Import/WireFormat.h"
#include <gmock/gmock.h>

using namespace accum::import;
using namespace accum::import::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {
class LostInExport : public FolderTest {
protected:
  /// What is said of a graph whose loss was traced from a call with these arguments.
  std::string refusal(const std::string &arguments) {
    std::string call =
        "%loss : [num_users=1] = call_function[target=torch.ops.aten.cross_entropy_loss.default](args = (" +
        arguments + "), kwargs = {})";
    GraphBytes graph;
    graph.inputs = {value("x", {2, 3}), value("y", {2})};
    graph.outputs = {value("loss")};
    graph.nodes = {node("SoftmaxCrossEntropyLoss", {"x", "y"}, {"loss"}, "loss_node")
                       .bytes(9, entry("pkg.torch.onnx.fx_node", call))};
    auto model = readModel(write(graph.model()));
    EXPECT_TRUE(model) << model.failures().front().message;
    auto lost = lostInExport(model->graph);
    return lost ? lost->subject + ": " + lost->message : "";
  }
};

TEST_F(LostInExport, labelSmoothing) {
  EXPECT_THAT(refusal("%view, %view_1, None, 1, -100, 0.1"),
              HasSubstr("`loss_node`: had label_smoothing = 0.1, which the exporter silently left out"));
  EXPECT_THAT(refusal("%view, %view_1, %weight, 2, -100, 1e-05"), HasSubstr("label_smoothing = 1e-05"));
  EXPECT_EQ(refusal("%view, %view_1, None, 1, -100, 0.0"), "");
  EXPECT_EQ(refusal("%view, %view_1, None, 1, -100"), "");
  EXPECT_EQ(refusal("%view, %view_1"), "");
}

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
  Graph graph;
  graph.nodes.push_back(loss);
  auto lost = lostInExport(graph);
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
  auto detached = [](const std::string &call) { return detachedOperands(traced("Add", call)); };
  EXPECT_THAT(detached("add.Tensor](args = (%x, %detach)"), ElementsAre("detach"));
  EXPECT_THAT(detached("cat.default](args = ([%detach_12, %x, %detach], 1)"),
              ElementsAre("detach_12", "detach"));
  EXPECT_THAT(detached("add.Tensor](args = (%x, %detach_)"), ElementsAre()) << "made in place, of a constant";
  EXPECT_THAT(detached("add.Tensor](args = (%x, %detached_state)"), ElementsAre());
  EXPECT_TRUE(readsByName(traced("Add", "add.Tensor](args = (%x, %detach)"), "x"));
  EXPECT_FALSE(readsByName(traced("Add", "add.Tensor](args = (%x_1, %detach)"), "x"));
}
} // namespace
