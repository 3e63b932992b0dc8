// SPDX-License-Identifier: Apache-2.0
// Where a block of an attention kernel works.
#include "passes/Codegen/Cuda/AttentionCode.h"

using namespace mlir;

namespace accum::codegen {

AttentionCode::Place AttentionCode::queryPlace(Value block) {
  int64_t tiles = tilesOf(o.q.rows);
  Value rest = div(block, tiles), tile = sub(integer(tiles - 1), rem(block, tiles)),
        head = rem(rest, o.heads);
  return {div(rest, o.heads), head, div(head, o.heads / o.groups), mul(tile, shape.rows)};
}

AttentionCode::Place AttentionCode::keyPlace(Value block) {
  int64_t tiles = tilesOf(o.k.rows);
  Value rest = div(block, tiles);
  return {div(rest, o.groups), Value(), rem(rest, o.groups), mul(rem(block, tiles), shape.rows)};
}

Value AttentionCode::headOf(const Heads &heads, Type element, const Place &place, Value head) {
  return at(heads.data, sum64(stretched(place.sample, heads.batch), stretched(head, heads.head)), element);
}

Scores AttentionCode::scores(const Place &place, Value head, bool keysAreRows) {
  ScoreRules own = rules;
  own.queriesEnd = keysAreRows && rules.queries % shape.columns != 0;
  own.keysEnd = !keysAreRows && rules.keys % shape.columns != 0;
  Type element = rules.shown ? Type(b.getI8Type()) : Type(b.getF32Type());
  return {*this, own, rules.hasMask() ? headOf(o.mask, element, place, head) : Value()};
}

Value AttentionCode::keysSeen(Value firstQuery) {
  return rules.causal ? least(add(firstQuery, shape.rows), rules.keys) : integer(rules.keys);
}

Value AttentionCode::lseOf(const Place &place, Value head, Value query) {
  Type f32 = b.getF32Type();
  Value row = stretched(least(query, rules.queries - 1), o.lse.row);
  return load(f32, at(headOf(o.lse, f32, place, head), row, f32), 4);
}

} // namespace accum::codegen
