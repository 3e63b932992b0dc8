// SPDX-License-Identifier: Apache-2.0
// What an exporter with a signature made of a parameter has its name only in a layout that the file tells.
#include "compiler/Import/parameters/Parameters.h"
#include "test/compiler/Import/WireFormat.h"
#include <gtest/gtest.h>

using namespace accum::import;
using namespace accum::import::test;

namespace {
class FoldedParameters : public FolderTest {};

/// What dynamo made of the parameter `fc.weight` by `operations`, the last of which `name` is called after.
GraphBytes madeOf(const std::string &name, const std::vector<int64_t> &shape, const std::string &operations) {
  size_t size = 1;
  for (int64_t extent : shape)
    size *= static_cast<size_t>(extent);
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i)
    values[i] = 0.1f * static_cast<float>(i * i % 37) - 1;
  GraphBytes graph;
  graph.inputs = {value("x", {4, 4})};
  graph.outputs = {value("y", {4, 4})};
  graph.initializers = {tensor(name, shape, 1, rawFloats(values))};
  graph.valueInfo = {Message().bytes(1, name).bytes(
      4, entry("pkg.onnxscript.optimizer.folded_from", "[" + operations + "'fc.weight']"))};
  graph.metadata = {entry("pkg.torch.export.ExportedProgram.graph_signature",
                          "\n# inputs\np_fc_weight: PARAMETER target='fc.weight'\n")};
  graph.nodes = {node(operations.empty() ? "MatMul" : "Add", {"x", name}, {"y"}, "reads")};
  return graph;
}

TEST_F(FoldedParameters, areNamedInTheLayoutThatTheyTell) {
  auto layout = [&](const GraphBytes &graph) -> std::string {
    auto model = readModel(write(graph.model()));
    EXPECT_TRUE(model) << model.failures().front().message;
    auto table = decideParameters(*model);
    if (!table)
      return table.failures().front().slug;
    const Parameter &parameter = table->parameters.front();
    EXPECT_EQ(parameter.module, "fc.weight");
    return parameter.isNameless ? "nameless" : parameter.moduleTransposed ? "transposed" : "same";
  };
  for (const char *name : {"val_9", "t", "permute_2", "transpose_1"})
    EXPECT_EQ(layout(madeOf(name, {4, 4}, "")), "transposed") << name;
  EXPECT_EQ(layout(madeOf("clone", {4, 4}, "")), "same");
  EXPECT_EQ(layout(madeOf("transpose", {2, 4, 4}, "")), "nameless") << "of which axes";
  EXPECT_EQ(layout(madeOf("view_3", {4, 4}, "")), "nameless") << "of what shape";
  EXPECT_EQ(layout(madeOf("embedding_1", {1, 4, 4}, "'arange', ")), "nameless") << "of how many rows";
  EXPECT_EQ(layout(madeOf("embedding", {4, 4}, "'arange', ")), "nameless");
  EXPECT_EQ(layout(madeOf("exp", {4, 4}, "")), "unsupported")
      << "not a copy, also where nothing else is trained";
}
} // namespace
