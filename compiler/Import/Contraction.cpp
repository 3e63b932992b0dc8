// SPDX-License-Identifier: Apache-2.0
// Rules: matrix products, as nn.contract with one letter for each index.
#include "compiler/Import/Binder.h"
#include "llvm/ADT/STLExtras.h"

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

/// Equation without spaces, ellipses refused, with an explicit right side.
static std::string equationOf(Binder &node) {
  std::string equation = node.text("equation", "");
  llvm::erase(equation, ' ');
  if (equation.find('.') != std::string::npos || equation.find("->") == std::string::npos)
    refuseUnsupported("has the equation `" + equation + "`, with an ellipsis or without a right side");
  return equation;
}

/// Sums the letters that neither the result nor the other operand has.
static Value sumAlone(Emitter &emit, Value x, std::string &letters, const std::string &others) {
  SmallVector<int64_t> axes;
  std::string kept;
  if (letters.size() != shapeOf(x).size())
    refuseMalformed("names the axes `" + letters + "` of an operand of shape " + toString(shapeOf(x)));
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

static void einsum(Binder &node) {
  Emitter &emit = node.emit;
  std::string equation = equationOf(node);
  auto [operands, resultText] = StringRef(equation).split("->");
  auto [left, right] = operands.split(',');
  std::string l = left.str(), r = right.str(), result = resultText.str();
  if (node.inputCount() == 1) {
    Value x = sumAlone(emit, node.value(0), l, result);
    SmallVector<int64_t> perm;
    for (char letter : result)
      perm.push_back(static_cast<int64_t>(l.find(letter)));
    if (perm.size() != shapeOf(x).size() || l.size() != perm.size() || !isPermutation(perm))
      refuseUnsupported("has the equation `" + equation + "`");
    return node.set(0, emit.transpose(x, perm));
  }
  if (node.inputCount() != 2)
    refuseUnsupported("has " + std::to_string(node.inputCount()) + " operands");
  Value a = sumAlone(emit, node.value(0), l, r + result), b = sumAlone(emit, node.value(1), r, l + result);
  node.set(0, emit.contract(l + "," + r + "->" + result, a, b));
}

void addContractionRules(RuleTable &table) {
  table.add("MatMul", 1, matmulRule);
  table.add("Gemm", 7, gemm);
  table.add("Einsum", 12, einsum);
}

} // namespace accum::import
