// SPDX-License-Identifier: Apache-2.0
// Compares what modules of two names read.
#include "compiler/Import/parameters/SecondRuns.h"
#include "compiler/Import/model/Contents.h"
#include "compiler/Import/model/Readers.h"
#include "compiler/Import/parameters/ModuleNames.h"
#include <algorithm>
#include <regex>

namespace accum::import {

std::string withoutCounts(const std::string &name) {
  static const std::regex count("_[0-9]+(?=\\.)");
  return std::regex_replace(name, count, "");
}

std::string moduleOf(const Graph &graph, const std::string &name) {
  std::string recovered = belowItsRoot(graph, withoutRepeats(graph, name));
  return recovered.substr(0, recovered.rfind('.') + 1);
}

std::pair<std::string, std::string> differingModules(std::string here, std::string there) {
  auto lastOf = [](const std::string &module) {
    size_t dot = module.size() < 2 ? std::string::npos : module.rfind('.', module.size() - 2);
    return dot == std::string::npos ? 0 : dot + 1;
  };
  while (lastOf(here) > 0 && lastOf(there) > 0 && here.substr(lastOf(here)) == there.substr(lastOf(there))) {
    here.resize(lastOf(here));
    there.resize(lastOf(there));
  }
  return {here, there};
}

/// `enc.` of `enc.fc.`.
static std::string holderOf(const std::string &module) {
  size_t dot = module.size() < 2 ? std::string::npos : module.rfind('.', module.size() - 2);
  return dot == std::string::npos ? "" : module.substr(0, dot + 1);
}

/// The modules that read it as a weight, where they are several.
static std::set<std::string> modulesThatRead(const Graph &graph, const Readers &readers,
                                             const std::string &initializer) {
  std::set<std::string> names, modules;
  for (const Reader &reader : readers.of(initializer))
    if (std::string name = moduleNameOf(graph, reader); reader.role != Role::Control && !name.empty())
      names.insert(name);
  if (names.size() > 1)
    for (const std::string &name : names)
      modules.insert(moduleOf(graph, name));
  return modules;
}

SecondRuns::SecondRuns(const Graph &graph)
    : graph(graph), isAsTraced(std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                           [](const Node &node) { return node.opType == "Constant"; })) {
  Readers readers(graph);
  for (const Tensor &tensor : graph.initializers) {
    // Weights that are not all equal equal others by copying only, as of layers; copies that the exporter
    // merged have an Identity each, which tools remove.
    if (!isFloat(tensor.dtype) || tensor.elementCount() < 2 || !tensor.data.isPresent() || isAllEqual(tensor))
      continue;
    std::set<std::string> modules = modulesThatRead(graph, readers, tensor.name);
    for (const std::string &here : modules)
      for (const std::string &there : modules) {
        if (here == there || (!isAsTraced && isSamePlaceInAnotherLayer(here, there)))
          continue;
        proven.insert(differingModules(here, there));
        if (withoutCounts(here) == withoutCounts(there))
          ranAgain.insert(holderOf(withoutCounts(here)));
      }
  }
}

/// `enc.n_1.` of `enc.n.`, and no tensor of the file is below the former.
bool SecondRuns::isRunOf(const std::string &module, const std::string &first) const {
  return module == first ||
         std::none_of(graph.initializers.begin(), graph.initializers.end(),
                      [&](const Tensor &tensor) { return tensor.name.starts_with(module); });
}

Run SecondRuns::of(const std::string &name, const std::string &other) const {
  std::string here = moduleOf(graph, name), there = moduleOf(graph, other);
  if (here.empty() || there.empty() || here == there || lastWord(name) != lastWord(other))
    return Run::Other;
  if (proven.count(differingModules(here, there)))
    return Run::Same;
  std::string first = withoutCounts(here);
  if (first != withoutCounts(there) || !isRunOf(here, first) || !isRunOf(there, first))
    return Run::Other;
  return isAsTraced || ranAgain.count(holderOf(first)) ? Run::Same : Run::Counted;
}

} // namespace accum::import
