// SPDX-License-Identifier: Apache-2.0
// Numbers and optional fields of a JSON object. All throw what nlohmann throws, or std::invalid_argument.
#ifndef ACCUM_RUNTIME_ARTIFACT_JSONFIELDS_H
#define ACCUM_RUNTIME_ARTIFACT_JSONFIELDS_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace accum::runtime {

template <typename T> std::optional<T> readOptional(const nlohmann::ordered_json &entry, const char *key) {
  auto found = entry.find(key);
  if (found == entry.end() || found->is_null())
    return std::nullopt;
  return found->get<T>();
}

/// nlohmann would cut fractions off and wrap what is too large.
template <typename T> T asInteger(const nlohmann::ordered_json &value, const char *key) {
  bool fits = value.is_number_unsigned()
                  ? std::in_range<T>(value.get<uint64_t>())
                  : value.is_number_integer() && std::in_range<T>(value.get<int64_t>());
  if (!fits)
    throw std::invalid_argument("`" + std::string(key) + "` is not an integer of " +
                                std::to_string(8 * sizeof(T)) + " bits");
  return value.get<T>();
}

template <typename T> T readInteger(const nlohmann::ordered_json &entry, const char *key) {
  return asInteger<T>(entry.at(key), key);
}

inline std::optional<int64_t> readOptionalInteger(const nlohmann::ordered_json &entry, const char *key) {
  auto found = entry.find(key);
  if (found == entry.end() || found->is_null())
    return std::nullopt;
  return asInteger<int64_t>(*found, key);
}

inline uint64_t readBytes(const nlohmann::ordered_json &entry, const char *key) {
  const nlohmann::ordered_json &value = entry.at(key);
  if (!value.is_number_unsigned())
    throw std::invalid_argument("`" + std::string(key) + "` is not a number of bytes");
  return value.get<uint64_t>();
}

template <typename Item>
std::vector<Item> readAll(const nlohmann::ordered_json &json, const char *key,
                          Item (*read)(const nlohmann::ordered_json &)) {
  std::vector<Item> items;
  if (!json.at(key).is_array())
    throw std::invalid_argument("`" + std::string(key) + "` is not a list");
  for (const nlohmann::ordered_json &entry : json.at(key))
    items.push_back(read(entry));
  return items;
}

} // namespace accum::runtime
#endif
