// SPDX-License-Identifier: Apache-2.0
// Tensors: dtype, shape and bytes, each checked against the others.
#include "compiler/Import/model/FromProto.h"
#include <bit>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accum::import {
namespace {
static_assert(std::endian::native == std::endian::little, "payloads are used as they lie in the file");

/// No tensor of a training step is near this; it keeps every product of sizes inside int64_t.
constexpr int64_t maxElements = int64_t(1) << 48;

/// Tensors of attributes may have no name.
std::string subjectOf(const Tensor &tensor) {
  return tensor.name.empty() ? "a tensor" : backquoted(tensor.name);
}

/// Sets dtype and shape; false when they cannot be used.
bool readType(const onnx::TensorProto &proto, Tensor &tensor, Conversion &conversion) {
  auto dtype = dtypeFromNumber(proto.data_type());
  if (!dtype) {
    conversion.fail(subjectOf(tensor),
                    fmt::format("has element type {}, which ONNX does not define", proto.data_type()));
    return false;
  }
  tensor.dtype = *dtype;
  tensor.shape.assign(proto.dims().begin(), proto.dims().end());
  int64_t count = 1;
  for (int64_t size : tensor.shape) {
    if (size < 0 || (size > 0 && count > maxElements / size)) {
      conversion.fail(subjectOf(tensor),
                      fmt::format("has the impossible shape [{}]", fmt::join(tensor.shape, ", ")));
      return false;
    }
    count *= size;
  }
  return true;
}

TensorData ownedBytes(std::vector<std::byte> bytes) {
  TensorData data;
  data.length = bytes.size();
  data.owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return data;
}

/// The low `width` bytes of each number, as raw_data would hold them.
template <class Numbers> TensorData narrowed(const Numbers &numbers, size_t width) {
  std::vector<std::byte> bytes(numbers.size() * width);
  for (int i = 0; i < numbers.size(); ++i) {
    auto number = numbers.Get(i);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * width, &number, std::min(width, sizeof(number)));
  }
  return ownedBytes(std::move(bytes));
}

/// What the typed fields hold. For formats under a byte, each number of int32_data is one packed byte.
TensorData typedData(const onnx::TensorProto &proto, const Tensor &tensor) {
  size_t width = static_cast<size_t>(std::max(bitWidth(tensor.dtype) / 8, 1));
  switch (tensor.dtype) {
  case DType::Float32:
  case DType::Complex64:
    return narrowed(proto.float_data(), 4);
  case DType::Float64:
  case DType::Complex128:
    return narrowed(proto.double_data(), 8);
  case DType::Int64:
    return narrowed(proto.int64_data(), 8);
  case DType::UInt32:
  case DType::UInt64:
    return narrowed(proto.uint64_data(), width);
  default:
    return narrowed(proto.int32_data(), width);
  }
}

std::optional<uint64_t> number(const std::string &text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

void readExternal(const onnx::TensorProto &proto, Tensor &tensor, Conversion &conversion) {
  ExternalData::Place place;
  for (const auto &entry : proto.external_data()) {
    if (entry.key() == "location")
      place.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length")
      continue;
    auto value = number(entry.value());
    if (!value)
      return conversion.fail(subjectOf(tensor),
                             fmt::format("has external data of {} `{}`, expected a number of bytes",
                                         entry.key(), entry.value()));
    if (entry.key() == "offset")
      place.offset = *value;
    else
      place.length = value;
  }
  auto data = conversion.external.locate(tensor, place);
  if (!data) {
    for (Failure &failure : data.takeFailures())
      conversion.failures.push_back(std::move(failure));
    return;
  }
  tensor.data = *data;
  tensor.externalLocation = place.location;
}

void readInline(const onnx::TensorProto &proto, Tensor &tensor, Conversion &conversion) {
  if (proto.has_payload_offset()) {
    tensor.data.file = conversion.file;
    tensor.data.offset = proto.payload_offset();
    tensor.data.length = proto.payload_length();
  } else {
    tensor.data = typedData(proto, tensor);
  }
  if (tensor.data.length == tensor.byteSize())
    return;
  conversion.fail(subjectOf(tensor),
                  fmt::format("has {} bytes of data, its shape [{}] of {} needs {}", tensor.data.length,
                              fmt::join(tensor.shape, ", "), name(tensor.dtype), tensor.byteSize()));
  tensor.data = {};
}
} // namespace

Tensor tensorFromProto(const onnx::TensorProto &proto, Conversion &conversion) {
  Tensor tensor;
  tensor.name = proto.name();
  tensor.metadata = metadataFromProto(proto.metadata_props());
  if (!readType(proto, tensor, conversion)) {
    tensor.shape.clear();
    return tensor;
  }
  if (tensor.dtype == DType::String)
    return tensor;
  if (proto.data_location() == onnx::TensorProto::EXTERNAL)
    readExternal(proto, tensor, conversion);
  else
    readInline(proto, tensor, conversion);
  return tensor;
}

} // namespace accum::import
