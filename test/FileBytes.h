// SPDX-License-Identifier: Apache-2.0
// Files of test models as bytes, and bytes as numbers.
#pragma once
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace accum::test {

inline std::string contentOf(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Numbers of type T that lie one behind the other.
template <class T> std::vector<double> numbers(std::string_view bytes) {
  std::vector<double> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
  return values;
}

} // namespace accum::test
