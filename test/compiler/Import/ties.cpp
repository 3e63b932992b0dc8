// SPDX-License-Identifier: Apache-2.0
// Duplicates become one parameter, coincidences do not.
#include "compiler/Import/parameters/Ties.h"
#include "test/compiler/Import/WireFormat.h"
#include <bit>
#include <cstring>
#include <gmock/gmock.h>
#include <random>

using namespace accum::import;
using accum::DType;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

namespace {
Tensor makeTensor(const std::string &name, int64_t rows, int64_t columns, const std::vector<float> &values) {
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = DType::Float32;
  tensor.shape = {rows, columns};
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  tensor.data.owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return tensor;
}

Tensor randomTensor(const std::string &name, int64_t rows, int64_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (float &value : values)
    value = normal(random);
  return makeTensor(name, rows, columns, values);
}

Tensor transposed(const Tensor &tensor, const std::string &name) {
  const auto *values = reinterpret_cast<const float *>(tensor.data.bytes().data());
  int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  std::vector<float> result(static_cast<size_t>(rows * columns));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      result[static_cast<size_t>(c * rows + r)] = values[r * columns + c];
  return makeTensor(name, columns, rows, result);
}

Tensor named(Tensor tensor, const std::string &name) {
  tensor.name = name;
  return tensor;
}

TieCandidate table(const Tensor &tensor, const std::string &module) {
  return {&tensor, module, {}, true, false};
}
TieCandidate linear(const Tensor &tensor, const std::string &module) {
  return {&tensor, module, {}, false, true};
}

/// The numbers of `tensor` cut to bf16: as bf16, or as f32.
Tensor cutToBf16(const Tensor &tensor, bool stored) {
  const auto *values = reinterpret_cast<const uint32_t *>(tensor.data.bytes().data());
  std::vector<uint16_t> pairs;
  std::vector<float> floats;
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    pairs.push_back(static_cast<uint16_t>(values[i] >> 16));
    floats.push_back(std::bit_cast<float>(values[i] & 0xffff0000));
  }
  Tensor cut = makeTensor(tensor.name, tensor.shape[0], tensor.shape[1], floats);
  if (stored) {
    std::vector<std::byte> bytes(pairs.size() * 2);
    std::memcpy(bytes.data(), pairs.data(), bytes.size());
    cut.dtype = DType::BFloat16;
    cut.data.owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  }
  return cut;
}

TEST(Ties, copyInAnotherType) {
  Tensor wte = randomTensor("wte.weight", 9, 7, 1), head = transposed(wte, "onnx::MatMul_9");
  Tensor shortTable = cutToBf16(wte, true), wideHead = cutToBf16(head, false), other = head;
  Ties found = findTies({table(shortTable, "wte.weight"), linear(wideHead, "head.weight")});
  ASSERT_THAT(found.ties, SizeIs(1));
  EXPECT_TRUE(found.ties[0].transposed);
  EXPECT_THAT(findTies({table(shortTable, "wte.weight"), linear(other, "head.weight")}).ties, IsEmpty());
}

TEST(Ties, transposedCopy) {
  for (auto [rows, columns] : {std::pair(37, 11), std::pair(70, 130), std::pair(16, 16), std::pair(1, 40)}) {
    Tensor wte = randomTensor("wte.weight", rows, columns, 1), head = transposed(wte, "onnx::MatMul_9");
    Tensor other = randomTensor("onnx::MatMul_8", columns, rows, 2);
    Ties found = findTies({linear(other, "x.weight"), linear(head, "head.weight"), table(wte, "wte.weight")});
    ASSERT_THAT(found.ties, SizeIs(1)) << rows << " x " << columns;
    EXPECT_EQ(found.ties[0].kept, "wte.weight") << "a name of the framework is kept";
    EXPECT_EQ(found.ties[0].alias, "onnx::MatMul_9");
    EXPECT_TRUE(found.ties[0].transposed);
  }
}

TEST(Ties, oneElementOff) {
  Tensor wte = randomTensor("wte.weight", 64, 48, 1), head = transposed(wte, "onnx::MatMul_9");
  for (size_t element : {size_t(0), size_t(1234), size_t(64 * 48 - 1)}) {
    std::vector<std::byte> bytes(head.data.bytes().begin(), head.data.bytes().end());
    bytes[element * 4] ^= std::byte(1);
    Tensor changed = head;
    changed.data.owned = std::make_shared<const std::vector<std::byte>>(bytes);
    EXPECT_THAT(findTies({table(wte, "wte.weight"), linear(changed, "head.weight")}).ties, IsEmpty())
        << element;
  }
}

