// SPDX-License-Identifier: Apache-2.0
// Graphs that compute another loss than the model they were made of: label smoothing that the exporter left
// out.
#include "compiler/Import/LostInExport.h"
#include "test/compiler/Import/WireFormat.h"
#include <gmock/gmock.h>

using namespace accum::import;
using namespace accum::import::test;
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
} // namespace
