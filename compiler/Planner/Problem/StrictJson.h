// SPDX-License-Identifier: Apache-2.0
// Reading JSON objects whose every key is known: the first thing wrong is kept, with the path to it.
#pragma once
#include "compiler/Planner/Problem/Amount.h"
#include "compiler/Planner/Problem/Result.h"
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace accum::planner {

using Json = nlohmann::json;

/// A value in a sentence: numbers as they are, of all else what it is, for it may be large and deep.
std::string shown(const Json &value);

/// Parses text; the error says in which line the syntax broke.
Result<Json> parseJson(std::string_view text, const std::string &origin, const std::string &slug);

/// What is wrong with a document: the first complaint wins, later ones follow from it.
struct Complaint {
  std::string origin;
  std::string slug;
  std::optional<Error> error = {};

  void raise(const std::string &path, const std::string &what);
};

/// One JSON object. Getters take each key once; a missing or mistyped key raises and gives a zero.
/// `finish` raises for keys that were not read.
class ObjectReader {
public:
  ObjectReader(const Json &value, std::string path, Complaint &complaint);

  bool has(const char *key) const { return object && object->contains(key); }
  int64_t integer(const char *key, int64_t min = 0, int64_t max = kAmountLimit);
  double number(const char *key, double min, double max);
  /// As many numbers in an array.
  template <size_t count> std::array<double, count> numbers(const char *key, double min, double max) {
    std::array<double, count> values{};
    auto elements = array(key);
    if (elements.size() != count)
      raise(key, "has another number of elements than " + std::to_string(count));
    for (size_t index = 0; index < elements.size() && index < count; ++index) {
      const Json &value = *elements[index].second;
      if (value.is_number() && value.get<double>() >= min && value.get<double>() <= max)
        values[index] = value.get<double>();
      else
        complaint.raise(elements[index].first, "is no number of its range");
    }
    return values;
  }
  std::string text(const char *key);
  /// A text that stands in tables and sentences: not empty, short, without control characters.
  std::string name(const char *key);
  bool boolean(const char *key);
  /// The elements of an array, with the path of each.
  std::vector<std::pair<std::string, const Json *>> array(const char *key);
  /// The members of an object with free keys, in the document's sorted order.
  std::vector<std::pair<std::string, const Json *>> members(const char *key);
  ObjectReader child(const char *key);
  /// Raises unless `format` and `version` are these.
  void expectFormat(const char *format, int64_t version);
  void finish();
  void raise(const char *key, const std::string &what);

private:
  const Json *take(const char *key);
  std::string at(const char *key) const;

  const Json *object = nullptr;
  std::string path;
  Complaint &complaint;
  std::set<std::string> taken;
};

} // namespace accum::planner
