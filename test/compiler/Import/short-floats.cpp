// SPDX-License-Identifier: Apache-2.0
// Constants that an export in 16 bits rounded are named.
#include "compiler/Import/parameters/Parameters.h"
#include "test/compiler/Import/WireFormat.h"
#include <gmock/gmock.h>

using namespace accum::import;
using namespace accum::import::test;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {
class ShortFloats : public FolderTest {
protected:
  /// The one notice of a graph with these four halves as a constant.
  std::string noticeOf(const std::string &halves) {
    std::string weights;
    for (int i = 0; i < 16; ++i)
      weights += std::string{static_cast<char>(0x55 + i), 0x35};
    GraphBytes graph;
    graph.inputs = {value("x", {4, 4})};
    graph.outputs = {value("y", {4, 4})};
    graph.initializers = {tensor("w.weight", {4, 4}, 10, weights), tensor("rope.inv_freq", {4}, 10, halves)};
    graph.nodes = {node("MatMul", {"x", "w.weight"}, {"h"}, "first"),
                   node("Mul", {"h", "rope.inv_freq"}, {"y"}, "second")};
    Result<Model> model = readModel(write(graph.model()));
    auto table = decideParameters(*model, {});
    return table && table->notices.size() == 1 ? table->notices.front() : "";
  }
};

TEST_F(ShortFloats, whatWasRoundedIsNamed) {
  std::string third{0x55, 0x35}, eighth{0x00, 0x30}, lowest{static_cast<char>(0xff), static_cast<char>(0xfb)};
  EXPECT_THAT(noticeOf(third + third + eighth + eighth), HasSubstr("rounded, of constants `rope.inv_freq`"));
  std::string exact = noticeOf(eighth + lowest + eighth + eighth);
  EXPECT_THAT(exact, HasSubstr("f16 in the file is read exactly"));
  EXPECT_THAT(exact, Not(HasSubstr("of constants"))) << "an eighth, and a mask's lowest number";
}
} // namespace
