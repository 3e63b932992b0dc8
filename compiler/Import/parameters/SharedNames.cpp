// SPDX-License-Identifier: Apache-2.0
// Names of tied parameters.
#include "compiler/Import/parameters/SharedNames.h"
#include "compiler/Import/lost/GradientMarks.h"
#include "compiler/Import/parameters/ModuleNames.h"
#include <algorithm>

namespace accum::import {
namespace {

std::set<std::string> namesOf(const Parameter &parameter) {
  std::set<std::string> names(parameter.moduleAliases.begin(), parameter.moduleAliases.end());
  names.insert(parameter.module.empty() ? parameter.name : parameter.module);
  return names;
}

std::string moduleOf(const std::string &name) { return name.substr(0, name.rfind('.') + 1); }

class Naming {
public:
  Naming(const Graph &graph, const Signature &signature, ParameterTable &table)
      : graph(graph), signature(signature), table(table), readers(graph) {
    for (const Parameter &parameter : table.parameters)
      known.merge(namesOf(parameter));
  }

  void run() {
    for (Parameter &parameter : table.parameters)
      if (!parameter.isNameless && signature.isEmpty())
        nameAtReaders(parameter);
    for (Parameter &parameter : table.parameters)
      if (!parameter.isNameless)
        nameOfBoth(parameter);
  }

private:
  void add(Parameter &parameter, const std::string &name) {
    if (!known.insert(name).second)
      return;
    std::vector<std::string> &aliases = parameter.moduleAliases;
    aliases.insert(std::lower_bound(aliases.begin(), aliases.end(), name), name);
  }

  /// `a_1.weight` of `a.weight`: a traced export's scope of the second call of a module.
  bool isAgain(const std::string &name) const {
    std::string module = moduleOf(name);
    if (!module.empty())
      module.pop_back();
    size_t end = module.find_last_not_of("0123456789");
    bool isCounted = end != std::string::npos && end + 1 < module.size() && module[end] == '_';
    return isCounted && known.count(module.substr(0, end) + "." + std::string(lastWord(name))) != 0;
  }

  /// A module without others below it, which holds no such parameter itself.
  bool isFreeLeaf(const std::string &name) const {
    std::string module = moduleOf(name);
    return !module.empty() && !graph.initializer(name) && !isContradicted(graph, name) &&
           std::none_of(graph.initializers.begin(), graph.initializers.end(), [&](const Tensor &tensor) {
             return tensor.name.starts_with(module) &&
                    tensor.name.find('.', module.size()) != std::string::npos;
           });
  }

  void nameAtReaders(Parameter &parameter) {
    std::vector<std::string> initializers{parameter.name};
    for (const ParameterAlias &alias : parameter.aliases)
      initializers.push_back(alias.initializer);
    for (const std::string &initializer : initializers)
      for (const Reader &reader : readers.of(initializer)) {
        std::string name = belowItsRoot(graph, withoutRepeats(graph, moduleNameOf(graph, reader)));
        bool isSameKind = lastWord(name) == lastWord(parameter.module);
        if (isSameKind && moduleOf(name) != moduleOf(parameter.module) && !isAgain(name) && isFreeLeaf(name))
          add(parameter, name);
      }
  }

  /// As T5, BART and all like them call the table that encoder and decoder share.
  void nameOfBoth(Parameter &parameter) {
    constexpr std::string_view ofEncoder = "encoder.embed_tokens.weight";
    std::set<std::string> names = namesOf(parameter);
    for (const std::string &name : names) {
      if (!name.ends_with(ofEncoder))
        continue;
      std::string root = name.substr(0, name.size() - ofEncoder.size());
      std::string shared = root + "shared.weight";
      bool isKnown = signature.isEmpty() || signature.hasParameter(shared);
      if (isKnown && names.count(root + "decoder.embed_tokens.weight") != 0)
        add(parameter, shared);
    }
  }

  const Graph &graph;
  const Signature &signature;
  ParameterTable &table;
  Readers readers;
  std::set<std::string> known;
};
} // namespace

void nameShared(const Graph &graph, const Signature &signature, ParameterTable &table) {
  Naming(graph, signature, table).run();
}

std::vector<std::string> namesOfNone(const ParameterTable &table, const std::set<std::string> &read) {
  std::set<std::string> names(table.stateNames.begin(), table.stateNames.end()), held;
  for (const Parameter &parameter : table.parameters) {
    std::set<std::string> own = namesOf(parameter);
    if (read.count(parameter.name) != 0)
      held.merge(own);
    else if (!parameter.isNameless && table.stateNames.empty())
      std::copy_if(own.begin(), own.end(), std::inserter(names, names.end()), isModuleName);
  }
  std::erase_if(names, [&](const std::string &name) { return held.count(name) != 0; });
  return {names.begin(), names.end()};
}

std::set<std::string> namesInCalls(const Graph &graph, const Signature &signature) {
  std::set<std::string> called;
  for (const Node &node : graph.nodes)
    for (const std::string &value : valuesRead(node))
      if (auto found = signature.placeholders.find(value); found != signature.placeholders.end())
        called.insert(found->second);
  return called;
}

void nameByReaders(const Graph &graph, const Signature &signature, const std::set<std::string> &called,
                   const std::vector<Reader> &readers, Parameter &parameter) {
  if (signature.isEmpty())
    return;
  std::set<std::string> names, told;
  for (const Reader &reader : readers) {
    std::string name = nameAtReader(graph, signature, parameter.name, reader);
    std::string taken = parameterAtReader(graph, signature, parameter.name, reader);
    told.insert(taken);
    // A name that calls use elsewhere is another parameter's; one that none uses is shared.
    bool isOthers = !taken.empty() && name != taken && called.count(name) != 0;
    if (!name.empty() && !isOthers && !graph.initializer(name))
      names.insert(name);
  }
  parameter.isTold = !told.empty() && told.count("") == 0;
  if (parameter.isTold)
    names.insert(told.begin(), told.end());
  else
    names.insert(parameter.module);
  // The framework lists a shared parameter under the first of its names.
  auto isFirst = [&](const std::string &target) { return names.count(target) > 0; };
  auto first = std::find_if(signature.parameters.begin(), signature.parameters.end(), isFirst);
  if (first != signature.parameters.end())
    parameter.module = *first;
  names.erase(parameter.module);
  parameter.moduleAliases.assign(names.begin(), names.end());
}

} // namespace accum::import
