// SPDX-License-Identifier: Apache-2.0
// Backward on tensor cores: what a block owns stays in registers as left operands, for 16 columns after each
// other scores are computed, and become left operands in turn.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Codegen/Cuda/Teams.h"
#include "passes/Codegen/Cuda/TensorAttention.h"

using namespace mlir;

namespace accum::codegen {

TensorAttention::Statistics TensorAttention::statisticsOf(Scores &scoring, Value lse, Value query) {
  Scores::Row known = scoring.rowOf(lse, query);
  return {unit == 1 ? known.top : times(known.top, real(unit)), known.inverse, Value()};
}

/// A row's weights add up to 1: each weight's cotangent loses the mean of all, which is y . dy.
void TensorAttention::differentiate(Scores &scoring, MutableArrayRef<Value> products,
                                    MutableArrayRef<Value> dweights, const Window &window,
                                    StatisticsOf rowsOf) {
  SmallVector<Statistics> rows;
  Values seen(products.size());
  for (auto [index, product] : llvm::enumerate(products)) {
    Spot spot = spotOf(index, kWindow);
    Statistics row = rowsOf(spot);
    if (rules.hasMask())
      product = minus(maskedScore(scoring, product, window, spot, seen[index]), row.top);
    else
      product = fma(product, real(rules.scale), arith::NegFOp::create(b, row.top));
    rows.push_back(row);
  }
  if (!rules.hasMask())
    hide(scoring, products, window);
  bool mayBlock = rules.countsHidden() && rules.hidden == nn::HiddenScore::replaced;
  for (auto [index, row] : llvm::enumerate(rows)) {
    Value weight = power(products[index]);
    if (row.inverse)
      weight = times(weight, row.inverse);
    products[index] = weight;
    if (dweights.empty())
      continue;
    Value cotangent = times(weight, minus(dweights[index], row.delta));
    dweights[index] = mayBlock && seen[index] ? select(seen[index], cotangent, real(0)) : cotangent;
  }
}

void TensorAttention::writeScaled(const Matrix &matrix, Value first, ArrayRef<Value> sums) {
  Values all;
  for (Value sum : sums)
    all.push_back(times(sum, real(rules.scale / unit)));
  write(matrix, first, all);
}

/// A tile of keys and values: what it adds to the cotangents of the own queries.
Values TensorAttention::queryCotangents(Scores &scoring, const Owned &own, ArrayRef<Statistics> statistics,
                                        const Tile &keys, const Tile &values, const Window &tile,
                                        ValueRange before) {
  Values after(before);
  for (int64_t column = 0; column < shape.columns; column += kWindow) {
    Values weights = products(own.first, keys, column), dscores = products(own.second, values, column);
    differentiate(scoring, weights, dscores, {tile.rows, add(tile.columns, column), false},
                  [&](const Spot &spot) { return statistics[spot.row]; });
    accumulate(after, packed(dscores), keys, column);
  }
  return after;
}

void TensorAttention::backwardQueries(Value block) {
  Place place = places.queryPlace(block);
  Tile deltas = shared.take(*this, 1, shape.rows(), shape.rows()),
       slots = shared.take(*this, 1, WarpShape::kWarps, WarpShape::kWarps);
  bool keepsOne = !isVeryWide(), keepsBoth = keepsOne && leftWords() * 2 + sumWords() <= kMostOfBoth;
  Tile dy, q;
  auto takeOwn = [&](bool one, bool other) {
    if (one)
      q = takeRows(shape.rows(), o.q.columns);
    if (other)
      dy = takeRows(shape.rows(), o.v.columns);
    return shared.mark();
  };
  int64_t mark = takeOwn(!keepsOne, !keepsBoth);
  takeOwn(keepsOne, keepsBoth);
  shared.restart(mark);
  Tile k = takeStages(o.k.columns, stages()), v = takeStages(o.v.columns, stages());
  Matrix keys = places.matrix(o.k, place, place.group), values = places.matrix(o.v, place, place.group),
         dys = places.matrix(o.dy, place, place.head);
  fill(q, places.matrix(o.q, place, place.head), place.first);
  fill(dy, dys, place.first);
  dotRows(deltas, dys, places.matrix(o.y, place, place.head), place.first);
  barrier(b);
  Owned own = {keepsOne ? keep(q) : leave(q), keepsBoth ? keep(dy) : leave(dy)};
  barrier(b); // keys and values come to the same place
  Scores scoring = places.scores(place, place.head, /*keysAreRows=*/false);
  SmallVector<Statistics> statistics;
  Value lowest;
  for (int64_t i = 0; i < rowsEach(); ++i) {
    Value query = add(place.first, ownRow(i)), lse = places.lseOf(place, place.head, query);
    lowest = lowest ? smaller(lowest, lse) : lse;
    statistics.push_back(statisticsOf(scoring, lse, query));
    statistics.back().delta = takeOne(deltas, ownRow(i));
  }
  auto least = [&](ValueRange) { return leastOfWarps(lowest, slots); };
  TileStream stream(*this, shape.columns, rules.keys, stages());
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
      return queryCotangents(scoring, own, statistics, stageOf(k, stage), stageOf(v, stage),
                             {place.first, first, false}, before);
    });
  };
  Values end = places.keyRounds(place.first, stream.start(zeroSums(k.width)), least, round);
  finishCopies();
  writeScaled(places.matrix(o.dq, place, place.head), place.first, Values(TileStream::rest(end)));
}

