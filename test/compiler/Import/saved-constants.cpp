// SPDX-License-Identifier: Apache-2.0
// Constants that tools have saved as initializers, and weights that they have saved as constants.
#include "compiler/Import/parameters/Parameters.h"
#include "test/compiler/Import/WireFormat.h"
#include <cmath>
#include <gmock/gmock.h>

using namespace accum::import;
using namespace accum::import::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {
/// `size` values that no rule takes for a table.
std::vector<float> weights(size_t size, float seed = 0.3f) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i)
    values[i] = std::sin(seed * static_cast<float>(i * i + 1)) * (1 + 0.01f * static_cast<float>(i));
  return values;
}

std::string matrix(std::string_view name, int64_t rows, int64_t columns, const std::vector<float> &values) {
  return tensor(name, {rows, columns}, 1, rawFloats(values));
}
std::string vectorOf(std::string_view name, const std::vector<float> &values) {
  return tensor(name, {static_cast<int64_t>(values.size())}, 1, rawFloats(values));
}

class SavedConstants : public FolderTest {
protected:
  /// `x @ w` and then `op` with the tensor under test.
  GraphBytes operandOf(const std::string &op, const std::string &name, const std::string &tensorBytes) {
    GraphBytes graph;
    graph.inputs = {value("x", {4, 4})};
    graph.outputs = {value("y", {4, 4})};
    graph.initializers = {matrix("w.weight", 4, 4, weights(16)), tensorBytes};
    graph.nodes = {node("MatMul", {"x", "w.weight"}, {"h"}, "first"), node(op, {"h", name}, {"y"}, "second")};
    return graph;
  }

  Result<ParameterTable> decide(const GraphBytes &graph, const ParameterOptions &options = {}) {
    model = readModel(write(graph.model()));
    EXPECT_TRUE(*model) << model->failures().front().message;
    return decideParameters(**model, options);
  }

  /// "trained: reason" or "frozen: reason" or "constant" of that initializer.
  std::string outcome(const GraphBytes &graph, const std::string &name,
                      const ParameterOptions &options = {}) {
    auto table = decide(graph, options);
    if (!table)
      return table.failures().front().message;
    const Parameter *parameter = table->find(name);
    return parameter ? (parameter->trained ? "trained: " : "frozen: ") + parameter->reason : "constant";
  }
  std::optional<Result<Model>> model;
};

/// Tools that compute constants save them under the names of the nodes' results.
TEST_F(SavedConstants, whatStandsForANodeIsNoParameter) {
  auto of = [&](const std::string &op, const std::string &name) {
    return outcome(operandOf(op, name, vectorOf(name, weights(4))), name);
  };
  const std::string constant = "frozen: a constant operand without a parameter's name";
  EXPECT_EQ(of("Mul", "/Constant_output_0"), constant);
  EXPECT_EQ(of("Mul", "/act/Exp_1_output_0"), constant);
  EXPECT_EQ(of("Mul", "123"), constant);
  EXPECT_EQ(of("Add", "fc.bias"), "trained: read as a weight by `second`");
  EXPECT_EQ(of("Add", "_inlfunc_NegativeLogLikelihoodLoss_const_one_float"), constant);
  auto matrixOf = [&](const std::string &name) {
    return outcome(operandOf("MatMul", name, matrix(name, 4, 4, weights(16, 0.7f))), name);
  };
  EXPECT_EQ(matrixOf("/fc/Transpose_output_0"), "trained: read as a weight by `second`");
  EXPECT_EQ(matrixOf("/fc/Mul_output_0"), constant) << "such as a weight norm";
  ParameterOptions asked{.trainable = {"*", "/Constant_output_0"}};
  GraphBytes graph = operandOf("Mul", "/Constant_output_0", vectorOf("/Constant_output_0", weights(4)));
  EXPECT_EQ(outcome(graph, "/Constant_output_0", asked), "trained: asked for by --trainable");
  EXPECT_THAT(decide(graph)->notices,
              ElementsAre(HasSubstr("`/Constant_output_0` not trained: constants in this file")));
}

/// ELECTRA by the dynamo exporter, saved by onnxruntime.
TEST_F(SavedConstants, aNumberThatIsNamedAfterACallIsAConstant) {
  std::string number = tensor("scalar_tensor_default", {}, 1, rawFloats({1}));
  GraphBytes graph = operandOf("Mul", "scalar_tensor_default", number);
  graph.nodes[1] = node("Mul", {"h", "scalar_tensor_default"}, {"y"}, "node_mul_2");
  EXPECT_EQ(outcome(graph, "scalar_tensor_default"), "constant");
}

/// A linear's weight that the exporter transposed, in a file that has lost its record.
TEST_F(SavedConstants, aMatrixThatWasOnlyMovedIsOneStill) {
  GraphBytes graph = operandOf("MatMul", "permute_3", matrix("permute_3", 4, 4, weights(16, 0.7f)));
  graph.nodes[1] = node("MatMul", {"h", "permute_3"}, {"y"}, "node_linear_1");
  EXPECT_EQ(outcome(graph, "permute_3"), "trained: read as a weight by `node_linear_1`");
}

