// SPDX-License-Identifier: Apache-2.0
// The rule for exports that tell their parameters, and the one for those that do not.
#include "compiler/Import/parameters/ParameterRules.h"
#include "compiler/Import/lost/TracedCall.h"
#include "compiler/Import/model/Contents.h"
#include "compiler/Import/parameters/FoldedValues.h"
#include "compiler/Import/parameters/ModuleNames.h"
#include "compiler/Import/parameters/SavedConstants.h"
#include "compiler/Import/parameters/SeparateMerged.h"
#include "compiler/Import/parameters/TracedConstants.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accum::import {
namespace {

Verdict verdict(Standing standing, std::string reason, std::string module) {
  bool isNameless = standing == Standing::Derived;
  return {standing, std::move(reason), std::move(module), false, isNameless, false, false, false, 0};
}

bool isRead(const std::vector<Reader> &readers, std::initializer_list<Role> roles) {
  return std::any_of(readers.begin(), readers.end(), [&](const Reader &reader) {
    return std::find(roles.begin(), roles.end(), reader.role) != roles.end();
  });
}

/// Buffers of well-known modules; a parameter never has these names.
bool hasNameOfBuffer(std::string_view name) {
  return lastWord(name) == "embed_scale" ||
         isOneOf(lastWord(name),
                 {"inv_freq", "original_inv_freq", "cos_cached", "sin_cached", "freqs_cis", "running_mean",
                  "running_var", "mask_bias", "masked_bias", "attn_mask", "causal_mask", "scaling",
                  "scale_factor", "num_batches_tracked", "final_logits_bias", "e_score_correction_bias",
                  "relative_coords_table", "pixel_mean", "pixel_std"});
}

bool isMatrixOnly(const std::vector<Reader> &readers) {
  return std::all_of(readers.begin(), readers.end(), [](const Reader &r) { return r.role == Role::Matrix; });
}

/// Frameworks keep fixed position tables as parameters without a gradient; the signature does not tell.
std::string whyNotThoughTold(const Tensor &tensor, const std::vector<Reader> &readers) {
  return !isMatrixOnly(readers) && isTrigonometricTable(tensor) ? "a fixed table of sines and cosines" : "";
}

/// What name and values say against training it, or "". Weights of matrices are no tables and no masks.
std::string whyNot(std::string_view module, const Tensor &tensor, const std::vector<Reader> &readers) {
  if (hasNameOfBuffer(module))
    return "named like a buffer";
  if (isGeometric(tensor))
    return "a geometric series, as rotary frequencies are";
  if (!isMatrixOnly(readers) && isMask(tensor))
    return "a mask";
  return whyNotThoughTold(tensor, readers);
}

/// The only PARAMETER among what the exporter folded; "" for none, and nothing for several.
std::optional<std::string> onlyParameterOf(const std::vector<std::string> &sources,
                                           const Signature &signature, const Graph &graph) {
  std::string found;
  for (const std::string &source : sources) {
    if (!signature.hasParameter(source) && signatureKind(graph, source) != "PARAMETER")
      continue;
    if (!found.empty())
      return std::nullopt;
    found = source;
  }
  return found;
}

/// From one matrix, read as a matrix: the exporter only moved its elements, nearly always transposing. Which
/// axes of more than two it swapped is not told.
Verdict rearranged(const Graph &graph, const Tensor &tensor, const std::string &source,
                   const std::vector<Reader> &readers) {
  const Tensor *original = graph.initializer(source);
  bool isMatrix = tensor.shape.size() == 2;
  Made made = howMade(nameWhenMade(graph, tensor.name));
  bool isSame = made == Made::Copy;
  isSame |= isMatrix && original && original->shape == tensor.shape && tensor.shape[0] != tensor.shape[1];
  isSame |= std::all_of(readers.begin(), readers.end(),
                        [&](const Reader &reader) { return isIndexedInFront(graph.nodes[reader.node]); });
  Verdict copy =
      verdict(Standing::Trained, fmt::format("the export's transposed copy of `{}`", source), source);
  copy.moduleTransposed = isMatrix && !isSame;
  copy.isNameless = !isSame && (!isMatrix || made == Made::Moved);
  return copy;
}

/// The gain of a norm that multiplies by `1 + w`: a vector that addition made of w and a constant, and every
/// reader multiplies by it in w's module, where the source says so.
bool isOnePlus(const Graph &graph, const Tensor &tensor, const std::string &source,
               const std::vector<std::string> &sources, const Signature &signature,
               const std::vector<Reader> &readers) {
  size_t dot = source.rfind('.');
  bool isSum = nameWhenMade(graph, tensor.name).starts_with("add") && tensor.shape.size() == 1 &&
               dot != std::string::npos;
  bool isAlone = std::none_of(sources.begin(), sources.end(), [&](const std::string &other) {
    return other != source &&
           (std::find(signature.buffers.begin(), signature.buffers.end(), other) != signature.buffers.end() ||
            !signatureKind(graph, other).empty());
  });
  std::string word = source.substr(dot + 1);
  return isSum && isAlone && std::all_of(readers.begin(), readers.end(), [&](const Reader &reader) {
           const Node &node = graph.nodes[reader.node];
           std::string code = sourceCode(node);
           bool saysSo = code.find("(1.0 + self." + word) != std::string::npos ||
                         code.find("(1 + self." + word) != std::string::npos;
           bool multiplies = node.opType == "Mul" || reader.role == Role::Scale;
           return multiplies && saysSo && modulePath(node) + "." + word == source;
         });
}

/// The exporter's optimizer rewrote a node that reads it, and keeps no record of what it computed from what.
bool isFusedBatchNorm(const Graph &graph, const std::vector<Reader> &readers) {
  return std::any_of(readers.begin(), readers.end(), [&](const Reader &reader) {
    const Metadata &metadata = graph.nodes[reader.node].metadata;
    auto rule = metadata.find("pkg.onnxscript.rewriter.rule_name");
    bool isWeight = reader.role == Role::Matrix || reader.role == Role::Bias;
    return isWeight && rule != metadata.end() && rule->second.find("FuseBatchNorm") != std::string::npos;
  });
}

/// Tools that rewrite a file may drop what the exporter says of its constants. Told by calls then is a weight
/// that was only transposed; nothing where it is no parameter.
std::optional<Verdict> withoutRecord(const Graph &graph, const Tensor &tensor, const Signature &signature,
                                     const std::vector<Reader> &readers) {
  std::string lost = lostAtReaders(graph, signature, tensor.name, readers);
  bool isWeight = tensor.shape.size() == 2 && isRead(readers, {Role::Matrix}) && isMatrixOnly(readers);
  if (!lost.empty() && isWeight) {
    Verdict weight =
        verdict(Standing::Trained, fmt::format("the only weight for `{}` in the file", lost), lost);
    weight.moduleTransposed = true;
    return weight;
  }
  auto isRecorded = [&](const Tensor &other) {
    return !signatureKind(graph, other.name).empty() || !foldedFrom(graph, other.name).empty();
  };
  bool isStripped = std::none_of(graph.initializers.begin(), graph.initializers.end(), isRecorded);
  if (tensor.elementCount() < 2 || !(isStripped || !lost.empty()) ||
      !whyNot(tensor.name, tensor, readers).empty())
    return std::nullopt;
  return verdict(Standing::Derived,
                 lost.empty() ? "lost the export's record of what it was computed from"
                              : fmt::format("was computed from `{}`", lost),
                 tensor.name);
}

Verdict folded(const Graph &graph, const Tensor &tensor, const Signature &signature,
               const std::vector<Reader> &readers) {
  std::vector<std::string> sources = foldedFrom(graph, tensor.name);
  if (sources.empty() && isFusedBatchNorm(graph, readers))
    return verdict(Standing::Derived, "had a batch norm folded into it", tensor.name);
  std::optional<std::string> source = onlyParameterOf(sources, signature, graph);
  if (sources.empty())
    if (std::optional<Verdict> lost = withoutRecord(graph, tensor, signature, readers))
      return *lost;
  if (source && source->empty()) {
    Verdict constant = verdict(Standing::Constant, "computed from no parameter", tensor.name);
    constant.isNameless = true;
    return constant;
  }
  if (!source)
    return verdict(Standing::Derived, "was computed from several parameters", tensor.name);
  if (std::string separated = separatedParameter(graph, tensor.name); signature.hasParameter(separated))
    source = separated; // separated from what was made of the equal one
  std::string made = nameWhenMade(graph, tensor.name);
  bool isMoved = sources.size() == 1 && howMade(made) != Made::Other;
  if (isMoved && tensor.shape.size() >= 2 && isRead(readers, {Role::Matrix, Role::Table}))
    return rearranged(graph, tensor, *source, readers);
  if (isOnePlus(graph, tensor, *source, sources, signature, readers)) {
    Verdict shifted =
        verdict(Standing::Trained, fmt::format("1 + `{}`, as the norm applies it", *source), *source);
    shifted.moduleAdded = 1;
    return shifted;
  }
  // aten.embedding with known indices: rows of the table, if none of them twice.
  bool isLookUp = made.starts_with("embedding") && tensor.shape.size() >= 2;
  if (isLookUp && (!tensor.data.isPresent() || hasDistinctRows(tensor))) {
    Verdict slice =
        verdict(Standing::Trained, fmt::format("the rows of `{}` that the export kept", *source), *source);
    slice.isNameless = slice.isRows = true; // how many there were is nowhere; it has an axis of 1 in front
    return slice;
  }
  return verdict(Standing::Derived, fmt::format("was computed from `{}`", *source), *source);
}

/// It was merged with a matrix, or with the transpose of one.
bool isSeparatedMatrix(const Graph &graph, const Tensor &tensor) {
  std::string made = nameWhenMade(graph, tensor.name);
  bool isMoved = foldedFrom(graph, tensor.name).size() == 1 && howMade(made) != Made::Other;
  return made != tensor.name && tensor.shape.size() == 2 &&
         (isMoved || signatureKind(graph, tensor.name) == "PARAMETER");
}

/// Its reader tells which way it lies: `linear` multiplies by the transpose of its weight.
Verdict separatedMatrix(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers) {
  Verdict copy = verdict(Standing::Trained, "equal to another when it was exported",
                         separatedParameter(graph, tensor.name));
  std::set<bool> isTransposed;
  for (const Reader &reader : readers) {
    const Node &node = graph.nodes[reader.node];
    std::optional<TracedCall> call = TracedCall::of(node);
    bool isLinear = call && call->operation() == "linear" && reader.role == Role::Matrix;
    auto transB = node.attribute<int64_t>("transB");
    bool isDirect = reader.first == reader.node && !(transB && *transB != 0);
    isTransposed.insert(isLinear && isDirect);
  }
  copy.isNameless = isTransposed.size() != 1;
  copy.moduleTransposed = isTransposed.count(true) != 0;
  return copy;
}

/// Exports with a signature.
Verdict judgeBySignature(const Graph &graph, const Tensor &tensor, const Signature &signature,
                         const std::vector<Reader> &readers) {
  if (isSeparatedMatrix(graph, tensor))
    return separatedMatrix(graph, tensor, readers);
  // A fused weight keeps its name, and no record.
  std::string_view kind = isFusedBatchNorm(graph, readers) ? signatureKind(graph, tensor.name)
                                                           : signature.kindOf(graph, tensor.name);
  if (kind == "PARAMETER")
    return verdict(Standing::Trained, "PARAMETER in the export's signature",
                   signature.targetOf(graph, tensor.name));
  if (!kind.empty())
    return verdict(Standing::Frozen, fmt::format("{} in the export's signature", kind), tensor.name);
  return folded(graph, tensor, signature, readers);
}

/// What a module's weight is called: that of nn.MultiheadAttention, whose bias kept its name, is its own. A
/// module with others below it is no Linear, and nothing tells how it calls its matrices.
std::string asItsModuleCallsIt(const Graph &graph, const std::string &name) {
  std::string module = name.substr(0, name.rfind('.') + 1);
  if (graph.initializer(module + "in_proj_bias"))
    return module + "in_proj_weight";
  bool hasChildren =
      std::any_of(graph.initializers.begin(), graph.initializers.end(), [&](const Tensor &tensor) {
        return tensor.name.starts_with(module) && tensor.name.find('.', module.size()) != std::string::npos;
      });
  return hasChildren ? "" : name;
}

/// Scopes of traced exports lack what was not called itself: `enc.fc` for `self.student.encode(x)`, and
/// `enc.fc_1` at the second place of that name. The bias that is added to the product has kept its name, and
/// is of the same module where the scope's last word says so; "" where there is none.
std::string besideItsBias(const Graph &graph, const Node &product) {
  std::string scope = modulePath(product), module;
  std::string_view called = lastWord(scope);
  size_t end = called.find_last_not_of("0123456789");
  std::string_view uncounted =
      end != std::string_view::npos && called[end] == '_' ? called.substr(0, end) : called;
  for (const Node &node : graph.nodes) {
    if (node.opType != "Add" || node.inputs.size() != 2)
      continue;
    bool isLeft = node.inputs[0] == product.outputs[0];
    const Tensor *bias =
        isLeft || node.inputs[1] == product.outputs[0] ? graph.initializer(node.inputs[isLeft]) : nullptr;
    if (!bias || !isModuleName(bias->name) || !bias->name.ends_with("bias"))
      continue;
    std::string_view word = lastWord(bias->name), name = bias->name;
    module = name.substr(0, name.size() - word.size());
    std::string_view holder = lastWord(name.substr(0, module.empty() ? 0 : module.size() - 1));
    if (holder == called || holder == uncounted)
      return module + std::string(word.substr(0, word.size() - 4)) + "weight";
  }
  return "";
}

/// The name at the first reader that takes it for a weight.
void recoverName(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers,
                 Verdict &verdict) {
  if (isModuleName(tensor.name))
    return;
  // Only weights of matrices lose their names by being transposed. A vector without one was computed, such as
  // a norm's 1 + w, and is not what the module has; so was a kernel, with a batch norm folded in.
  if (tensor.shape.size() != 2 && tensor.name.starts_with("onnx::"))
    return;
  for (const Reader &reader : readers) {
    std::string name = moduleNameOf(graph, reader);
    if (name.empty() || reader.role == Role::Limit || reader.role == Role::Control)
      continue;
    name = asItsModuleCallsIt(graph, belowItsRoot(graph, withoutRepeats(graph, name)));
    if (name.empty())
      continue;
    const Node &node = graph.nodes[reader.node];
    std::string besideBias = node.opType == "MatMul" ? besideItsBias(graph, node) : "";
    bool isFree = !besideBias.empty() && !graph.initializer(besideBias);
    if (!isFree && isContradicted(graph, name))
      continue;
    verdict.module = isFree ? besideBias : name;
    const auto *transB = node.attribute<int64_t>("transB");
    bool isRightOperand = reader.role == Role::Matrix && reader.operand == 1 && tensor.shape.size() == 2;
    bool isLinear = node.opType == "MatMul" || (node.opType == "Gemm" && !(transB && *transB));
    // Seen through a Transpose, the initializer itself is in the framework's layout.
    verdict.moduleTransposed = isRightOperand && isLinear && reader.first == reader.node;
    return;
  }
}

/// A gain or a bias: the other side of these, at least once. What is summed or squared is a part of a loss.
bool isAppliedToOthers(const Graph &graph, const std::vector<Reader> &readers) {
  return std::any_of(readers.begin(), readers.end(), [&](const Reader &reader) {
    return isOneOf(graph.nodes[reader.node].opType, {"Add", "Sub", "Mul", "Div"});
  });
}

/// Fixed tables, ramps and numbers that inputs are normalised by are left as they are; of the rest,
/// parameters are what models compute constants from.
Verdict computedByTrace(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers) {
  std::string against = whyNot(tensor.name, tensor, readers);
  if (against.empty() && (isOfEvenSteps(tensor) || isAppliedToInputs(graph, tensor, readers))) {
    Verdict guess = verdict(Standing::Frozen, "a constant operand without a parameter's name", tensor.name);
    guess.isGuess = true;
    return guess;
  }
  if (!against.empty())
    return verdict(Standing::Frozen, against, tensor.name);
  return verdict(Standing::Derived, "was computed from parameters or buffers that the file does not hold",
                 tensor.name);
}

/// Exports without one: TorchScript and whatever else writes ONNX.
Verdict judgeByUse(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers) {
  if (isComputedByTrace(graph, tensor, readers))
    return computedByTrace(graph, tensor, readers);
  bool isSaved = standsForNode(graph, tensor, readers), isNamed = isModuleName(tensor.name) && !isSaved;
  if (tensor.elementCount() == 1 && (!isNamed || lastWord(tensor.name) == "scale")) {
    Verdict number = verdict(isNamed ? Standing::Frozen : Standing::Constant, "one number", tensor.name);
    // Plain numbers are Constant nodes there.
    number.isGuess = tensor.name.starts_with("onnx::") || isMadeNumber(tensor.name);
    return number;
  }
  bool isWeight = isRead(readers, {Role::Matrix, Role::Table, Role::Scale, Role::Bias});
  bool isVector = tensor.shape.size() == 1 && isAppliedToOthers(graph, readers);
  if (isSaved || (!isWeight && !isVector && !isNamed)) {
    std::string against = whyNot(tensor.name, tensor, readers);
    Verdict frozen = verdict(Standing::Frozen, against, tensor.name);
    frozen.isGuess = against.empty();
    if (frozen.isGuess)
      frozen.reason = "a constant operand without a parameter's name";
    return frozen;
  }
  if (!isNamed && tensor.shape.size() < 2 && isRead(readers, {Role::Table}))
    return verdict(Standing::Frozen, "a looked-up vector without a parameter's name", tensor.name);
  Verdict trained = verdict(Standing::Trained, "", tensor.name);
  recoverName(graph, tensor, readers, trained);
  const Node &node = graph.nodes[readers.front().node];
  trained.reason = fmt::format("read as a weight by `{}`", node.name);
  trained.isFused = isFusedBatchNorm(graph, readers) || tensor.name.starts_with("ConvBnFusion_");
  return trained;
}
} // namespace

