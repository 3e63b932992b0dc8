// SPDX-License-Identifier: Apache-2.0
// The table that is made from ONNX's own, and its check of one node.
#include "compiler/Import/rules/OperatorSchema.h"
#include "compiler/Import/walk/Refusal.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

namespace accum::import {
namespace {

std::vector<std::string_view> wordsOf(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    if (end > 0)
      words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

int64_t numberOf(std::string_view word) {
  int64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

using Schemas = std::map<std::string_view, std::vector<OperatorSchema>>;

Schemas readTable() {
  Schemas schemas;
  auto add = [&](std::string_view name, std::string_view versions, OperatorSchema schema) {
    for (std::string_view version : wordsOf(versions))
      schema.versions.push_back(numberOf(version));
    schemas[name].push_back(std::move(schema));
  };
#define ACCUM_OPERATOR(name, versions, leastInputs, mostInputs, leastOutputs, mostOutputs, attributes)       \
  add(name, versions, {{}, leastInputs, mostInputs, leastOutputs, mostOutputs, attributes});
#include "compiler/Import/rules/Operators.def"
  return schemas;
}

/// The word of `words` for that attribute, without its name: "=-1", "!", ""; nothing where there is none.
std::optional<std::string_view> declarationOf(std::string_view words, std::string_view name) {
  for (std::string_view word : wordsOf(words))
    if (word.starts_with(name))
      if (std::string_view rest = word.substr(name.size()); rest.empty() || rest[0] == '=' || rest[0] == '!')
        return rest;
  return std::nullopt;
}

/// As the table writes defaults; "" of what is no single value.
std::string textOf(const AttributeValue &value) {
  if (const auto *real = std::get_if<float>(&value))
    return fmt::format("{:.8g}", *real);
  if (const auto *number = std::get_if<int64_t>(&value))
    return std::to_string(*number);
  const auto *text = std::get_if<std::string>(&value);
  return text ? *text : "";
}

void requireBuilt(const Node &node, const std::string &name, const AttributeValue &value,
                  std::string_view declaration) {
  std::string given = textOf(value);
  std::string_view absent = declaration.starts_with('=') ? declaration.substr(1) : "";
  if (!absent.empty() && given == absent)
    return;
  std::string what =
      given.empty() ? fmt::format("the attribute `{}`", name) : fmt::format("`{}` = {}", name, given);
  throw Refusal{"unsupported",
                fmt::format("has {}, which is not supported (opset {})", what, node.opset),
                {absent.empty() ? fmt::format("the operator without `{}` is", name)
                                : fmt::format("its default, {}, is", absent)}};
}

bool isBuilt(const std::vector<std::string_view> &built, std::string_view name) {
  return std::any_of(built.begin(), built.end(), [&](std::string_view word) {
    return word == name || (word.starts_with('~') && word.substr(1) == name);
  });
}

/// Without the absent ones at the end.
int64_t countOf(const std::vector<std::string> &names) {
  auto last =
      std::find_if(names.rbegin(), names.rend(), [](const std::string &name) { return !name.empty(); });
  return names.rend() - last;
}

void requireAtMost(int64_t count, int64_t most, std::string_view what, int64_t opset) {
  if (most >= 0 && count > most)
    refuseMalformed(fmt::format("has {} {}; in opset {} it takes {}", count, what, opset, most));
}
} // namespace

#define ACCUM_NEWEST_OPSET(version) const int64_t kNewestOpset = version;
#define ACCUM_OPERATOR(name, versions, leastInputs, mostInputs, leastOutputs, mostOutputs, attributes)
#include "compiler/Import/rules/Operators.def"

const std::vector<OperatorSchema> &schemasOf(std::string_view op) {
  static const Schemas schemas = readTable();
  static const std::vector<OperatorSchema> none;
  auto it = schemas.find(op);
  return it == schemas.end() ? none : it->second;
}

const OperatorSchema *schemaOf(std::string_view op, int64_t opset) {
  const OperatorSchema *found = nullptr;
  for (const OperatorSchema &schema : schemasOf(op))
    if (schema.versions.front() <= opset)
      found = &schema;
  return found;
}

void requireKnown(const Node &node, std::string_view built) {
  if (node.opset > kNewestOpset)
    throw Refusal{
        "unsupported",
        fmt::format("speaks opset {}; the newest whose operators are known is {}", node.opset, kNewestOpset),
        {"export with a lower opset_version"}};
  const OperatorSchema *schema = schemaOf(node.opType, node.opset);
  if (!schema)
    refuseUnsupported(fmt::format("operator `{}` (opset {}) is not supported", node.opType, node.opset));
  std::vector<std::string_view> words = wordsOf(built);
  for (const auto &[name, value] : node.attributes) {
    std::optional<std::string_view> declaration = declarationOf(schema->attributes, name);
    if (!declaration)
      refuseUnsupported(
          fmt::format("has the attribute `{}`, which {} has not in opset {}", name, node.opType, node.opset));
    if (!isBuilt(words, name))
      requireBuilt(node, name, value, *declaration);
  }
  requireAtMost(countOf(node.inputs), schema->mostInputs, "inputs", node.opset);
  requireAtMost(countOf(node.outputs), schema->mostOutputs, "outputs", node.opset);
}

} // namespace accum::import
