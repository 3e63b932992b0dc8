// SPDX-License-Identifier: Apache-2.0
// What is trained in exports without a signature, and what the command line changes.
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

class ParameterRules : public FolderTest {
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

TEST_F(ParameterRules, weightsAreTrained) {
  for (const char *op : {"Add", "Pow"})
    EXPECT_EQ(outcome(operandOf(op, "b", vectorOf("b", weights(4))), "b"),
              "trained: read as a weight by `second`");
  EXPECT_EQ(outcome(operandOf("Add", "pos", tensor("pos", {1, 4, 4}, 1, rawFloats(weights(16)))), "pos"),
            "trained: read as a weight by `second`");
}

TEST_F(ParameterRules, onlyOneTypeIsTrained) {
  constexpr int f32 = 1, f16 = 10, f64 = 11;
  auto refusals = [&](std::vector<int> types) {
    GraphBytes graph;
    graph.inputs = {value("x", {4, 2})};
    graph.outputs = {value("y", {4, 2})};
    for (size_t i = 0; i < types.size(); ++i) {
      std::string name = "h." + std::to_string(i) + ".weight", bytes(2 * (types[i] == f16   ? 2
                                                                          : types[i] == f64 ? 8
                                                                                            : 4),
                                                                     'w');
      graph.initializers.push_back(tensor(name, {2}, types[i], bytes));
      graph.nodes.push_back(node("Mul", {"x", name}, {"y" + std::to_string(i)}, "mul" + std::to_string(i)));
    }
    graph.nodes.push_back(node("Identity", {"y0"}, {"y"}, "out"));
    std::vector<std::string> told;
    auto table = decide(graph);
    for (const Failure &failure : table->refused)
      told.push_back(failure.subject + " " + failure.message + ": " + failure.notes.back());
    return told;
  };
  EXPECT_THAT(refusals({f32, f32}), ElementsAre());
  EXPECT_THAT(refusals({f64, f64}), ElementsAre());
  EXPECT_THAT(refusals({f16, f32, f16}), ElementsAre());
  EXPECT_THAT(refusals({f32, f64}),
              ElementsAre("`h.1.weight` is of type f64, expected f32 of what is trained: "
                          "or leave it as in the file: --freeze h.1.weight"));
  EXPECT_THAT(refusals({f16, f64, f64}),
              ElementsAre("`h.1.weight` and 1 more are of type f64, expected f32 of what is trained: "
                          "or leave them as in the file: --freeze h.1.weight --freeze h.2.weight"));
}

/// A table that is looked up, with zeros in these rows.
TEST_F(ParameterRules, rowsOfPaddingAreTold) {
  auto notices = [&](std::initializer_list<size_t> zeroRows) {
    std::vector<float> values = weights(10);
    for (size_t row : zeroRows)
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(2 * row), 2, 0.0f);
    GraphBytes graph;
    graph.inputs = {value("ids", {4})};
    graph.outputs = {value("y", {4, 2})};
    graph.initializers = {matrix("wte.weight", 5, 2, values)};
    graph.nodes = {node("Gather", {"wte.weight", "ids"}, {"y"}, "look")};
    return decide(graph)->notices;
  };
  EXPECT_THAT(notices({3}), ElementsAre(HasSubstr(
                                "wte.weight: row 3 is all zeros, as of an embedding with padding_idx=3")));
  EXPECT_THAT(notices({}), ElementsAre());
  EXPECT_THAT(notices({1, 3}), ElementsAre()) << "frameworks leave one row";
}

TEST_F(ParameterRules, aNumberThatMayBeAParameterIsTold) {
  auto notices = [&](const std::string &exponent) {
    GraphBytes graph;
    graph.inputs = {value("x", {4, 2})};
    graph.outputs = {value("y", {4, 2})};
    graph.initializers = {matrix("fc.weight", 2, 2, weights(4)), vectorOf(exponent, {0.7f})};
    graph.nodes = {node("MatMul", {"x", "fc.weight"}, {"h"}, "fc"),
                   node("Pow", {"h", exponent}, {"y"}, "power")};
    return decide(graph)->notices;
  };
  EXPECT_THAT(notices("act.power"),
              ElementsAre(HasSubstr("`act.power` not trained: constants in this file")));
  EXPECT_THAT(notices("power"), ElementsAre()) << "numbers of any exporter are called so";
}

