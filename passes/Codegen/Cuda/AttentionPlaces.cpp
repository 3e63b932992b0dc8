// SPDX-License-Identifier: Apache-2.0
// Places by a block's number, rounds by what masks leave.
#include "passes/Codegen/Cuda/AttentionPlaces.h"

using namespace mlir;

namespace accum::codegen {

using Place = AttentionPlaces::Place;

Place AttentionPlaces::queryPlace(Value block) {
  int64_t tiles = tilesOf(o.q.rows);
  Value rest = c.div(block, tiles), tile = c.sub(c.integer(tiles - 1), c.rem(block, tiles)),
        head = c.rem(rest, o.heads);
  return {c.div(rest, o.heads), head, c.div(head, o.heads / o.groups), c.mul(tile, rows)};
}

Place AttentionPlaces::keyPlace(Value block) {
  int64_t tiles = tilesOf(o.k.rows);
  Value rest = c.div(block, tiles);
  return {c.div(rest, o.groups), Value(), c.rem(rest, o.groups), c.mul(c.rem(block, tiles), rows)};
}

Value AttentionPlaces::headOf(const Heads &heads, Type element, const Place &place, Value head) {
  return c.at(heads.data, c.sum64(c.stretched(place.sample, heads.batch), c.stretched(head, heads.head)),
              element);
}

Scores AttentionPlaces::scores(const Place &place, Value head, bool keysAreRows) {
  ScoreRules own = rules;
  own.queriesEnd = keysAreRows && rules.queries % columns != 0;
  own.keysEnd = !keysAreRows && rules.keys % columns != 0;
  Type element = rules.shown ? Type(c.b.getI8Type()) : Type(c.b.getF32Type());
  return {c, own, rules.hasMask() ? headOf(o.mask, element, place, head) : Value()};
}

Value AttentionPlaces::keysSeen(Value firstQuery) {
  return rules.causal ? c.least(c.add(firstQuery, rows), rules.keys) : c.integer(rules.keys);
}

Value AttentionPlaces::lseAddress(const Place &place, Value head, Value query) {
  Type f32 = c.b.getF32Type();
  Value row = c.stretched(c.least(query, rules.queries - 1), o.lse.row);
  return c.at(headOf(o.lse, f32, place, head), row, f32);
}

Value AttentionPlaces::lseOf(const Place &place, Value head, Value query) {
  return c.load(c.b.getF32Type(), lseAddress(place, head, query), 4);
}

void AttentionPlaces::storeLse(const Place &place, Value query, Value lse) {
  Type f32 = c.b.getF32Type();
  c.store(lse, c.at(headOf(o.lse, f32, place, place.head), c.stretched(query, o.lse.row), f32), 4);
}

Values AttentionPlaces::keyRounds(Value firstQuery, const Values &state, LeastOf least, Round round) {
  Value seen = keysSeen(firstQuery);
  if (!rules.causal || !rules.countsHidden())
    return c.loop(c.integer(0), seen, columns, state, round);
  Value behind = c.mul(c.div(c.add(seen, columns - 1), columns), columns);
  return c.loop(0, 2, 1, state, [&](Value phase, ValueRange before) {
    Value isFirst = c.below(phase, 1), isDark = c.atMost(least(before), Scores::lowHalf());
    Value from = c.select(isFirst, c.integer(0), behind);
    Value to = c.select(isFirst, seen, c.select(isDark, c.integer(rules.keys), c.integer(0)));
    return c.loop(from, to, columns, before, round);
  });
}

Values AttentionPlaces::queryRounds(const Place &place, Value head, Value lane, const Values &state,
                                    Round round) {
  bool sees = rules.causal && rules.countsHidden();
  Value from = rules.causal && !sees ? c.mul(c.div(place.first, columns), columns) : c.integer(0);
  if (!sees)
    return c.loop(from, c.integer(rules.queries), columns, state, round);
  return c.loop(from, c.integer(rules.queries), columns, state, [&](Value first, ValueRange before) {
    Value lowest;
    for (int64_t j = 0; j < columns; j += 8) {
      Value lse = lseOf(place, head, c.add(first, c.add(lane, j)));
      lowest = lowest ? c.smaller(lowest, lse) : lse;
    }
    lowest = c.overLanes(lowest, [&](Value x, Value y) { return c.smaller(x, y); });
    Value isNeeded =
        c.either(c.below(place.first, c.add(first, columns)), c.atMost(lowest, Scores::lowHalf()));
    return c.when(isNeeded, before, [&] { return round(first, before); });
  });
}

} // namespace accum::codegen
