// SPDX-License-Identifier: Apache-2.0
// Numbers of the file as known content.
#include "compiler/Import/content/TensorContent.h"
#include "compiler/Import/model/Contents.h"
#include <cmath>
#include <cstring>
#include <limits>

namespace accum::import {

template <class T> static std::vector<Element> elementsOf(std::span<const std::byte> bytes) {
  std::vector<Element> elements;
  elements.reserve(bytes.size() / sizeof(T));
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    elements.push_back(std::is_floating_point_v<T> ? Element::floating(static_cast<double>(value))
                                                   : Element::integer(static_cast<int64_t>(value)));
  }
  return elements;
}

/// Of floats that C++ has no type for, as f32. The ends of f16 stand for those of the type that is computed
/// in: `torch.finfo(x.dtype).min` hides scores, and models clamp by it.
static std::vector<Element> shortFloatsOf(const Tensor &tensor) {
  constexpr double largest = std::numeric_limits<float>::max();
  std::vector<Element> elements;
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    double value = elementAt(tensor, i);
    bool isEnd = tensor.dtype == DType::Float16 && std::abs(value) == largestHalf;
    elements.push_back(Element::floating(isEnd ? std::copysign(largest, value) : value));
  }
  return elements;
}

static std::optional<std::vector<Element>> elementsOf(const Tensor &tensor) {
  std::span<const std::byte> bytes = tensor.data.bytes();
  switch (tensor.dtype) {
  case DType::Float16:
  case DType::BFloat16:
    return shortFloatsOf(tensor);
  case DType::Float32:
    return elementsOf<float>(bytes);
  case DType::Float64:
    return elementsOf<double>(bytes);
  case DType::Int64:
    return elementsOf<int64_t>(bytes);
  case DType::Int32:
    return elementsOf<int32_t>(bytes);
  case DType::Int16:
    return elementsOf<int16_t>(bytes);
  case DType::Int8:
    return elementsOf<int8_t>(bytes);
  case DType::UInt8:
  case DType::Bool:
    return elementsOf<uint8_t>(bytes);
  case DType::UInt16:
    return elementsOf<uint16_t>(bytes);
  case DType::UInt32:
    return elementsOf<uint32_t>(bytes);
  default:
    return std::nullopt;
  }
}

std::optional<Content> contentOf(const Tensor &tensor) {
  if (!tensor.data.isPresent() && tensor.elementCount() > 0)
    return std::nullopt;
  std::optional<std::vector<Element>> elements = elementsOf(tensor);
  if (!elements || static_cast<int64_t>(elements->size()) != tensor.elementCount())
    return std::nullopt;
  return Content::dense(computedIn(tensor.dtype), staticShape(tensor.shape), std::move(*elements));
}

} // namespace accum::import
