// SPDX-License-Identifier: Apache-2.0
// The indices of the two products of an attention, as letters.
#include "passes/Recognise/AttentionLetters.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::recognise {
namespace {

/// `letters` are those of `wanted` in another order.
bool isReordered(StringRef letters, StringRef wanted) {
  return letters.size() == wanted.size() && llvm::all_of(wanted, [&](char c) { return letters.contains(c); });
}

/// The letter that `letters` has and `others` lacks.
std::string restOf(StringRef letters, StringRef others) {
  std::string rest;
  for (char letter : letters)
    if (!others.contains(letter))
      rest += letter;
  return rest;
}

/// `leading` without its second letter, the head, where keys and values both lack it.
std::string sharedBy(const std::string &leading, StringRef letters) {
  return leading.size() == 2 && !letters.contains(leading[1]) ? leading.substr(0, 1) : leading;
}
} // namespace

std::optional<Letters> lettersOf(nn::ContractOp scores, nn::ContractOp output, unsigned probabilities) {
  std::string s = scores.resultLetters().str(), lhs = scores.lhsLetters().str(),
              rhs = scores.rhsLetters().str();
  if (s.size() != 3 && s.size() != 4)
    return std::nullopt;
  std::string leading = s.substr(0, s.size() - 2), q = s.substr(s.size() - 2, 1), k = s.substr(s.size() - 1);
  Letters result;
  result.queryOperand = StringRef(lhs).contains(q) ? 0 : 1;
  result.query = result.queryOperand == 0 ? lhs : rhs;
  result.key = result.queryOperand == 0 ? rhs : lhs;
  std::string feature = restOf(result.query, s);
  result.wantedQuery = leading + q + feature;
  result.wantedKey = sharedBy(leading, result.key) + k + feature;
  StringRef p = probabilities == 0 ? output.lhsLetters() : output.rhsLetters();
  result.valueOperand = 1 - probabilities;
  result.value = (probabilities == 0 ? output.rhsLetters() : output.lhsLetters()).str();
  result.result = output.resultLetters().str();
  std::string outer = p.drop_back(2).str(), row = p.drop_back(1).take_back(1).str(),
              column = p.take_back(1).str();
  std::string valueFeature = restOf(result.value, p);
  result.wantedValue = sharedBy(outer, result.value) + column + valueFeature;
  result.wantedResult = outer + row + valueFeature;
  bool fits = feature.size() == 1 && valueFeature.size() == 1 &&
              result.wantedKey.size() == result.wantedValue.size() &&
              isReordered(result.query, result.wantedQuery) && isReordered(result.key, result.wantedKey) &&
              isReordered(result.value, result.wantedValue) &&
              isReordered(result.result, result.wantedResult);
  return fits ? std::optional(result) : std::nullopt;
}

} // namespace accum::recognise