/// Blocks for values need no y: it serves the cotangents of scores.
void TensorAttention::loadQueries(const QueryTiles &tiles, const Place &place, Value head, Value stage,
                                  Value first) {
  startFill(stageOf(tiles.q, stage), places.matrix(o.q, place, head), first);
  startFill(stageOf(tiles.dy, stage), places.matrix(o.dy, place, head), first);
  if (tiles.y.data)
    startFill(stageOf(tiles.y, stage), places.matrix(o.y, place, head), first);
  when(below(thread, shape.columns), [&] {
    Value to = at(numbersOf(tiles.lses, stage).data, thread, b.getF32Type());
    startCopy(to, places.lseAddress(place, head, add(first, thread)), 4, integer(4));
  });
}

void TensorAttention::finishQueries(const QueryTiles &tiles, const Place &place, Value head, Value stage) {
  finishFill(stageOf(tiles.q, stage), places.matrix(o.q, place, head));
  finishFill(stageOf(tiles.dy, stage), places.matrix(o.dy, place, head));
}

void TensorAttention::readStatistics(const QueryTiles &tiles, Scores &scoring, Value stage, Value first) {
  if (tiles.y.data)
    dotRows(tiles.deltas, asMatrix(stageOf(tiles.dy, stage)), asMatrix(stageOf(tiles.y, stage)), integer(0));
  when(below(thread, shape.columns), [&] {
    Value lse = takeOne(numbersOf(tiles.lses, stage), thread);
    Statistics row = statisticsOf(scoring, lse, add(first, thread));
    putOne(tiles.tops, thread, row.top);
    if (row.inverse)
      putOne(tiles.inverses, thread, row.inverse);
  });
}

