// SPDX-License-Identifier: Apache-2.0
// Scores on tensor cores, and forward: a block owns a tile of queries, whose operand stays in registers.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Codegen/Cuda/Teams.h"
#include "passes/Codegen/Cuda/TensorAttention.h"
#include <limits>
#include <numbers>

using namespace mlir;

namespace accum::codegen {

double TensorAttention::unitOf(const ScoreRules &rules) {
  return rules.mayLoseSum() ? 1 : std::numbers::log2e;
}

ScoreRules TensorAttention::inUnits(ScoreRules rules) {
  rules.scale *= unitOf(rules);
  return rules;
}

Value TensorAttention::power(Value x) { return exp2(unit == 1 ? times(x, real(std::numbers::log2e)) : x); }

Value TensorAttention::maskedScore(Scores &scoring, Value product, const Window &window, const Spot &spot,
                                   Value &seen) {
  Value line = add(window.rows, ownRow(spot.row)), column = add(window.columns, add(ownColumn, spot.column));
  return window.keysAreRows ? scoring.of(product, column, line, &seen)
                            : scoring.of(product, line, column, &seen);
}

/// Comparisons are with constants: what differs from thread to thread is one number for all of its places.
void TensorAttention::hide(const Scores &scoring, MutableArrayRef<Value> scores, const Window &window) {
  bool mayEnd = scoring.how().queriesEnd || scoring.how().keysEnd;
  Value firstColumn = add(window.columns, ownColumn);
  Value ahead = sub(firstColumn, add(window.rows, row)); // of the columns, before the rows
  Value left = sub(integer(window.keysAreRows ? rules.queries : rules.keys), firstColumn);
  for (auto [index, value] : llvm::enumerate(scores)) {
    Spot spot = spotOf(index, kWindow);
    int64_t line = WarpShape::kSlab * (spot.row / 2) + 8 * (spot.row % 2), behind = line - spot.column;
    if (rules.causal) {
      Value seen = window.keysAreRows ? below(integer(behind - 1), ahead) : below(ahead, behind + 1);
      value = select(seen, value, real(-kInfinity));
    }
    if (mayEnd)
      value = select(below(integer(spot.column), left), value, real(-kInfinity));
  }
}

/// Of the own queries and a tile of keys: sums of 16 columns after each other.
Values TensorAttention::keyScores(Scores &scoring, const Left &queries, const Tile &keys, const Place &place,
                                  Value first) {
  Values scores;
  for (int64_t column = 0; column < shape.columns; column += kWindow)
    llvm::append_range(scores, products(queries, keys, column));
  size_t each = scores.size() * kWindow / shape.columns;
  auto forWindows = [&](ArrayRef<Value> from, auto change) {
    Values all(from);
    for (size_t done = 0; done < all.size(); done += each) {
      Window window = {place.first, add(first, static_cast<int64_t>(done / each) * kWindow), false};
      change(MutableArrayRef(all).slice(done, each), window);
    }
    return all;
  };
  if (rules.hasMask())
    return forWindows(scores, [&](MutableArrayRef<Value> part, const Window &window) {
      Value seen;
      for (auto [index, score] : llvm::enumerate(part))
        score = maskedScore(scoring, score, window, spotOf(index, kWindow), seen);
    });
  for (Value &score : scores)
    score = times(score, real(rules.scale));
  Value isCut; // most tiles are not
  if (rules.causal)
    isCut = below(place.first, add(first, shape.columns - 1));
  if (scoring.how().keysEnd) {
    Value isLast = below(integer(rules.keys), add(first, shape.columns));
    isCut = isCut ? either(isCut, isLast) : isLast;
  }
  if (!isCut)
    return scores;
  return when(isCut, scores, [&] {
    return forWindows(
        scores, [&](MutableArrayRef<Value> part, const Window &window) { hide(scoring, part, window); });
  });
}

/// Scores become weights, still to be divided by the sum.
void TensorAttention::absorb(Running &state, Values &weights) {
  auto larger = [&](Value x, Value y) { return this->larger(x, y); };
  int64_t each = 8 * shape.slabs, width = static_cast<int64_t>(state.y.size()) * 2 / shape.slabs;
  for (int64_t i = 0; i < rowsEach(); ++i) {
    SmallVector<Value *> line;
    for (auto [index, weight] : llvm::enumerate(weights))
      if (spotOf(index % each, kWindow).row == i)
        line.push_back(&weight);
    Value top = *line.front();
    for (Value *score : ArrayRef(line).drop_front())
      top = larger(top, *score);
    top = larger(state.top[i], overColumns(top, larger));
    // Powers of -inf beside nothing but -inf are 0, and those of NaN are NaN.
    Value shift = select(equal(top, -kInfinity), real(0), top);
    Value factor = power(minus(state.top[i], shift)), sum = times(state.sum[i], factor);
    for (Value *score : line) {
      *score = power(minus(*score, shift));
      sum = plus(sum, *score);
    }
    state.top[i] = top;
    state.sum[i] = sum;
    for (auto [index, y] : llvm::enumerate(state.y))
      if (spotOf(index, width).row == i)
        y = times(y, factor);
  }
}

void TensorAttention::finish(const Place &place, Running &state) {
  int64_t width = static_cast<int64_t>(state.y.size()) * 2 / shape.slabs;
  for (int64_t i = 0; i < rowsEach(); ++i) {
    Value sum = overColumns(state.sum[i], [&](Value a, Value b) { return plus(a, b); });
    Value isEmpty = equal(state.top[i], -kInfinity);
    // Nothing but -inf: y is zero so far, or NaN where a score is.
    bool isZero = rules.hidden == nn::HiddenScore::excluded;
    Value otherwise = real(isZero ? 1 : std::numeric_limits<double>::quiet_NaN());
    Value inverse = select(isEmpty, otherwise, arith::DivFOp::create(b, real(1), sum));
    for (auto [index, y] : llvm::enumerate(state.y))
      if (spotOf(index, width).row == i)
        y = times(y, inverse);
    Value none = select(equal(sum, 0), real(-kInfinity), sum); // NaN stays
    Value top = unit == 1 ? state.top[i] : times(state.top[i], real(1 / unit));
    Value lse = select(isEmpty, isZero ? none : otherwise, plus(top, log(sum)));
    Value query = add(place.first, ownRow(i));
    when(both(below(query, rules.queries), below(ownColumn, 1)), [&] { places.storeLse(place, query, lse); });
  }
  write(places.matrix(o.y, place, place.head), place.first, state.y);
}

void TensorAttention::forward(Value block) {
  Place place = places.queryPlace(block);
  Tile slots = shared.take(*this, 1, WarpShape::kWarps, WarpShape::kWarps);
  int64_t mark = shared.mark(), rows = rowsEach();
  Tile q = takeRows(shape.rows(), o.q.columns);
  shared.restart(mark);
  Tile k = takeStages(o.k.columns), v = takeStages(o.v.columns);
  Matrix keys = places.matrix(o.k, place, place.group), values = places.matrix(o.v, place, place.group);
  fill(q, places.matrix(o.q, place, place.head), place.first);
  barrier(b);
  Left queries = keep(q);
  barrier(b); // keys and values come to the same place
  Running start = {Values(rows, real(-kInfinity)), Values(rows, real(0)), zeroSums(v.width)};
  Scores scoring = places.scores(place, place.head, /*keysAreRows=*/false);
  auto least = [&](ValueRange carried) {
    ValueRange tops = TileStream::rest(carried).take_front(rows);
    Value lowest = tops.front();
    for (Value top : tops.drop_front())
      lowest = smaller(lowest, top);
    return leastOfWarps(lowest, slots);
  };
  TileStream stream(*this, shape.columns, rules.keys);
  auto load = [&](Value stage, Value first) {
    startFill(stageOf(k, stage), keys, first);
    startFill(stageOf(v, stage), values, first);
  };
  auto arrived = [&](Value stage) {
    finishFill(stageOf(k, stage), keys);
    finishFill(stageOf(v, stage), values);
  };
  auto round = [&](Value first, ValueRange carried) {
    return stream.round(first, carried, load, arrived, [&](Value stage, ValueRange before) {
      Running state = Running::unpack(before, rows);
      Values weights = keyScores(scoring, queries, stageOf(k, stage), place, first);
      absorb(state, weights);
      size_t each = weights.size() * kWindow / shape.columns;
      for (int64_t column = 0; column < shape.columns; column += kWindow)
        accumulate(state.y, packed(ArrayRef(weights).slice(column / kWindow * each, each)), stageOf(v, stage),
                   column);
      return state.packed();
    });
  };
  Values end = places.keyRounds(place.first, stream.start(start.packed()), least, round);
  finishCopies();
  Running state = Running::unpack(TileStream::rest(end), rows);
  finish(place, state);
}

} // namespace accum::codegen
