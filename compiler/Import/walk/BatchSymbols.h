// SPDX-License-Identifier: Apache-2.0
// Which symbolic dimensions of the graph's inputs count the samples.
#pragma once
#include "compiler/Import/model/Failure.h"
#include "compiler/Import/model/Model.h"
#include <set>

namespace accum::import {

/// The symbol of an open dimension. An unnamed one is called after its place, `input_ids.1`.
std::string symbolOf(const ValueInfo &input, size_t axis);
bool hasSymbol(const Graph &graph, const std::string &symbol);

/// What a flag names: one symbol, several with commas between them, or the dimensions that a placeholder
/// stands for.
std::vector<std::string> namesIn(const Graph &graph, const std::string &text);

/// Where an exporter gives each input a symbol of its own, several are the batch.
struct BatchSymbols {
  std::vector<std::string> names; ///< in order of appearance
  bool presumed = false;          ///< several, and no flag says that they are one
};

/// `asked` is --batch-dim, or empty; `sized` are the symbols that have a size. By default the batch are the
/// symbols that lead inputs and stand nowhere else.
Result<BatchSymbols> findBatch(const Graph &graph, const std::string &asked,
                               const std::set<std::string> &sized);

} // namespace accum::import
