// SPDX-License-Identifier: Apache-2.0
// What a module reads in several runs is one parameter, though its values are all equal.
#include "compiler/Import/parameters/Parameters.h"
#include "test/compiler/Import/WireFormat.h"
#include <gmock/gmock.h>

using namespace accum::import;
using namespace accum::import::test;
using ::testing::HasSubstr;
using ::testing::SizeIs;

namespace {
class SecondRuns : public FolderTest {
protected:
  ParameterTable decide(const GraphBytes &graph, const ParameterOptions &options = {}) {
    Result<Model> model = readModel(write(graph.model()));
    EXPECT_TRUE(model) << model.failures().front().message;
    auto table = decideParameters(*model, options);
    EXPECT_TRUE(table) << table.failures().front().message;
    return *table;
  }
};

/// A traced encoder whose matrix is also read by the node `matrix`, where that is not empty, and its norm's
/// weight and bias by `norm`; after nodes that read nothing.
GraphBytes twoRuns(const std::string &norm, const std::string &matrix,
                   const std::vector<std::string> &first) {
  GraphBytes graph;
  graph.inputs = {value("x", {2, 4})};
  graph.outputs = {value("y", {2, 4}), value("z", {2, 4})};
  graph.initializers = {
      tensor("e.n.weight", {4}, 1, rawFloats({1, 1, 1, 1})),
      tensor("e.n.bias", {4}, 1, rawFloats({0, 0, 0, 0})),
      tensor("fc.weight", {4, 4}, 1, rawFloats({1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}))};
  graph.nodes = first;
  const std::vector<std::string> nodes{
      node("MatMul", {"x", "fc.weight"}, {"a"}, "/e/fc/MatMul"),
      node("LayerNormalization", {"a", "e.n.weight", "e.n.bias"}, {"y"}, "/e/n/LayerNormalization"),
      node("MatMul", {"x", matrix.empty() ? "a" : "fc.weight"}, {"c"}, matrix + "/MatMul"),
      node("LayerNormalization", {"c", "e.n.weight", "e.n.bias"}, {"z"}, norm + "/LayerNormalization")};
  graph.nodes.insert(graph.nodes.end(), nodes.begin(), nodes.end());
  return graph;
}

TEST_F(SecondRuns, whatSeveralRunsOfAModuleReadIsOne) {
  const std::vector<std::string> traced{node("Constant", {}, {"unused"}, "/Constant")}, rewritten;
  EXPECT_THAT(decide(twoRuns("/e/n_1", "", traced)).parameters, SizeIs(3)) << "told by the number";
  for (const std::vector<std::string> &first : {traced, rewritten}) {
    ParameterTable sameEncoder = decide(twoRuns("/e/n_1", "/e/fc_1", first));
    EXPECT_THAT(sameEncoder.parameters, SizeIs(3)) << "told by the matrix";
    EXPECT_THAT(sameEncoder.notices, SizeIs(0));
    EXPECT_THAT(decide(twoRuns("/other/e/n", "/other/e/fc", first)).parameters, SizeIs(3));
    EXPECT_THAT(decide(twoRuns("/other/n", "", first)).parameters, SizeIs(5)) << "nothing tells";
  }
}

TEST_F(SecondRuns, aRunToldByItsNumberAloneIsSaid) {
  ParameterTable table = decide(twoRuns("/e/n_1", "", {}));
  EXPECT_THAT(table.parameters, SizeIs(3));
  ASSERT_THAT(table.notices, SizeIs(2));
  EXPECT_THAT(table.notices[1], HasSubstr("`e.n.bias` and `e.n_1.bias` are one initializer in the file"));
  ParameterOptions apart;
  apart.untie = true;
  EXPECT_THAT(decide(twoRuns("/e/n_1", "", {}), apart).parameters, SizeIs(5));
}
} // namespace