TEST_F(ParameterRules, namesComeFromTheNodesThatReadThem) {
  GraphBytes graph;
  graph.inputs = {value("x", {4, 2})};
  graph.outputs = {value("y", {4, 3})};
  graph.initializers = {matrix("onnx::MatMul_12", 2, 3, weights(6))};
  graph.nodes = {node("MatMul", {"x", "onnx::MatMul_12"}, {"y"}, "/h.0/fc/MatMul")};
  auto table = decide(graph);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->parameters[0].module, "h.0.fc.weight");
  EXPECT_TRUE(table->parameters[0].moduleTransposed) << "Linear keeps [out, in]";
}

TEST_F(ParameterRules, namesBeginWhereTheFileSaysSo) {
  GraphBytes graph;
  graph.inputs = {value("x", {4, 2})};
  graph.outputs = {value("y", {4, 2})};
  graph.initializers = {matrix("onnx::MatMul_12", 2, 2, weights(4)),
                        vectorOf("model.decoder.fc.bias", weights(2)),
                        matrix("onnx::MatMul_13", 2, 2, weights(4, 0.7f))};
  graph.nodes = {node("MatMul", {"x", "onnx::MatMul_12"}, {"h"}, "/decoder/fc/MatMul"),
                 node("Add", {"h", "model.decoder.fc.bias"}, {"g"}, "/decoder/fc/Add"),
                 node("MatMul", {"g", "onnx::MatMul_13"}, {"y"}, "/head/MatMul")};
  auto table = decide(graph);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->parameters[0].module, "model.decoder.fc.weight");
  EXPECT_EQ(table->parameters[2].module, "head.weight");
  // Where the module is found in two places, or at the top, nothing is said.
  graph.initializers[1] = vectorOf("decoder.fc.bias", weights(2));
  graph.nodes[1] = node("Add", {"h", "decoder.fc.bias"}, {"g"}, "/decoder/fc/Add");
  table = decide(graph);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->parameters[0].module, "decoder.fc.weight");
}

TEST_F(ParameterRules, namesThatTheFileContradictsAreNotGiven) {
  auto nameBeside = [&](const std::string &scope, const std::string &vector) {
    GraphBytes graph = operandOf("Mul", vector, vectorOf(vector, weights(4)));
    graph.initializers[0] = matrix("onnx::MatMul_12", 4, 4, weights(16));
    graph.nodes[0] = node("MatMul", {"x", "onnx::MatMul_12"}, {"h"}, scope + "/MatMul");
    return decide(graph)->parameters[0].module;
  };
  EXPECT_EQ(nameBeside("/m/decoder/fc", "m.model.decoder.norm.weight"), "onnx::MatMul_12");
  EXPECT_EQ(nameBeside("/m/decoder/fc", "m.decoder.norm.weight"), "m.decoder.fc.weight");
  EXPECT_EQ(nameBeside("/m/decoder/fc", "m.encoder.norm.weight"), "m.decoder.fc.weight");
  EXPECT_EQ(nameBeside("/m/text/layers.0/mlp/fc", "m.vision.layers.0.mlp.norm.weight"),
            "m.text.layers.0.mlp.fc.weight");
  EXPECT_EQ(nameBeside("/m/head", "m.model.decoder.norm.weight"), "m.head.weight");
}

