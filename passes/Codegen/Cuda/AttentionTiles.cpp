// SPDX-License-Identifier: Apache-2.0
// Loads, products and stores of tiles.
#include "passes/Codegen/Cuda/AttentionTiles.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Codegen/Cuda/KernelFunction.h"
#include "passes/Codegen/Cuda/Teams.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace accum::codegen {

constexpr int64_t kFour = 4, kRound = kFour * TileShape::kLanes;

TileCode::TileCode(Location loc, Operation *end, const TileShape &shape)
    : ThreadCode(loc, end), shape(shape), thread(readSpecialRegister(end, "tid.x", shape.threads)) {
  four = VectorType::get(kFour, b.getF32Type());
  lane = rem(thread, TileShape::kLanes);
  band = div(thread, TileShape::kLanes);
}

Value TileCode::fourOf(const Matrix &matrix, Value row, Value column, bool mayEnd) {
  Type f32 = b.getF32Type();
  Value line = stretched(row, matrix.stride);
  auto address = [&](Value where) { return at(matrix.data, sum64(line, wide(where)), f32); };
  if (matrix.vectors) {
    Value loaded = load(four, address(mayEnd ? least(column, matrix.columns - kFour) : column), 16);
    return mayEnd ? select(below(column, matrix.columns), loaded, zeros()) : loaded;
  }
  Value result = zeros();
  for (int64_t i = 0; i < kFour; ++i) {
    Value where = add(column, i);
    Value one = load(f32, address(mayEnd ? least(where, matrix.columns - 1) : where), 4);
    if (mayEnd)
      one = select(below(where, matrix.columns), one, real(0));
    result = vector::InsertOp::create(b, one, result, i);
  }
  return result;
}

void TileCode::fill(const Tile &tile, const Matrix &matrix, Value first) {
  int64_t fours = tile.width / kFour, count = tile.rows * fours;
  for (int64_t done = 0; done < count; done += shape.threads) {
    Value number = add(thread, done);
    auto move = [&] {
      Value row = div(number, fours), column = mul(rem(number, fours), kFour);
      Value from = least(add(first, row), matrix.rows - 1);
      store(fourOf(matrix, from, column, isPartial(matrix, tile)), place(tile, row, column), 16);
    };
    if (count - done >= shape.threads)
      move();
    else
      when(below(number, count), move);
  }
}

Values TileCode::products(const Tile &a, const Tile &b, int64_t depth) {
  int64_t rows = shape.rowsEach(), columns = shape.columnsEach();
  auto end = static_cast<int64_t>(llvm::alignTo(depth, kFour)); // zeros behind the columns
  return loop(0, end, kFour, Values(rows * columns, real(0)), [&](Value column, ValueRange before) {
    Values sums(before);
    Values left, right;
    for (int64_t i = 0; i < rows; ++i)
      left.push_back(readFour(a, ownRow(i), column));
    for (int64_t j = 0; j < columns; ++j)
      right.push_back(readFour(b, ownColumn(j), column));
    for (int64_t k = 0; k < kFour; ++k)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          sums[i * columns + j] = fma(part(left[i], k), part(right[j], k), sums[i * columns + j]);
    return sums;
  });
}

void TileCode::put(const Tile &tile, ArrayRef<Value> elements) {
  for (int64_t i = 0; i < shape.rowsEach(); ++i)
    for (int64_t j = 0; j < shape.columnsEach(); ++j)
      store(elements[i * shape.columnsEach() + j], place(tile, ownRow(i), ownColumn(j)), 4);
}

void TileCode::putOne(const Tile &tile, Value number, Value element) {
  when(below(lane, 1), [&] { store(element, place(tile, integer(0), number), 4); });
}

Value TileCode::takeOne(const Tile &tile, Value number) {
  return load(b.getF32Type(), place(tile, integer(0), number), 4);
}

Values TileCode::accumulate(const Values &sums, const Tile &weights, const Tile &values) {
  int64_t rows = shape.rowsEach(), fours = foursEach(values);
  return loop(0, shape.columns, kFour, sums, [&](Value first, ValueRange before) {
    Values after(before), left;
    for (int64_t i = 0; i < rows; ++i)
      left.push_back(readFour(weights, ownRow(i), first));
    for (int64_t k = 0; k < kFour; ++k)
      for (int64_t j = 0; j < fours; ++j) {
        Value right = readFour(values, add(first, k), mul(add(lane, TileShape::kLanes * j), kFour));
        for (int64_t i = 0; i < rows; ++i)
          after[i * fours + j] = fma(splat(part(left[i], k)), right, after[i * fours + j]);
      }
    return after;
  });
}

Values TileCode::rowDots(const Matrix &x, const Matrix &y, Value first, int64_t count) {
  Values dots;
  bool mayEnd = x.columns % kRound != 0;
  for (int64_t i = 0; i < count; ++i) {
    Value row = least(add(first, ownRow(i)), x.rows - 1), sum = real(0);
    for (int64_t done = 0; done < x.columns; done += kRound) {
      Value column = add(mul(lane, kFour), done);
      Value left = fourOf(x, row, column, mayEnd), right = fourOf(y, row, column, mayEnd);
      for (int64_t k = 0; k < kFour; ++k)
        sum = fma(part(left, k), part(right, k), sum);
    }
    dots.push_back(overLanes(sum, [&](Value a, Value b) { return plus(a, b); }));
  }
  return dots;
}

void TileCode::writeFour(const Matrix &matrix, Value row, Value column, Value value) {
  Type f32 = b.getF32Type();
  Value line = stretched(row, matrix.stride);
  auto address = [&](Value where) { return at(matrix.data, sum64(line, wide(where)), f32); };
  if (matrix.vectors)
    return when(below(column, matrix.columns), [&] { store(value, address(column), 16); });
  for (int64_t i = 0; i < kFour; ++i) {
    Value where = add(column, i);
    when(below(where, matrix.columns), [&] { store(part(value, i), address(where), 4); });
  }
}

void TileCode::write(const Matrix &matrix, Value first, ArrayRef<Value> sums) {
  auto fours = static_cast<int64_t>(sums.size()) / shape.rowsEach();
  for (int64_t i = 0; i < shape.rowsEach(); ++i) {
    Value row = add(first, ownRow(i));
    when(below(row, matrix.rows), [&] {
      for (int64_t j = 0; j < fours; ++j)
        writeFour(matrix, row, mul(add(lane, TileShape::kLanes * j), kFour), sums[i * fours + j]);
    });
  }
}

Value TileCode::leastOfBands(Value own, const Tile &slots) {
  putOne(slots, band, own);
  barrier(b);
  Value result = own;
  for (int64_t i = 0; i < shape.bands(); ++i)
    result = smaller(result, takeOne(slots, integer(i)));
  return result;
}

} // namespace accum::codegen
