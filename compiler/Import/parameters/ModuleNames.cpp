// SPDX-License-Identifier: Apache-2.0
// Recovers names from readers.
#include "compiler/Import/parameters/ModuleNames.h"
#include "compiler/Import/lost/GradientMarks.h"
#include <algorithm>
#include <cctype>
#include <set>

namespace accum::import {
namespace {
bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool isWord(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); }

/// Runs of digits become one `#`.
std::string withoutNumbers(std::string_view name) {
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    if (!isDigit(name[i]))
      result.push_back(name[i]);
    else if (result.empty() || result.back() != '#')
      result.push_back('#');
  }
  return result;
}
} // namespace

bool isModuleName(std::string_view name) {
  if (name.empty() || isDigit(name.front()) || name.front() == '.' || name.back() == '.')
    return false;
  if (!std::all_of(name.begin(), name.end(), [](char c) { return isWord(c) || c == '.'; }))
    return false;
  return !(name.starts_with("val_") && std::all_of(name.begin() + 4, name.end(), isDigit));
}

bool isSamePlaceInAnotherLayer(std::string_view a, std::string_view b) {
  return a != b && withoutNumbers(a) == withoutNumbers(b);
}

std::string belowItsRoot(const Graph &graph, const std::string &name) {
  std::string root = name.substr(0, name.find('.') + 1), above;
  if (root.empty())
    return name;
  for (const Tensor &tensor : graph.initializers) {
    size_t at = tensor.name.starts_with(root) ? 0 : tensor.name.find("." + root);
    if (at == std::string::npos || !isModuleName(tensor.name))
      continue;
    std::string prefix = at == 0 ? "" : tensor.name.substr(0, at + 1);
    if (prefix.empty() || (!above.empty() && above != prefix))
      return name;
    above = std::move(prefix);
  }
  return above + name;
}

bool isContradicted(const Graph &graph, const std::string &name) {
  size_t word = name.rfind('.'), module = word == std::string::npos ? word : name.rfind('.', word - 1);
  if (module == std::string::npos || module == 0)
    return false;
  std::string parent = name.substr(0, module + 1);
  auto isAny = [&](const auto &holds) {
    return std::any_of(graph.initializers.begin(), graph.initializers.end(), [&](const Tensor &tensor) {
      return isModuleName(tensor.name) && holds(std::string_view(tensor.name));
    });
  };
  if (isAny([&](std::string_view other) { return other.starts_with(parent); }))
    return false;
  for (size_t dot = parent.find('.'); dot + 1 < parent.size(); dot = parent.find('.', dot + 1)) {
    // The number of a layer alone is found below many modules.
    if (isDigit(parent[dot + 1]))
      continue;
    std::string_view above = std::string_view(parent).substr(0, dot + 1);
    std::string_view below = std::string_view(parent).substr(dot);
    if (isAny([&](std::string_view other) {
          return other.starts_with(above) && other.find(below, dot + 1) != std::string_view::npos;
        }))
      return true;
  }
  return false;
}

/// End of a run of words from `begin` on that stands there twice, a number behind it; npos where there is
/// none.
static size_t repeatedRun(std::string_view name, size_t begin) {
  for (size_t end = name.find('.', begin); end != std::string_view::npos; end = name.find('.', end + 1)) {
    std::string_view run = name.substr(begin, end + 1 - begin), rest = name.substr(end + 1);
    if (rest.size() > run.size() && rest.starts_with(run) && isDigit(rest[run.size()]))
      return end + 1;
  }
  return std::string_view::npos;
}

std::string withoutRepeats(const Graph &graph, std::string name) {
  for (size_t begin = 0; begin < name.size();) {
    size_t end = repeatedRun(name, begin);
    std::string_view twice =
        end == std::string::npos ? "" : std::string_view(name).substr(0, end + end - begin);
    bool isReal = std::any_of(graph.initializers.begin(), graph.initializers.end(),
                              [&](const Tensor &tensor) { return tensor.name.starts_with(twice); });
    if (!twice.empty() && !isReal) {
      name.erase(begin, end - begin);
      continue;
    }
    size_t dot = name.find('.', begin);
    begin = dot == std::string::npos ? name.size() : dot + 1;
  }
  return name;
}

std::string_view lastWord(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::string parameterAtReader(const Graph &graph, const Signature &signature, std::string_view initializer,
                              const Reader &reader) {
  if (signature.isEmpty())
    return "";
  std::string own = signature.parameterIn(graph, initializer);
  std::vector<std::string> taken;
  for (const std::string &value : valuesRead(graph.nodes[reader.node]))
    if (auto found = signature.placeholders.find(value); found != signature.placeholders.end())
      taken.push_back(found->second);
  if (own.empty() || taken.empty() || std::find(taken.begin(), taken.end(), own) != taken.end())
    return taken.empty() ? "" : own;
  if (taken.size() > 1) // weight and bias
    std::erase_if(taken, [&](const std::string &name) { return lastWord(name) != lastWord(own); });
  if (taken.size() != 1)
    return "";
  // What the file holds as well was not merged with this one: the call takes it beside what is computed here.
  return signature.held.count(taken.front()) ? own : taken.front();
}

std::string nameAtReader(const Graph &graph, const Signature &signature, std::string_view initializer,
                         const Reader &reader) {
  std::string name = moduleNameOf(graph, reader);
  if (name.empty() || signature.isEmpty() || signature.hasParameter(name))
    return name;
  name = name.substr(0, name.rfind('.') + 1) + std::string(lastWord(initializer));
  return signature.hasParameter(name) ? name : "";
}

std::string lostAtReaders(const Graph &graph, const Signature &signature, const std::string &initializer,
                          const std::vector<Reader> &readers) {
  std::set<std::string> names;
  for (const Reader &reader : readers) {
    std::vector<std::string> taken;
    for (const std::string &value : valuesRead(graph.nodes[reader.node]))
      if (auto found = signature.placeholders.find(value); found != signature.placeholders.end())
        taken.push_back(found->second);
    if (taken.empty())
      taken = {nameAtReader(graph, signature, initializer, reader)};
    std::erase_if(taken, [&](const std::string &name) {
      bool isBias = lastWord(name).ends_with("bias");
      return name.empty() || signature.held.count(name) || (isBias && reader.role != Role::Bias);
    });
    names.insert(taken.begin(), taken.end());
  }
  return names.size() == 1 ? *names.begin() : "";
}

} // namespace accum::import
