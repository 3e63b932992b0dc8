// SPDX-License-Identifier: Apache-2.0
// Tells them by the names that exporters and tools give to results.
#include "compiler/Import/parameters/SavedConstants.h"
#include "compiler/Import/model/Contents.h"
#include "compiler/Import/parameters/ModuleNames.h"
#include "compiler/Import/parameters/TracedConstants.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

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

/// Whether what `op` gave, a call or an operator that only moves elements, may be a weight: matrices are,
/// kernels, and stacks of matrices that were transposed. What has been put into heads was computed before.
bool isMovedWeight(const Graph &graph, std::string_view op, const Tensor &tensor,
                   const std::vector<Reader> &readers) {
  if (!isReadAsWeight(readers) || tensor.shape.size() <= 2)
    return isReadAsWeight(readers);
  bool isKernel = std::any_of(readers.begin(), readers.end(), [&](const Reader &reader) {
    return graph.nodes[reader.node].opType.starts_with("Conv");
  });
  bool isSplit = isOneOf(op, {"Reshape", "Unsqueeze", "view", "reshape", "_unsafe_view", "unsqueeze"});
  return isKernel || (tensor.shape.size() == 3 && tensor.shape[0] != 1 && !isSplit);
}

/// `val_9` is a value within a call. Weights are only transposed there; of vectors the exporter keeps the
/// names, and those without are numbers of a formula, as the ones and zeros of its group norm.
bool isVectorWithinCall(const Graph &graph, const Tensor &tensor) {
  return hasNodesOfDynamo(graph) && tensor.name.starts_with("val_") && !isModuleName(tensor.name) &&
         tensor.shape.size() < 2;
}

/// `full` of `full_default_3`, `mul` of `mul_tensor`: without the count and the overload of the call.
std::string_view operationOfCall(std::string_view name) {
  std::string_view call = withoutCount(name);
  for (std::string_view overload : {"_default", "_tensor", "_scalar", "_dim", "_int"})
    if (call.ends_with(overload) && call != "scalar_tensor")
      return call.substr(0, call.size() - overload.size());
  return call;
}

/// Calls whose results are computed, between spaces. `embedding` is not among them: its result is rows of a
/// table.
constexpr std::string_view kComputingCalls =
    " _native_batch_norm_legit _softmax abs acos add addcdiv addcmul addmm addmv amax amin arange asin "
    "atan atan2 avg_pool1d avg_pool2d baddbmm batch_norm bilinear bmm cat ceil clamp clamp_max "
    "clamp_min clone concat constant_pad_nd conv1d conv2d convolution cos cosh cumprod cumsum detach "
    "diag diag_embed diagonal div einsum elu empty erf exp exp2 expand expand_as expm1 eye fill flip "
    "floor floor_divide fmod full full_like gather gelu glu group_norm index index_copy index_fill "
    "index_put index_select interpolate layer_norm leaky_relu lerp lift_fresh_copy linalg_norm "
    "linalg_vector_norm linear linspace log log10 log1p log2 log_softmax logsumexp masked_fill matmul "
    "max maximum mean meshgrid min minimum mish mm mul mv narrow native_group_norm native_layer_norm "
    "neg new_full new_ones new_zeros norm ones ones_like outer pad pow prod reciprocal relu remainder "
    "repeat repeat_interleave rms_norm roll round rsqrt rsub scalar_tensor "
    "scaled_dot_product_attention scatter scatter_add select select_scatter sigmoid sign silu sin sinh "
    "slice slice_scatter softmax softplus split sqrt square stack std sub sum tan tanh tile tril triu "
    "unbind upsample_bicubic2d upsample_bilinear2d upsample_nearest2d var where zeros zeros_like ";

/// Calls that give the elements of their operand, in another order, shape or type at most.
constexpr std::string_view kMovingCalls =
    " _to_copy _unsafe_view alias contiguous convert_element_type flatten movedim permute "
    "prims_convert_element_type reshape squeeze swapaxes t to transpose type_as unflatten unsqueeze view "
    "view_as ";

