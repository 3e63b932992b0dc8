// SPDX-License-Identifier: Apache-2.0
// Splits shared initializers by the modules that read them.
#include "compiler/Import/SeparateMerged.h"
#include "compiler/Import/Contents.h"
#include "compiler/Import/ModuleNames.h"
#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

namespace accum::import {
namespace {

void addCopy(Graph &graph, const std::string &original, const std::string &name) {
  Tensor copy = *graph.initializer(original);
  copy.name = name;
  // The reader of a signature must find there what it finds for the original.
  if (const ValueInfo *info = graph.info(original)) {
    ValueInfo same = *info;
    same.name = name;
    graph.valueInfo.emplace(name, std::move(same));
  }
  graph.addInitializer(std::move(copy));
}

bool isIdentity(const Node &node) {
  return node.opType == "Identity" && node.inputs.size() == 1 && node.outputs.size() == 1;
}

/// The modules' names at the readers; none where one is not known. Readers behind an Identity count to what
/// that gives.
std::set<std::string> namesAtReaders(const Graph &graph, const std::vector<Reader> &readers) {
  std::set<std::string> names;
  for (const Reader &reader : readers) {
    if (isIdentity(graph.nodes[reader.first]))
      continue;
    names.insert(moduleNameOf(graph, reader));
  }
  return names.count("") ? std::set<std::string>() : names;
}

/// What an Identity between names that say nothing gives is read by a copy of the layer that reads its
/// operand. A layer that runs twice has one name, at its second run with a number behind it.
bool isReadByAnotherLayer(const Graph &graph, const Readers &readers, const Node &identity) {
  std::set<std::string> here = namesAtReaders(graph, readers.of(identity.outputs[0]));
  std::set<std::string> there = namesAtReaders(graph, readers.of(identity.inputs[0]));
  auto isCopy = [&](const std::string &name) {
    return std::all_of(there.begin(), there.end(),
                       [&](const std::string &other) { return isSamePlaceInAnotherLayer(name, other); });
  };
  return !here.empty() && !there.empty() && std::all_of(here.begin(), here.end(), isCopy);
}

/// `Identity(a) -> b` between dotted names: how the TorchScript exporter merges. Between the names of folded
/// transposes it is also how modules share.
void dissolveIdentities(Graph &graph, std::vector<std::string> &separated) {
  Readers readers(graph);
  auto isMerge = [&](const Node &node) {
    const Tensor *source = isIdentity(node) ? graph.initializer(node.inputs[0]) : nullptr;
    if (!source || !isFloat(source->dtype))
      return false;
    const std::string &target = node.outputs[0];
    bool isNamed = isModuleName(target) && target.find('.') != std::string::npos;
    return isNamed || (target.starts_with("onnx::") && isReadByAnotherLayer(graph, readers, node));
  };
  std::vector<bool> merges;
  for (const Node &node : graph.nodes)
    merges.push_back(isMerge(node));
  std::vector<Node> kept;
  kept.reserve(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node &node = graph.nodes[i];
    if (!merges[i]) {
      kept.push_back(std::move(node));
      continue;
    }
    addCopy(graph, node.inputs[0], node.outputs[0]);
    separated.push_back(node.outputs[0]);
  }
  graph.nodes = std::move(kept);
}

/// Readers of one initializer, by the name they give it. Empty when a cast or transpose serves two of them.
std::map<std::string, std::vector<Reader>> readersByName(const Graph &graph, const Signature &signature,
                                                         const std::string &initializer,
                                                         const Readers &readers) {
  std::map<std::string, std::vector<Reader>> groups;
  std::map<std::pair<size_t, size_t>, std::string> nameOfUse;
  for (const Reader &reader : readers.of(initializer)) {
    std::string name = parameterAtReader(graph, signature, initializer, reader);
    if (name.empty())
      name = nameAtReader(graph, signature, initializer, reader);
    auto [use, isNew] = nameOfUse.emplace(std::pair(reader.first, reader.firstOperand), name);
    if (!isNew && use->second != name)
      return {};
    groups[name].push_back(reader);
  }
  return groups;
}

bool isVectorOfEqualValues(const Tensor &tensor, const std::vector<Reader> &readers) {
  auto isNormOrBias = [](const Reader &reader) {
    return reader.role == Role::Scale || reader.role == Role::Bias || reader.role == Role::Operand;
  };
  return tensor.shape.size() == 1 && std::all_of(readers.begin(), readers.end(), isNormOrBias) &&
         isAllEqual(tensor);
}

class Separation {
public:
  Separation(Graph &graph, const Signature &signature) : graph(graph), signature(signature), readers(graph) {
    for (const Node &node : graph.nodes)
      taken.insert(node.outputs.begin(), node.outputs.end());
    for (const ValueInfo &input : graph.inputs)
      taken.insert(input.name);
  }

  void separate(const std::string &initializer, std::vector<std::string> &separated) {
    auto groups = readersByName(graph, signature, initializer, readers);
    if (groups.size() < 2)
      return;
    auto first = std::min_element(groups.begin(), groups.end(), [](const auto &a, const auto &b) {
      return a.second.front().node < b.second.front().node;
    });
    std::string owner = groups.count(initializer) ? initializer : first->first;
    for (const auto &[name, users] : groups) {
      if (name.empty() || name == owner || graph.initializer(name) || taken.count(name))
        continue;
      bool isCopyOfLayer = signature.hasParameter(name) && isSamePlaceInAnotherLayer(name, owner);
      if (!isCopyOfLayer && !isToldApart(initializer, name, users) &&
          !isVectorOfEqualValues(*graph.initializer(initializer), users))
        continue;
      addCopy(graph, initializer, name);
      for (const Reader &user : users)
        graph.nodes[user.first].inputs[user.firstOperand] = name;
      separated.push_back(name);
    }
  }

private:
  /// The calls take another parameter there. Of tables that is not believed: embeddings are what models
  /// share.
  bool isToldApart(const std::string &initializer, const std::string &name,
                   const std::vector<Reader> &users) const {
    return std::all_of(users.begin(), users.end(), [&](const Reader &user) {
      return user.role != Role::Table && parameterAtReader(graph, signature, initializer, user) == name;
    });
  }

  Graph &graph;
  const Signature &signature;
  Readers readers; ///< stays right for initializers not yet separated
  std::unordered_set<std::string> taken;
};
} // namespace

std::vector<std::string> separateMerged(Graph &graph, const Signature &signature) {
  std::vector<std::string> separated;
  dissolveIdentities(graph, separated);
  std::vector<std::string> candidates;
  for (const Tensor &tensor : graph.initializers)
    if (isFloat(tensor.dtype) && tensor.elementCount() > 1)
      candidates.push_back(tensor.name);
  Separation separation(graph, signature);
  for (const std::string &initializer : candidates)
    separation.separate(initializer, separated);
  return separated;
}

} // namespace accum::import
