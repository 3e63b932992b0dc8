// SPDX-License-Identifier: Apache-2.0
// Splits shared initializers by the modules that read them.
#include "compiler/Import/parameters/SeparateMerged.h"
#include "compiler/Import/model/Contents.h"
#include "compiler/Import/parameters/MergedConstants.h"
#include "compiler/Import/parameters/ModuleNames.h"
#include "compiler/Import/parameters/SecondRuns.h"
#include "compiler/Import/parameters/SharedViews.h"
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <unordered_set>

namespace accum::import {
namespace {

constexpr const char *kCopyOf = "accum.copy-of";
/// Lines of an operand and a node's first output.
constexpr const char *kReaders = "accum.readers";

/// The new initializer, which has the parameter's name where that is free.
std::string addCopy(Graph &graph, const std::string &original, const std::string &parameter) {
  std::string name = graph.initializer(parameter) ? parameter + "@" + original : parameter;
  Tensor copy = *graph.initializer(original);
  copy.name = name;
  // The reader of a signature must find there what it finds for the original.
  ValueInfo same;
  if (const ValueInfo *info = graph.info(original))
    same = *info;
  same.name = name;
  same.metadata.emplace(kCopyOf, original);
  same.metadata.emplace(kParameterKey, parameter);
  graph.valueInfo.emplace(name, std::move(same));
  graph.addInitializer(std::move(copy));
  return name;
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

/// Every name by which modules read what the Identity gives is a copy's of every one by which they read its
/// operand.
bool isReadByCopies(const Graph &graph, const Readers &readers, const Node &identity,
                    const std::function<bool(const std::string &, const std::string &)> &isCopyOf) {
  std::set<std::string> here = namesAtReaders(graph, readers.of(identity.outputs[0]));
  std::set<std::string> there = namesAtReaders(graph, readers.of(identity.inputs[0]));
  auto isCopy = [&](const std::string &name) {
    return std::all_of(there.begin(), there.end(),
                       [&](const std::string &other) { return isCopyOf(name, other); });
  };
  return !here.empty() && !there.empty() && std::all_of(here.begin(), here.end(), isCopy);
}

/// Both modules, or the ones above that make the difference, have tensors of their own under one name, such
/// as a bias, and those were equal too.
bool areCopies(const Graph &graph, const std::string &a, const std::string &b) {
  const auto [here, there] = differingModules(a, b);
  return !here.empty() && !there.empty() && here != there &&
         std::any_of(graph.initializers.begin(), graph.initializers.end(), [&](const Tensor &tensor) {
           std::string other =
               tensor.name.starts_with(here) ? there + tensor.name.substr(here.size()) : std::string();
           return !other.empty() && graph.initializer(other) &&
                  nameWhenMade(graph, other) == nameWhenMade(graph, tensor.name);
         });
}

/// The names by which modules read both sides of the Identity; none where one is not known, or a module reads
/// both.
std::vector<std::string> namesOfModules(const Graph &graph, const Readers &readers, const Node &identity) {
  auto namesOf = [&](const std::string &value) {
    std::set<std::string> names;
    for (const std::string &name : namesAtReaders(graph, readers.of(value)))
      names.insert(withoutCounts(belowItsRoot(graph, withoutRepeats(graph, name))));
    return names;
  };
  std::set<std::string> here = namesOf(identity.outputs[0]), names = namesOf(identity.inputs[0]);
  bool isSame = here.empty() || names.empty() ||
                std::any_of(here.begin(), here.end(), [&](const std::string &n) { return names.count(n); });
  names.merge(here);
  return isSame ? std::vector<std::string>() : std::vector<std::string>(names.begin(), names.end());
}

void leave(const std::string &initializer, std::vector<std::string> names, std::vector<SharedOrEqual> &left) {
  auto isIt = [&](const SharedOrEqual &shared) { return shared.initializer == initializer; };
  auto known = std::find_if(left.begin(), left.end(), isIt);
  if (known == left.end())
    known = left.insert(left.end(), {initializer, {}});
  known->names.insert(known->names.end(), names.begin(), names.end());
  std::sort(known->names.begin(), known->names.end());
  known->names.erase(std::unique(known->names.begin(), known->names.end()), known->names.end());
}

/// Replaces each `Identity(a) -> b` of an initializer that is a merge by a copy of it.
void dissolveIdentities(Graph &graph, const std::function<bool(const Node &)> &isMergeInto,
                        std::vector<std::string> &separated) {
  auto isMerge = [&](const Node &node) {
    const Tensor *source = isIdentity(node) ? graph.initializer(node.inputs[0]) : nullptr;
    return source && isFloat(source->dtype) && isMergeInto(node);
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

/// How the TorchScript exporter merges what has names: modules that share a parameter read it by one name.
bool isNamedMerge(const Node &node) {
  const std::string &copy = node.outputs[0];
  bool isDotted = isModuleName(copy) && copy.find('.') != std::string::npos;
  bool isNumbered = node.name.starts_with("Identity_") && node.metadata.empty();
  return isDotted || (isNumbered && isModuleName(copy) && isModuleName(node.inputs[0]));
}

/// Between the names of folded transposes that is also how modules share.
void dissolveTraced(Graph &graph, bool untie, Separation &separation) {
  std::set<std::string> outputs;
  for (const ValueInfo &output : graph.outputs)
    outputs.insert(output.name);
  auto isNamed = [&](const Node &node) { return !outputs.count(node.outputs[0]) && isNamedMerge(node); };
  dissolveIdentities(graph, isNamed, separation.names);
  Readers readers(graph);
  auto isUnnamed = [&](const Node &node) {
    if (!node.outputs[0].starts_with("onnx::"))
      return false;
    // A layer that runs twice has one name, at its second run with a number behind it.
    auto isOfModule = [&](const std::string &name, const std::string &other) {
      return areCopies(graph, moduleOf(graph, name), moduleOf(graph, other));
    };
    if (isReadByCopies(graph, readers, node, isSamePlaceInAnotherLayer) ||
        isReadByCopies(graph, readers, node, isOfModule))
      return true;
    std::vector<std::string> names = namesOfModules(graph, readers, node);
    if (!names.empty() && !untie)
      leave(node.inputs[0], names, separation.left);
    return !names.empty() && untie;
  };
  dissolveIdentities(graph, isUnnamed, separation.names);
}

/// What the reader takes the initializer for; "" where that is not known.
std::string takenFor(const Graph &graph, const Signature &signature, const std::string &initializer,
                     const Reader &reader) {
  std::string name = statisticAtReader(graph, signature, initializer, reader);
  if (name.empty())
    name = parameterAtReader(graph, signature, initializer, reader);
  if (name.empty())
    name = constantAtReader(graph, signature, initializer, reader);
  return name.empty() ? nameAtReader(graph, signature, initializer, reader) : name;
}

/// One view of it, such as a Transpose, serves readers that take it for different parameters.
bool isViewedAsSeveral(const Graph &graph, const Signature &signature, const std::string &initializer,
                       const Readers &readers) {
  std::map<std::pair<size_t, size_t>, std::string> nameOfUse;
  for (const Reader &reader : readers.of(initializer)) {
    std::string name = takenFor(graph, signature, initializer, reader);
    auto [use, isNew] = nameOfUse.emplace(std::pair(reader.first, reader.firstOperand), name);
    if (!isNew && use->second != name)
      return true;
  }
  return false;
}

/// Readers of one initializer, by the name they give it.
std::map<std::string, std::vector<Reader>> readersByName(const Graph &graph, const Signature &signature,
                                                         const std::string &initializer,
                                                         const Readers &readers) {
  std::map<std::string, std::vector<Reader>> groups;
  for (const Reader &reader : readers.of(initializer))
    groups[takenFor(graph, signature, initializer, reader)].push_back(reader);
  return groups;
}

bool isVectorOfEqualValues(const Tensor &tensor, const std::vector<Reader> &readers) {
  auto isNormOrBias = [](const Reader &reader) {
    return reader.role == Role::Scale || reader.role == Role::Bias || reader.role == Role::Operand;
  };
  return tensor.shape.size() == 1 && std::all_of(readers.begin(), readers.end(), isNormOrBias) &&
         isAllEqual(tensor);
}

class ByCalls {
public:
  /// `keepsIdentities`: as traced exports do, which give a vector that modules share one name.
  ByCalls(Graph &graph, const Signature &signature, bool keepsIdentities, bool untie)
      : graph(graph), signature(signature), keepsIdentities(keepsIdentities), untie(untie), readers(graph) {
    if (signature.isEmpty())
      runs.emplace(graph);
    for (const Node &node : graph.nodes)
      taken.insert(node.outputs.begin(), node.outputs.end());
    for (const ValueInfo &input : graph.inputs)
      taken.insert(input.name);
  }

  void separate(const std::string &initializer, Separation &separation) {
    auto groups = readersByName(graph, signature, initializer, readers);
    if (groups.size() > 1 && runs && !keepsIdentities)
      groups = joinRuns(initializer, groups, separation.left);
    if (groups.size() < 2)
      return;
    auto first = std::min_element(groups.begin(), groups.end(), [](const auto &a, const auto &b) {
      return a.second.front().node < b.second.front().node;
    });
    std::string owner = groups.count(initializer) ? initializer : first->first;
    for (const auto &[name, users] : groups) {
      bool isInFile = graph.initializer(name) && nameWhenMade(graph, name) == name;
      if (name.empty() || name == owner || isInFile || taken.count(name))
        continue;
      bool isConstant = isConstantAt(initializer, name, users);
      if (!isConstant && !isToldApart(initializer, name, users) &&
          !looksApart(initializer, name, owner, users))
        continue;
      std::string copy = addCopy(graph, initializer, name);
      std::string readBy;
      for (const Reader &user : users) {
        Node &node = graph.nodes[user.first];
        node.inputs[user.firstOperand] = copy;
        readBy += std::to_string(user.firstOperand) + " " + node.outputs.front() + "\n";
      }
      graph.valueInfo[copy].metadata[kReaders] = readBy;
      if (isConstant)
        graph.valueInfo[copy].metadata[kSignatureKind] = "BUFFER";
      else if (signature.kindOf(graph, initializer) == "BUFFER") // what it was merged with
        graph.valueInfo[copy].metadata[kSignatureKind] = "PARAMETER";
      if (!isConstant)
        separation.names.push_back(copy);
    }
  }

private:
  using Groups = std::map<std::string, std::vector<Reader>>;

  /// What several runs of one module read is the first's.
  Groups joinRuns(const std::string &initializer, const Groups &groups,
                  std::vector<SharedOrEqual> &left) const {
    std::vector<std::string> names;
    for (const auto &[name, users] : groups)
      names.push_back(name);
    std::sort(names.begin(), names.end(), [&](const std::string &a, const std::string &b) {
      return std::pair(a != initializer, groups.at(a).front().node) <
             std::pair(b != initializer, groups.at(b).front().node);
    });
    Groups joined;
    for (const std::string &name : names) {
      const std::vector<Reader> &users = groups.at(name);
      Run run = Run::Other;
      auto isRun = [&](const auto &group) {
        run = runs->of(name, group.first);
        return run == Run::Same || (run == Run::Counted && !untie);
      };
      auto first = std::find_if(joined.begin(), joined.end(), isRun);
      if (first == joined.end()) {
        joined.emplace(name, users);
        continue;
      }
      if (run == Run::Counted && isVectorOfEqualValues(*graph.initializer(initializer), users))
        leave(initializer, {first->first, name}, left);
      first->second.insert(first->second.end(), users.begin(), users.end());
    }
    return joined;
  }

  /// The calls take another parameter there.
  bool isToldApart(const std::string &initializer, const std::string &name,
                   const std::vector<Reader> &users) const {
    return std::all_of(users.begin(), users.end(), [&](const Reader &user) {
      return parameterAtReader(graph, signature, initializer, user) == name;
    });
  }

  bool isConstantAt(const std::string &initializer, const std::string &name,
                    const std::vector<Reader> &users) const {
    return std::all_of(users.begin(), users.end(), [&](const Reader &user) {
      return constantAtReader(graph, signature, initializer, user) == name;
    });
  }

  /// Files that keep no calls. One number is as likely the same constant.
  bool looksApart(const std::string &initializer, const std::string &name, const std::string &owner,
                  const std::vector<Reader> &users) const {
    const Tensor &tensor = *graph.initializer(initializer);
    bool isCopyOfLayer = signature.hasParameter(name) && isSamePlaceInAnotherLayer(name, owner);
    bool isVector = !keepsIdentities && isVectorOfEqualValues(tensor, users);
    return tensor.elementCount() > 1 && (isCopyOfLayer || isVector);
  }

  Graph &graph;
  const Signature &signature;
  bool keepsIdentities, untie;
  Readers readers;                ///< stays right for initializers not yet separated
  std::optional<SecondRuns> runs; ///< of the graph as it was
  std::unordered_set<std::string> taken;
};
} // namespace

Separation separateMerged(Graph &graph, const Signature &signature, bool untie) {
  Separation separation;
  dissolveTraced(graph, untie, separation);
  std::vector<std::string> candidates;
  for (const Tensor &tensor : graph.initializers)
    if (isFloat(tensor.dtype))
      candidates.push_back(tensor.name);
  const Readers readers(graph);
  std::set<std::string> viewed;
  for (const std::string &initializer : candidates)
    if (isViewedAsSeveral(graph, signature, initializer, readers))
      viewed.insert(initializer);
  splitViews(graph, viewed);
  ByCalls byCalls(graph, signature, signature.isEmpty() && !separation.names.empty(), untie);
  for (const std::string &initializer : candidates)
    byCalls.separate(initializer, separation);
  return separation;
}

static std::string recorded(const Graph &graph, const std::string &initializer, const char *key) {
  const ValueInfo *info = graph.info(initializer);
  auto entry = info ? info->metadata.find(key) : Metadata::const_iterator();
  return info && entry != info->metadata.end() ? entry->second : initializer;
}

std::string nameWhenMade(const Graph &graph, const std::string &initializer) {
  return recorded(graph, initializer, kCopyOf);
}

std::string separatedParameter(const Graph &graph, const std::string &initializer) {
  return recorded(graph, initializer, kParameterKey);
}

static std::vector<SeparatedTensor::Reader> readersIn(const std::string &text) {
  std::vector<SeparatedTensor::Reader> readers;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    size_t space = line.find(' ');
    readers.push_back({line.substr(space + 1), std::stoll(line.substr(0, space))});
  }
  return readers;
}

std::vector<SeparatedTensor> separatedTensors(const Graph &graph) {
  std::vector<SeparatedTensor> all;
  for (const Tensor &tensor : graph.initializers) {
    SeparatedTensor made{tensor.name, nameWhenMade(graph, tensor.name), {}};
    if (made.from == made.name)
      continue;
    for (std::string next = nameWhenMade(graph, made.from); next != made.from;
         next = nameWhenMade(graph, made.from))
      made.from = next;
    const Metadata &told = graph.info(tensor.name)->metadata;
    if (auto readers = told.find(kReaders); readers != told.end())
      made.readers = readersIn(readers->second);
    all.push_back(std::move(made));
  }
  return all;
}

} // namespace accum::import
