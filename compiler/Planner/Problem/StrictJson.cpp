// SPDX-License-Identifier: Apache-2.0
// Reading JSON objects whose every key is known.
#include "compiler/Planner/Problem/StrictJson.h"
#include <algorithm>
#include <fmt/format.h>
#include <unordered_set>

namespace accum::planner {

namespace {

/// Goes through a valid document for the first key that its object has already. A callback of the parser that
/// makes the document could, but has it look through the whole array at the end of each object in it.
class RepeatedKeys : public nlohmann::json_sax<Json> {
public:
  std::string first = {}; ///< in words; empty where there is none

  bool start_object(size_t) override {
    seen.emplace_back();
    return true;
  }
  bool end_object() override {
    seen.pop_back();
    return true;
  }
  bool key(std::string &name) override {
    if (!seen.back().insert(name).second)
      first = fmt::format("key `{}` is given twice", name);
    return first.empty();
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(Json::number_integer_t) override { return true; }
  bool number_unsigned(Json::number_unsigned_t) override { return true; }
  bool number_float(double, const std::string &) override { return true; }
  bool string(std::string &) override { return true; }
  bool binary(Json::binary_t &) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &) override {
    return false;
  }

private:
  std::vector<std::unordered_set<std::string>> seen = {}; ///< per object around
};

/// What a value is, with its article.
std::string kindOf(const Json &value) {
  std::string name = value.type_name();
  if (value.is_null())
    return name;
  return (value.is_array() || value.is_object() ? "an " : "a ") + name;
}

} // namespace

std::string shown(const Json &value) { return value.is_number() ? value.dump() : kindOf(value); }

Result<Json> parseJson(std::string_view text, const std::string &origin, const std::string &slug) {
  try {
    Json document = Json::parse(text);
    RepeatedKeys keys;
    if (!Json::sax_parse(text, &keys))
      return Error{fmt::format("{}: {}", origin, keys.first), slug};
    return document;
  } catch (const Json::parse_error &failure) {
    auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(failure.byte, text.size()));
    int line = 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
    return Error{fmt::format("{}:{}: not valid JSON", origin, line), slug, {}, line};
  } catch (const Json::exception &) { // numbers out of range
    return Error{fmt::format("{}: not valid JSON: a number is out of range", origin), slug};
  }
}

void Complaint::raise(const std::string &path, const std::string &what) {
  if (!error)
    error = Error{fmt::format("{}: {} {}", origin, path.empty() ? "the document" : path, what), slug};
}

ObjectReader::ObjectReader(const Json &value, std::string path, Complaint &complaint)
    : path(std::move(path)), complaint(complaint) {
  if (value.is_object())
    object = &value;
  else
    complaint.raise(this->path, fmt::format("is {}, expected an object", kindOf(value)));
}

std::string ObjectReader::at(const char *key) const { return path.empty() ? key : path + "." + key; }

void ObjectReader::raise(const char *key, const std::string &what) { complaint.raise(at(key), what); }

const Json *ObjectReader::take(const char *key) {
  if (!object)
    return nullptr;
  taken.insert(key);
  auto found = object->find(key);
  if (found != object->end())
    return &*found;
  raise(key, "is missing");
  return nullptr;
}

int64_t ObjectReader::integer(const char *key, int64_t min, int64_t max) {
  const Json *value = take(key);
  if (!value)
    return min;
  bool fits = value->is_number_integer() &&
              !(value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
  if (fits && value->get<int64_t>() >= min && value->get<int64_t>() <= max)
    return value->get<int64_t>();
  raise(key, fmt::format("is {}, expected an integer between {} and {}", shown(*value), min, max));
  return min;
}

double ObjectReader::number(const char *key, double min, double max) {
  const Json *value = take(key);
  if (!value)
    return min;
  if (value->is_number() && value->get<double>() >= min && value->get<double>() <= max)
    return value->get<double>();
  raise(key, fmt::format("is {}, expected a number between {:g} and {:g}", shown(*value), min, max));
  return min;
}

std::string ObjectReader::text(const char *key) {
  const Json *value = take(key);
  if (value && value->is_string())
    return value->get<std::string>();
  if (value)
    raise(key, fmt::format("is {}, expected a string", kindOf(*value)));
  return {};
}

std::string ObjectReader::name(const char *key) {
  constexpr size_t kLongest = 256;
  bool known = has(key);
  std::string value = text(key);
  auto isControl = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; };
  if (known && (value.empty() || value.size() > kLongest || std::ranges::any_of(value, isControl)))
    raise(key, fmt::format("is no text of 1 to {} bytes without control characters", kLongest));
  return value;
}

bool ObjectReader::boolean(const char *key) {
  const Json *value = take(key);
  if (value && value->is_boolean())
    return value->get<bool>();
  if (value)
    raise(key, fmt::format("is {}, expected true or false", kindOf(*value)));
  return false;
}

std::vector<std::pair<std::string, const Json *>> ObjectReader::array(const char *key) {
  std::vector<std::pair<std::string, const Json *>> elements;
  const Json *value = take(key);
  if (value && !value->is_array())
    raise(key, fmt::format("is {}, expected an array", kindOf(*value)));
  if (value && value->is_array())
    for (const Json &element : *value)
      elements.emplace_back(fmt::format("{}[{}]", at(key), elements.size()), &element);
  return elements;
}

std::vector<std::pair<std::string, const Json *>> ObjectReader::members(const char *key) {
  std::vector<std::pair<std::string, const Json *>> members;
  const Json *value = take(key);
  if (value && !value->is_object())
    raise(key, fmt::format("is {}, expected an object", kindOf(*value)));
  if (value && value->is_object())
    for (const auto &member : value->items())
      members.emplace_back(member.key(), &member.value());
  return members;
}

ObjectReader ObjectReader::child(const char *key) {
  static const Json empty = Json::object();
  const Json *value = take(key);
  return {value ? *value : empty, at(key), complaint};
}

void ObjectReader::expectFormat(const char *format, int64_t version) {
  if (std::string found = text("format"); found != format && !complaint.error)
    raise("format", fmt::format("is `{}`, expected `{}`", found, format));
  if (int64_t found = integer("version"); found != version)
    raise("version", fmt::format("is {}, this program reads version {}", found, version));
}

void ObjectReader::finish() {
  if (!object)
    return;
  for (const auto &member : object->items())
    if (!taken.contains(member.key()))
      complaint.raise(path.empty() ? member.key() : path + "." + member.key(), "is not a known key");
}

} // namespace accum::planner
