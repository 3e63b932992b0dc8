// SPDX-License-Identifier: Apache-2.0
// Writes ONNX files byte by byte, the wrong ones too.
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace accum::import::test {

/// A protobuf message under construction; converts to its bytes.
class Message {
public:
  Message &number(uint32_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message &bytes(uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    content += value;
    return *this;
  }
  Message &bytes(uint32_t field, const Message &value) {
    return bytes(field, std::string_view(value.content));
  }
  operator const std::string &() const { return content; }

private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      content.push_back(static_cast<char>(value | 0x80));
    content.push_back(static_cast<char>(value));
  }
  std::string content;
};

inline std::string rawFloats(const std::vector<float> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float)};
}

/// TensorProto with raw_data; dtype is the ONNX number.
inline Message tensor(std::string_view name, const std::vector<int64_t> &dims, int dtype,
                      std::string_view raw) {
  Message message;
  for (int64_t dim : dims)
    message.number(1, static_cast<uint64_t>(dim));
  return message.number(2, static_cast<uint64_t>(dtype)).bytes(8, name).bytes(9, raw);
}

inline Message node(std::string_view op, const std::vector<std::string> &inputs,
                    const std::vector<std::string> &outputs, std::string_view name = "") {
  Message message;
  for (const std::string &input : inputs)
    message.bytes(1, input);
  for (const std::string &output : outputs)
    message.bytes(2, output);
  return message.bytes(3, name).bytes(4, op);
}

inline Message entry(std::string_view key, std::string_view value) {
  return Message().bytes(1, key).bytes(2, value);
}

/// ValueInfoProto of an f32 tensor; a negative size is written as it is.
inline Message value(std::string_view name, const std::vector<int64_t> &sizes = {}) {
  Message shape;
  for (int64_t size : sizes)
    shape.bytes(1, Message().number(1, static_cast<uint64_t>(size)));
  Message type = Message().bytes(1, Message().number(1, 1).bytes(2, shape));
  return Message().bytes(1, name).bytes(2, type);
}

/// GraphProto in pieces, and the ModelProto around it.
struct GraphBytes {
  std::vector<std::string> nodes, initializers, inputs, outputs, valueInfo, metadata, functions;

  std::string graph() const {
    Message message;
    for (const std::string &node : nodes)
      message.bytes(1, node);
    message.bytes(2, "graph");
    for (const std::string &tensor : initializers)
      message.bytes(5, tensor);
    for (const std::string &input : inputs)
      message.bytes(11, input);
    for (const std::string &output : outputs)
      message.bytes(12, output);
    for (const std::string &info : valueInfo)
      message.bytes(13, info);
    for (const std::string &entry : metadata)
      message.bytes(16, entry);
    return message;
  }

  std::string model() const {
    Message message;
    message.number(1, 10).bytes(2, "test").bytes(7, graph());
    message.bytes(8, Message().bytes(1, "").number(2, 20));
    for (const std::string &function : functions)
      message.bytes(25, function);
    return message;
  }
};

/// A folder of this test's own, removed afterwards.
class FolderTest : public ::testing::Test {
protected:
  void SetUp() override {
    const auto *info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder = std::filesystem::temp_directory_path() / (std::string("accum-") + info->test_suite_name() + "-" +
                                                       info->name() + "-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::filesystem::path write(const std::string &content, const std::string &name = "model.onnx") {
    std::filesystem::path path = folder / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::filesystem::path folder;
};

} // namespace accum::import::test