bool isOneOfCalls(std::string_view call, std::string_view calls) {
  return calls.find(fmt::format(" {} ", call)) != std::string_view::npos;
}

/// `exp`, `mul_1`, `scalar_tensor_default`: the dynamo exporter calls results after the calls that gave them.
/// Its own record of what is a parameter is lost where a tool has saved the file without it.
bool isNamedAfterCall(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers) {
  if (!hasNodesOfDynamo(graph))
    return false;
  std::string_view call = operationOfCall(tensor.name);
  return isOneOfCalls(call, kComputingCalls) ||
         (isOneOfCalls(call, kMovingCalls) && !isMovedWeight(graph, call, tensor, readers));
}

/// The file has framework's names: `fc.weight`.
bool namesParameters(const Graph &graph) {
  return std::any_of(graph.initializers.begin(), graph.initializers.end(), [](const Tensor &tensor) {
    return isFloat(tensor.dtype) && tensor.name.find('.') != std::string::npos && isModuleName(tensor.name) &&
           !isNameOfTool(tensor.name);
  });
}
} // namespace

bool hasNodesOfDynamo(const Graph &graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node &node) { return node.name.starts_with("node_"); });
}

bool hasLostItsRecord(const Graph &graph) {
  return hasNodesOfDynamo(graph) && graph.metadata.empty() &&
         std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const Node &node) {
           return std::any_of(node.metadata.begin(), node.metadata.end(),
                              [](const auto &entry) { return entry.first.starts_with("pkg.torch."); });
         });
}

std::string fileThatSays(const Graph &graph, std::string_view call) {
  return hasLostItsRecord(graph)
             ? fmt::format("the file as {} wrote it says it; a tool has saved this one without that", call)
             : fmt::format("{} says it", call);
}

bool standsForNode(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers) {
  if (isNameOfTool(tensor.name))
    return true;
  std::string_view op = operatorOfResult(tensor.name);
  bool isGain = isGainOfNorm(graph, tensor, readers);
  if (!op.empty())
    return !(onlyMoves(op) && isMovedWeight(graph, op, tensor, readers)) && !(op == "Add" && isGain);
  bool isFolded = tensor.elementCount() == 1 && tensor.name.starts_with("const_fold_opt__"); // by tf2onnx
  if (!isFolded && !namesParameters(graph))
    return false;
  if (isModuleName(tensor.name) && !isFolded)
    return isNamedAfterCall(graph, tensor, readers) && !(operationOfCall(tensor.name) == "add" && isGain);
  if (isVectorWithinCall(graph, tensor))
    return true;
  return !isReadAsWeight(readers) && !isGain && !tensor.name.starts_with("onnx::");
}

bool isMadeNumber(std::string_view name) {
  return isOneOf(operatorOfResult(name), {"Exp", "Sigmoid", "Softplus", "Tanh"});
}

bool isNameOfTool(std::string_view name) { return name.starts_with("_inlfunc_") || name.starts_with("p2o."); }

std::string biasBeside(const Graph &graph, const std::string &initializer) {
  if (isModuleName(initializer) || !hasLostItsRecord(graph))
    return "";
  std::set<std::string> products;
  for (const Node &node : graph.nodes)
    if (node.opType == "MatMul" && node.inputs.size() == 2 && node.inputs[1] == initializer)
      products.insert(node.outputs[0]);
  for (const Node &node : graph.nodes) {
    if (node.opType != "Add" || node.inputs.size() != 2)
      continue;
    for (size_t i = 0; i < 2; ++i) {
      const Tensor *bias = products.count(node.inputs[i]) ? graph.initializer(node.inputs[1 - i]) : nullptr;
      if (bias && isModuleName(bias->name) && !isAllEqual(*bias))
        return bias->name;
    }
  }
  return "";
}

bool isReadAsWeight(const std::vector<Reader> &readers) {
  return std::any_of(readers.begin(), readers.end(), [](const Reader &reader) {
    return reader.role == Role::Matrix || reader.role == Role::Table || reader.role == Role::Scale ||
           reader.role == Role::Bias;
  });
}

} // namespace accum::import
