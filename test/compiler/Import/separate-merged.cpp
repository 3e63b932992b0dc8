// SPDX-License-Identifier: Apache-2.0
// Parameters that an exporter merged because they were equal are told apart again.
#include "compiler/Import/parameters/Parameters.h"
#include "test/compiler/Import/WireFormat.h"
#include <algorithm>
#include <gmock/gmock.h>

using namespace accum::import;
using namespace accum::import::test;
using ::testing::HasSubstr;
using ::testing::SizeIs;

namespace {
class SeparateMerged : public FolderTest {
protected:
  ParameterTable decide(const GraphBytes &graph, const ParameterOptions &options = {}) {
    model = readModel(write(graph.model()));
    EXPECT_TRUE(*model) << model->failures().front().message;
    auto table = decideParameters(**model, options);
    EXPECT_TRUE(table) << table.failures().front().message;
    return *table;
  }
  const Node &nodeNamed(const std::string &name) {
    for (const Node &node : (*model)->graph.nodes)
      if (node.name == name)
        return node;
    throw std::out_of_range(name);
  }
  std::optional<Result<Model>> model;
};

Message scoped(Message node, const std::string &module) {
  return node.bytes(9, entry("pkg.torch.onnx.name_scopes", "['', '" + module + "', 'op']"));
}

/// As the dynamo exporter writes a node that belongs to `linear(x, weight, bias)`.
Message called(Message node, const std::string &weight, const std::string &bias = "p_none") {
  return node.bytes(9, entry("pkg.torch.onnx.fx_node",
                             "%linear : [num_users=1] = call_function[target=aten](args = (%x, %" + weight +
                                 ", %" + bias + "), kwargs = {})"));
}

std::string withUnderscores(std::string target) {
  std::replace(target.begin(), target.end(), '.', '_');
  return target;
}

std::string signature(const std::vector<std::string> &targets) {
  std::string text = "\n# inputs\n";
  for (const std::string &target : targets)
    text += "p_" + withUnderscores(target) + ": PARAMETER target='" + target + "'\n";
  return entry("pkg.torch.export.ExportedProgram.graph_signature", text + "x: USER_INPUT\n\n# outputs\n");
}

std::string kindOf(const std::string &name) {
  return Message().bytes(1, name).bytes(
      4, entry("pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"));
}

/// The same of an argument's name, where the exporter had to take another for the tensor.
std::string kindOf(const std::string &name, const std::string &placeholder) {
  return Message()
      .bytes(1, name)
      .bytes(4, entry("pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"))
      .bytes(4, entry("pkg.torch.onnx.original_node_name", placeholder));
}

GraphBytes twoNorms() {
  GraphBytes graph;
  graph.inputs = {value("x", {2, 4})};
  graph.outputs = {value("y", {2, 4})};
  graph.initializers = {tensor("h.0.ln.weight", {4}, 1, rawFloats({1, 1, 1, 1})),
                        tensor("h.0.ln.bias", {4}, 1, rawFloats({0, 0, 0, 0}))};
  graph.valueInfo = {kindOf("h.0.ln.weight"), kindOf("h.0.ln.bias")};
  graph.metadata = {
      signature({"h.0.ln.weight", "h.0.ln.bias", "h.1.ln.weight", "h.1.ln.bias", "fc.weight", "fc.bias"})};
  graph.nodes = {
      scoped(node("LayerNormalization", {"x", "h.0.ln.weight", "h.0.ln.bias"}, {"a"}, "n0"), "h.0.ln"),
      scoped(node("LayerNormalization", {"a", "h.0.ln.weight", "h.0.ln.bias"}, {"b"}, "n1"), "h.1.ln"),
      scoped(node("Gemm", {"b", "fc.weight"}, {"y"}, "g"), "fc")};
  std::vector<float> weights(16);
  for (size_t i = 0; i < 16; ++i)
    weights[i] = 0.1f * static_cast<float>(i * i % 7);
  graph.initializers.push_back(tensor("fc.weight", {4, 4}, 1, rawFloats(weights)));
  graph.valueInfo.push_back(kindOf("fc.weight"));
  return graph;
}

TEST_F(SeparateMerged, vectorsOfEqualValues) {
  ParameterTable table = decide(twoNorms());
  EXPECT_THAT(table.parameters, SizeIs(5));
  EXPECT_EQ(nodeNamed("n0").inputs[1], "h.0.ln.weight");
  EXPECT_EQ(nodeNamed("n1").inputs[1], "h.1.ln.weight");
  EXPECT_EQ(nodeNamed("n1").inputs[2], "h.1.ln.bias");
  const Parameter &second = *table.find("h.1.ln.weight");
  EXPECT_TRUE(second.trained);
  EXPECT_EQ(second.sourceOffset, table.find("h.0.ln.weight")->sourceOffset) << "over the same bytes";
}

TEST_F(SeparateMerged, vanishedBiasIsNamed) {
  ParameterTable table = decide(twoNorms());
  ASSERT_THAT(table.notices, SizeIs(2));
  EXPECT_THAT(table.notices[0], HasSubstr("2 parameters had been merged with equal ones"));
  EXPECT_THAT(table.notices[1], HasSubstr("`fc.bias` not in the file: zero when exported"));
}

TEST_F(SeparateMerged, sharedWeightsStayShared) {
  GraphBytes graph = twoNorms();
  // The same table looked up and multiplied with: tied, and listed under both names.
  graph.metadata = {
      signature({"wte.weight", "h.0.ln.weight", "h.0.ln.bias", "h.1.ln.weight", "h.1.ln.bias", "fc.weight"})};
  graph.inputs.push_back(value("i", {4}));
  graph.nodes.push_back(scoped(node("Gather", {"fc.weight", "i"}, {"z"}, "look"), "wte"));
  graph.outputs.push_back(value("z", {4, 4}));
  ParameterTable table = decide(graph);
  EXPECT_EQ(nodeNamed("look").inputs[0], "fc.weight");
  EXPECT_EQ(table.find("fc.weight")->module, "wte.weight");
  EXPECT_THAT(table.find("fc.weight")->moduleAliases, ::testing::ElementsAre("fc.weight"));
}

TEST_F(SeparateMerged, copiedLayersOfASignature) {
  GraphBytes graph = twoNorms();
  graph.metadata = {signature({"h.0.ln.weight", "h.0.ln.bias", "l.0.fc.weight", "l.1.fc.weight"})};
  graph.initializers.pop_back();
  std::vector<float> weights{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7};
  graph.initializers.push_back(tensor("l.0.fc.weight", {4, 4}, 1, rawFloats(weights)));
  graph.valueInfo = {kindOf("h.0.ln.weight"), kindOf("h.0.ln.bias"), kindOf("l.0.fc.weight")};
  graph.nodes = {graph.nodes[0], scoped(node("MatMul", {"a", "l.0.fc.weight"}, {"b"}, "m0"), "l.0.fc"),
                 scoped(node("MatMul", {"b", "l.0.fc.weight"}, {"y"}, "m1"), "l.1.fc")};
  ParameterTable table = decide(graph);
  EXPECT_EQ(nodeNamed("m1").inputs[1], "l.1.fc.weight");
  EXPECT_TRUE(table.find("l.1.fc.weight")->trained);
  EXPECT_TRUE(table.find("l.1.fc.weight")->aliases.empty()) << "and they are not tied again";
}

/// Two layers that read one matrix, `val_9`, which was folded from the second's.
GraphBytes twoLayers() {
  GraphBytes graph;
  graph.inputs = {value("x", {4, 4})};
  graph.outputs = {value("y", {4, 4})};
  std::vector<float> weights{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7};
  graph.initializers = {tensor("val_9", {4, 4}, 1, rawFloats(weights))};
  graph.valueInfo = {Message()
                         .bytes(1, "val_9")
                         .bytes(4, entry("pkg.onnxscript.optimizer.folded_from", "['l.1.fc.weight']"))};
  graph.metadata = {signature({"l.0.fc.weight", "l.1.fc.weight"})};
  return graph;
}

TEST_F(SeparateMerged, whatOneModuleReadsUnderTwoNamesStaysOne) {
  GraphBytes graph = twoLayers();
  graph.nodes = {called(scoped(node("MatMul", {"x", "val_9"}, {"b"}, "m0"), "l.0.fc"), "p_l_1_fc_weight"),
                 called(scoped(node("MatMul", {"b", "val_9"}, {"y"}, "m1"), "l.1.fc"), "p_l_1_fc_weight")};
  ParameterTable table = decide(graph);
  ASSERT_THAT(table.parameters, SizeIs(1));
  EXPECT_EQ(table.parameters[0].module, "l.0.fc.weight") << "the first that the framework lists";
  EXPECT_THAT(table.parameters[0].moduleAliases, ::testing::ElementsAre("l.1.fc.weight"));
}

TEST_F(SeparateMerged, whatCallsTellApartHasOneNameEach) {
  GraphBytes graph = twoLayers();
  // The scopes are those of the modules above, as of nn.MultiheadAttention's out_proj.
  graph.nodes = {called(scoped(node("MatMul", {"x", "val_9"}, {"b"}, "m0"), "l.0"), "p_l_0_fc_weight"),
                 called(scoped(node("MatMul", {"b", "val_9"}, {"y"}, "m1"), "l.1"), "p_l_1_fc_weight")};
  ParameterTable table = decide(graph);
  ASSERT_THAT(table.parameters, SizeIs(2));
  for (const Parameter &parameter : table.parameters)
    EXPECT_THAT(parameter.moduleAliases, SizeIs(0)) << parameter.module;
  EXPECT_NE(table.parameters[0].module, table.parameters[1].module);
  EXPECT_THAT(table.notices, SizeIs(1)) << "that it was separated, and nothing about ties";
}

TEST_F(SeparateMerged, twoCopiesOfASharedWeightAreOne) {
  GraphBytes graph = twoLayers();
  graph.initializers.push_back(
      tensor("val_10", {4, 4}, 1, rawFloats({1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7})));
  graph.valueInfo.push_back(
      Message()
          .bytes(1, "val_10")
          .bytes(4, entry("pkg.onnxscript.optimizer.folded_from", "['l.1.fc.weight']")));
  graph.nodes = {called(scoped(node("MatMul", {"x", "val_9"}, {"b"}, "m0"), "l.0.fc"), "p_l_1_fc_weight"),
                 called(scoped(node("MatMul", {"b", "val_10"}, {"y"}, "m1"), "l.1.fc"), "p_l_1_fc_weight")};
  ParameterTable table = decide(graph);
  ASSERT_THAT(table.parameters, SizeIs(1));
  EXPECT_THAT(table.parameters[0].aliases, SizeIs(1));
}

TEST_F(SeparateMerged, aTableThatLayersMultiplyIsNotTheirWeight) {
  GraphBytes graph = twoLayers();
  auto foldedInto = [](const std::string &name, const std::string &source) {
    return Message().bytes(1, name).bytes(
        4, entry("pkg.onnxscript.optimizer.folded_from", "['" + source + "']"));
  };
  graph.metadata = {signature({"relative.weight", "l.0.fc.weight", "l.1.fc.weight"})};
  graph.valueInfo = {kindOf("relative.weight"), foldedInto("val_9", "l.0.fc.weight"),
                     foldedInto("val_10", "l.1.fc.weight")};
  std::vector<float> table{5, 3, 2, 8, 5, 6, 1, 8, 9, 4, 2, 7, 4, 8, 6, 1};
  std::vector<float> other{2, 3, 3, 4, 5, 6, 7, 1, 9, 1, 2, 8, 4, 5, 6, 7};
  graph.initializers.push_back(tensor("val_10", {4, 4}, 1, rawFloats(other)));
  graph.initializers.push_back(tensor("relative.weight", {4, 4}, 1, rawFloats(table)));
  graph.nodes = {
      called(scoped(node("MatMul", {"relative.weight", "val_9"}, {"a"}, "m0"), "l.0.fc"), "p_l_0_fc_weight"),
      called(scoped(node("MatMul", {"relative.weight", "val_10"}, {"b"}, "m1"), "l.1.fc"), "p_l_1_fc_weight"),
      node("Add", {"a", "b"}, {"y"}, "sum")};
  ParameterTable result = decide(graph);
  ASSERT_THAT(result.parameters, SizeIs(3));
  for (const char *name : {"m0", "m1"})
    EXPECT_EQ(nodeNamed(name).inputs[0], "relative.weight");
  EXPECT_EQ(result.find("relative.weight")->module, "relative.weight");
  for (const Parameter &parameter : result.parameters)
    EXPECT_THAT(parameter.moduleAliases, SizeIs(0)) << parameter.module;
}

TEST_F(SeparateMerged, aConvolutionThatHoldsABatchNormIsRefused) {
  GraphBytes graph = twoNorms();
  graph.inputs.push_back(value("pixels", {1, 2, 2, 2}));
  graph.outputs.push_back(value("z", {1, 1, 2, 2}));
  graph.initializers.push_back(tensor("conv.weight", {1, 2, 1, 1}, 1, rawFloats({0.5, 0.25})));
  graph.initializers.push_back(tensor("conv.weight_bias", {1}, 1, rawFloats({0.125})));
  auto convolution = [](const std::string &rule) {
    return node("Conv", {"pixels", "conv.weight", "conv.weight_bias"}, {"z"}, "conv")
        .bytes(9, entry("pkg.onnxscript.rewriter.rule_name", rule));
  };
  graph.nodes.push_back(convolution("FuseBatchNormIntoConv, RemoveOptionalBiasFromConv"));
  ParameterTable table = decide(graph);
  ASSERT_THAT(table.refused, SizeIs(1));
  EXPECT_EQ(table.refused[0].subject, "`conv.weight` and 1 more");
  EXPECT_THAT(table.refused[0].message, HasSubstr("had a batch norm folded into it"));
  EXPECT_THAT(table.refused[0].notes[0], HasSubstr("optimize=False"));
  graph.nodes.back() = convolution("RemoveOptionalBiasFromConv");
  EXPECT_THAT(decide(graph).refused, SizeIs(0));
}

TEST_F(SeparateMerged, identitiesThatACopiedLayerReads) {
  auto layers = [&](const std::string &second) {
    GraphBytes graph = twoLayers();
    graph.metadata.clear();
    graph.valueInfo.clear();
    graph.nodes = {node("Identity", {"val_9"}, {"onnx::MatMul_12"}, "i0"),
                   node("MatMul", {"x", "val_9"}, {"b"}, "/l.0/fc/MatMul"),
                   node("MatMul", {"b", "onnx::MatMul_12"}, {"y"}, "/" + second + "/MatMul")};
    return decide(graph).parameters.size();
  };
  EXPECT_EQ(layers("l.1/fc"), 2u);
  EXPECT_EQ(layers("l.0/fc_1"), 1u) << "the same layer once more";
}

/// Two modules of a traced export that read one matrix, whose names alone say nothing.
GraphBytes twoModules() {
  GraphBytes graph = twoLayers();
  graph.metadata.clear();
  graph.valueInfo.clear();
  graph.nodes = {node("Identity", {"val_9"}, {"onnx::MatMul_12"}, "Identity_0"),
                 node("MatMul", {"x", "val_9"}, {"b"}, "/student/fc/MatMul"),
                 node("MatMul", {"b", "onnx::MatMul_12"}, {"y"}, "/teacher/fc/MatMul")};
  return graph;
}

TEST_F(SeparateMerged, whatTwoModulesReadIsSharedOrEqual) {
  ParameterTable one = decide(twoModules());
  EXPECT_THAT(one.parameters, SizeIs(1));
  ASSERT_THAT(one.notices, testing::Not(testing::IsEmpty()));
  EXPECT_THAT(one.notices[0], HasSubstr("`student.fc.weight` and `teacher.fc.weight` are one initializer"));
  ParameterOptions apart;
  apart.untie = true;
  EXPECT_THAT(decide(twoModules(), apart).parameters, SizeIs(2));
}

TEST_F(SeparateMerged, namesOfOneTensorThatDisagreeAreRefused) {
  auto refusal = [&](const ParameterOptions &options) {
    model = readModel(write(twoModules().model()));
    auto table = decideParameters(**model, options);
    return table ? "" : table.failures().front().slug + ": " + table.failures().front().message;
  };
  ParameterOptions frozen, trained, neither;
  frozen.freeze = {"teacher.*"};
  EXPECT_THAT(refusal(frozen), HasSubstr("lost-in-export: are equal in the file"));
  trained.trainable = {"student.*"};
  EXPECT_THAT(refusal(trained), HasSubstr("lost-in-export: are equal in the file"));
  neither.trainable = {"*.fc.weight"};
  EXPECT_EQ(refusal(neither), "");
}

TEST_F(SeparateMerged, modulesWhoseBiasesWereEqualWereCopies) {
  GraphBytes graph = twoModules();
  graph.initializers.push_back(tensor("student.fc.bias", {4}, 1, rawFloats({1, 2, 3, 4})));
  graph.nodes.push_back(node("Identity", {"student.fc.bias"}, {"teacher.fc.bias"}, "Identity_1"));
  graph.nodes.push_back(node("Add", {"b", "student.fc.bias"}, {"c"}, "/student/fc/Add"));
  graph.nodes.push_back(node("Add", {"y", "teacher.fc.bias"}, {"z"}, "/teacher/fc/Add"));
  graph.outputs.push_back(value("z", {4, 4}));
  EXPECT_THAT(decide(graph).parameters, SizeIs(4));
  graph.nodes[3] = node("Add", {"b", "student.fc.bias"}, {"teacher.fc.bias"}, "/student/fc/Add");
  EXPECT_THAT(decide(graph).parameters, SizeIs(2)) << "nothing of theirs was a copy";
}

TEST_F(SeparateMerged, whatIsReadThroughOneTransposeIsSeparatedThere) {
  GraphBytes graph = twoLayers();
  graph.initializers = {
      tensor("l.0.fc.weight", {4, 4}, 1, rawFloats({1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}))};
  graph.valueInfo = {kindOf("l.0.fc.weight")};
  graph.nodes = {node("Transpose", {"l.0.fc.weight"}, {"t"}, "t"),
                 called(node("MatMul", {"x", "t"}, {"b"}, "m0"), "p_l_0_fc_weight"),
                 called(node("MatMul", {"b", "t"}, {"y"}, "m1"), "p_l_1_fc_weight")};
  ParameterTable table = decide(graph);
  EXPECT_THAT(table.refused, SizeIs(0));
  ASSERT_THAT(table.parameters, SizeIs(2));
  EXPECT_EQ(table.parameters[0].module, "l.0.fc.weight");
  EXPECT_EQ(table.parameters[1].module, "l.1.fc.weight");
  EXPECT_NE(nodeNamed("m0").inputs[1], nodeNamed("m1").inputs[1]);
  ParameterOptions half;
  half.freeze = {"l.1.*"};
  EXPECT_FALSE(decide(graph, half).find("l.1.fc.weight")->trained);
}

/// Scale and running variance of a norm, both ones, through one Tile.
TEST_F(SeparateMerged, aStatisticThatIsEqualToAScaleStays) {
  GraphBytes graph = twoNorms();
  graph.initializers.push_back(tensor("n.weight", {4}, 1, rawFloats({1, 1, 1, 1})));
  graph.initializers.push_back(tensor("n.bias", {4}, 1, rawFloats({2, 2, 2, 2})));
  graph.initializers.push_back(tensor("twice", {1}, 7, std::string("\2\0\0\0\0\0\0\0", 8)));
  graph.valueInfo.push_back(kindOf("n.weight"));
  graph.valueInfo.push_back(kindOf("n.bias"));
  graph.metadata = {signature(
      {"h.0.ln.weight", "h.0.ln.bias", "h.1.ln.weight", "h.1.ln.bias", "fc.weight", "n.weight", "n.bias"})};
  graph.outputs.push_back(value("z", {1, 8, 2}));
  graph.inputs.push_back(value("signal", {1, 8, 2}));
  graph.nodes.push_back(node("Tile", {"n.weight", "twice"}, {"scales"}, "tile"));
  graph.nodes.push_back(node("Tile", {"n.bias", "twice"}, {"biases"}, "tile1"));
  graph.nodes.push_back(scoped(
      node("BatchNormalization", {"signal", "scales", "biases", "biases", "scales"}, {"z"}, "norm"), "n"));
  ParameterTable table = decide(graph);
  EXPECT_THAT(table.refused, SizeIs(0));
  EXPECT_TRUE(table.find("n.weight")->trained);
  EXPECT_TRUE(table.find("n.bias")->trained);
  EXPECT_FALSE(table.find("n.running_var")->trained);
  EXPECT_FALSE(table.find("n.running_mean")->trained);
  EXPECT_NE(nodeNamed("norm").inputs[1], nodeNamed("norm").inputs[4]);
}

TEST_F(SeparateMerged, aParameterWithTheNameOfAnArgumentKeepsItsOwn) {
  GraphBytes graph = twoNorms();
  graph.initializers.push_back(tensor("b_1", {4}, 1, rawFloats({1, 2, 3, 5})));
  graph.valueInfo.push_back(kindOf("b_1", "p_b"));
  graph.metadata = {
      signature({"h.0.ln.weight", "h.0.ln.bias", "h.1.ln.weight", "h.1.ln.bias", "fc.weight", "b"})};
  graph.nodes.push_back(node("Mul", {"y", "b_1"}, {"z"}, "times"));
  graph.outputs.push_back(value("z", {2, 4}));
  EXPECT_EQ(decide(graph).find("b_1")->module, "b");
}

TEST_F(SeparateMerged, whatTheFileLacksIsNotFrozen) {
  GraphBytes graph = twoNorms();
  model = readModel(write(graph.model()));
  ParameterOptions options;
  options.freeze = {"fc.b*"};
  auto table = decideParameters(**model, options);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.failures().front().slug, "lost-in-export");
  EXPECT_THAT(table.failures().front().message, HasSubstr("matches `fc.bias`, not in the file"));
}

TEST_F(SeparateMerged, identitiesBetweenDottedNames) {
  GraphBytes graph = twoNorms();
  graph.metadata.clear();
  graph.valueInfo.clear();
  graph.nodes = {node("Identity", {"h.0.ln.bias"}, {"h.1.ln.bias"}, "i0"),
                 node("Identity", {"fc.weight"}, {"onnx::shared"}, "i1"),
                 node("LayerNormalization", {"x", "h.0.ln.weight", "h.0.ln.bias"}, {"a"}, "n0"),
                 node("LayerNormalization", {"a", "h.0.ln.weight", "h.1.ln.bias"}, {"b"}, "n1"),
                 node("MatMul", {"b", "onnx::shared"}, {"y"}, "g")};
  ParameterTable table = decide(graph);
  EXPECT_TRUE(table.find("h.1.ln.bias")->trained);
  EXPECT_THAT((*model)->graph.nodes, SizeIs(4)) << "genuine sharing keeps its Identity";
}
} // namespace
