// SPDX-License-Identifier: Apache-2.0
// Walks tags and lengths; descends only where a payload can lie.
#include "compiler/Import/model/WireScan.h"
#include "base/ProtoWire.h"
#include <cstdint>
#include <fmt/format.h>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace accum::import {
namespace {

/// The structure of a model: names, shapes, attributes. GPT-3's graph takes about 20 MB; a file that needs
/// more than this holds something else.
constexpr size_t maxStructureBytes = size_t(256) << 20;
/// Messages in each other. protobuf itself stops at 100.
constexpr int maxDepth = 64;
constexpr uint32_t payloadOffsetField = 100001, payloadLengthField = 100002;
/// A length that is patched in later is written as a varint of this many bytes, whatever its value.
constexpr size_t patchedLengthBytes = 5;

/// The messages that can contain a payload, and what to do with a field that is none of them.
enum class Kind {
  Drop,
  Copy,
  Payload,
  PackedPayload,
  Model,
  Graph,
  Node,
  Attribute,
  Tensor,
  Sparse,
  Function
};

/// What is kept of a message. Whatever is not named here is dropped.
struct Schema {
  Kind message;
  std::initializer_list<uint32_t> copied;
  std::initializer_list<std::pair<uint32_t, Kind>> others;
};

const Schema &schemaOf(Kind message) {
  static const Schema schemas[] = {
      {Kind::Model, {1, 2, 3, 8, 14}, {{7, Kind::Graph}, {25, Kind::Function}}},
      {Kind::Graph, {2, 11, 12, 13, 16}, {{1, Kind::Node}, {5, Kind::Tensor}, {15, Kind::Sparse}}},
      {Kind::Node, {1, 2, 3, 4, 7, 8, 9}, {{5, Kind::Attribute}}},
      {Kind::Attribute,
       {1, 2, 3, 4, 7, 8, 9, 20, 21},
       {{5, Kind::Tensor}, {10, Kind::Tensor}, {6, Kind::Graph}, {11, Kind::Graph}}},
      {Kind::Tensor,
       {1, 2, 5, 6, 7, 8, 11, 13, 14, 16},
       {{4, Kind::PackedPayload}, {9, Kind::Payload}, {10, Kind::PackedPayload}}},
      {Kind::Sparse, {}, {{1, Kind::Tensor}}},
      {Kind::Function, {1, 4, 5, 6, 9, 10, 12, 13, 14}, {{7, Kind::Node}, {11, Kind::Attribute}}},
  };
  return schemas[static_cast<size_t>(message) - static_cast<size_t>(Kind::Model)];
}

Kind kindOf(Kind message, uint32_t field) {
  const Schema &schema = schemaOf(message);
  for (uint32_t copied : schema.copied)
    if (copied == field)
      return Kind::Copy;
  for (auto [number, kind] : schema.others)
    if (number == field)
      return kind;
  return Kind::Drop;
}

class Scanner {
public:
  Scanner(std::span<const std::byte> file) : file(file) {}

  /// Scans [begin, end) as a message of that kind; false with `problem` set where it is none.
  bool message(Kind kind, uint64_t begin, uint64_t end, int depth) {
    if (depth > maxDepth)
      return fail("messages are nested too deeply");
    ProtoFields fields(reinterpret_cast<const uint8_t *>(file.data()), begin, end);
    auto isOfModel = [&](uint32_t number) { return depth == 0 && kindOf(kind, number) != Kind::Drop; };
    while (auto field = fields.next()) {
      sawModelField |= field->wire == 2 && isOfModel(field->number);
      if (!take(kindOf(kind, field->number), *field, depth))
        return false;
    }
    sawModelField |= fields.cutOff() != 0 && isOfModel(fields.cutOff());
    return fields.isBroken() ? fail(fields.problem()) : true;
  }

  std::string structure;
  std::string problem;
  bool sawModelField = false;

private:
  bool fail(std::string why) {
    problem = std::move(why);
    return false;
  }

  bool take(Kind kind, const ProtoField &field, int depth) {
    // Elements of float_data that are not packed go through protobuf like any scalar.
    if (field.wire != 2 && kind != Kind::Copy && kind != Kind::PackedPayload)
      return true;
    if (field.wire != 2 || kind == Kind::Copy)
      return copy(field.begin, field.end);
    if (kind == Kind::Payload || kind == Kind::PackedPayload)
      return cut(field);
    return kind == Kind::Drop || descend(kind, field, depth);
  }

  bool copy(uint64_t begin, uint64_t end) {
    if (structure.size() + (end - begin) > maxStructureBytes)
      return fail(fmt::format("more than {} MiB are not weights", maxStructureBytes >> 20));
    structure.append(reinterpret_cast<const char *>(file.data()) + begin, end - begin);
    return true;
  }

  bool cut(const ProtoField &field) {
    appendNumber(structure, payloadOffsetField, field.value);
    appendNumber(structure, payloadLengthField, field.end - field.value);
    return structure.size() <= maxStructureBytes ? true : fail("too many tensors");
  }

  bool descend(Kind kind, const ProtoField &field, int depth) {
    appendVarint(structure, uint64_t(field.number) << 3 | field.wire);
    size_t lengthAt = structure.size();
    structure.append(patchedLengthBytes, '\0');
    if (!message(kind, field.value, field.end, depth + 1))
      return false;
    size_t length = structure.size() - lengthAt - patchedLengthBytes;
    for (size_t i = 0; i < patchedLengthBytes; ++i, length >>= 7)
      structure[lengthAt + i] = static_cast<char>((length & 0x7f) | (i + 1 < patchedLengthBytes ? 0x80 : 0));
    return structure.size() <= maxStructureBytes ? true : fail("too many nodes");
  }

  std::span<const std::byte> file;
};

bool startsWith(std::span<const std::byte> file, std::string_view text) {
  return file.size() >= text.size() &&
         std::string_view(reinterpret_cast<const char *>(file.data()), text.size()) == text;
}
} // namespace

Result<std::string> scanModel(std::span<const std::byte> file, const std::filesystem::path &path) {
  auto failure = [&](std::string message) {
    return Failure{"malformed-model", path.string(), std::move(message), {}};
  };
  if (file.empty())
    return failure("is empty, expected an ONNX model");
  if (startsWith(file, "version https://git-lfs"))
    return Failure{"malformed-model",
                   path.string(),
                   "is a Git LFS pointer and not the model itself",
                   {"fetch the file: git lfs pull"}};
  Scanner scanner(file);
  if (scanner.message(Kind::Model, 0, file.size(), 0))
    return std::move(scanner.structure);
  if (!scanner.sawModelField)
    return failure("is not an ONNX model: " + scanner.problem);
  return failure("is truncated or damaged: " + scanner.problem);
}

} // namespace accum::import
