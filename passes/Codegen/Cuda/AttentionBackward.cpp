// SPDX-License-Identifier: Apache-2.0
// Backward, in two parts without a sum in common: blocks that own queries, and blocks that own keys. Both
// compute the weights again from lse.
#include "passes/Codegen/Cuda/AttentionCode.h"
#include "passes/Codegen/Cuda/Teams.h"

using namespace mlir;

namespace accum::codegen {

/// A row's weights add up to 1: each weight's cotangent loses the mean of all, which is y . dy.
Value AttentionCode::cotangent(Value weight, Value dweight, Value delta, Value seen) {
  Value result = times(times(weight, minus(dweight, delta)), real(rules.scale));
  bool isBlocked = seen && rules.countsHidden() && rules.hidden == nn::HiddenScore::replaced;
  return isBlocked ? select(seen, result, real(0)) : result;
}

void AttentionCode::backwardQueries(Value block) {
  Place place = places.queryPlace(block);
  Tile q = shared.takeOperand(*this, shape.rows, o.q.columns),
       dy = shared.takeOperand(*this, shape.rows, o.v.columns),
       k = shared.takeOperand(*this, shape.columns, o.k.columns),
       v = shared.takeOperand(*this, shape.columns, o.v.columns),
       ds = shared.takeWeights(*this, shape.rows, shape.columns),
       slots = shared.take(*this, 1, shape.bands(), shape.bands());
  Matrix keys = places.matrix(o.k, place, place.group), values = places.matrix(o.v, place, place.group),
         dys = places.matrix(o.dy, place, place.head);
  fill(q, places.matrix(o.q, place, place.head), place.first);
  fill(dy, dys, place.first);
  int64_t rows = shape.rowsEach(), columns = shape.columnsEach();
  Values deltas = rowDots(dys, places.matrix(o.y, place, place.head), place.first, rows);
  Scores scoring = places.scores(place, place.head, /*keysAreRows=*/false);
  SmallVector<Scores::Row> statistics;
  Value lowest;
  for (int64_t i = 0; i < rows; ++i) {
    Value query = add(place.first, ownRow(i)), lse = places.lseOf(place, place.head, query);
    lowest = lowest ? smaller(lowest, lse) : lse;
    statistics.push_back(scoring.rowOf(lse, query));
  }
  auto least = [&](ValueRange) { return leastOfBands(lowest, slots); };
  Values sums = places.keyRounds(place.first, zeroSums(k), least, [&](Value first, ValueRange before) {
    barrier(b); // what was there has been read
    fill(k, keys, first);
    fill(v, values, first);
    barrier(b);
    Values elements = products(q, k, o.q.columns), dweights = products(dy, v, o.v.columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        Value &element = elements[i * columns + j], seen;
        element = scoring.of(element, add(place.first, ownRow(i)), add(first, ownColumn(j)), &seen);
        element =
            cotangent(scoring.weight(element, statistics[i]), dweights[i * columns + j], deltas[i], seen);
      }
    put(ds, elements);
    barrier(b);
    return accumulate(Values(before), ds, k);
  });
  write(places.matrix(o.dq, place, place.head), place.first, sums);
}

void AttentionCode::backwardKeys(Value block, Part part) {
  assert(part == Part::Both);
  Place place = places.keyPlace(block);
  Tile k = shared.takeOperand(*this, shape.rows, o.k.columns),
       v = shared.takeOperand(*this, shape.rows, o.v.columns),
       q = shared.takeOperand(*this, shape.columns, o.q.columns),
       dy = shared.takeOperand(*this, shape.columns, o.v.columns),
       w = shared.takeWeights(*this, shape.rows, shape.columns),
       ds = shared.takeWeights(*this, shape.rows, shape.columns),
       deltas = shared.take(*this, 1, shape.columns, shape.columns);
  fill(k, places.matrix(o.k, place, place.group), place.first);
  fill(v, places.matrix(o.v, place, place.group), place.first);
  int64_t rows = shape.rowsEach(), columns = shape.columnsEach(), each = o.heads / o.groups;
  Values zeros = zeroSums(k);
  auto split = static_cast<int64_t>(zeros.size());
  llvm::append_range(zeros, zeroSums(v));
  Values sums = loop(0, each, 1, zeros, [&](Value number, ValueRange carried) {
    Value head = add(mul(place.group, each), number);
    Matrix queries = places.matrix(o.q, place, head), dys = places.matrix(o.dy, place, head),
           ys = places.matrix(o.y, place, head);
    Scores scoring = places.scores(place, head, /*keysAreRows=*/true);
    auto round = [&](Value first, ValueRange before) {
      Values lses;
      for (int64_t j = 0; j < columns; ++j)
        lses.push_back(places.lseOf(place, head, add(first, ownColumn(j))));
      barrier(b); // what was there has been read
      fill(q, queries, first);
      fill(dy, dys, first);
      Values dots = rowDots(dys, ys, first, shape.columns / shape.bands());
      for (auto [i, dot] : llvm::enumerate(dots))
        putOne(deltas, ownRow(static_cast<int64_t>(i)), dot);
      barrier(b);
      SmallVector<Scores::Row> statistics;
      for (int64_t j = 0; j < columns; ++j)
        statistics.push_back(scoring.rowOf(lses[j], add(first, ownColumn(j))));
      Values weights = products(k, q, o.q.columns), dscores = products(v, dy, o.v.columns);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          Value &weight = weights[i * columns + j], &dscore = dscores[i * columns + j], seen;
          weight = scoring.of(weight, add(first, ownColumn(j)), add(place.first, ownRow(i)), &seen);
          weight = scoring.weight(weight, statistics[j]);
          dscore = cotangent(weight, dscore, takeOne(deltas, ownColumn(j)), seen);
        }
      put(w, weights);
      put(ds, dscores);
      barrier(b);
      Values dk = accumulate(Values(before.take_front(split)), ds, q);
      llvm::append_range(dk, accumulate(Values(before.drop_front(split)), w, dy));
      return dk;
    };
    return places.queryRounds(place, head, lane, Values(carried), round);
  });
  write(places.matrix(o.dk, place, place.group), place.first, ArrayRef(sums).take_front(split));
  write(places.matrix(o.dv, place, place.group), place.first, ArrayRef(sums).drop_front(split));
}

} // namespace accum::codegen