TEST_F(ParameterRules, aMatrixBelongsToTheModuleOfItsBias) {
  GraphBytes graph;
  graph.inputs = {value("x", {4, 2})};
  graph.outputs = {value("y", {4, 2})};
  graph.initializers = {
      matrix("onnx::MatMul_12", 2, 2, weights(4)), vectorOf("student.enc.fc.bias", weights(2)),
      matrix("onnx::MatMul_13", 2, 2, weights(4, 0.7f)), vectorOf("teacher.enc.fc.bias", weights(2, 0.9f))};
  // Neither student nor teacher was called itself, and the second fc is counted.
  graph.nodes = {node("MatMul", {"x", "onnx::MatMul_12"}, {"h"}, "/enc/fc/MatMul"),
                 node("Add", {"student.enc.fc.bias", "h"}, {"g"}, "/enc/fc/Add"),
                 node("MatMul", {"g", "onnx::MatMul_13"}, {"i"}, "/enc/fc_1/MatMul"),
                 node("Add", {"i", "teacher.enc.fc.bias"}, {"y"}, "/enc/fc_1/Add")};
  auto table = decide(graph, {.freeze = {"teacher.*"}});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->parameters[0].module, "student.enc.fc.weight");
  EXPECT_EQ(table->parameters[2].module, "teacher.enc.fc.weight");
  EXPECT_TRUE(table->parameters[2].moduleTransposed);
  EXPECT_FALSE(table->parameters[2].trained);
  // A vector of another module is no bias of this one.
  graph.nodes[0] = node("MatMul", {"x", "onnx::MatMul_12"}, {"h"}, "/enc/decoder/MatMul");
  EXPECT_EQ(decide(graph)->parameters[0].module, "enc.decoder.weight");
}

TEST_F(ParameterRules, childrenOfASequentialAreNamedOnce) {
  auto nameBehind = [&](const std::string &bias, const std::string &node) {
    GraphBytes graph;
    graph.inputs = {value("x", {4, 2})};
    graph.outputs = {value("y", {4, 2})};
    graph.initializers = {matrix("onnx::MatMul_12", 2, 2, weights(4)), vectorOf(bias, weights(2))};
    graph.nodes = {test::node("MatMul", {"x", "onnx::MatMul_12"}, {"h"}, node + "/MatMul"),
                   test::node("Add", {"h", bias}, {"y"}, node + "/Add")};
    auto table = decide(graph);
    return table ? table->parameters[0].module : "";
  };
  EXPECT_EQ(nameBehind("h.0.ffn.2.bias", "/h.0/ffn/ffn.2"), "h.0.ffn.2.weight");
  EXPECT_EQ(nameBehind("net.1.0.bias", "/net/net.1/net.1.0"), "net.1.0.weight");
  EXPECT_EQ(nameBehind("h.h.0.bias", "/h/h.0"), "h.h.0.weight") << "a module h in a module h";
}

TEST_F(ParameterRules, namesThatAreOnlyGuessedAreUnique) {
  GraphBytes graph;
  graph.inputs = {value("x", {4, 2})};
  graph.outputs = {value("y", {4, 2})};
  graph.initializers = {matrix("onnx::MatMul_12", 2, 3, weights(6)),
                        matrix("onnx::MatMul_13", 3, 2, weights(6, 0.7f))};
  graph.nodes = {node("MatMul", {"x", "onnx::MatMul_12"}, {"h"}, "/fc/MatMul"),
                 node("MatMul", {"h", "onnx::MatMul_13"}, {"y"}, "/fc/MatMul_1")};
  auto modules = [&](const Result<ParameterTable> &table) {
    return std::vector{table->parameters[0].module, table->parameters[1].module};
  };
  EXPECT_THAT(modules(decide(graph)), ElementsAre("onnx::MatMul_12", "onnx::MatMul_13"));
  EXPECT_FALSE(decide(graph)->parameters[0].moduleTransposed);
  // A module with others below it is no Linear.
  graph.initializers.push_back(vectorOf("fc.base.bias", weights(2)));
  graph.nodes.back() = node("MatMul", {"h", "onnx::MatMul_13"}, {"g"}, "/head/MatMul");
  graph.nodes.push_back(node("Add", {"g", "fc.base.bias"}, {"y"}, "/fc/base/Add"));
  EXPECT_THAT(modules(decide(graph)), ElementsAre("onnx::MatMul_12", "head.weight"));
  // nn.MultiheadAttention keeps three matrices in one.
  graph.initializers.push_back(vectorOf("fc.in_proj_bias", weights(2, 0.9f)));
  EXPECT_THAT(modules(decide(graph)), ElementsAre("fc.in_proj_weight", "head.weight"));
  EXPECT_TRUE(decide(graph)->parameters[0].moduleTransposed);
}

