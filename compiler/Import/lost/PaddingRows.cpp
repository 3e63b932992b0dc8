// SPDX-License-Identifier: Apache-2.0
// Marked rows, rows that hint, and rows that a file without marks gives a gradient.
#include "compiler/Import/lost/PaddingRows.h"
#include "compiler/Import/lost/GradientMarks.h"
#include "compiler/Import/lost/PaddingReach.h"
#include "compiler/Import/parameters/ParameterPatterns.h"
#include "compiler/Import/parameters/SavedConstants.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::import {
namespace {

/// The one row of a matrix that is all zeros; nothing where there is none, or another one, or no data.
std::optional<int64_t> onlyZeroRow(const Tensor &tensor) {
  std::span<const std::byte> bytes = tensor.data.bytes();
  if (tensor.shape.size() != 2 || bytes.empty())
    return {};
  size_t width = bytes.size() / static_cast<size_t>(tensor.shape[0]);
  auto isZero = [](std::byte byte) { return byte == std::byte(0); };
  std::optional<int64_t> found;
  for (int64_t row = 0; row < tensor.shape[0]; ++row) {
    std::span<const std::byte> values = bytes.subspan(static_cast<size_t>(row) * width, width);
    if (!std::all_of(values.begin(), values.end(), isZero))
      continue;
    if (found)
      return {};
    found = row;
  }
  return found;
}

/// The row of `table` that the file itself says is padding.
std::optional<int64_t> markedRow(const Graph &graph, const std::string &table) {
  for (const Node &node : graph.nodes)
    if (std::optional<int64_t> row = paddingRow(node); row && node.inputs[0] == table)
      return row;
  return std::nullopt;
}

/// T5 and its like shift labels as BART does, and have no padding_idx.
bool isOfT5(const Graph &graph) {
  return std::any_of(graph.initializers.begin(), graph.initializers.end(), [](const Tensor &tensor) {
    return tensor.name.ends_with("relative_attention_bias.weight");
  });
}

bool looksUp(const Node &node, const std::string &table) {
  return node.opType == "Gather" && node.inputs.size() == 2 && node.inputs[0] == table;
}

Failure lostRow(const Graph &graph, const std::string &table, std::string message,
                std::string_view otherwise) {
  return {"lost-in-export",
          backquoted(table),
          std::move(message),
          {fileThatSays(graph, "torch.onnx.export(..., dynamo=True)"),
           fmt::format("if {}: --trust-backward '{}'", otherwise, table)}};
}

/// Of one table.
class LostPadding {
public:
  LostPadding(const Graph &graph, const Tensor &tensor, const Parameter &parameter, const IdPaths &paths)
      : graph(graph), tensor(tensor), parameter(parameter), paths(paths) {}

  std::optional<Failure> inPlaceOfLabels() const {
    for (const Node &node : graph.nodes) {
      std::optional<int64_t> row =
          looksUp(node, tensor.name) ? paths.substitute(node.inputs[1]) : std::nullopt;
      if (row)
        return lostRow(
            graph, parameter.module,
            fmt::format(
                "row {} is looked up in place of ignored ids: with padding_idx={} of the embedding, as in "
                "BART, mBART, Marian and Pegasus, it gets no gradient, which this file cannot say",
                *row, *row),
            "the model trains that row too");
    }
    return std::nullopt;
  }

  std::optional<Failure> amongPositions() const {
    std::optional<int64_t> row = onlyZeroRow(tensor);
    if (!row && !hasMaskInput(graph))
      return std::nullopt;
    const Node *mixing = mixesPositions(graph, [&](const Node &node) {
      return looksUp(node, tensor.name) && paths.isOfInput(node.inputs[1]);
    });
    if (!mixing)
      return std::nullopt;
    return lostRow(
        graph, parameter.module,
        fmt::format(
            "`{}` mixes the positions of a sample, padding among them{}: with padding_idx of the embedding "
            "its row gets no gradient, which this file cannot say",
            mixing->name, row ? fmt::format(" (row {} is all zeros, as padding is)", *row) : ""),
        "the embedding has no padding_idx, or no sample is padded");
  }

private:
  const Graph &graph;
  const Tensor &tensor;
  const Parameter &parameter;
  const IdPaths &paths;
};
} // namespace

void notePadding(const std::vector<const Tensor *> &tables, const Graph &graph, ParameterTable &table) {
  for (const Tensor *tensor : tables) {
    const Parameter *parameter = table.find(tensor->name);
    if (!parameter || !parameter->trained)
      continue;
    if (std::optional<int64_t> row = markedRow(graph, tensor->name))
      table.notices.push_back(
          fmt::format("{}: looking up row {} gives it no gradient (padding_idx={} of the embedding)",
                      parameter->module, *row, *row));
    else if (row = onlyZeroRow(*tensor); row)
      table.notices.push_back(
          fmt::format("{}: row {} is all zeros, as of an embedding with padding_idx={}, which ONNX cannot "
                      "say: where token {} "
                      "reaches the loss (in spite of masks and ignored labels), its row is trained here",
                      parameter->module, *row, *row, *row));
  }
}

Failures refuseLostPadding(const std::vector<const Tensor *> &tables, const Graph &graph,
                           const std::vector<std::string> &trusted, const ParameterTable &table) {
  Failures failures;
  IdPaths paths(graph);
  std::optional<Failure> mixed;
  int64_t rows = 0;
  for (const Tensor *tensor : tables) {
    const Parameter *parameter = table.find(tensor->name);
    if (!parameter || !parameter->trained || isOfT5(graph))
      continue;
    LostPadding lost(graph, *tensor, *parameter, paths);
    bool isTrusted = matchesAny(*parameter, trusted);
    if (std::optional<Failure> failure = lost.inPlaceOfLabels(); failure && !isTrusted)
      failures.push_back(*failure);
    // Types of tokens are looked up as tokens are, and have no padding: the largest table speaks for all.
    std::optional<Failure> failure = tensor->shape[0] > rows ? lost.amongPositions() : std::nullopt;
    if (failure) {
      rows = tensor->shape[0];
      mixed = isTrusted ? std::nullopt : failure;
    }
  }
  if (mixed)
    failures.push_back(*mixed);
  return failures;
}

} // namespace accum::import