TEST_F(SavedConstants, itIsSaidThatAToolHasDroppedTheRecord) {
  auto noticesOf = [&](const std::string &nodeName) {
    GraphBytes graph = operandOf("Add", "fc.bias", vectorOf("fc.bias", weights(4)));
    graph.nodes[1] = node("Add", {"h", "fc.bias"}, {"y"}, nodeName);
    model = readModel(write(graph.model()));
    (*model)->producer = "pytorch";
    return decideParameters(**model, {})->notices;
  };
  EXPECT_THAT(noticesOf("node_add_2"), ElementsAre(HasSubstr("a tool has saved this file without")));
  EXPECT_THAT(noticesOf("/fc/Add"), ElementsAre(HasSubstr("a TorchScript file cannot say")));
}

/// What the dynamo exporter calls results, in a file that has lost its record.
TEST_F(SavedConstants, whatIsNamedAfterACallIsNoParameter) {
  auto of = [&](const std::string &name, const std::string &nodeName) {
    GraphBytes graph = operandOf("Mul", name, vectorOf(name, weights(4)));
    graph.nodes[1] = node("Mul", {"h", name}, {"y"}, nodeName);
    return outcome(graph, name);
  };
  EXPECT_EQ(of("mul_1", "node_mul_2"), "frozen: a constant operand without a parameter's name");
  EXPECT_EQ(of("logsumexp", "node_mul_2"), "frozen: a constant operand without a parameter's name");
  EXPECT_EQ(of("full_default_3", "node_mul_2"), "frozen: a constant operand without a parameter's name");
  EXPECT_EQ(of("unsqueeze_14", "node_mul_2"), "frozen: a constant operand without a parameter's name");
  EXPECT_EQ(of("gamma", "node_mul_2"), "trained: read as a weight by `node_mul_2`");
  EXPECT_EQ(of("embedding_2", "node_add_2"), "trained: read as a weight by `node_add_2`") << "a table's rows";
  EXPECT_EQ(of("mul_1", "times"), "trained: read as a weight by `times`");
}

/// DeBERTa's relative keys, computed from a table and put into heads; a stack of matrices that was
/// transposed.
TEST_F(SavedConstants, whatWasPutIntoHeadsWasComputed) {
  auto of = [&](const std::string &name, int64_t stack) {
    GraphBytes graph =
        operandOf("MatMul", name,
                  tensor(name, {stack, 4, 4}, 1, rawFloats(weights(16 * static_cast<size_t>(stack), 0.7f))));
    graph.outputs = {value("y", {2, 4, 4})};
    graph.nodes[1] = node("MatMul", {"h", name}, {"y"}, "node_matmul_1");
    return outcome(graph, name);
  };
  const std::string constant = "frozen: a constant operand without a parameter's name";
  EXPECT_EQ(of("view_21", 2), constant);
  EXPECT_EQ(of("reshape", 2), constant);
  EXPECT_EQ(of("permute_3", 1), constant) << "keys of one sample";
  EXPECT_EQ(of("/attn/Reshape_2_output_0", 2), constant);
  EXPECT_EQ(of("linear_2", 2), constant);
  EXPECT_EQ(of("permute_3", 2), "trained: read as a weight by `node_matmul_1`") << "experts";
  EXPECT_EQ(of("/moe/Transpose_output_0", 2), "trained: read as a weight by `node_matmul_1`");
}

/// The exporter's group norm is an instance norm with ones and zeros, and then the parameters.
TEST_F(SavedConstants, vectorsWithinACallAreNumbersOfItsFormula) {
  auto of = [&](const std::string &nodeName) {
    GraphBytes graph;
    graph.inputs = {value("x", {4, 4})};
    graph.outputs = {value("y", {4, 4})};
    graph.initializers = {matrix("w.weight", 4, 4, weights(16)), vectorOf("val_29", {1, 1, 1, 1}),
                          vectorOf("val_32", {0, 0, 0, 0})};
    graph.nodes = {
        node("MatMul", {"x", "w.weight"}, {"h"}, nodeName),
        node("InstanceNormalization", {"h", "val_29", "val_32"}, {"y"}, "node_InstanceNormalization_33")};
    return std::pair(outcome(graph, "val_29"), outcome(graph, "val_32"));
  };
  const std::string constant = "frozen: a constant operand without a parameter's name";
  EXPECT_EQ(of("node_linear"), std::pair(constant, constant));
}

