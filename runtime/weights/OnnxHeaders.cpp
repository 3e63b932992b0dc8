// SPDX-License-Identifier: Apache-2.0
// A pass over the fields of one message.
#include "runtime/weights/OnnxHeaders.h"
#include <optional>

namespace accum::runtime {

using namespace onnx;

namespace {

constexpr uint64_t kExternal = 1;

std::string textOf(const uint8_t *file, const ProtoField &field) {
  return {reinterpret_cast<const char *>(file) + field.value, field.end - field.value};
}

/// The tensor of a Constant node's value.
std::optional<ProtoField> constantIn(const uint8_t *file, const ProtoField &nodeField) {
  ProtoFields parts(file, nodeField.value, nodeField.end);
  while (auto part = parts.next()) {
    if (part->number != node::kAttribute)
      continue;
    ProtoFields values(file, part->value, part->end);
    while (auto value = values.next())
      if (value->number == attribute::kTensor)
        return value;
  }
  return std::nullopt;
}

} // namespace

TensorHeader tensorHeaderOf(const uint8_t *file, const ProtoField &field) {
  TensorHeader header;
  ProtoFields fields(file, field.value, field.end);
  while (auto part = fields.next()) {
    if (part->number == tensor::kName)
      header.name = textOf(file, *part);
    else if (part->number == tensor::kDataType)
      header.dataType = part->varint;
    else if (part->number == tensor::kDataLocation)
      header.isExternal = part->varint == kExternal;
    else if (part->number == tensor::kRawData)
      header.hasRaw = true;
    else if (part->number == tensor::kDims && part->wire == 0)
      header.dims.push_back(int64_t(part->varint));
    // Packed: each number ends with a byte below 128, and a field of them reads as its numbers.
    for (uint64_t at = part->value; part->number == tensor::kDims && part->wire == 2 && at < part->end;
         ++at) {
      uint64_t value = 0;
      for (int shift = 0; at < part->end; shift += 7, ++at) {
        value |= uint64_t(file[at] & 0x7f) << (shift & 63);
        if (file[at] < 0x80)
          break;
      }
      header.dims.push_back(int64_t(value));
    }
  }
  return header;
}

NodeHeader nodeHeaderOf(const uint8_t *file, const ProtoField &field) {
  NodeHeader header;
  ProtoFields fields(file, field.value, field.end);
  while (auto part = fields.next()) {
    if (part->number == node::kOpType)
      header.type = textOf(file, *part);
    if (part->number == node::kOutput && header.output.empty())
      header.output = textOf(file, *part);
  }
  return header;
}

std::map<std::string, TensorPlace> placesIn(const uint8_t *file, const ProtoField &graphField) {
  std::map<std::string, TensorPlace> places;
  ProtoFields fields(file, graphField.value, graphField.end);
  while (auto part = fields.next()) {
    if (part->number == graph::kInitializer && part->wire == 2) {
      TensorHeader header = tensorHeaderOf(file, *part);
      places.emplace(header.name, TensorPlace{*part, header});
    } else if (part->number == graph::kNode && part->wire == 2) {
      NodeHeader header = nodeHeaderOf(file, *part);
      auto value = header.type == "Constant" ? constantIn(file, *part) : std::nullopt;
      if (value)
        places.emplace(header.output, TensorPlace{*value, tensorHeaderOf(file, *value)});
    }
  }
  return places;
}

} // namespace accum::runtime
