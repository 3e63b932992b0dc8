// SPDX-License-Identifier: Apache-2.0
// Forward: a block owns a tile of queries.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Codegen/Cuda/AttentionCode.h"
#include "passes/Codegen/Cuda/Teams.h"
#include <limits>

using namespace mlir;

namespace accum::codegen {

/// Scores become weights, still to be divided by the sum.
void AttentionCode::absorb(Running &state, Values &weights) {
  int64_t columns = shape.columnsEach(), fours = static_cast<int64_t>(state.y.size()) / shape.rowsEach();
  auto larger = [&](Value x, Value y) { return this->larger(x, y); };
  for (int64_t i = 0; i < shape.rowsEach(); ++i) {
    auto row = MutableArrayRef(weights).slice(i * columns, columns);
    Value top = row[0];
    for (Value score : row.drop_front())
      top = larger(top, score);
    top = larger(state.top[i], overLanes(top, larger));
    // Exponentials of -inf beside nothing but -inf are 0, and those of NaN are NaN.
    Value shift = select(equal(top, -kInfinity), real(0), top);
    Value factor = exp(minus(state.top[i], shift));
    Value sum = times(state.sum[i], factor);
    for (Value &score : row) {
      score = exp(minus(score, shift));
      sum = plus(sum, score);
    }
    state.top[i] = top;
    state.sum[i] = sum;
    for (Value &y : MutableArrayRef(state.y).slice(i * fours, fours))
      y = times(y, splat(factor));
  }
}

void AttentionCode::finish(const Place &place, Running &state) {
  Matrix y = places.matrix(o.y, place, place.head);
  int64_t fours = static_cast<int64_t>(state.y.size()) / shape.rowsEach();
  for (int64_t i = 0; i < shape.rowsEach(); ++i) {
    Value sum = overLanes(state.sum[i], [&](Value a, Value b) { return plus(a, b); });
    Value isEmpty = equal(state.top[i], -kInfinity);
    // Nothing but -inf: y is zero so far, or NaN where a score is.
    bool isZero = rules.hidden == nn::HiddenScore::excluded;
    Value otherwise = real(isZero ? 1 : std::numeric_limits<double>::quiet_NaN());
    Value inverse = select(isEmpty, otherwise, arith::DivFOp::create(b, real(1), sum));
    for (Value &four : MutableArrayRef(state.y).slice(i * fours, fours))
      four = times(four, splat(inverse));
    Value none = select(equal(sum, 0), real(-kInfinity), sum); // NaN stays
    Value lse = select(isEmpty, isZero ? none : otherwise, plus(state.top[i], log(sum)));
    Value row = add(place.first, ownRow(i));
    when(both(below(row, rules.queries), below(lane, 1)), [&] { places.storeLse(place, row, lse); });
  }
  write(y, place.first, state.y);
}

void AttentionCode::forward(Value block) {
  Place place = places.queryPlace(block);
  Tile q = shared.takeOperand(*this, shape.rows, o.q.columns),
       k = shared.takeOperand(*this, shape.columns, o.k.columns),
       v = shared.takeOperand(*this, shape.columns, o.v.columns),
       w = shared.takeWeights(*this, shape.rows, shape.columns),
       slots = shared.take(*this, 1, shape.bands(), shape.bands());
  Matrix keys = places.matrix(o.k, place, place.group), values = places.matrix(o.v, place, place.group);
  fill(q, places.matrix(o.q, place, place.head), place.first);
  int64_t rows = shape.rowsEach();
  Running start = {Values(rows, real(-kInfinity)), Values(rows, real(0)), zeroSums(v)};
  Scores scoring = places.scores(place, place.head, /*keysAreRows=*/false);
  auto least = [&](ValueRange state) {
    Value lowest = state.front();
    for (Value top : state.slice(1, rows - 1))
      lowest = smaller(lowest, top);
    return leastOfBands(lowest, slots);
  };
  Values end = places.keyRounds(place.first, start.packed(), least, [&](Value first, ValueRange before) {
    Running state = Running::unpack(before, rows);
    barrier(b); // what was there has been read
    fill(k, keys, first);
    fill(v, values, first);
    barrier(b);
    Values weights = products(q, k, o.q.columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < shape.columnsEach(); ++j) {
        Value &score = weights[i * shape.columnsEach() + j];
        score = scoring.of(score, add(place.first, ownRow(i)), add(first, ownColumn(j)));
      }
    absorb(state, weights);
    put(w, weights);
    barrier(b);
    state.y = accumulate(state.y, w, v);
    return state.packed();
  });
  Running state = Running::unpack(end, rows);
  finish(place, state);
}

} // namespace accum::codegen
