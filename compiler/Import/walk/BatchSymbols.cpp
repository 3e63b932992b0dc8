// SPDX-License-Identifier: Apache-2.0
// Which symbolic dimensions of the graph's inputs count the samples.
#include "compiler/Import/walk/BatchSymbols.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"

namespace accum::import {

std::string symbolOf(const ValueInfo &input, size_t axis) {
  const Dim &dim = (*input.type.shape)[axis];
  return dim.symbol.empty() ? input.name + "." + std::to_string(axis) : dim.symbol;
}

static bool hasSymbol(const ValueInfo &input, const std::string &symbol, size_t from) {
  size_t rank = input.type.shape ? input.type.shape->size() : 0;
  return llvm::any_of(llvm::seq<size_t>(std::min(from, rank), rank), [&](size_t axis) {
    return !(*input.type.shape)[axis].isStatic() && symbolOf(input, axis) == symbol;
  });
}

bool hasSymbol(const Graph &graph, const std::string &symbol) {
  return llvm::any_of(graph.inputs, [&](const ValueInfo &input) { return hasSymbol(input, symbol, 0); });
}

/// What a placeholder stood for: the unnamed dimensions but for the leading ones.
static std::vector<std::string> unnamedDims(const Graph &graph) {
  std::vector<std::string> names;
  for (const ValueInfo &input : graph.inputs)
    for (size_t axis = 1; input.type.shape && axis < input.type.shape->size(); ++axis)
      if (const Dim &dim = (*input.type.shape)[axis]; !dim.isStatic() && dim.symbol.empty())
        names.push_back(symbolOf(input, axis));
  return names;
}

std::vector<std::string> namesIn(const Graph &graph, const std::string &text) {
  if (hasSymbol(graph, text))
    return {text};
  std::vector<std::string> names = isPlaceholder(text) ? unnamedDims(graph) : std::vector<std::string>();
  if (!names.empty())
    return names;
  for (llvm::StringRef name : llvm::split(text, ','))
    names.push_back(name.trim().str());
  return names;
}

/// The symbols that lead the inputs, in order of appearance.
static std::vector<std::string> leadingSymbols(const Graph &graph) {
  std::vector<std::string> symbols;
  for (const ValueInfo &input : graph.inputs) {
    if (!input.type.shape || input.type.shape->empty() || input.type.shape->front().isStatic())
      continue;
    std::string symbol = symbolOf(input, 0);
    if (!llvm::is_contained(symbols, symbol))
      symbols.push_back(symbol);
  }
  return symbols;
}

/// A size that is computed from others (`2*batch`) is not the batch itself.
static bool isName(llvm::StringRef symbol) {
  return llvm::all_of(symbol, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || (c & 0x80); });
}

static bool onlyLeads(const Graph &graph, const std::string &symbol) {
  return isName(symbol) &&
         llvm::none_of(graph.inputs, [&](const ValueInfo &input) { return hasSymbol(input, symbol, 1); });
}

static std::string listOf(const std::vector<std::string> &symbols) {
  std::string list;
  for (const std::string &symbol : symbols)
    list += (list.empty() ? "" : ", ") + backquoted(symbol);
  return list;
}

/// What to do about inputs of which none is led by a symbol: one further in may be the batch, as in models
/// that take the sequence first, but just as well a sequence in a batch that was baked in. So it is not taken
/// unasked.
static std::vector<std::string> adviceForStatic(const Graph &graph) {
  std::vector<std::string> notes, seen;
  for (const ValueInfo &input : graph.inputs)
    for (size_t axis = 1; input.type.shape && axis < input.type.shape->size(); ++axis) {
      std::string symbol = symbolOf(input, axis);
      if ((*input.type.shape)[axis].isStatic() || llvm::is_contained(seen, symbol))
        continue;
      seen.push_back(symbol);
      notes.push_back("dimension " + std::to_string(axis) + " of " + backquoted(input.name) +
                      " is open: if it counts the samples, --batch-dim " + symbol);
    }
  notes.push_back("export again with dimension 0 of every input dynamic");
  return notes;
}

static Result<BatchSymbols> askedFor(const Graph &graph, const std::string &asked) {
  BatchSymbols batch;
  batch.names = namesIn(graph, asked);
  for (const std::string &name : batch.names)
    if (!hasSymbol(graph, name)) {
      std::vector<std::string> leading = leadingSymbols(graph);
      return Failure{"no-such-dimension", "--batch-dim " + name,
                     "the model has no symbolic dimension of that name",
                     leading.empty() ? std::vector<std::string>()
                                     : std::vector{"the inputs are led by " + listOf(leading)}};
    }
  return batch;
}

Result<BatchSymbols> findBatch(const Graph &graph, const std::string &asked,
                               const std::set<std::string> &sized) {
  if (!asked.empty())
    return askedFor(graph, asked);
  std::vector<std::string> leading = leadingSymbols(graph), open = leading;
  std::erase_if(open, [&](const std::string &symbol) { return sized.count(symbol) > 0; });
  if (open.size() == 1)
    return BatchSymbols{open};
  if (open.empty() && leading.size() == 1)
    return Failure{"usage",
                   "--dim " + leading[0],
                   "leads every input of the model: it is the batch, which stays open",
                   {"leave it out; --batch N is the size of a step"}};
  if (open.empty())
    return Failure{"static-batch", "the model",
                   "has no symbolic batch dimension: the batch size of the export is baked in",
                   adviceForStatic(graph)};
  BatchSymbols batch;
  llvm::copy_if(open, std::back_inserter(batch.names),
                [&](const std::string &symbol) { return onlyLeads(graph, symbol); });
  batch.presumed = batch.names.size() > 1;
  if (!batch.names.empty())
    return batch;
  return Failure{
      "static-batch",
      "the model",
      "has inputs that are led by " + listOf(open) +
          ", of which each is also another dimension of an input: which counts the samples is open",
      {"--batch-dim NAME says which is the batch, --dim NAME=SIZE fixes the others"}};
}

} // namespace accum::import
