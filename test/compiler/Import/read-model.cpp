// SPDX-License-Identifier: Apache-2.0
// What the reader makes of well-formed files.
#include "compiler/Import/model/MappedFile.h"
#include "compiler/Import/model/Model.h"
#include "compiler/Import/parameters/Parameters.h"
#include "test/compiler/Import/WireFormat.h"
#include <cstring>
#include <gmock/gmock.h>

using namespace accum::import;
using accum::DType;
using namespace accum::import::test;
using ::testing::ElementsAre;

namespace {
using ReadModel = FolderTest;

std::vector<float> floats(const Tensor &tensor) {
  auto bytes = tensor.data.bytes();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

GraphBytes addOfWeights() {
  GraphBytes graph;
  graph.inputs = {value("x", {2})};
  graph.outputs = {value("y", {2})};
  graph.initializers = {tensor("w", {2}, 1, rawFloats({3, 4}))};
  graph.nodes = {node("Add", {"x", "w"}, {"y"}, "sum")};
  return graph;
}

TEST_F(ReadModel, leavesRawDataInTheFile) {
  auto model = readModel(write(addOfWeights().model()));
  ASSERT_TRUE(model) << model.failures().front().message;
  const Tensor &w = *model->graph.initializer("w");
  EXPECT_EQ(w.dtype, DType::Float32);
  EXPECT_THAT(w.shape, ElementsAre(2));
  EXPECT_THAT(floats(w), ElementsAre(3, 4));
  ASSERT_TRUE(w.data.file);
  EXPECT_EQ(std::memcmp(w.data.file->bytes().data() + w.data.offset, "\0\0\x40\x40\0\0\x80\x40", 8), 0);
  EXPECT_EQ(model->opset(), 20);
  EXPECT_EQ(model->graph.nodes.front().opset, 20);
  EXPECT_EQ(model->producer, "test");
}

TEST_F(ReadModel, leavesPackedFloatsInTheFileToo) {
  GraphBytes graph = addOfWeights();
  graph.initializers = {Message().number(1, 2).number(2, 1).bytes(8, "w").bytes(4, rawFloats({5, 6}))};
  auto model = readModel(write(graph.model()));
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->graph.initializer("w")->data.file);
  EXPECT_THAT(floats(*model->graph.initializer("w")), ElementsAre(5, 6));
}

TEST_F(ReadModel, narrowsTypedData) {
  GraphBytes graph = addOfWeights();
  Message packed; // bf16 1.0 and 2.0 as int32_data
  packed.number(1, 2).number(2, 16).bytes(8, "h").bytes(5, std::string("\x80\x7f\x80\x80\x01", 5));
  graph.initializers.push_back(packed);
  auto model = readModel(write(graph.model()));
  ASSERT_TRUE(model) << model.failures().front().message;
  auto bytes = model->graph.initializer("h")->data.bytes();
  ASSERT_EQ(bytes.size(), 4u);
  EXPECT_EQ(std::memcmp(bytes.data(), "\x80\x3f\0\x40", 4), 0);
}

TEST_F(ReadModel, sortsNodes) {
  GraphBytes graph = addOfWeights();
  graph.nodes = {node("Relu", {"h"}, {"y"}, "second"), node("Add", {"x", "w"}, {"h"}, "first")};
  auto model = readModel(write(graph.model()));
  ASSERT_TRUE(model);
  EXPECT_EQ(model->graph.nodes[0].name, "first");
  EXPECT_EQ(model->graph.nodes[1].name, "second");
}

TEST_F(ReadModel, namesEveryNodeOnce) {
  GraphBytes graph = addOfWeights();
  graph.nodes = {node("Add", {"x", "w"}, {"a"}), node("Add", {"a", "w"}, {"b"}, "n"),
                 node("Add", {"b", "w"}, {"y"}, "n")};
  auto model = readModel(write(graph.model()));
  ASSERT_TRUE(model);
  EXPECT_EQ(model->graph.nodes[0].name, "Add_0");
  EXPECT_EQ(model->graph.nodes[1].name, "n");
  EXPECT_EQ(model->graph.nodes[2].name, "n_2");
}

TEST_F(ReadModel, keepsSymbolsOfDimensions) {
  GraphBytes graph = addOfWeights();
  Message shape = Message().bytes(1, Message().bytes(2, "24*batch")).bytes(1, Message());
  graph.valueInfo = {
      Message().bytes(1, "y").bytes(2, Message().bytes(1, Message().number(1, 1).bytes(2, shape)))};
  auto model = readModel(write(graph.model()));
  ASSERT_TRUE(model);
  const auto &dims = *model->graph.info("y")->type.shape;
  ASSERT_EQ(dims.size(), 2u);
  EXPECT_EQ(dims[0].symbol, "24*batch");
  EXPECT_FALSE(dims[1].isStatic());
}

TEST_F(ReadModel, readsSubgraphsWithTheirCaptures) {
  GraphBytes branch;
  branch.outputs = {value("z")};
  branch.nodes = {node("Neg", {"x"}, {"z"}, "inner")};
  Message then = Message().bytes(1, "then_branch").bytes(6, branch.graph()).number(20, 5);
  GraphBytes graph = addOfWeights();
  graph.nodes = {node("If", {"c"}, {"y"}, "if").bytes(5, then)};
  graph.initializers.push_back(tensor("c", {}, 9, std::string("\1", 1)));
  auto model = readModel(write(graph.model()));
  ASSERT_TRUE(model) << model.failures().front().message;
  const auto *inner = model->graph.nodes[0].attribute<std::shared_ptr<Graph>>("then_branch");
  ASSERT_TRUE(inner);
  EXPECT_EQ((*inner)->nodes.front().name, "inner");
}

TEST_F(ReadModel, mapsExternalData) {
  write("....abcdefgh", "model.onnx.data");
  Message external = Message().number(1, 2).number(2, 1).bytes(8, "w").number(14, 1);
  external.bytes(13, entry("location", "model.onnx.data")).bytes(13, entry("offset", "4"));
  external.bytes(13, entry("length", "8"));
  GraphBytes graph = addOfWeights();
  graph.initializers = {external};
  auto path = write(graph.model());
  auto model = readModel(path);
  ASSERT_TRUE(model) << model.failures().front().message;
  const Tensor &w = *model->graph.initializer("w");
  EXPECT_EQ(std::memcmp(w.data.bytes().data(), "abcdefgh", 8), 0);
  EXPECT_EQ(w.externalLocation, "model.onnx.data");

  std::filesystem::remove(folder / "model.onnx.data");
  auto missing = readModel(path);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.failures().front().slug, "missing-file");
  auto allowed = readModel(path, {.allowMissingWeights = true});
  ASSERT_TRUE(allowed);
  EXPECT_FALSE(allowed->graph.initializer("w")->data.isPresent());
  EXPECT_EQ(allowed->graph.initializer("w")->data.length, 8u);
}

