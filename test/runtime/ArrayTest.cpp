// SPDX-License-Identifier: Apache-2.0
// Readers of .safetensors, .npy and .npz: what they give, and that nothing malformed gets through.
#include "runtime/files/Array.h"
#include "runtime/device/Device.h"
#include "runtime/files/ArrayWriter.h"
#include "runtime/files/Convert.h"
#include "runtime/files/SafetensorsWriter.h"
#include "test/runtime/ToyArtifact.h"
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

using namespace accum::runtime;
using namespace accum::test;
using testing::HasSubstr;

namespace {

std::string folder() {
  static std::string path = freshFolder("array");
  return path;
}

std::string writeFile(const std::string &name, const std::string &bytes) {
  std::string path = folder() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string safetensors(const std::string &header, const std::string &data) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<char *>(&length), 8) + header + data;
}

std::string npy(const std::string &dictionary, const std::string &data) {
  std::string header = dictionary + "\n";
  std::string magic("\x93NUMPY\x01\x00", 8);
  return magic + char(header.size() & 255) + char(header.size() >> 8) + header + data;
}

template <typename T> std::string raw(std::vector<T> values) {
  return {reinterpret_cast<char *>(values.data()), values.size() * sizeof(T)};
}

std::string refusal(const std::string &bytes, const std::string &name = "bad.safetensors") {
  auto arrays = readArrays((name.find(".npy") != std::string::npos ? "x=" : "") + writeFile(name, bytes));
  EXPECT_FALSE(arrays) << "accepted";
  EXPECT_EQ(arrays ? 0 : arrays.error().exitCode, 3);
  return arrays ? "" : format(arrays.error());
}

const std::string kPair = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

} // namespace