Verdict judge(const Graph &graph, const Tensor &tensor, const Signature &signature,
              const std::vector<Reader> &readers) {
  if (!isFloat(tensor.dtype) || tensor.elementCount() == 0)
    return verdict(Standing::Constant, "not a float tensor", tensor.name);
  if (readers.empty())
    return verdict(Standing::Constant, "no node reads it", tensor.name);
  bool isNumber = !isRead(readers, {Role::Matrix, Role::Table, Role::Scale, Role::Bias, Role::Operand});
  Verdict number = verdict(isRead(readers, {Role::Statistic}) ? Standing::Frozen : Standing::Constant,
                           "a statistic, a bound or a shape", tensor.name);
  bool isTold = !signature.isEmpty() || !signatureKind(graph, tensor.name).empty();
  bool isPlain = !isTold && tensor.elementCount() == 1 && !isNamedByTrace(graph, tensor.name, readers);
  if (isNumber && (isPlain || !isRead(readers, {Role::Limit}))) {
    bool isDotted = isModuleName(tensor.name) && tensor.name.find('.') != std::string::npos;
    number.isGuess = isDotted && isRead(readers, {Role::Limit});
    return number;
  }
  Verdict result =
      isTold ? judgeBySignature(graph, tensor, signature, readers) : judgeByUse(graph, tensor, readers);
  if (result.standing == Standing::Frozen || result.standing == Standing::Constant)
    return isNumber ? number : result;
  if (result.standing == Standing::Derived)
    return result;
  std::string against = isTold ? whyNotThoughTold(tensor, readers) : whyNot(result.module, tensor, readers);
  if (!against.empty()) {
    result.standing = Standing::Frozen;
    result.reason = std::move(against);
  }
  return result;
}

} // namespace accum::import