/// One weight in `w.data`; the file holds "abcdefgh".
std::string withExternalWeight() {
  GraphBytes graph = addOfWeights();
  Message external = Message().number(1, 2).number(2, 1).bytes(8, "w").number(14, 1);
  graph.initializers = {external.bytes(13, entry("location", "w.data"))};
  return graph.model();
}

TEST_F(ReadModel, followsTheLinksOfAHubsCache) {
  std::filesystem::create_directory(folder / "blobs");
  std::filesystem::create_directory(folder / "snapshot");
  write(withExternalWeight(), "blobs/1f");
  write("abcdefgh", "blobs/2e");
  auto link = folder / "snapshot" / "model.onnx";
  std::filesystem::create_symlink("../blobs/1f", link);
  std::filesystem::create_symlink("../blobs/2e", folder / "snapshot" / "w.data");
  auto model = readModel(link);
  ASSERT_TRUE(model) << model.failures().front().message;
  EXPECT_EQ(std::memcmp(model->graph.initializer("w")->data.bytes().data(), "abcdefgh", 8), 0);
}

TEST_F(ReadModel, readsPastTwoGibibytes) {
  // A sparse file: one weight of 2 GiB + 4 bytes, of which the last float is set.
  constexpr uint64_t elements = (uint64_t(1) << 29) + 1;
  GraphBytes graph = addOfWeights();
  graph.initializers = {Message().number(1, elements).number(2, 1).bytes(8, "big")};
  graph.initializers.push_back(tensor("w", {2}, 1, rawFloats({3, 4})));
  std::string small = graph.model();
  auto varint = [](uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7)
      out.push_back(static_cast<char>(value | 0x80));
    return out + static_cast<char>(value);
  };
  std::string body = Message().number(1, elements).number(2, 1).bytes(8, "big");
  std::string tensorHead = body + "\x4a" + varint(elements * 4);
  std::string graphHead = "\x2a" + varint(tensorHead.size() + elements * 4) + tensorHead;
  graph.initializers.erase(graph.initializers.begin());
  std::string rest = graph.graph();
  std::string head = std::string("\x08\x0a", 2) + std::string(Message().bytes(8, Message().number(2, 20)));
  head += "\x3a" + varint(graphHead.size() + elements * 4 + rest.size()) + graphHead;
  auto path = write(head);
  std::filesystem::resize_file(path, head.size() + elements * 4 - 4);
  std::ofstream(path, std::ios::binary | std::ios::app) << rawFloats({7}) << rest;
  auto model = readModel(path);
  ASSERT_TRUE(model) << model.failures().front().message;
  auto bytes = model->graph.initializer("big")->data.bytes();
  ASSERT_EQ(bytes.size(), elements * 4);
  float last;
  std::memcpy(&last, bytes.data() + bytes.size() - 4, 4);
  EXPECT_EQ(last, 7);
}

/// What says where a parameter's bytes are, and that they are the same.
TEST_F(ReadModel, sourceAndFingerprintOfAParameter) {
  GraphBytes graph;
  graph.inputs = {value("x", {4, 4})};
  graph.outputs = {value("y", {4, 4})};
  graph.initializers = {tensor("b", {4}, 1, rawFloats({0.25f, -1.5f, 3, 7}))};
  graph.nodes = {node("Add", {"x", "b"}, {"y"}, "first")};
  auto model = readModel(write(graph.model()));
  ASSERT_TRUE(model);
  auto table = decideParameters(*model, {});
  ASSERT_TRUE(table);
  const Parameter &parameter = *table->find("b");
  EXPECT_EQ(parameter.sourceFile, "model.onnx");
  EXPECT_EQ(parameter.sourceBytes, 16u);
  const Tensor &tensor = *model->graph.initializer("b");
  auto print = fingerprint(tensor);
  ASSERT_TRUE(print);
  Tensor changed = tensor;
  std::vector<std::byte> bytes(tensor.data.bytes().begin(), tensor.data.bytes().end());
  bytes[5] ^= std::byte(1);
  changed.data = {};
  changed.data.owned = std::make_shared<const std::vector<std::byte>>(bytes);
  EXPECT_NE(fingerprint(changed), print);
}
} // namespace