TEST(Ties, threeHoldersAreOneParameter) {
  Tensor wte = randomTensor("wte.weight", 40, 8, 1), again = named(wte, "decoder.wte.weight");
  Tensor head = transposed(wte, "val_3");
  Ties found =
      findTies({linear(head, "head.weight"), table(wte, "wte.weight"), table(again, "decoder.wte.weight")});
  ASSERT_THAT(found.ties, SizeIs(2));
  EXPECT_EQ(found.ties[0].kept, "wte.weight");
  EXPECT_FALSE(found.ties[0].transposed);
  EXPECT_EQ(found.ties[1].kept, "wte.weight");
  EXPECT_TRUE(found.ties[1].transposed);
}

TEST(Ties, equalValuesAreNoTie) {
  Tensor a = makeTensor("a.weight", 8, 8, std::vector<float>(64, 1)), b = named(a, "b.weight");
  EXPECT_THAT(findTies({linear(a, "a.weight"), linear(b, "b.weight")}).ties, IsEmpty());
}

TEST(Ties, copiesOfALayerAreNoTie) {
  Tensor a = randomTensor("layers.0.fc.weight", 8, 8, 1), b = named(a, "layers.1.fc.weight");
  Ties found = findTies({linear(a, "layers.0.fc.weight"), linear(b, "layers.1.fc.weight")});
  EXPECT_THAT(found.ties, IsEmpty());
  ASSERT_THAT(found.notices, SizeIs(1));
  EXPECT_THAT(found.notices[0], HasSubstr("--tie layers.0.fc.weight=layers.1.fc.weight"));
}

TEST(Ties, manyCopiesOfALayerAreOneNotice) {
  std::vector<Tensor> layers;
  for (int i = 0; i < 24; ++i)
    layers.push_back(randomTensor("layers." + std::to_string(i) + ".fc.weight", 4, 4, 1));
  std::vector<TieCandidate> candidates;
  for (const Tensor &layer : layers)
    candidates.push_back(linear(layer, layer.name));
  Ties found = findTies(candidates);
  EXPECT_THAT(found.ties, IsEmpty());
  ASSERT_THAT(found.notices, SizeIs(1));
  EXPECT_THAT(found.notices[0],
              HasSubstr("`layers.0.fc.weight`, `layers.1.fc.weight` and 22 more are equal"));
}

TEST(Ties, copyOfTheSecondOfTwoLayers) {
  Tensor a = randomTensor("layers.0.fc.weight", 8, 6, 1), b = transposed(a, "layers.1.fc.weight");
  Tensor shared = named(b, "val_3");
  TieCandidate second = linear(shared, "layers.1.fc.weight");
  Ties found = findTies({linear(a, "layers.0.fc.weight"), linear(b, "layers.1.fc.weight"), second});
  ASSERT_THAT(found.ties, SizeIs(1));
  EXPECT_EQ(found.ties[0].kept, "layers.1.fc.weight");
  EXPECT_EQ(found.ties[0].alias, "val_3");
  EXPECT_FALSE(found.ties[0].transposed);
}

TEST(Ties, absentWeights) {
  Tensor wte = randomTensor("wte.weight", 40, 8, 1), head = transposed(wte, "onnx::MatMul_9");
  wte.data = head.data = {};
  Ties unknown = findTies({table(wte, "wte.weight"), linear(head, "head.weight")});
  EXPECT_THAT(unknown.ties, IsEmpty());
  ASSERT_THAT(unknown.notices, SizeIs(1));
  EXPECT_THAT(unknown.notices[0], HasSubstr("tying not checked"));
  TieCandidate known = table(wte, "wte.weight");
  known.moduleAliases = {"head.weight"};
  EXPECT_THAT(findTies({known, linear(head, "head.weight")}).ties, SizeIs(1)) << "the export says so";
}

TEST(Ties, byHand) {
  Tensor wte = randomTensor("wte.weight", 40, 8, 1), head = randomTensor("onnx::MatMul_9", 8, 40, 2);
  Tensor square = randomTensor("s.weight", 8, 8, 3), other = randomTensor("val_5", 8, 8, 4);
  std::vector<TieCandidate> candidates{table(wte, "wte.weight"), linear(head, "head.weight"),
                                       table(square, "s.weight"), linear(other, "o.weight")};
  auto tie = tieByHand("head.weight=wte.weight", candidates);
  ASSERT_TRUE(tie);
  EXPECT_EQ(tie->kept, "wte.weight");
  EXPECT_EQ(tie->alias, "onnx::MatMul_9");
  EXPECT_TRUE(tie->transposed);
  EXPECT_TRUE(tieByHand("s.weight=val_5", candidates)->transposed) << "layouts decide what shapes cannot";
  for (const char *wrong :
       {"wte.weight", "wte.weight=nothing", "wte.weight=s.weight", "wte.weight=wte.weight"})
    EXPECT_FALSE(tieByHand(wrong, candidates)) << wrong;
}
} // namespace
