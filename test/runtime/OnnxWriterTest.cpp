// SPDX-License-Identifier: Apache-2.0
// Model files of a few bytes, written by hand: each form that values have in them, and damage.
#include "runtime/weights/OnnxWriter.h"
#include "base/ProtoWire.h"
#include "runtime/files/File.h"
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::runtime;
using accum::appendField;
using accum::appendFloat;
using accum::appendNumber;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

std::string field(uint32_t number, const std::string &value) {
  std::string bytes;
  appendField(bytes, number, value);
  return bytes;
}

std::string number(uint32_t field, uint64_t value) {
  std::string bytes;
  appendNumber(bytes, field, value);
  return bytes;
}

template <typename T> std::string bytesOf(std::vector<T> values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

/// A TensorProto [2, 3] of a type, its values in the fields of `data`; packed dims where asked for.
std::string tensor(const std::string &name, uint64_t type, const std::string &data, bool isPacked = false) {
  std::string dims = isPacked ? field(1, {2, 3}) : number(1, 2) + number(1, 3);
  return dims + number(2, type) + data + (name.empty() ? "" : field(8, name)) + field(12, "doc");
}

std::string model(const std::string &graph) {
  return number(1, 9) + field(7, graph + field(2, "g")) + field(8, "o");
}

struct Place {
  explicit Place(const std::string &name)
      : folder(fs::path(ACCUM_TEST_FOLDER) / ("onnx-writer-" + name)), model(folder / "in.onnx"),
        out(folder / "out.onnx") {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void put(const fs::path &path, const std::string &bytes) const {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  Status write(std::vector<TensorToWrite> tensors, std::vector<SeparatedSpec> separated = {}) const {
    OnnxSave save{model, out};
    save.separated = std::move(separated);
    return writeOnnx(save, std::move(tensors));
  }
  std::string text(const std::string &name = "out.onnx") const { return *readText(folder / name, 1 << 20); }

  fs::path folder, model, out;
};

const std::vector<float> kOld = {0, 0, 0, 0, 0, 0}, kNew = {1, 2, 3, 4, 5, 6};

TensorToWrite fresh(const std::string &name, const std::vector<float> &values = kNew) {
  return {name, reinterpret_cast<const uint8_t *>(values.data()), ACCUM_F32, {2, 3}};
}

} // namespace

TEST(OnnxWriter, EachFormKeepsItsForm) {
  std::string unpacked, packed = field(4, bytesOf(kNew));
  for (float value : kOld)
    appendFloat(unpacked, 4, value);
  std::vector<double> doubles(kNew.begin(), kNew.end());
  struct {
    const char *name;
    std::string before, after;
  } forms[] = {
      {"raw", tensor("w", 1, field(9, bytesOf(kOld))), tensor("w", 1, field(9, bytesOf(kNew)))},
      {"packed dims", tensor("w", 1, field(9, bytesOf(kOld)), true),
       tensor("w", 1, field(9, bytesOf(kNew)), true)},
      {"packed", tensor("w", 1, field(4, bytesOf(kOld))), tensor("w", 1, packed)},
      {"unpacked", tensor("w", 1, unpacked), tensor("w", 1, packed)},
      {"doubles", tensor("w", 11, field(10, std::string(48, '\0'))),
       tensor("w", 11, field(10, bytesOf(doubles)))},
      {"half numbers", tensor("w", 10, field(5, std::string(6, '\0'))),
       tensor("w", 10, field(9, bytesOf<uint16_t>({0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600})))},
  };
  std::string other = tensor("other", 1, field(9, bytesOf(kOld)));
  for (const auto &form : forms) {
    SCOPED_TRACE(form.name);
    Place place("forms");
    place.put(place.model, model(field(5, other) + field(5, form.before)));
    Status status = place.write({fresh("w")});
    ASSERT_TRUE(status) << format(status.error());
    EXPECT_EQ(place.text(), model(field(5, other) + field(5, form.after)));
  }
}

TEST(OnnxWriter, ConstantsAndSubgraphsAreFoundByTheirNames) {
  auto graph = [](const std::vector<float> &values) {
    std::string inner = field(5, tensor("v", 1, field(9, bytesOf(values))));
    std::string constant = field(2, "w") + field(4, "Constant") +
                           field(5, field(1, "value") + field(5, tensor("", 1, field(9, bytesOf(values)))));
    return field(1, constant) +
           field(1, field(2, "y") + field(4, "If") + field(5, field(1, "then") + field(6, inner)));
  };
  Place place("constants");
  place.put(place.model, model(graph(kOld)));
  ASSERT_TRUE(place.write({fresh("w"), fresh("v")}));
  EXPECT_EQ(place.text(), model(graph(kNew)));
}

/// An initializer again, as one that had no place of its own is written.
std::string added(const std::string &name, const std::vector<float> &values) {
  return field(5, number(1, 2) + number(1, 3) + number(2, 1) + field(8, name) + field(9, bytesOf(values)));
}

TEST(OnnxWriter, AnIdentityOfWhatWasMergedBecomesAnInitializer) {
  std::string a = field(5, tensor("a", 1, field(9, bytesOf(kOld)))), b = field(1, "b");
  std::string identity = field(1, field(1, "a") + field(2, "b") + field(4, "Identity"));
  std::string reader = field(1, b + field(2, "y") + field(4, "Relu"));
  Place place("identity");
  place.put(place.model, model(identity + reader + a));
  const std::vector<float> ofB = {6, 5, 4, 3, 2, 1};
  ASSERT_TRUE(place.write({fresh("a"), fresh("b", ofB)}, {{"b", "a", {}}}));
  EXPECT_EQ(place.text(),
            model(added("b", ofB) + reader + field(5, tensor("a", 1, field(9, bytesOf(kNew))))));
  // Neither has other values.
  ASSERT_TRUE(place.write({}, {{"b", "a", {}}}));
  EXPECT_EQ(place.text(), model(identity + reader + a));
}

TEST(OnnxWriter, ReadersOfWhatWasMergedGetItsNewName) {
  auto graph = [](const std::string &second, const std::vector<float> &values, const std::string &more) {
    std::string node = field(1, field(1, "a") + field(1, second) + field(2, "y") + field(4, "Add"));
    return node + field(5, tensor("a", 1, field(9, bytesOf(values)))) + more;
  };
  // model() has fields of its own behind the graph's.
  auto whole = [](const std::string &graph, const std::string &more) {
    return number(1, 9) + field(7, graph + field(2, "g") + more) + field(8, "o");
  };
  const std::vector<float> ofB = {6, 5, 4, 3, 2, 1};
  std::vector<SeparatedSpec> separated = {{"b", "a", {{"y", 1}}}};
  Place place("readers");
  place.put(place.model, model(graph("a", kOld, "")));
  ASSERT_TRUE(place.write({fresh("a"), fresh("b", ofB)}, separated));
  EXPECT_EQ(place.text(), whole(graph("b", kNew, ""), added("b", ofB)));
  // One that is frozen, or a constant, keeps what both had.
  ASSERT_TRUE(place.write({fresh("a")}, separated));
  std::string kept = number(1, 2) + number(1, 3) + number(2, 1) + field(9, bytesOf(kOld)) + field(12, "doc");
  EXPECT_EQ(place.text(), whole(graph("b", kNew, ""), field(5, kept + field(8, "b"))));
  EXPECT_THAT(
      format(place.write({fresh("a")}, {{"b", "a", {{"z", 1}}}}).error()),
      HasSubstr("has not all of the nodes that read parameters which its exporter merged [model-file]"));
}

TEST(OnnxWriter, FilesBesideAreCopiedWithWhatElseTheyHold) {
  auto entry = [](const std::string &key, const std::string &value) {
    return field(13, field(1, key) + field(2, value));
  };
  auto graph = [&](const std::string &location, const std::string &checksum) {
    std::string place = entry("location", location) + entry("offset", "8") + entry("length", "24") + checksum;
    std::string kept = entry("location", location);
    return field(5, tensor("w", 1, place + number(14, 1))) +
           field(5, tensor("kept", 7, kept + number(14, 1)));
  };
  Place place("beside");
  place.put(place.model, model(graph("weights.bin", entry("checksum", "abc"))));
  place.put(place.folder / "weights.bin", "01234567" + bytesOf(kOld) + "tail");
  ASSERT_TRUE(place.write({fresh("w")}));
  EXPECT_EQ(place.text(), model(graph("out.onnx.data", "")));
  EXPECT_EQ(place.text("out.onnx.data"), "01234567" + bytesOf(kNew) + "tail");
  EXPECT_EQ(place.text("weights.bin"), "01234567" + bytesOf(kOld) + "tail");

  place.put(place.folder / "weights.bin", "01234567" + bytesOf(kOld).substr(1));
  EXPECT_THAT(format(place.write({fresh("w")}).error()), HasSubstr("ends before `w` does [model-file]"));
}

TEST(OnnxWriter, TheUsersOwnFilesAreNotWrittenOver) {
  Place place("own");
  place.put(place.model, model(field(5, tensor("w", 1, field(9, bytesOf(kOld))))));
  fs::create_symlink(place.model, place.out);
  EXPECT_EQ(place.write({fresh("w")}).error().exitCode, 2);
}

TEST(OnnxWriter, WhatIsNotThereIsNamed) {
  Place place("missing");
  place.put(place.model, model(field(5, tensor("w", 1, field(9, bytesOf(kOld))))));
  EXPECT_THAT(format(place.write({fresh("x")}).error()), HasSubstr("has no place for `x` [model-file]"));
  TensorToWrite turned = fresh("w");
  turned.transposed = true;
  EXPECT_THAT(format(place.write({turned}).error()),
              HasSubstr("has shape [2, 3], expected floats of [3, 2]"));
  std::vector<float> large = {0, 0, 7e4F, 0, 0, 0};
  place.put(place.model, model(field(5, tensor("w", 10, field(9, std::string(12, '\0'))))));
  EXPECT_EQ(format(place.write({fresh("w", large)}).error()),
            "error: `w` holds 70000, which is beyond the largest number of f16 [overflow]\n"
            "note: bf16 has the range of f32\n");
  EXPECT_FALSE(fs::exists(place.out));
}

TEST(OnnxWriter, DamagedFilesAreRefused) {
  std::string whole = model(field(5, tensor("w", 1, field(9, bytesOf(kOld)))));
  Place place("damaged");
  size_t behindGraph = whole.size() - 3; // a whole file again
  for (size_t end = 0; end < behindGraph; ++end) {
    place.put(place.model, whole.substr(0, end));
    Status status = place.write({fresh("w")});
    ASSERT_EQ(bool(status), false) << end;
    EXPECT_EQ(status.error().exitCode, 3);
  }
}