/// TorchScript keeps the names of vectors that it did not compute: this one may be a norm's 1 + w.
TEST_F(ParameterRules, computedVectorsHaveNoName) {
  GraphBytes graph = operandOf("Mul", "onnx::Mul_7", vectorOf("onnx::Mul_7", weights(4)));
  graph.nodes[1] = node("Mul", {"h", "onnx::Mul_7"}, {"y"}, "/model/norm/Mul");
  auto table = decide(graph);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->find("onnx::Mul_7")->module, "onnx::Mul_7");
}

TEST_F(ParameterRules, whatWasComputedFromAParameterInTheFileIsRefused) {
  std::vector<float> mix = weights(4, 0.9f), rest, unrelated = weights(4, 0.6f);
  for (float value : mix)
    rest.push_back(1 - value);
  auto both = [&](const std::vector<float> &constant) {
    GraphBytes graph = operandOf("Mul", "mix", tensor("mix", {1, 1, 4}, 1, rawFloats(mix)));
    graph.initializers.push_back(tensor("onnx::Mul_9", {1, 1, 4}, 1, rawFloats(constant)));
    graph.nodes.push_back(node("Mul", {"y", "onnx::Mul_9"}, {"z"}, "third"));
    return graph;
  };
  auto refused = decide(both(rest));
  ASSERT_TRUE(refused);
  ASSERT_EQ(refused->refused.size(), 1u);
  EXPECT_EQ(refused->refused[0].subject, "`onnx::Mul_9`");
  EXPECT_THAT(refused->refused[0].message, HasSubstr("was computed from `mix`"));
  EXPECT_THAT(refused->refused[0].notes[0], HasSubstr("do_constant_folding=False"));
  auto frozen = decide(both(rest), {.freeze = {"mix"}});
  ASSERT_TRUE(frozen);
  EXPECT_TRUE(frozen->refused.empty()) << "no gradient, none that lacks a part";
  ASSERT_EQ(decide(both(unrelated))->refused.size(), 1u);
  EXPECT_TRUE(decide(both(unrelated), {.freeze = {"onnx::Mul_9"}})->refused.empty());
  EXPECT_TRUE(decide(both({2, 2, 2, 2}))->refused.empty());
  EXPECT_TRUE(decide(both({0.5, 0.25, 0, -0.25}))->refused.empty()) << "a ramp";
}

TEST_F(ParameterRules, whatTorchScriptComputedIsRefusedWhereNothingKnownIsLikeIt) {
  auto refused = [&](const std::string &op, const std::string &constant, const std::string &name) {
    return !decide(operandOf(op, name, constant))->refused.empty();
  };
  EXPECT_TRUE(refused("Mul", vectorOf("onnx::Mul_7", weights(4)), "onnx::Mul_7"));
  EXPECT_TRUE(refused("Add", matrix("onnx::Add_7", 2, 4, weights(8)), "onnx::Add_7"));
  EXPECT_TRUE(refused("Mul", tensor("onnx::Mul_7", {}, 1, rawFloats({0.25})), "onnx::Mul_7"));
  EXPECT_FALSE(refused("MatMul", matrix("onnx::MatMul_7", 4, 4, weights(16)), "onnx::MatMul_7"));
  EXPECT_FALSE(refused("Add", matrix("onnx::Add_7", 2, 2, {0, -1e9f, 0, 0}), "onnx::Add_7"));
  EXPECT_FALSE(refused("Mul", vectorOf("Mul_7", weights(4)), "Mul_7")) << "no name of that exporter's";
}

