// SPDX-License-Identifier: Apache-2.0
// Contractions: where positions are summed, one operand must be zero after the end.
#include "passes/Lengths/Site.h"

using namespace mlir;

namespace accum::lengths {
namespace {

/// The places of a letter in an operand and in the result; npos where it is not there.
struct Letter {
  char name;
  size_t operand[2];
  size_t result;
};

SmallVector<Letter> lettersOf(nn::ContractOp op) {
  SmallVector<Letter> letters;
  for (char name : (op.lhsLetters() + op.rhsLetters()).str())
    if (llvm::none_of(letters, [&](const Letter &each) { return each.name == name; }))
      letters.push_back(
          {name, {op.lhsLetters().find(name), op.rhsLetters().find(name)}, op.resultLetters().find(name)});
  return letters;
}

/// The axis of a letter in an operand; null where it has none, or no positions.
RaggedAxis *axisOf(Facts (&operands)[2], unsigned i, const Letter &letter) {
  return letter.operand[i] == StringRef::npos ? nullptr : operands[i].along(letter.operand[i]);
}

/// One operand is zero from the end on, in rows that are known (in all, where those are summed too), and the
/// other one finite.
bool isLeftOut(Site &site, Facts (&operands)[2], const Letter &letter, RaggedAxis axis, bool sumsRows) {
  for (unsigned i : {0, 1}) {
    bool isThere = letter.operand[i] != StringRef::npos;
    std::optional<Fill> fill = isThere ? site.fill(i, letter.operand[i]) : std::nullopt;
    if (!fill || !fill->isNumber(0) || !operands[1 - i].isFinite || (sumsRows && !fill->isOfAll()))
      continue;
    axis.axis = letter.operand[i];
    if (succeeded(leaveOut(operands[i], axis, *fill)))
      return true;
  }
  return false;
}

LogicalResult sumPositions(nn::ContractOp op, Site &site, Facts (&operands)[2], const Letter &letter,
                           bool sumsRows) {
  RaggedAxis *sides[] = {axisOf(operands, 0, letter), axisOf(operands, 1, letter)};
  RaggedAxis axis = sides[0] ? *sides[0] : *sides[1];
  for (RaggedAxis *side : sides)
    if (side && !side->isAlignedWith(axis))
      return site.refuse("multiplies two values whose positions lie in different orders");
  for (RaggedAxis *side : sides)
    axis.known = side ? std::min(axis.known, side->known) : axis.known;
  if (isLeftOut(site, operands, letter, axis, sumsRows))
    return success();
  return site.refuse("multiplies " + site.shape(op.getLhs()) + " by " + site.shape(op.getRhs()) +
                         " and sums over the positions, of which those after a sample's end are not zero in "
                         "either",
                     "mask one of them first: times the attention mask, or by a softmax of masked scores");
}

/// A row that is zero in one operand is zero in the result.
std::optional<Fill> zeroRows(Site &site, Facts (&operands)[2], const Letter &letter) {
  std::optional<Fill> zero;
  for (unsigned i : {0, 1}) {
    std::optional<Fill> fill =
        letter.operand[i] == StringRef::npos ? std::nullopt : site.fill(i, letter.operand[i]);
    bool isZero = fill && fill->isNumber(0) && fill->isOfAll() && operands[1 - i].isFinite;
    if (!isZero || (zero && zero->from <= fill->from))
      continue;
    zero = fill;
    zero->before.reset();
  }
  return zero;
}

LogicalResult contract(nn::ContractOp op, Site &site, Results results) {
  Facts operands[] = {*site.operands[0], *site.operands[1]};
  Facts &result = results[0];
  result.isFinite = operands[0].isFinite && operands[1].isFinite;
  SmallVector<Letter> letters = lettersOf(op);
  auto isRagged = [&](const Letter &each) { return axisOf(operands, 0, each) || axisOf(operands, 1, each); };
  auto isSummed = [&](const Letter &each) { return isRagged(each) && each.result == StringRef::npos; };
  bool sumsRows = llvm::count_if(letters, isSummed) > 1;
  for (const Letter &letter : letters)
    if (isSummed(letter) && failed(sumPositions(op, site, operands, letter, sumsRows)))
      return failure();
  for (const Letter &letter : letters) {
    if (letter.result == StringRef::npos || !isRagged(letter))
      continue;
    RaggedAxis *sides[] = {axisOf(operands, 0, letter), axisOf(operands, 1, letter)};
    RaggedAxis axis = sides[0] ? *sides[0] : *sides[1];
    if (sides[0] && sides[1] && !sides[0]->isAlignedWith(*sides[1]))
      return site.refuse("multiplies two values whose positions lie in different orders");
    axis.known = sides[0] && sides[1] ? std::min(sides[0]->known, sides[1]->known) : axis.known;
    axis.axis = letter.result;
    axis.first = {};
    axis.fill = zeroRows(site, operands, letter);
    result.axes.push_back(axis);
  }
  return success();
}

} // namespace

void addContractionRules(RuleTable &table) { table.add<nn::ContractOp, contract>(); }

} // namespace accum::lengths
