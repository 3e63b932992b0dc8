// SPDX-License-Identifier: Apache-2.0
// Rules: matrix products, as nn.contract with one letter for each index.
#include "compiler/Import/walk/Binder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace accum::import {

/// Extents of 1 that broadcast against `other` leave: an absent letter is how nn.contract broadcasts.
struct Lead {
  std::string letters;
  Shape shape;
};

static Lead leadOf(ArrayRef<Extent> own, ArrayRef<Extent> other, size_t rank) {
  Lead lead;
  for (size_t d = 0; d < own.size(); ++d) {
    size_t place = rank - own.size() + d;
    bool faces = place + other.size() >= rank;
    if (own[d].isOne() && faces && !other[place + other.size() - rank].isOne())
      continue;
    lead.letters += static_cast<char>('a' + place);
    lead.shape.push_back(own[d]);
  }
  return lead;
}

/// numpy.matmul.
static Value matmul(Emitter &emit, Value a, Value b) {
  Shape left = shapeOf(a), right = shapeOf(b);
  if (left.empty() || right.empty() || left.size() > 12 || right.size() > 12)
    refuseMalformed("multiplies tensors of rank 0 or more than 12");
  bool isRow = left.size() == 1, isColumn = right.size() == 1;
  ArrayRef<Extent> leftLead = ArrayRef(left).drop_back(isRow ? 1 : 2);
  ArrayRef<Extent> rightLead = ArrayRef(right).drop_back(isColumn ? 1 : 2);
  size_t rank = std::max(leftLead.size(), rightLead.size());
  Lead l = leadOf(leftLead, rightLead, rank), r = leadOf(rightLead, leftLead, rank);
  l.shape.append(left.end() - (isRow ? 1 : 2), left.end());
  r.shape.append(right.end() - (isColumn ? 1 : 2), right.end());
  std::string batch;
  for (size_t d = 0; d < rank; ++d)
    batch += static_cast<char>('a' + d);
  std::string spec = l.letters + (isRow ? "k," : "mk,") + r.letters + (isColumn ? "k->" : "kn->") + batch +
                     (isRow ? "" : "m") + (isColumn ? "" : "n");
  return emit.contract(spec, emit.reshape(a, l.shape), emit.reshape(b, r.shape));
}

static void matmulRule(Binder &node) { node.set(0, matmul(node.emit, node.value(0), node.value(1))); }

static void gemm(Binder &node) {
  Emitter &emit = node.emit;
  std::string spec = node.integer("transA", 0) != 0 ? "km," : "mk,";
  spec += node.integer("transB", 0) != 0 ? "nk->mn" : "kn->mn";
  if (node.input(0).rank() != 2 || node.input(1).rank() != 2)
    refuseMalformed("has operands that are not matrices");
  Value product = emit.scale(emit.contract(spec, node.value(0), node.value(1)), node.real("alpha", 1));
  if (!node.has(2))
    return node.set(0, product);
  node.set(0, emit.add(product, emit.scale(node.input(2).lean(emit), node.real("beta", 1))));
}

/// The letters of each operand, and of the result.
struct Equation {
  SmallVector<std::string> operands;
  std::string result;
};

