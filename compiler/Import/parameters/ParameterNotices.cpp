// SPDX-License-Identifier: Apache-2.0
// What the summary says about ties, and about what the export lost.
#include "compiler/Import/parameters/ParameterNotices.h"
#include "compiler/Import/parameters/SavedConstants.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace accum::import {
namespace {

/// Weights that only subgraphs read are not seen, since no operator with subgraphs is supported.
const Node *firstWithSubgraph(const Graph &graph) {
  for (const Node &node : graph.nodes)
    for (const auto &[name, value] : node.attributes)
      if (std::holds_alternative<std::shared_ptr<Graph>>(value))
        return &node;
  return nullptr;
}

/// `w` (i64): the initializers of a file none of which is of floats.
std::string withoutFloats(const Graph &graph) {
  constexpr size_t shown = 3;
  std::string text;
  if (std::ranges::any_of(graph.initializers, [](const Tensor &tensor) { return isFloat(tensor.dtype); }))
    return text;
  for (size_t i = 0; i < std::min(shown, graph.initializers.size()); ++i)
    text += fmt::format("{}`{}` ({})", i ? ", " : "", graph.initializers[i].name,
                        name(graph.initializers[i].dtype));
  return graph.initializers.size() > shown
             ? text + fmt::format(" and {} more", graph.initializers.size() - shown)
             : text;
}

/// `cls.predictions.bias` for a file that holds `cls.predictions.decoder.bias`: a module and its child share
/// it. Of several children the decoder, with which heads of language models share theirs.
Parameter *sharedWithChild(const std::string &target, ParameterTable &table) {
  size_t dot = target.rfind('.');
  if (dot == std::string::npos)
    return nullptr;
  std::string module = target.substr(0, dot + 1), word = target.substr(dot);
  std::vector<Parameter *> found;
  for (Parameter &parameter : table.parameters) {
    bool isBelow = parameter.module.starts_with(module) && parameter.module.ends_with(word);
    size_t child = module.size();
    if (isBelow && parameter.module.find('.', child) == parameter.module.size() - word.size())
      found.push_back(&parameter);
  }
  if (found.size() > 1)
    std::erase_if(found, [&](Parameter *p) { return p->module != module + "decoder" + word; });
  return found.size() == 1 ? found.front() : nullptr;
}

std::set<std::string> knownNames(const ParameterTable &table) {
  std::set<std::string> names;
  for (const Parameter &parameter : table.parameters) {
    names.insert(parameter.module);
    names.insert(parameter.name);
    names.insert(parameter.moduleAliases.begin(), parameter.moduleAliases.end());
  }
  return names;
}

std::string list(const std::vector<std::string> &names) {
  constexpr size_t shown = 4;
  std::string text =
      fmt::format("`{}`", fmt::join(names.begin(), names.begin() + std::min(shown, names.size()), "`, `"));
  return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}
} // namespace

std::string tieNotice(const Parameter &kept, const Parameter &alias, bool transposed) {
  if (alias.module == kept.module)
    return fmt::format("{} is in the file twice: `{}` is `{}`{}; --untie keeps them apart", kept.module,
                       alias.name, kept.name, transposed ? " transposed" : "");
  return fmt::format("{} = {} (tied): `{}` is `{}`{} in the file; --untie keeps them apart", alias.module,
                     kept.module, alias.name, kept.name, transposed ? " transposed" : "");
}

std::string sharedOrEqual(const std::vector<std::string> &names) {
  return fmt::format("`{}` are one initializer in the file, shared or equal when it was exported: trained as "
                     "one; --untie trains them apart",
                     fmt::join(names, "` and `"));
}

std::string namesForNote(size_t count, const std::function<std::string(size_t)> &name) {
  std::string text = "names are matched whole: ";
  constexpr size_t shown = 3;
  for (size_t i = 0; i < std::min(count, shown); ++i)
    text += fmt::format("{}{}", i ? ", " : "", name(i));
  return text + (count > shown ? ", ..." : "");
}

void noteVanished(const Signature &signature, ParameterTable &table) {
  std::set<std::string> known = knownNames(table);
  std::vector<std::string> biases, others;
  for (const std::string &target : signature.parameters) {
    if (known.count(target))
      continue;
    bool isBias = target.ends_with(".bias");
    bool hasWeight = isBias && known.count(target.substr(0, target.size() - 4) + "weight");
    if (Parameter *shared = hasWeight ? nullptr : sharedWithChild(target, table)) {
      // Listed before its child's, this is the name the framework keeps.
      shared->moduleAliases.push_back(std::exchange(shared->module, target));
      std::sort(shared->moduleAliases.begin(), shared->moduleAliases.end());
    } else {
      (hasWeight ? biases : others).push_back(target);
    }
  }
  if (!biases.empty())
    table.notices.push_back(
        fmt::format("{} not in the file: zero when exported, so the export dropped {}; not trained. "
                    "optimize=False keeps {}",
                    list(biases), biases.size() == 1 ? "it" : "them", biases.size() == 1 ? "it" : "them"));
  if (!others.empty())
    table.notices.push_back(fmt::format("{} not in the file: unused, the same as another that is, or fused "
                                        "into others by the export; not trained "
                                        "under this name",
                                        list(others)));
}

