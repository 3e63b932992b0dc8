// SPDX-License-Identifier: Apache-2.0
// Shapes of the graph's inputs: one symbol is the batch, every other size is fixed.
#include "compiler/Import/ModelInputs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringRef.h"
#include <set>

namespace accum::import {

/// An unnamed open dimension is called after its place, `input_ids.1`.
static std::string symbolOf(const ValueInfo &input, size_t axis) {
  const Dim &dim = (*input.type.shape)[axis];
  return dim.symbol.empty() ? input.name + "." + std::to_string(axis) : dim.symbol;
}

static std::string tick(const std::string &name) { return "`" + name + "`"; }

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
      notes.push_back("dimension " + std::to_string(axis) + " of " + tick(input.name) +
                      " is open: if it counts the samples, --batch-dim " + symbol);
    }
  notes.push_back("export again with dimension 0 of every input dynamic");
  return notes;
}

static bool hasSymbol(const Graph &graph, const std::string &symbol) {
  return llvm::any_of(graph.inputs, [&](const ValueInfo &input) {
    size_t rank = input.type.shape ? input.type.shape->size() : 0;
    return llvm::any_of(llvm::seq<size_t>(0, rank), [&](size_t axis) {
      return !(*input.type.shape)[axis].isStatic() && symbolOf(input, axis) == symbol;
    });
  });
}

/// The file's own sizes of open dimensions, by symbol.
static Result<std::map<std::string, int64_t>> defaultDims(const Model &model) {
  std::map<std::string, int64_t> dims;
  Failures failures;
  for (const auto &[key, value] : model.metadata) {
    llvm::StringRef symbol = key;
    if (!symbol.consume_front(kDimKey))
      continue;
    int64_t size = 0;
    if (llvm::StringRef(value).getAsInteger(10, size) || size < 1)
      failures.push_back({"malformed-model",
                          "metadata `" + key + "`",
                          "is " + tick(value) + ", expected a positive size",
                          {}});
    else if (!hasSymbol(model.graph, symbol.str()))
      failures.push_back({"malformed-model",
                          "metadata `" + key + "`",
                          "gives a size, but the model has no symbolic dimension of that name",
                          {}});
    dims[symbol.str()] = size;
  }
  if (!failures.empty())
    return std::move(failures);
  return dims;
}

static Result<std::string> findBatchDim(const Graph &graph, const ImportOptions &options,
                                        const std::set<std::string> &sized) {
  std::vector<std::string> symbols = leadingSymbols(graph);
  if (hasSymbol(graph, options.batchDim))
    return options.batchDim;
  if (!options.batchDim.empty())
    return Failure{"no-such-dimension", "--batch-dim " + options.batchDim,
                   "the model has no symbolic dimension of that name",
                   symbols.empty() ? std::vector<std::string>()
                                   : std::vector{"an input is led by " + tick(symbols[0])}};
  std::vector<std::string> leading = symbols;
  std::erase_if(symbols, [&](const std::string &symbol) { return sized.count(symbol) > 0; });
  if (symbols.size() == 1)
    return symbols[0];
  if (symbols.empty() && leading.size() == 1)
    return Failure{"usage",
                   "--dim " + leading[0],
                   "leads every input of the model: it is the batch, which stays open",
                   {"leave it out; --batch N is the size of a step"}};
  if (symbols.empty())
    return Failure{"static-batch", "the model",
                   "has no symbolic batch dimension: the batch size of the export is baked in",
                   adviceForStatic(graph)};
  std::string list;
  for (const std::string &symbol : symbols)
    list += (list.empty() ? "" : ", ") + tick(symbol);
  return Failure{"static-batch",
                 "the model",
                 "has inputs that are led by different symbols: " + list,
                 {"--batch-dim NAME says which is the batch, --dim NAME=SIZE fixes the others"}};
}

namespace {
class Resolver {
public:
  Resolver(const ImportOptions &options, std::map<std::string, int64_t> defaults, ModelInputs &inputs)
      : options(options), defaults(std::move(defaults)), inputs(inputs) {}

  void resolve(const ValueInfo &input);
  void checkDims();
  Failures failures;

private:
  Extent extentOf(const ValueInfo &input, size_t axis);