TEST(Safetensors, RoundTripTransposes) {
  std::vector<double> values = {1, 2, 3, 4, 5, 6};
  auto data = reinterpret_cast<const uint8_t *>(values.data());
  std::string path = folder() + "/round.safetensors";
  ASSERT_TRUE(writeSafetensors(
      path, {{"plain", data, ACCUM_F64, {2, 3}, false}, {"turned", data, ACCUM_F64, {2, 3}, true}}, false));
  auto arrays = readSafetensors(path);
  ASSERT_TRUE(arrays);
  ASSERT_EQ(arrays->size(), 2u);
  const Array &plain = (*arrays)[0], &turned = (*arrays)[1];
  EXPECT_EQ(plain.dtype, ACCUM_F64);
  EXPECT_EQ(plain.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(asDouble(plain.data, plain.dtype, 4), 5);
  EXPECT_EQ(turned.shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(asDouble(turned.data, turned.dtype, 1), 4); // column 0 of the memory's second row
  EXPECT_EQ(asDouble(turned.data, turned.dtype, 4), 3);
}

TEST(Array, PiecesFitIntoADevicesPieceInEveryType) {
  for (DType dtype : {ACCUM_F16, ACCUM_BF16, ACCUM_F32, ACCUM_F64}) {
    Array array;
    array.dtype = dtype;
    array.shape = {3 << 20, 2};
    int64_t next = 0;
    EXPECT_TRUE(forEachPiece(array, [&](int64_t first, int64_t count, const uint8_t *) {
      EXPECT_EQ(first, next);
      EXPECT_LE(count * bytesOf(ACCUM_F64), Device::kPieceBytes) << nameOf(dtype);
      next = first + count;
      return true;
    }));
    EXPECT_EQ(next, array.elements());
  }
}

TEST(Safetensors, TransposesMatricesLargerThanAPiece) {
  int64_t rows = 700, columns = 500;
  std::vector<float> values(rows * columns);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(i);
  std::string path = folder() + "/large.safetensors";
  ASSERT_TRUE(writeSafetensors(
      path, {{"t", reinterpret_cast<uint8_t *>(values.data()), ACCUM_F32, {rows, columns}, true}}, false));
  auto arrays = readSafetensors(path);
  ASSERT_TRUE(arrays);
  for (int64_t c : {0, 1, 250, 499})
    for (int64_t r : {0, 1, 350, 699})
      EXPECT_EQ(asDouble(arrays->front().data, ACCUM_F32, c * rows + r), double(r * columns + c));
}

TEST(Safetensors, RefusesDamage) {
  EXPECT_THAT(refusal(""), HasSubstr("it has 0 bytes"));
  EXPECT_THAT(refusal("1234567"), HasSubstr("it has 7 bytes"));
  EXPECT_THAT(refusal(std::string(8, '\xff')), HasSubstr("its header is cut off"));
  EXPECT_THAT(refusal(safetensors(kPair, raw<float>({1})).substr(0, 20)), HasSubstr("its header is cut off"));
  EXPECT_THAT(refusal(safetensors(kPair, raw<float>({1}))), HasSubstr("`a` ends behind the end of the file"));
  EXPECT_THAT(refusal(safetensors("[1]", "")), HasSubstr("the header is not an object"));
  EXPECT_THAT(refusal(safetensors("{\"a\":", "")), HasSubstr("malformed"));
  EXPECT_THAT(
      refusal(safetensors(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", raw<float>({1, 2}))),
      HasSubstr("`a` has bytes that do not match its shape [3]"));
  EXPECT_THAT(
      refusal(safetensors(R"({"a":{"dtype":"F8","shape":[8],"data_offsets":[0,8]}})", raw<float>({1, 2}))),
      HasSubstr("dtype F8, which is not supported"));
  EXPECT_THAT(refusal(safetensors(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "12345678")),
              HasSubstr("do not match its shape"));
  EXPECT_THAT(refusal(safetensors(
                  R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", "")),
              HasSubstr("do not match its shape"));
  EXPECT_THAT(refusal(safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                  R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                                  std::string(12, 0))),
              HasSubstr("`b` overlaps"));
}

TEST(Safetensors, RefusesEveryTruncation) {
  std::string whole = safetensors(kPair, raw<float>({1, 2}));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(readSafetensors(writeFile("cut.safetensors", whole.substr(0, length)))) << length;
  EXPECT_TRUE(readSafetensors(writeFile("cut.safetensors", whole)));
}

/// `values` in a dtype that NumPy calls `descriptor`, as what is read of them in `to`.
template <typename From, typename To>
std::vector<To> widened(const std::string &descriptor, const std::vector<From> &values, DType to) {
  std::string shape = "(" + std::to_string(values.size()) + ",)";
  std::string file = npy("{'descr': '" + descriptor + "', 'fortran_order': False, 'shape': " + shape + ", }",
                         raw<From>(values));
  auto arrays = readArrays("x=" + writeFile("narrow.npy", file));
  if (!arrays || !canConvert(arrays->front().dtype, to))
    return {};
  std::vector<To> result(values.size());
  convert(arrays->front().data, arrays->front().dtype, reinterpret_cast<uint8_t *>(result.data()), to,
          int64_t(values.size()));
  return result;
}

TEST(Npy, NarrowDataIsWidenedExactly) {
  using Wide = std::vector<int64_t>;
  EXPECT_EQ((widened<uint16_t, int64_t>("<u2", {0, 50256, 65535}, ACCUM_I64)), (Wide{0, 50256, 65535}));
  EXPECT_EQ((widened<int16_t, int64_t>("<i2", {-100, 32767, -32768}, ACCUM_I64)),
            (Wide{-100, 32767, -32768}));
  EXPECT_EQ((widened<uint32_t, int64_t>("<u4", {0, 4294967295u}, ACCUM_I64)), (Wide{0, 4294967295}));
  EXPECT_EQ((widened<int8_t, int64_t>("|i1", {-100, 127}, ACCUM_I64)), (Wide{-100, 127}));
  EXPECT_EQ((widened<uint8_t, int64_t>("|u1", {0, 255}, ACCUM_I64)), (Wide{0, 255}));
  EXPECT_EQ((widened<uint8_t, int64_t>("|b1", {0, 1}, ACCUM_I64)), (Wide{0, 1}));
  EXPECT_EQ((widened<uint16_t, int32_t>("<u2", {65535}, ACCUM_I32)), (std::vector<int32_t>{65535}));
  EXPECT_EQ((widened<uint16_t, float>("<f2", {0x3c00, 0xc000, 0x0001}, ACCUM_F32)), // 1, -2, the least one
            (std::vector<float>{1, -2, 0x1p-24f}));
  EXPECT_EQ((widened<uint16_t, double>("<f2", {0x7bff}, ACCUM_F64)), (std::vector<double>{65504}));
  for (auto [from, to] : {std::pair{ACCUM_U64, ACCUM_I64},
                          {ACCUM_U32, ACCUM_I32},
                          {ACCUM_I64, ACCUM_I32},
                          {ACCUM_I32, ACCUM_F64},
                          {ACCUM_F16, ACCUM_I64},
                          {ACCUM_U8, ACCUM_BOOL},
                          {ACCUM_I32, ACCUM_U16},
                          {ACCUM_F32, ACCUM_F16}})
    EXPECT_FALSE(canConvert(from, to)) << from << " to " << to;
}

TEST(Npy, ReadsAndRefuses) {
  std::string data = raw<int32_t>({1, 2, 3, 4, 5, 6});
  std::string good = npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", data);
  auto arrays = readArrays("x=" + writeFile("good.npy", good));
  ASSERT_TRUE(arrays) << format(arrays.error());
  EXPECT_EQ(arrays->front().name, "x");
  EXPECT_EQ(arrays->front().shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(asInteger(arrays->front().data, ACCUM_I32, 5), 6);
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(readNpy(writeFile("cut.npy", good.substr(0, length)), "x")) << length;
  EXPECT_THAT(refusal(npy("{'descr': '>i4', 'fortran_order': False, 'shape': (6,), }", data), "f.npy"),
              HasSubstr("dtype >i4, which is not supported"));
  EXPECT_THAT(refusal(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (7,), }", data), "f.npy"),
              HasSubstr("do not match its shape [7]"));
}

TEST(Npy, FortranOrderIsTurned) {
  std::vector<int16_t> stored, expected; // a[i][j][k] = 100 i + 10 j + k
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i)
        stored.push_back(int16_t(100 * i + 10 * j + k));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k)
        expected.push_back(int16_t(100 * i + 10 * j + k));
  std::string header = "{'descr': '<i2', 'fortran_order': True, 'shape': ";
  auto array = readNpy(writeFile("turned.npy", npy(header + "(2, 3, 4), }", raw<int16_t>(stored))), "x");
  ASSERT_TRUE(array) << format(array.error());
  EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(std::memcmp(array->data, expected.data(), array->bytes()), 0);
  EXPECT_TRUE(readNpy(writeFile("empty.npy", npy(header + "(2, 0), }", "")), "x"));
  EXPECT_THAT(refusal(npy(header + "(2, 3, 5), }", raw<int16_t>(stored)), "f.npy"),
              HasSubstr("do not match its shape [2, 3, 5]"));
}

/// Rows of two arrays in turn come out as two arrays, in both forms of file.
TEST(ArrayWriter, RowsOfSeveralArraysAreReadBack) {
  const float scores[] = {1, 2, 3, 4, 5, 6};
  const int64_t classes[] = {7, 8, 9};
  for (const char *name : {"rows.npz", "rows.safetensors"}) {
    std::string path = std::string(ACCUM_TEST_FOLDER) + "/" + name;
    auto writer = ArrayWriter::create(path);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->add("scores", ACCUM_F32, {1, 2}, scores));
    ASSERT_TRUE(writer->add("classes", ACCUM_I64, {1}, classes));
    ASSERT_TRUE(writer->add("scores", ACCUM_F32, {2, 2}, scores + 2));
    ASSERT_TRUE(writer->add("classes", ACCUM_I64, {2}, classes + 1));
    ASSERT_TRUE(writer->commit());
    auto arrays = readArrays(path);
    ASSERT_TRUE(arrays) << format(arrays.error());
    ASSERT_EQ(arrays->size(), 2u);
    for (const Array &array : *arrays) {
      bool isScores = array.name == "scores";
      EXPECT_EQ(array.shape, isScores ? (std::vector<int64_t>{3, 2}) : std::vector<int64_t>{3});
      EXPECT_EQ(std::memcmp(array.data, isScores ? static_cast<const void *>(scores) : classes, 24), 0)
          << name;
    }
  }
  EXPECT_FALSE(ArrayWriter::create("rows.csv"));
  auto nowhere = ArrayWriter::create("/nonexistent/rows.npz");
  ASSERT_TRUE(nowhere);
  EXPECT_FALSE(nowhere->add("classes", ACCUM_I64, {1}, classes));
}

TEST(Npz, ReadsCompressedArraysAndRefusesDamage) {
  std::string path = folder() + "/two.npz";
  std::string a = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", raw<float>({1, 2, 3}));
  std::string b = npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2), }", raw<int64_t>({7, 8}));
  int code = 0;
  zip_t *archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  ASSERT_TRUE(archive);
  zip_file_add(archive, "a.npy", zip_source_buffer(archive, a.data(), a.size(), 0), 0);
  zip_file_add(archive, "b.npy", zip_source_buffer(archive, b.data(), b.size(), 0), 0);
  ASSERT_EQ(zip_close(archive), 0);
  auto arrays = readArrays(path);
  ASSERT_TRUE(arrays) << format(arrays.error());
  ASSERT_EQ(arrays->size(), 2u);
  EXPECT_EQ((*arrays)[0].name, "a");
  EXPECT_EQ(asDouble((*arrays)[0].data, ACCUM_F32, 2), 3);
  EXPECT_EQ(asInteger((*arrays)[1].data, ACCUM_I64, 1), 8);
  std::string bytes = *readText(path, 1 << 20);
  EXPECT_THAT(refusal(bytes.substr(0, bytes.size() / 2), "cut.npz"), HasSubstr("not a whole .npz file"));
  bytes[60] = char(~bytes[60]);
  EXPECT_THAT(refusal(bytes, "flipped.npz"), HasSubstr("malformed"));
}

TEST(Arrays, RefusesOtherNames) {
  EXPECT_EQ(readArrays("data.csv").error().exitCode, 2);
  EXPECT_EQ(readArrays("data.npy").error().exitCode, 2);
  EXPECT_EQ(readArrays("=data.npy").error().exitCode, 2);
  EXPECT_THAT(format(readArrays(folder() + "/none.safetensors").error()), HasSubstr("No such file"));
  std::filesystem::create_directories(folder() + "/dir.safetensors");
  EXPECT_THAT(format(readArrays(folder() + "/dir.safetensors").error()), HasSubstr("is a directory"));
}

TEST(Convert, HalvesAndBf16) {
  const uint16_t halves[] = {0x3C00, 0xC000, 0x0001, 0x7C00, 0x3555};
  auto data = reinterpret_cast<const uint8_t *>(halves);
  EXPECT_EQ(asDouble(data, ACCUM_F16, 0), 1);
  EXPECT_EQ(asDouble(data, ACCUM_F16, 1), -2);
  EXPECT_EQ(asDouble(data, ACCUM_F16, 2), std::ldexp(1, -24));
  EXPECT_TRUE(std::isinf(asDouble(data, ACCUM_F16, 3)));
  EXPECT_NEAR(asDouble(data, ACCUM_F16, 4), 1.0 / 3, 1e-4);
  const uint16_t bf16[] = {0x3F80, 0xC040};
  EXPECT_EQ(asDouble(reinterpret_cast<const uint8_t *>(bf16), ACCUM_BF16, 1), -3);
}
