// SPDX-License-Identifier: Apache-2.0
// Shapes of the graph's inputs: one symbol is the batch, every other size is fixed.
#include "compiler/Import/walk/ModelInputs.h"
#include "compiler/Import/walk/BatchSymbols.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

namespace accum::import {

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
                          "is " + backquoted(value) + ", expected a positive size",
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

/// The sizes that --dim gives, by symbol: a flag may name several.
static Result<std::map<std::string, int64_t>> givenDims(const Graph &graph, const ImportOptions &options) {
  std::map<std::string, int64_t> dims;
  for (const auto &[names, size] : options.dims)
    for (const std::string &name : namesIn(graph, names))
      if (auto [known, isNew] = dims.emplace(name, size); !isNew && known->second != size)
        return Failure{"usage",
                       "--dim " + name,
                       "is given two sizes, " + std::to_string(known->second) + " and " +
                           std::to_string(size),
                       {}};
  return dims;
}

namespace {
class Resolver {
public:
  Resolver(const ImportOptions &options, std::map<std::string, int64_t> given,
           std::map<std::string, int64_t> defaults, ModelInputs &inputs)
      : options(options), given(std::move(given)), defaults(std::move(defaults)), inputs(inputs) {}

  void resolve(const ValueInfo &input);
  void checkDims();
  Failures failures;

private:
  Extent extentOf(const ValueInfo &input, size_t axis);
  Extent batchExtent(const ValueInfo &input, size_t axis);
  bool refuseComputed(const ValueInfo &input, const std::string &symbol);
  void reportOpen(const ValueInfo &input, size_t axis, const std::string &symbol);

  const ImportOptions &options;
  std::map<std::string, int64_t> given, defaults;
  ModelInputs &inputs;
  std::set<std::string> seen, reported;
  std::vector<std::string> open;
};
} // namespace

Extent Resolver::batchExtent(const ValueInfo &input, size_t axis) {
  bool isFirst = inputs.batchAxes.emplace(input.name, static_cast<int64_t>(axis)).second;
  if (!isFirst && options.wholeBatch)
    failures.push_back({"unsupported", backquoted(input.name), "has the batch along two axes", {}});
  return options.wholeBatch ? Extent::fixed(*options.wholeBatch) : Extent::ofBatch(1);
}

/// The words of an expression, `2*batch`.
static bool speaksOf(llvm::StringRef expression, llvm::StringRef symbol) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; };
  for (size_t at = expression.find(symbol); at != llvm::StringRef::npos;
       at = expression.find(symbol, at + 1)) {
    size_t end = at + symbol.size();
    if ((at == 0 || !isPart(expression[at - 1])) && (end == expression.size() || !isPart(expression[end])))
      return true;
  }
  return false;
}

bool Resolver::refuseComputed(const ValueInfo &input, const std::string &symbol) {
  if (llvm::none_of(inputs.batchDims, [&](const std::string &batch) { return speaksOf(symbol, batch); }))
    return false;
  if (reported.insert(symbol).second)
    failures.push_back({"unsupported",
                        backquoted(input.name),
                        "has a dimension of " + backquoted(symbol) +
                            ", which changes with the batch: an input has one row for each sample",
                        {"give it a dimension of its own: [batch, 2, ...] where this is [2*batch, ...], "
                         "and reshape in the model"}});
  return true;
}

void Resolver::reportOpen(const ValueInfo &input, size_t axis, const std::string &symbol) {
  if (!reported.insert(symbol).second)
    return;
  open.push_back(symbol);
  std::vector<std::string> notes{"add --dim " + symbol + "=SIZE"};
  if (axis == 0 && !inputs.batchDim.empty())
    notes.push_back("if it counts the samples, as " + backquoted(inputs.batchDim) + " does: --batch-dim " +
                    llvm::join(inputs.batchDims, ",") + "," + symbol);
  failures.push_back({"open-dimension", backquoted(input.name),
                      "dimension " + std::to_string(axis) + " (" + backquoted(symbol) + ") has no size",
                      notes});
}