  const ImportOptions &options;
  std::map<std::string, int64_t> defaults;
  ModelInputs &inputs;
  std::set<std::string> seen, reported;
};
} // namespace

Extent Resolver::extentOf(const ValueInfo &input, size_t axis) {
  const Dim &dim = (*input.type.shape)[axis];
  if (dim.isStatic())
    return Extent::fixed(dim.size);
  std::string symbol = symbolOf(input, axis);
  seen.insert(symbol);
  if (symbol == inputs.batchDim) {
    bool isFirst = inputs.batchAxes.emplace(input.name, static_cast<int64_t>(axis)).second;
    if (!isFirst && options.wholeBatch)
      failures.push_back({"unsupported", tick(input.name), "has the batch along two axes", {}});
    return options.wholeBatch ? Extent::fixed(*options.wholeBatch) : Extent::ofBatch(1);
  }
  auto given = options.dims.find(symbol);
  if (given != options.dims.end())
    return Extent::fixed(given->second);
  if (auto known = defaults.find(symbol); known != defaults.end()) {
    inputs.dimsFromFile.insert(*known);
    return Extent::fixed(known->second);
  }
  if (reported.insert(symbol).second)
    failures.push_back({"open-dimension",
                        tick(input.name),
                        "dimension " + std::to_string(axis) + " (" + tick(symbol) + ") has no size",
                        {"add --dim " + symbol + "=SIZE"}});
  return Extent::fixed(1);
}

void Resolver::resolve(const ValueInfo &input) {
  if (llvm::StringRef(input.name).starts_with("past_key")) {
    failures.push_back({"past-key-values",
                        tick(input.name),
                        "is a cache of an earlier call, which training has not",
                        {"export again with use_cache=False"}});
    return;
  }
  if (!input.type.shape || !input.type.otherKind.empty()) {
    failures.push_back({"unsupported", tick(input.name), "is an input of unknown rank, or not a tensor", {}});
    return;
  }
  Shape shape;
  for (size_t axis = 0; axis < input.type.shape->size(); ++axis)
    shape.push_back(extentOf(input, axis));
  double elements = 1;
  for (Extent extent : shape)
    elements *= static_cast<double>(extent.count);
  if (elements > 0x1p40)
    failures.push_back({"malformed-model", tick(input.name), "has the absurd shape " + toString(shape), {}});
  if (elements == 0)
    failures.push_back(
        {"malformed-model", tick(input.name), "has no elements: its shape is " + toString(shape), {}});
  inputs.shapes[input.name] = shape;
}

void Resolver::checkDims() {
  for (const auto &[name, size] : options.dims) {
    if (seen.count(name) == 0 || name == inputs.batchDim)
      failures.push_back({"no-such-dimension",
                          "--dim " + name,
                          name == inputs.batchDim ? "is the batch, which stays symbolic"
                                                  : "the model has no symbolic dimension of that name",
                          {}});
    else if (size < 1)
      failures.push_back({"no-such-dimension", "--dim " + name, "needs a positive size", {}});
  }
}

Result<ModelInputs> resolveInputs(const Model &model, const ImportOptions &options) {
  const Graph &graph = model.graph;
  ModelInputs inputs;
  auto defaults = defaultDims(model);
  if (!defaults)
    return defaults.takeFailures();
  Resolver resolver(options, *defaults, inputs);
  std::set<std::string> sized;
  for (const std::map<std::string, int64_t> &dims : {options.dims, *defaults})
    for (const auto &[symbol, size] : dims)
      sized.insert(symbol);
  Result<std::string> batchDim = findBatchDim(graph, options, sized);
  bool hasCache = llvm::any_of(graph.inputs, [](const ValueInfo &input) {
    return llvm::StringRef(input.name).starts_with("past_key");
  });
  if (!batchDim && !hasCache)
    return batchDim.takeFailures();
  if (batchDim)
    inputs.batchDim = *batchDim;
  for (const ValueInfo &input : graph.inputs)
    resolver.resolve(input);
  if (!hasCache)
    resolver.checkDims();
  if (!resolver.failures.empty())
    return std::move(resolver.failures);
  return inputs;
}

} // namespace accum::import
