// SPDX-License-Identifier: Apache-2.0
// The .npy reader: magic, version, a Python dictionary in text, then the array's bytes.
#include "runtime/files/Array.h"
#include <cstring>
#include <new>
#include <string_view>

namespace accum::runtime {
namespace {

/// The text behind `'key':`, blanks skipped; empty where the key is missing.
std::string_view valueOf(std::string_view header, std::string_view key) {
  size_t at = header.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos)
    return {};
  at = header.find(':', at);
  at = at == std::string_view::npos ? at : header.find_first_not_of(' ', at + 1);
  return at == std::string_view::npos ? std::string_view() : header.substr(at);
}

/// "(3, 4, )" -> {3, 4}; nothing where it is something else.
std::optional<std::vector<int64_t>> parseTuple(std::string_view text) {
  if (text.empty() || text[0] != '(')
    return std::nullopt;
  std::vector<int64_t> extents;
  std::optional<int64_t> number;
  for (char c : text.substr(1)) {
    if (c >= '0' && c <= '9') {
      if (number.value_or(0) > (int64_t(1) << 56))
        return std::nullopt;
      number = number.value_or(0) * 10 + (c - '0');
    } else if (c == ',' || c == ')') {
      if (number)
        extents.push_back(*number);
      number.reset();
      if (c == ')')
        return extents;
    } else if (c != ' ') {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// The header's text and where the data starts.
struct Preamble {
  std::string_view header;
  uint64_t dataOffset;
};

std::optional<Preamble> readPreamble(const uint8_t *bytes, uint64_t size) {
  if (size < 12 || std::memcmp(bytes, "\x93NUMPY", 6) != 0 || bytes[6] < 1 || bytes[6] > 3)
    return std::nullopt;
  uint64_t length = bytes[8] | bytes[9] << 8, start = 10;
  if (bytes[6] > 1) {
    length |= uint64_t(bytes[10]) << 16 | uint64_t(bytes[11]) << 24;
    start = 12;
  }
  if (length > size - start)
    return std::nullopt;
  return Preamble{{reinterpret_cast<const char *>(bytes) + start, length}, start + length};
}

/// Copies elements of Size bytes, first index fastest, to where the last one is.
template <size_t Size>
void copyRowMajor(const uint8_t *from, const std::vector<int64_t> &shape, int64_t count, uint8_t *to) {
  std::vector<int64_t> strides(shape.size(), 1), index(shape.size(), 0);
  for (size_t axis = 1; axis < shape.size(); ++axis)
    strides[axis] = strides[axis - 1] * shape[axis - 1];
  int64_t source = 0;
  for (int64_t element = 0; element < count; ++element) {
    std::memcpy(to + element * int64_t(Size), from + source * int64_t(Size), Size);
    for (size_t axis = shape.size(); axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < shape[axis])
        break;
      source -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

/// What is stored column-major is read into memory, row-major.
Status storeRowMajor(Array &array) {
  uint64_t bytes = array.bytes();
  std::shared_ptr<uint8_t[]> memory(new (std::nothrow) uint8_t[bytes]);
  if (!memory)
    return {Error{kExitFile,
                  array.path + ": array `" + array.name +
                      "` is in Fortran order, and there is no memory for " + std::to_string(bytes >> 20) +
                      " MiB in C order",
                  "file-unreadable",
                  {"save it with numpy.ascontiguousarray: then it is read where it lies"}}};
  size_t size = bytesOf(array.dtype);
  auto copy = size == 1   ? copyRowMajor<1>
              : size == 2 ? copyRowMajor<2>
              : size == 4 ? copyRowMajor<4>
                          : copyRowMajor<8>;
  copy(array.data, array.shape, array.elements(), memory.get());
  array.data = memory.get();
  array.storage = memory;
  return {};
}

} // namespace

Expected<Array> parseNpy(const uint8_t *bytes, uint64_t size, const std::string &name,
                         const std::string &path) {
  auto preamble = readPreamble(bytes, size);
  if (!preamble)
    return notWhole(".npy file", path, "its header is damaged");
  std::string_view descriptor = valueOf(preamble->header, "descr");
  size_t quote = descriptor.empty() ? std::string_view::npos : descriptor.find('\'', 1);
  if (quote == std::string_view::npos || descriptor[0] != '\'')
    return notWhole(".npy file", path, "array `" + name + "` has no plain dtype");
  descriptor = descriptor.substr(1, quote - 1);
  auto dtype = dtypeOfNumpy(descriptor);
  if (!dtype)
    return notWhole(".npy file", path,
                    "array `" + name + "` has dtype " + std::string(descriptor) + ", which is not supported");
  auto shape = parseTuple(valueOf(preamble->header, "shape"));
  auto elements = shape ? countElements(*shape, *dtype) : std::nullopt;
  if (!elements)
    return notWhole(".npy file", path, "array `" + name + "` has no readable shape");
  if (uint64_t(*elements) * bytesOf(*dtype) != size - preamble->dataOffset)
    return notWhole(".npy file", path,
                    "array `" + name + "` has bytes that do not match its shape " + formatShape(*shape));
  Array array;
  array.name = name;
  array.path = path;
  array.dtype = *dtype;
  array.shape = *shape;
  array.data = bytes + preamble->dataOffset;
  if (valueOf(preamble->header, "fortran_order").starts_with("True") && shape->size() > 1)
    if (Status status = storeRowMajor(array); !status)
      return status.error();
  return array;
}

Expected<Array> readNpy(const std::string &path, const std::string &name) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.error();
  auto array = parseNpy((*file)->data(), (*file)->size(), name, path);
  if (array && !array->storage)
    array->storage = array->file = *file;
  return array;
}

} // namespace accum::runtime