void noteGuessed(const std::vector<std::string> &names, ParameterTable &table) {
  if (names.empty())
    return;
  table.notices.push_back(fmt::format(
      "{} not trained: constants in this file, which does not tell whether the export, or a tool after it, "
      "computed {} from parameters (do_constant_folding=False, and the file before that tool, keep them); "
      "--trainable '*' --trainable {} trains it too",
      list(names), names.size() == 1 ? "it" : "them", names[0]));
}

void noteFused(const std::vector<std::string> &names, ParameterTable &table) {
  if (names.empty())
    return;
  table.notices.push_back(fmt::format(
      "{} trained as in the file: a tool has folded a batch norm into {}, whose scale and bias the file does "
      "not hold; a step is not the step of the model before; export again without that tool, or --freeze",
      list(names), names.size() == 1 ? "it" : "them"));
}

std::string trainedConstants(const std::vector<std::string> &names) {
  return fmt::format("{} trained, though {} in this file: read as {}; --freeze leaves {} as {}", list(names),
                     names.size() == 1 ? "a constant" : "constants",
                     names.size() == 1 ? "a weight" : "weights", names.size() == 1 ? "it" : "them",
                     names.size() == 1 ? "it is" : "they are");
}

void noteComputed(ParameterTable &table) {
  std::vector<std::string> names;
  for (const Parameter &parameter : table.parameters) {
    // What is only transposed loses its name too, and a computed matrix looks like it: of those nothing is
    // known.
    bool isMatrix = parameter.shape.size() == 2;
    if (parameter.trained && !isMatrix && parameter.name.starts_with("onnx::"))
      names.push_back(parameter.name);
  }
  if (!names.empty())
    table.notices.push_back(fmt::format(
        "{} trained as in the file: the gain of a norm without a parameter's name, which the export "
        "computed; unless it only added a constant (1 + w) a step of the parameters is another one; "
        "torch.onnx.export(..., do_constant_folding=False) keeps them",
        list(names)));
}

void noteTraced(const Model &model, ParameterTable &table) {
  constexpr std::string_view untold =
      "what padding_idx, detach(), requires_grad=False and a torch.autograd.Function keep from training, "
      "what "
      "is a buffer, and which matrix was computed from others (weight norm, adapters): what looks like a "
      "parameter is trained.";
  const Graph &graph = model.graph;
  auto isOfDynamo = [](const Node &node) {
    return std::any_of(node.metadata.begin(), node.metadata.end(),
                       [](const auto &entry) { return entry.first.starts_with("pkg.torch."); });
  };
  bool isTold = !graph.metadata.empty() || std::any_of(graph.nodes.begin(), graph.nodes.end(), isOfDynamo);
  if (isTold || !model.producer.starts_with("pytorch"))
    return;
  if (hasLostItsRecord(graph))
    table.notices.push_back(
        fmt::format("a tool has saved this file without what the exporter said of it: {} The file that "
                    "torch.onnx.export(..., dynamo=True, optimize=False) wrote says all but "
                    "requires_grad=False, which is --freeze",
                    untold));
  else
    table.notices.push_back(
        fmt::format("a TorchScript file cannot say {} torch.onnx.export(..., dynamo=True, optimize=False) "
                    "says all but requires_grad=False, which is --freeze",
                    untold));
}

Failure nothingToTrain(const Model &model, const ParameterTable &table) {
  if (const Node *node = firstWithSubgraph(model.graph); node && table.parameters.empty())
    return {"unsupported",
            backquoted(node->name),
            fmt::format("operator `{}` (opset {}) is not supported", node->opType, node->opset),
            {}};
  Failure failure{"no-trainable-parameter", model.path.string(), "has no trainable parameter", {}};
  constexpr size_t shown = 2;
  std::string leftOut;
  for (size_t i = 0; i < std::min(shown, table.parameters.size()); ++i)
    leftOut +=
        fmt::format("{}`{}` ({})", i ? ", " : "", table.parameters[i].name, table.parameters[i].reason);
  if (table.parameters.size() > shown)
    leftOut += fmt::format(" and {} more", table.parameters.size() - shown);
  if (!leftOut.empty())
    failure.notes = {"left out: " + leftOut, "--trainable NAME trains one of them"};
  else if (std::string others = withoutFloats(model.graph); !others.empty())
    failure.notes = {"no weight of the file is of floats: " + others};
  return failure;
}

} // namespace accum::import
