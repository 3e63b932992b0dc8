// SPDX-License-Identifier: Apache-2.0
// Tells them by the names that exporters and tools give to results.
#include "compiler/Import/parameters/SavedConstants.h"
#include "compiler/Import/parameters/ModuleNames.h"
#include "compiler/Import/parameters/TracedConstants.h"
#include <algorithm>

namespace accum::import {
namespace {

bool isDecimal(char c) { return c >= '0' && c <= '9'; }

/// `mul` of `mul_12`.
std::string_view withoutCount(std::string_view name) {
  size_t end = name.find_last_not_of("0123456789");
  bool isCounted = end != std::string_view::npos && end > 0 && end + 1 < name.size() && name[end] == '_';
  return isCounted ? name.substr(0, end) : name;
}

/// `Exp` of `/attn/Exp_1_output_0`: whose result the TorchScript exporter calls so; "" for other names.
std::string_view operatorOfResult(std::string_view name) {
  constexpr std::string_view output = "_output_";
  size_t end = name.rfind(output), begin = name.rfind('/');
  bool isResult =
      name.starts_with('/') && end != std::string_view::npos && begin + 1 < end &&
      end + output.size() < name.size() &&
      std::all_of(name.begin() + static_cast<ptrdiff_t>(end + output.size()), name.end(), isDecimal);
  return isResult ? withoutCount(name.substr(begin + 1, end - begin - 1)) : "";
}

/// Gives the elements of its operand, in another order or type at most.
bool onlyMoves(std::string_view op) {
  return isOneOf(op, {"Transpose", "Identity", "Cast", "Reshape", "Unsqueeze", "Squeeze", "Flatten"});
}

/// `exp`, `mul_1`: the dynamo exporter calls results after the calls that gave them. Its own record of what
/// is a parameter is lost where a tool has saved the file without it.
bool isNamedAfterCall(const Graph &graph, std::string_view name) {
  bool isOfDynamo = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                [](const Node &node) { return node.name.starts_with("node_"); });
  return isOfDynamo &&
         isOneOf(withoutCount(name), {"abs",      "add",        "bmm",     "cat",          "clamp",
                                      "clone",    "cos",        "cumsum",  "detach",       "div",
                                      "exp",      "expand",     "expm1",   "einsum",       "flip",
                                      "full",     "full_like",  "index",   "index_select", "lift_fresh_copy",
                                      "linspace", "log",        "log1p",   "log_softmax",  "matmul",
                                      "maximum",  "mean",       "minimum", "mm",           "mul",
                                      "neg",      "norm",       "ones",    "ones_like",    "outer",
                                      "pow",      "reciprocal", "repeat",  "roll",         "rsqrt",
                                      "rsub",     "select",     "sigmoid", "sin",          "slice",
                                      "softmax",  "softplus",   "sqrt",    "stack",        "std",
                                      "sub",      "sum",        "tanh",    "tril",         "triu",
                                      "var",      "where",      "zeros",   "zeros_like"});
}

/// The file has framework's names: `fc.weight`.
bool namesParameters(const Graph &graph) {
  return std::any_of(graph.initializers.begin(), graph.initializers.end(), [](const Tensor &tensor) {
    return isFloat(tensor.dtype) && tensor.name.find('.') != std::string::npos && isModuleName(tensor.name) &&
           !isNameOfTool(tensor.name);
  });
}
} // namespace

bool standsForNode(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers) {
  if (isNameOfTool(tensor.name))
    return true;
  std::string_view op = operatorOfResult(tensor.name);
  bool isGain = isGainOfNorm(graph, tensor, readers);
  if (!op.empty())
    return !(onlyMoves(op) && isReadAsWeight(readers)) && !(op == "Add" && isGain);
  bool isFolded = tensor.elementCount() == 1 && tensor.name.starts_with("const_fold_opt__"); // by tf2onnx
  if (!isFolded && !namesParameters(graph))
    return false;
  if (isModuleName(tensor.name) && !isFolded)
    return isNamedAfterCall(graph, tensor.name) && !(withoutCount(tensor.name) == "add" && isGain);
  return !isReadAsWeight(readers) && !isGain && !tensor.name.starts_with("onnx::");
}

bool isMadeNumber(std::string_view name) {
  return isOneOf(operatorOfResult(name), {"Exp", "Sigmoid", "Softplus", "Tanh"});
}

bool isNameOfTool(std::string_view name) { return name.starts_with("_inlfunc_") || name.starts_with("p2o."); }

bool isReadAsWeight(const std::vector<Reader> &readers) {
  return std::any_of(readers.begin(), readers.end(), [](const Reader &reader) {
    return reader.role == Role::Matrix || reader.role == Role::Table || reader.role == Role::Scale ||
           reader.role == Role::Bias;
  });
}

} // namespace accum::import