/// A tile of queries: what it adds to the cotangents of the own keys, `split` numbers, and of values.
Values TensorAttention::keyCotangents(Scores &scoring, const Owned &own, const QueryTiles &tiles, Value stage,
                                      const Window &tile, ValueRange before, size_t split) {
  Values after(before);
  Tile q = stageOf(tiles.q, stage), dy = stageOf(tiles.dy, stage);
  for (int64_t column = 0; column < shape.columns; column += kWindow) {
    Values weights = products(own.first, q, column), dscores;
    if (split > 0)
      dscores = products(own.second, dy, column);
    auto statistics = [&](const Spot &spot) {
      Value query = add(ownColumn, column + spot.column);
      return Statistics{takeOne(tiles.tops, query),
                        rules.mayLoseSum() ? takeOne(tiles.inverses, query) : Value(),
                        split > 0 ? takeOne(tiles.deltas, query) : Value()};
    };
    differentiate(scoring, weights, dscores, {tile.rows, add(tile.columns, column), true}, statistics);
    if (split > 0)
      accumulate(MutableArrayRef(after).take_front(split), packed(dscores), q, column);
    if (split < after.size())
      accumulate(MutableArrayRef(after).drop_front(split), packed(weights), dy, column);
  }
  return after;
}

void TensorAttention::backwardKeys(Value block, Part part) {
  Place place = places.keyPlace(block);
  bool forKeys = part != Part::Values, forValues = part != Part::Keys;
  auto takeRow = [&] { return shared.take(*this, 1, shape.columns, shape.columns); };
  QueryTiles tiles;
  tiles.deltas = takeRow(), tiles.tops = takeRow(), tiles.inverses = takeRow();
  bool keepsOne = !isVeryWide(),
       keepsBoth = keepsOne && leftWords() * 2 + sumWords() * (forKeys + forValues) <= kMostOfBoth;
  Tile k, v;
  auto takeOwn = [&](bool one, bool other) {
    if (one)
      k = takeRows(shape.rows(), o.k.columns);
    if (forKeys && other)
      v = takeRows(shape.rows(), o.v.columns);
    return shared.mark();
  };
  int64_t mark = takeOwn(!keepsOne, !keepsBoth);
  takeOwn(keepsOne, keepsBoth);
  shared.restart(mark);
  tiles.q = takeStages(o.q.columns, stages()), tiles.dy = takeStages(o.v.columns, stages());
  if (forKeys)
    tiles.y = takeStages(o.v.columns, stages());
  tiles.lses = shared.take(*this, stages(), shape.columns, shape.columns);
  fill(k, places.matrix(o.k, place, place.group), place.first);
  if (forKeys)
    fill(v, places.matrix(o.v, place, place.group), place.first);
  barrier(b);
  Owned own = {keepsOne ? keep(k) : leave(k), {}};
  if (forKeys)
    own.second = keepsBoth ? keep(v) : leave(v);
  Values zeros = forKeys ? zeroSums(tiles.q.width) : Values();
  size_t split = zeros.size();
  if (forValues)
    llvm::append_range(zeros, zeroSums(tiles.dy.width));
  barrier(b); // queries come to the same place
  int64_t each = o.heads / o.groups;
  TileStream stream(*this, shape.columns, rules.queries, stages());
  Values end = loop(0, each, 1, stream.start(zeros), [&](Value number, ValueRange carried) {
    Value head = add(mul(place.group, each), number);
    Scores scoring = places.scores(place, head, /*keysAreRows=*/true);
    auto load = [&](Value stage, Value first) { loadQueries(tiles, place, head, stage, first); };
    auto arrived = [&](Value stage) { finishQueries(tiles, place, head, stage); };
    auto round = [&](Value first, ValueRange before) {
      return stream.round(first, before, load, arrived, [&](Value stage, ValueRange sums) {
        readStatistics(tiles, scoring, stage, first);
        barrier(b);
        return keyCotangents(scoring, own, tiles, stage, {place.first, first, true}, sums, split);
      });
    };
    return places.queryRounds(place, head, rem(thread, 8), stream.restart(carried), round);
  });
  finishCopies();
  Values sums(TileStream::rest(end));
  if (forKeys)
    writeScaled(places.matrix(o.dk, place, place.group), place.first, ArrayRef(sums).take_front(split));
  if (forValues)
    write(places.matrix(o.dv, place, place.group), place.first, ArrayRef(sums).drop_front(split));
}

} // namespace accum::codegen
