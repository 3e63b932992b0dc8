// SPDX-License-Identifier: Apache-2.0
// Masks by their values: a hidden score is a number like any other, and its weight vanishes beside a seen
// one.
#include "passes/Codegen/Cuda/AttentionScores.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;

namespace accum::codegen {

using nn::HiddenScore;

constexpr double kLowest = std::numeric_limits<float>::lowest();

double Scores::lowHalf() { return kLowest / 2; }

Value Scores::maskAt(Type type, Value query, Value key) {
  Value index = c.sum64(c.stretched(c.least(query, rules.queries - 1), rules.maskRow),
                        c.stretched(c.least(key, rules.keys - 1), rules.maskColumn));
  return c.load(type, c.at(mask, index, type), type.getIntOrFloatBitWidth() / 8);
}

/// Null: every key.
Value Scores::seen(Value query, Value key) {
  Value result;
  if (rules.causal)
    result = c.below(key, c.add(query, 1));
  if (rules.shown) {
    Value byte = maskAt(c.b.getI8Type(), query, key);
    Value zero = arith::ConstantIntOp::create(c.b, c.b.getI8Type(), 0);
    Value shown = arith::CmpIOp::create(c.b, arith::CmpIPredicate::ne, byte, zero);
    result = result ? c.both(result, shown) : shown;
  }
  return result;
}

Value Scores::hiddenScore(Value score, Value query, Value key) {
  if (!rules.countsHidden())
    return c.real(-kInfinity);
  if (rules.hidden == HiddenScore::lowered)
    return c.plus(score, c.real(kLowest));
  return rules.added ? c.plus(c.real(kLowest), addedAt(query, key)) : c.real(kLowest);
}

Value Scores::of(Value product, Value query, Value key, Value *seenBy) {
  Value score = c.times(product, c.real(rules.scale));
  if (rules.added)
    score = c.plus(score, addedAt(query, key));
  Value shown = seen(query, key);
  if (seenBy)
    *seenBy = shown;
  if (shown)
    score = c.select(shown, score, hiddenScore(score, query, key));
  if (rules.queriesEnd)
    score = c.select(c.below(query, rules.queries), score, c.real(-kInfinity));
  if (rules.keysEnd)
    score = c.select(c.below(key, rules.keys), score, c.real(-kInfinity));
  return score;
}

/// By the mask alone: in such a row it swallows what is added to it.
Scores::Row Scores::sweptRow(Value query) {
  auto scoreOf = [&](Value key) {
    Value score = addedAt(query, key);
    Value shown = seen(query, key);
    return shown ? c.select(shown, score, hiddenScore(score, query, key)) : score;
  };
  Value top = c.loop(0, rules.keys, 1, c.real(-kInfinity),
                     [&](Value key, ValueRange top) { return Values{c.larger(top[0], scoreOf(key))}; })[0];
  Value sum = c.loop(0, rules.keys, 1, c.real(0), [&](Value key, ValueRange sum) {
    return Values{c.plus(sum[0], c.exp(c.minus(scoreOf(key), top)))};
  })[0];
  return {top, arith::DivFOp::create(c.b, c.real(1), sum)};
}

Scores::Row Scores::rowOf(Value lse, Value query) {
  Row row = {lse, Value()};
  if (rules.mayLoseSum()) {
    Value isLow = c.atMost(lse, lowHalf());
    auto values = c.when(isLow, ValueRange{lse, c.real(1)}, [&] {
      if (rules.added) {
        Row swept = sweptRow(query);
        return Values{swept.top, swept.inverse};
      }
      return Values{c.real(kLowest), c.real(1 / static_cast<double>(rules.keys))};
    });
    row = {values[0], values[1]};
  }
  if (!rules.mayBeEmpty())
    return row;
  Value isEmpty = c.equal(lse, -kInfinity); // exp(-inf - inf) is 0
  row.top = c.select(isEmpty, c.real(kInfinity), row.top);
  if (row.inverse)
    row.inverse = c.select(isEmpty, c.real(1), row.inverse);
  return row;
}

Value Scores::weight(Value score, const Row &row) {
  Value power = c.exp(c.minus(score, row.top));
  return row.inverse ? c.times(power, row.inverse) : power;
}

} // namespace accum::codegen