/// ALBERT's layer runs twice, and onnxruntime has transposed a weight of it for each run.
TEST_F(SavedConstants, copiesOfOneModulesWeightAreTied) {
  auto tied = [&](const std::string &second, const std::vector<float> &bias) {
    GraphBytes graph;
    graph.inputs = {value("x", {4, 4})};
    graph.outputs = {value("y", {4, 4})};
    graph.initializers = {matrix("val_136", 4, 4, weights(16)), matrix("val_210", 4, 4, weights(16)),
                          vectorOf("fc.bias", bias), vectorOf("other.bias", weights(4, 0.9f))};
    graph.nodes = {node("MatMul", {"x", "val_136"}, {"a"}, "node_MatMul_1"),
                   node("Add", {"a", "fc.bias"}, {"b"}, "node_linear"),
                   node("MatMul", {"b", "val_210"}, {"c"}, "node_MatMul_2"),
                   node("Add", {"c", second}, {"y"}, "node_linear_1")};
    return decide(graph)->find("val_210")->name;
  };
  EXPECT_EQ(tied("fc.bias", weights(4)), "val_136");
  EXPECT_EQ(tied("other.bias", weights(4)), "val_210") << "layers that began as copies";
  EXPECT_EQ(tied("fc.bias", {0, 0, 0, 0}), "val_210") << "biases that were zero are merged";
}

/// Gemma's buffer of one number, under its own name.
TEST_F(SavedConstants, aScaleOfEmbeddingsIsABuffer) {
  std::string scale = tensor("embed.embed_scale", {}, 1, rawFloats({5.66f}));
  GraphBytes graph = operandOf("Mul", "embed.embed_scale", scale);
  graph.nodes[1] = node("Mul", {"h", "embed.embed_scale"}, {"y"}, "node_mul");
  EXPECT_EQ(outcome(graph, "embed.embed_scale"), "frozen: named like a buffer");
}

TEST_F(SavedConstants, aBatchNormThatAToolHasFoldedIsTold) {
  auto notices = [&](const std::string &weight, const std::string &rule) {
    GraphBytes graph;
    graph.inputs = {value("x", {1, 2, 4})};
    graph.outputs = {value("y", {1, 2, 4})};
    graph.initializers = {tensor(weight, {2, 2, 1}, 1, rawFloats(weights(4)))};
    graph.nodes = {node("Conv", {"x", weight}, {"y"}, "conv")
                       .bytes(9, entry("pkg.onnxscript.rewriter.rule_name", rule))};
    return decide(graph)->notices;
  };
  auto told = ElementsAre(HasSubstr("a tool has folded a batch norm into it"));
  EXPECT_THAT(notices("c.weight", "FuseBatchNormIntoConv"), told);
  EXPECT_THAT(notices("ConvBnFusion_W_c.weight", ""), told);
  EXPECT_THAT(notices("c.weight", "RemoveOptionalBiasFromConv"), ElementsAre());
}

/// As Paddle's exporter writes them.
TEST_F(SavedConstants, weightsThatAreConstantNodes) {
  auto constant = [](const std::string &name, const std::string &value) {
    return node("Constant", {}, {name}, name)
        .bytes(5, Message().bytes(1, "value").bytes(5, value).number(20, 4));
  };
  GraphBytes graph;
  graph.inputs = {value("x", {4, 4})};
  graph.outputs = {value("y", {4, 4})};
  graph.nodes = {constant("fc_0.w_0", matrix("", 4, 4, weights(16))),
                 constant("fc_offset", vectorOf("", weights(4))),
                 constant("p2o.helper.constant.0", vectorOf("", weights(4, 0.7f))),
                 node("MatMul", {"x", "fc_0.w_0"}, {"a"}, "product"),
                 node("Add", {"a", "fc_offset"}, {"b"}, "shifted"),
                 node("Mul", {"b", "p2o.helper.constant.0"}, {"y"}, "scaled")};
  auto table = decide(graph);
  ASSERT_TRUE(table);
  auto trained = [&] {
    std::vector<std::string> names;
    for (const Parameter &parameter : table->parameters)
      if (parameter.trained)
        names.push_back(parameter.name);
    return names;
  };
  EXPECT_THAT(trained(), ElementsAre("fc_0.w_0", "fc_offset"));
  EXPECT_THAT(table->notices[0], HasSubstr("`fc_0.w_0`, `fc_offset` trained, though constants in this file"));
  table = decide(graph, {.trainable = {"*"}});
  EXPECT_THAT(trained(), ElementsAre("fc_0.w_0", "fc_offset"));
  table = decide(graph, {.trainable = {"p2o.helper.constant.0"}});
  EXPECT_THAT(trained(), ElementsAre("p2o.helper.constant.0"));
  // Beside parameters only those with such names are weights.
  graph.initializers = {matrix("head.weight", 4, 4, weights(16, 0.9f))};
  graph.nodes.back() = node("MatMul", {"b", "head.weight"}, {"y"}, "head");
  table = decide(graph);
  EXPECT_THAT(trained(), ElementsAre("head.weight", "fc_0.w_0"));
}
} // namespace