Extent Resolver::extentOf(const ValueInfo &input, size_t axis) {
  const Dim &dim = (*input.type.shape)[axis];
  if (dim.isStatic())
    return Extent::fixed(dim.size);
  std::string symbol = symbolOf(input, axis);
  seen.insert(symbol);
  if (llvm::is_contained(inputs.batchDims, symbol))
    return batchExtent(input, axis);
  if (refuseComputed(input, symbol))
    return Extent::fixed(1);
  if (auto size = given.find(symbol); size != given.end())
    return Extent::fixed(size->second);
  if (auto known = defaults.find(symbol); known != defaults.end()) {
    inputs.dimsFromFile.insert(*known);
    return Extent::fixed(known->second);
  }
  reportOpen(input, axis, symbol);
  return Extent::fixed(1);
}

void Resolver::resolve(const ValueInfo &input) {
  if (llvm::StringRef(input.name).starts_with("past_key")) {
    failures.push_back({"past-key-values",
                        backquoted(input.name),
                        "is a cache of an earlier call, which training has not",
                        {"export again with use_cache=False"}});
    return;
  }
  if (!input.type.shape || !input.type.otherKind.empty()) {
    failures.push_back(
        {"unsupported", backquoted(input.name), "is an input of unknown rank, or not a tensor", {}});
    return;
  }
  Shape shape;
  for (size_t axis = 0; axis < input.type.shape->size(); ++axis)
    shape.push_back(extentOf(input, axis));
  double elements = 1;
  for (Extent extent : shape)
    elements *= static_cast<double>(extent.count);
  if (elements > 0x1p40)
    failures.push_back(
        {"malformed-model", backquoted(input.name), "has the absurd shape " + toString(shape), {}});
  if (elements == 0)
    failures.push_back(
        {"malformed-model", backquoted(input.name), "has no elements: its shape is " + toString(shape), {}});
  inputs.shapes[input.name] = shape;
}

void Resolver::checkDims() {
  if (open.size() > 1)
    failures.back().notes.push_back("one size for all of them: --dim " + llvm::join(open, ",") + "=SIZE");
  for (const auto &[name, size] : given) {
    bool isBatch = llvm::is_contained(inputs.batchDims, name);
    if (seen.count(name) == 0 || isBatch)
      failures.push_back({"no-such-dimension",
                          "--dim " + name,
                          isBatch ? "is the batch, which stays symbolic"
                                  : "the model has no symbolic dimension of that name",
                          {}});
    else if (size < 1)
      failures.push_back({"no-such-dimension", "--dim " + name, "needs a positive size", {}});
  }
}

static bool hasCache(const Graph &graph) {
  return llvm::any_of(graph.inputs, [](const ValueInfo &input) {
    return llvm::StringRef(input.name).starts_with("past_key");
  });
}

Result<ModelInputs> resolveInputs(const Model &model, const ImportOptions &options) {
  const Graph &graph = model.graph;
  ModelInputs inputs;
  auto defaults = defaultDims(model);
  if (!defaults)
    return defaults.takeFailures();
  auto given = givenDims(graph, options);
  if (!given)
    return given.takeFailures();
  std::set<std::string> sized;
  for (const std::map<std::string, int64_t> &dims : {*given, *defaults})
    for (const auto &[symbol, size] : dims)
      sized.insert(symbol);
  Result<BatchSymbols> batch = findBatch(graph, options.batchDim, sized);
  if (!batch && !hasCache(graph))
    return batch.takeFailures();
  if (batch) {
    inputs.batchDims = batch->names;
    inputs.batchDim = batch->names.front();
    inputs.batchPresumed = batch->presumed;
  }
  Resolver resolver(options, *given, *defaults, inputs);
  for (const ValueInfo &input : graph.inputs)
    resolver.resolve(input);
  if (!hasCache(graph))
    resolver.checkDims();
  if (!resolver.failures.empty())
    return std::move(resolver.failures);
  return inputs;
}

} // namespace accum::import
