// SPDX-License-Identifier: Apache-2.0
// Attention: keys after the end are hidden, by the mask or because they come after every query.
#include "passes/Lengths/Site.h"

using namespace mlir;

namespace accum::lengths {
namespace {

enum Operand : unsigned { query, key, value, mask };

/// The axes of [b, heads, queries, d].
constexpr int64_t kRows = 2, kKeys = 3;

bool hidesKey(const Fill &fill, bool isBit) { return isBit ? fill.isNumber(0) : fill.isLow(); }

class Attention {
public:
  Attention(nn::AttentionOp op, Site &site) : op(op), site(site) {
    isBit = op.getMask() && cast<RankedTensorType>(op.getMask().getType()).getElementType().isInteger(1);
  }

  LogicalResult run(Results results) {
    if (failed(findRows()) || failed(hideKeys()))
      return failure();
    for (Facts &result : results) {
      result.isFinite = isFinite();
      if (rows)
        result.axes.push_back(*rows);
    }
    return success();
  }

private:
  const RaggedAxis *along(unsigned operand, int64_t axis) const {
    return operand < site.operands.size() ? site.operands[operand]->along(axis) : nullptr;
  }

  /// Queries, known where the mask is known of them too.
  LogicalResult findRows() {
    for (unsigned operand = 0; operand < site.operands.size(); ++operand)
      for (const RaggedAxis &axis : site.operands[operand]->axes)
        if (axis.axis != (operand == mask && axis.axis == kKeys ? kKeys : kRows))
          return site.refuse("attends along axis " + Twine(axis.axis) + " of " +
                             site.shape(op->getOperand(operand)) + ", in which the positions are");
    for (unsigned operand : {unsigned(query), unsigned(mask)})
      if (const RaggedAxis *axis = along(operand, kRows)) {
        if (rows && !rows->isAlignedWith(*axis))
          return site.refuse("lines up queries and a mask whose positions lie in different orders");
        int64_t known = rows ? std::min(rows->known, axis->known) : axis->known;
        rows = *axis;
        rows->known = known;
        rows->fill.reset();
        rows->first = {};
      }
    return success();
  }

  LogicalResult hideKeys() {
    const RaggedAxis *keys = along(key, kRows), *values = along(value, kRows), *shown = along(mask, kKeys);
    if (!keys && !values)
      return success();
    if (!keys || !values || !keys->isAlignedWith(*values) || (shown && !shown->isAlignedWith(*keys)))
      return site.refuse("attends to keys and values whose positions lie in different orders");
    int64_t end = std::min(keys->end(), values->end());
    end = shown ? std::min(end, shown->end()) : end;
    bool isPlain = keys->isPlain();
    bool isFinite = site.operands[key]->isFinite && site.operands[value]->isFinite;
    if (isPlain && isFinite && hidesBelowScores() && isOpen() && (isMasked(end) || isTriangle(*keys, end)))
      return success();
    return site.refuse("attends to keys along axis 2 of " + site.shape(op.getKey()) +
                           ", of which those after a sample's end are not hidden",
                       "pass an attention mask, or use causal attention");
  }

  /// Whether what a hidden score becomes is lower than all others: scores of ordinary queries and keys are.
  bool hidesBelowScores() {
    auto isCommon = [](const Facts *each) { return each->isOrdinary && each->isCapped; };
    return op.getHidden() == nn::HiddenScore::excluded ||
           (isCommon(site.operands[query]) && isCommon(site.operands[key]));
  }

  /// Every query sees key 0 or its own, or one that sees none gets what does not depend on their number.
  bool isOpen() {
    if (!op.getMask() || op.getHidden() == nn::HiddenScore::excluded)
      return true;
    if (shows(site.first(mask, kKeys)))
      return true;
    if (!rows || !along(mask, kKeys) || along(mask, kKeys)->shift < 0 ||
        !shows(site.diagonal(mask, kRows, kKeys)))
      return false;
    rows->known = std::min<int64_t>(rows->known, 0);
    seesOwn = true;
    return true;
  }

  bool shows(const First &first) const {
    return isBit ? first.kind == First::Kind::Number && first.number != 0 : first.isOrdinary();
  }

  bool isMasked(int64_t end) {
    std::optional<Fill> fill = op.getMask() ? site.fill(mask, kKeys) : std::nullopt;
    if (!fill || !hidesKey(*fill, isBit))
      return false;
    if (!fill->isCausal)
      return fill->from <= end;
    if (rows)
      rows->known = std::min(rows->known, moved(end, -fill->from));
    return rows.has_value();
  }

  /// Query i sees keys 0 .. i.
  bool isTriangle(const RaggedAxis &keys, int64_t end) {
    if (!op.getCausal() || !rows || !along(query, kRows) || !rows->isAlignedWith(keys))
      return false;
    rows->known = std::min(rows->known, end);
    return true;
  }

  /// A query that sees no key gets NaN where hidden scores are -inf.
  bool isFinite() {
    bool isKept = op.getHidden() != nn::HiddenScore::infinite || !op.getMask();
    std::optional<Fill> fill = op.getMask() ? site.fill(mask, kRows) : std::nullopt;
    bool hidesRows = fill && !fill->isCausal && along(mask, kRows) &&
                     (isBit ? fill->isNumber(0) : fill->isMinusInfinity());
    bool areOperands = llvm::all_of(ArrayRef(site.operands).take_front(mask), [](const Facts *each) {
      return each->isFinite && each->isOrdinary; // products of scores that hide are infinite
    });
    return areOperands && (isKept || !(hidesRows || seesOwn));
  }

  nn::AttentionOp op;
  Site &site;
  bool isBit = false;
  /// Queries after the end may see no key.
  bool seesOwn = false;
  std::optional<RaggedAxis> rows;
};

LogicalResult attention(nn::AttentionOp op, Site &site, Results results) {
  return Attention(op, site).run(results);
}

} // namespace

void addAttentionRules(RuleTable &table) { table.add<nn::AttentionOp, attention>(); }

} // namespace accum::lengths