/// Inputs are centred, and x / sqrt(mean(x^2) + e) gets a gain.
TEST_F(ParameterRules, whatIsNormalisedByIsLeftAndGainsTrain) {
  GraphBytes graph = operandOf("Sub", "onnx::Sub_9", vectorOf("onnx::Sub_9", weights(4, 0.3f)));
  graph.initializers.push_back(vectorOf("onnx::Mul_9", weights(4, 0.3f)));
  graph.nodes = {
      node("Sub", {"x", "onnx::Sub_9"}, {"c"}, "centre"), graph.nodes[0],
      node("ReduceMean", {"h"}, {"m"}, "mean"),           node("Sqrt", {"m"}, {"r"}, "root"),
      node("Div", {"h", "r"}, {"n"}, "normalised"),       node("Mul", {"n", "onnx::Mul_9"}, {"y"}, "gain")};
  EXPECT_EQ(outcome(graph, "onnx::Sub_9"), "frozen: a constant operand without a parameter's name");
  EXPECT_EQ(outcome(graph, "onnx::Mul_9"), "trained: read as a weight by `gain`");
  EXPECT_TRUE(decide(graph)->refused.empty());
}

TEST_F(ParameterRules, floatConstantsAreNot) {
  EXPECT_EQ(outcome(operandOf("Mul", "c::1", tensor("c::1", {}, 1, rawFloats({0.25}))), "c::1"), "constant");
  EXPECT_EQ(
      outcome(operandOf("Mul", "attn.scale", tensor("attn.scale", {}, 1, rawFloats({0.25}))), "attn.scale"),
      "frozen: one number");
  EXPECT_EQ(outcome(operandOf("Mul", "logit_scale", tensor("logit_scale", {}, 1, rawFloats({0.25}))),
                    "logit_scale"),
            "trained: read as a weight by `second`");
  EXPECT_EQ(
      outcome(operandOf("Pow", "e.exponent", tensor("e.exponent", {}, 1, rawFloats({2}))), "e.exponent"),
      "constant");
  EXPECT_EQ(outcome(operandOf("Mul", "a.inv_freq", vectorOf("a.inv_freq", weights(4))), "a.inv_freq"),
            "frozen: named like a buffer");
  EXPECT_EQ(outcome(operandOf("Add", "final_logits_bias", matrix("final_logits_bias", 1, 4, weights(4))),
                    "final_logits_bias"),
            "frozen: named like a buffer");
  EXPECT_EQ(outcome(operandOf("Mul", "f", vectorOf("f", {1, 0.1f, 0.01f, 0.001f})), "f"),
            "frozen: a geometric series, as rotary frequencies are");
  EXPECT_EQ(outcome(operandOf("Add", "m", matrix("m", 2, 2, {0, -1e9f, 0, 0})), "m"), "frozen: a mask");
  EXPECT_EQ(outcome(operandOf("Add", "m", matrix("m", 2, 2, {0, -INFINITY, 0, 0})), "m"), "frozen: a mask");
}

TEST_F(ParameterRules, tablesOfSinesAreNot) {
  std::vector<float> positions, cosines;
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 4; ++column) {
      float angle = static_cast<float>(row) * std::pow(0.1f, static_cast<float>(column / 2));
      positions.push_back(column % 2 ? std::cos(angle) : std::sin(angle));
      cosines.push_back(std::cos(angle));
    }
  std::string fixed = "frozen: a fixed table of sines and cosines";
  EXPECT_EQ(outcome(operandOf("Add", "pe", matrix("pe", 8, 4, positions)), "pe"), fixed);
  EXPECT_EQ(outcome(operandOf("Mul", "c", matrix("c", 8, 4, cosines)), "c"), fixed);
  EXPECT_EQ(outcome(operandOf("Add", "pe", matrix("pe", 8, 4, weights(32))), "pe"),
            "trained: read as a weight by `second`");
}

