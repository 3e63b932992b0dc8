// SPDX-License-Identifier: Apache-2.0
// Small questions to a model.
#include "compiler/Import/model/Model.h"
#include "compiler/Import/model/MappedFile.h"
#include <cassert>

namespace accum::import {

bool isPlaceholder(std::string_view symbol) { return isOneOf(symbol, {"?", "None", "-1", "*"}); }

std::span<const std::byte> TensorData::bytes() const {
  if (owned)
    return *owned;
  if (!file)
    return {};
  assert(offset <= file->bytes().size() && length <= file->bytes().size() - offset && "checked when located");
  return file->bytes().subspan(offset, length);
}

int64_t Tensor::elementCount() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

uint64_t Tensor::byteSize() const {
  // Formats under a byte are packed without gaps; the last byte is padded.
  return (static_cast<uint64_t>(elementCount()) * static_cast<uint64_t>(bitWidth(dtype)) + 7) / 8;
}

const Tensor *Graph::initializer(std::string_view name) const {
  auto it = initializerIndex.find(std::string(name));
  return it == initializerIndex.end() ? nullptr : &initializers[it->second];
}

Tensor *Graph::initializer(std::string_view name) {
  return const_cast<Tensor *>(std::as_const(*this).initializer(name));
}

const ValueInfo *Graph::info(std::string_view name) const {
  auto it = valueInfo.find(std::string(name));
  return it == valueInfo.end() ? nullptr : &it->second;
}

void Graph::addInitializer(Tensor tensor) {
  assert(!initializerIndex.count(tensor.name) && "names are unique");
  initializerIndex.emplace(tensor.name, initializers.size());
  initializers.push_back(std::move(tensor));
}

int64_t Model::opset() const {
  auto it = opsets.find("");
  return it == opsets.end() ? 0 : it->second;
}

} // namespace accum::import