/// `count` letters that the equation does not use.
static std::string freshLetters(StringRef equation, size_t count) {
  std::string fresh;
  for (char letter : StringRef("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    if (fresh.size() < count && !equation.contains(letter))
      fresh += letter;
  return fresh;
}

/// Letters that stand once in all operands, in alphabetical order, behind those of the ellipsis.
static std::string impliedResult(StringRef operands) {
  std::string result = operands.contains("...") ? "..." : "";
  for (char letter = 'A'; letter <= 'z'; ++letter)
    if (llvm::isAlpha(letter) && operands.count(letter) == 1)
      result += letter;
  return result;
}

/// An ellipsis stands for as many axes as an operand has beside its letters, counted from the last.
static Equation equationOf(Binder &node) {
  std::string text = node.text("equation", "");
  llvm::erase(text, ' ');
  auto [left, right] = StringRef(text).split("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  if (static_cast<int64_t>(parts.size()) != node.inputCount())
    refuseMalformed("has " + std::to_string(node.inputCount()) + " operands for the equation `" + text + "`");
  size_t most = 0;
  for (auto [i, part] : llvm::enumerate(parts))
    if (size_t rank = node.input(static_cast<int64_t>(i)).rank();
        part.contains("...") && rank + 3 >= part.size())
      most = std::max(most, rank + 3 - part.size());
  std::string axes = freshLetters(text, most);
  auto expand = [&](StringRef part, size_t count) {
    auto [before, behind] = part.split("...");
    return part.contains("...") ? (before + StringRef(axes).take_back(count) + behind).str() : part.str();
  };
  Equation equation;
  for (auto [i, part] : llvm::enumerate(parts)) {
    size_t rank = node.input(static_cast<int64_t>(i)).rank();
    equation.operands.push_back(expand(part, rank + 3 >= part.size() ? rank + 3 - part.size() : 0));
  }
  equation.result = expand(StringRef(text).contains("->") ? right.str() : impliedResult(left), most);
  if (equation.result.find('.') != std::string::npos || axes.size() < most)
    refuseUnsupported("has the equation `" + text + "`");
  for (auto [i, letter] : llvm::enumerate(equation.result))
    if (equation.result.find(letter) != i ||
        llvm::none_of(equation.operands,
                      [&](const std::string &operand) { return operand.find(letter) != std::string::npos; }))
      refuseMalformed("has the equation `" + text + "`, whose result has `" + letter +
                      "` twice, or from no operand");
  return equation;
}

/// Of letters that stand twice in an operand the entries where both indices are the same.
static Value diagonalOf(Emitter &emit, Value x, std::string &letters) {
  if (letters.size() != shapeOf(x).size())
    refuseMalformed("names the axes `" + letters + "` of an operand of shape " + toString(shapeOf(x)));
  for (size_t second = 0; second < letters.size(); ++second) {
    size_t first = letters.find(letters[second]);
    if (first == second)
      continue;
    Shape shape = shapeOf(x);
    Extent extent = shape[second];
    if (!(shape[first] == extent))
      refuseMalformed("has extents " + toString({shape[first], extent}) + " for the index `" +
                      letters[second] + "`");
    if (extent.batched)
      refuseCrossBatch(
          "reads the diagonal of two axes that grow with the batch: entries of pairs of samples");
    SmallVector<int64_t> perm;
    for (size_t d = 0; d < shape.size(); ++d)
      if (d != first && d != second)
        perm.push_back(static_cast<int64_t>(d));
    Shape flat;
    std::string kept;
    for (int64_t d : perm) {
      flat.push_back(shape[d]);
      kept += letters[d];
    }
    letters = kept + letters[second];
    perm.append({static_cast<int64_t>(first), static_cast<int64_t>(second)});
    flat.push_back(Extent::fixed(extent.count * extent.count)); // every (n + 1)th of a row of n * n
    Shape diagonal = flat;
    diagonal.back() = extent;
    SmallVector<int64_t> starts(flat.size(), 0), steps(flat.size(), 1);
    steps.back() = extent.count + 1;
    x = emit.slice(emit.reshape(emit.transpose(x, perm), flat), starts, steps, diagonal);
    second = 0;
  }
  return x;
}

/// Without the axes of extent 1 that broadcast against the other operand's.
static Value leanAgainst(Emitter &emit, Value x, std::string &letters, const Shape &other,
                         const std::string &otherLetters) {
  Shape shape = shapeOf(x), lean;
  std::string kept;
  for (auto [d, letter] : llvm::enumerate(letters)) {
    size_t at = otherLetters.find(letter);
    bool isShared = at != std::string::npos;
    if (isShared && shape[d].isOne() && !other[at].isOne())
      continue;
    if (isShared && !other[at].isOne() && !(shape[d] == other[at]))
      refuseMalformed("has extents " + toString({shape[d], other[at]}) + " for the index `" + letter + "`");
    lean.push_back(shape[d]);
    kept += letter;
  }
  letters = kept;
  return emit.reshape(x, lean);
}

/// Sums the letters that neither the result nor the other operand has.
static Value sumAlone(Emitter &emit, Value x, std::string &letters, const std::string &others) {
  SmallVector<int64_t> axes;
  std::string kept;
  for (auto [d, letter] : llvm::enumerate(letters)) {
    if (others.find(letter) == std::string::npos)
      axes.push_back(static_cast<int64_t>(d));
    else
      kept += letter;
  }
  letters = kept;
  return emit.reduce(nn::ReduceKind::sum, x, axes);
}

static bool isPermutation(SmallVector<int64_t> perm) {
  llvm::sort(perm);
  for (auto [i, axis] : llvm::enumerate(perm))
    if (axis != static_cast<int64_t>(i))
      return false;
  return true;
}

/// The axes of one operand in another order, some summed.
static Value einsumOfOne(Emitter &emit, Value operand, std::string letters, const std::string &result) {
  Value x = diagonalOf(emit, operand, letters);
  x = sumAlone(emit, x, letters, result);
  SmallVector<int64_t> perm;
  for (char letter : result)
    perm.push_back(static_cast<int64_t>(letters.find(letter)));
  if (perm.size() != shapeOf(x).size() || letters.size() != perm.size() || !isPermutation(perm))
    refuseUnsupported("has the equation `" + letters + "->" + result + "`");
  return emit.transpose(x, perm);
}

/// From the left, two operands at a time; a product in between keeps the letters that are still needed.
static void einsum(Binder &node) {
  Emitter &emit = node.emit;
  Equation equation = equationOf(node);
  std::string letters = equation.operands[0];
  if (node.inputCount() == 1)
    return node.set(0, einsumOfOne(emit, node.value(0), letters, equation.result));
  Value product = diagonalOf(emit, node.value(0), letters);
  for (int64_t i = 1; i < node.inputCount(); ++i) {
    std::string next = equation.operands[i], later = equation.result, kept;
    for (int64_t k = i + 1; k < node.inputCount(); ++k)
      later += equation.operands[k];
    Value other = diagonalOf(emit, node.value(i), next);
    Shape left = shapeOf(product), right = shapeOf(other);
    std::string leftLetters = letters, rightLetters = next;
    Value a = leanAgainst(emit, product, letters, right, rightLetters);
    Value b = leanAgainst(emit, other, next, left, leftLetters);
    a = sumAlone(emit, a, letters, next + later);
    b = sumAlone(emit, b, next, letters + later);
    for (char letter : letters + next)
      if (later.find(letter) != std::string::npos && kept.find(letter) == std::string::npos)
        kept += letter;
    kept = i + 1 == node.inputCount() ? equation.result : kept;
    product = emit.contract(letters + "," + next + "->" + kept, a, b);
    letters = kept;
  }
  node.set(0, product);
}

void addContractionRules(RuleTable &table) {
  table.add("MatMul", 1, matmulRule);
  table.add("Gemm", 7, gemm, "alpha beta transA transB");
  table.add("Einsum", 12, einsum, "equation");
}

} // namespace accum::import