TEST_F(ParameterRules, statisticsAreNot) {
  GraphBytes graph = operandOf("Relu", "", matrix("w2.weight", 4, 4, weights(16, 0.7f)));
  graph.nodes[1] =
      node("BatchNormalization", {"h", "bn.weight", "bn.bias", "bn.mean", "bn.var"}, {"y"}, "bn");
  for (const char *name : {"bn.weight", "bn.bias", "bn.mean", "bn.var"})
    graph.initializers.push_back(vectorOf(name, weights(4, 0.1f * static_cast<float>(name[3]))));
  EXPECT_THAT(outcome(graph, "bn.weight"), HasSubstr("trained"));
  EXPECT_EQ(outcome(graph, "bn.mean"), "frozen: a statistic, a bound or a shape");
}

TEST_F(ParameterRules, classWeightsAreNot) {
  GraphBytes graph =
      operandOf("SoftmaxCrossEntropyLoss", "labels", tensor("labels", {4}, 7, std::string(32, 0)));
  graph.initializers.push_back(vectorOf("class_weights", weights(4)));
  graph.nodes[1] = node("SoftmaxCrossEntropyLoss", {"h", "labels", "class_weights"}, {"y"}, "second");
  EXPECT_THAT(outcome(graph, "class_weights"), HasSubstr("frozen: "));
}

TEST_F(ParameterRules, whatIsOnlySummedIsNot) {
  GraphBytes graph = operandOf("Add", "b", vectorOf("b", weights(4)));
  graph.initializers.push_back(vectorOf("onnx::ReduceSum_9", weights(4, 0.7f)));
  graph.nodes.push_back(node("ReduceSum", {"onnx::ReduceSum_9"}, {"s"}, "sum"));
  EXPECT_EQ(decide(graph)->refused.size(), 1u);
  EXPECT_EQ(outcome(graph, "onnx::ReduceSum_9", {{"*", "onnx::ReduceSum_9"}, {}, false, {}}),
            "trained: asked for by --trainable");
}

TEST_F(ParameterRules, overrides) {
  GraphBytes graph = operandOf("Mul", "attn.scale", tensor("attn.scale", {}, 1, rawFloats({0.25})));
  EXPECT_EQ(outcome(graph, "w.weight", {.freeze = {"w.*"}}), "has no trainable parameter");
  EXPECT_EQ(outcome(graph, "attn.scale", {.trainable = {"*"}}), "frozen: one number")
      << "a pattern reaches parameters only";
  EXPECT_EQ(outcome(graph, "attn.scale", {.trainable = {"attn.scale"}}), "trained: asked for by --trainable");
  EXPECT_EQ(outcome(graph, "w.weight", {.trainable = {"attn.scale"}}), "frozen: not named by --trainable");
  EXPECT_EQ(outcome(graph, "w.weight", {.trainable = {"*", "attn.scale"}, .freeze = {"w.weight"}}),
            "frozen: asked for by --freeze");
  auto unmatched = decide(graph, {.freeze = {"nothing*"}});
  ASSERT_FALSE(unmatched);
  EXPECT_EQ(unmatched.failures().front().slug, "no-such-parameter");
  EXPECT_EQ(unmatched.failures().front().subject, "--freeze nothing*");
}

TEST_F(ParameterRules, whyThereIsNothingToTrain) {
  GraphBytes graph = operandOf("Mul", "w", tensor("w", {1}, 7, std::string(8, '\0')));
  graph.initializers.erase(graph.initializers.begin(), graph.initializers.end() - 1);
  graph.nodes = {node("Cast", {"w"}, {"c"}, "cast"), node("Mul", {"x", "c"}, {"y"}, "mul")};
  auto table = decide(graph);
  ASSERT_FALSE(table);
  EXPECT_THAT(table.failures().front().notes, ElementsAre("no weight of the file is of floats: `w` (i64)"));
  Message branch = Message().bytes(2, "then");
  graph.nodes.push_back(node("If", {"w"}, {"z"}, "choice")
                            .bytes(5, Message().bytes(1, "then_branch").bytes(6, branch).number(20, 5)));
  table = decide(graph);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.failures().front().slug, "unsupported");
  EXPECT_EQ(table.failures().front().subject, "`choice`");
}
} // namespace
