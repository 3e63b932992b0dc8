// SPDX-License-Identifier: Apache-2.0
// Operands by ldmatrix, products by mma.
#include "passes/Codegen/Cuda/WarpTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Codegen/Cuda/KernelFunction.h"
#include "passes/Codegen/Cuda/Teams.h"

using namespace mlir;

namespace accum::codegen {

constexpr int64_t kEight = 8;

WarpCode::WarpCode(Location loc, Operation *end, const WarpShape &shape)
    : ThreadCode(loc, end), shape(shape), thread(readSpecialRegister(end, "tid.x", WarpShape::kThreads)) {
  words = VectorType::get(4, b.getI32Type());
  lane = rem(thread, kWarp);
  warp = div(thread, kWarp);
  row = add(mul(warp, WarpShape::kSlab * shape.slabs), div(lane, 4));
  ownColumn = mul(rem(lane, 4), 2);
}

WarpCode::Spot WarpCode::spotOf(size_t index, int64_t width) {
  auto number = static_cast<int64_t>(index);
  int64_t slab = number / (width / 2), eight = number % (width / 2) / 4;
  return {2 * slab + number % 4 / 2, kEight * eight + number % 2};
}

/// One element: the lower half of a word, or a word.
Value WarpCode::bitsOf(const Matrix &matrix, Value row, Value column, bool mayEnd) {
  Value place =
      sum64(stretched(row, matrix.stride), wide(mayEnd ? least(column, matrix.columns - 1) : column));
  bool isStored = matrix.element.isBF16();
  Type type = isStored ? b.getI16Type() : matrix.element, i32 = b.getI32Type();
  Value bits = load(type, at(matrix.data, place, type), isStored ? 2 : 4);
  if (shape.isBf16())
    bits = arith::ExtUIOp::create(b, i32, isStored ? bits : round(bits));
  else
    bits = arith::BitcastOp::create(b, i32, bits);
  return mayEnd ? select(below(column, matrix.columns), bits, integer(0)) : bits;
}

/// Neighbours in four words.
Value WarpCode::pieceOf(const Matrix &matrix, Value row, Value column, bool mayEnd) {
  Value none = arith::ConstantOp::create(b, DenseElementsAttr::get(cast<ShapedType>(words), int32_t{0}));
  if (matrix.vectors) {
    Value from = mayEnd ? least(column, matrix.columns - shape.piece()) : column;
    Value place = sum64(stretched(row, matrix.stride), wide(from));
    Value loaded = load(words, at(matrix.data, place, storage()), 16);
    return mayEnd ? select(below(column, matrix.columns), loaded, none) : loaded;
  }
  Value result = none;
  for (int64_t i = 0, each = shape.piece() / 4; i < 4; ++i) {
    Value word = bitsOf(matrix, row, add(column, each * i), mayEnd);
    if (shape.isBf16()) {
      Value high = bitsOf(matrix, row, add(column, each * i + 1), mayEnd);
      word = arith::OrIOp::create(b, word, arith::ShLIOp::create(b, high, integer(16)));
    }
    result = vector::InsertOp::create(b, word, result, i);
  }
  return result;
}

Value WarpCode::rounded(Value piece) {
  if (shape.isBf16())
    return piece;
  Value result = piece;
  for (int64_t i = 0; i < 4; ++i)
    result = vector::InsertOp::create(b, roundToTf32(numberOf(piece, i)), result, i);
  return result;
}

/// As f32.
Value WarpCode::numberOf(Value piece, int64_t index) {
  if (shape.isBf16())
    return unpack(part(piece, index / 2), index % 2);
  return arith::BitcastOp::create(b, b.getF32Type(), part(piece, index));
}

void WarpCode::forPieces(const Tile &tile, Place place) {
  int64_t pieces = tile.width / shape.piece(), count = tile.rows * pieces;
  for (int64_t done = 0; done < count; done += WarpShape::kThreads) {
    Value number = add(thread, done);
    auto visit = [&] {
      Value line = div(number, pieces), column = mul(rem(number, pieces), shape.piece());
      place(line, column, at(tile.data, add(mul(line, tile.stride), column), storage()));
    };
    if (count - done >= WarpShape::kThreads)
      visit();
    else
      when(below(number, count), visit);
  }
}

void WarpCode::fill(const Tile &tile, const Matrix &matrix, Value first) {
  forPieces(tile, [&](Value line, Value column, Value place) {
    Value from = least(add(first, line), matrix.rows - 1);
    store(rounded(pieceOf(matrix, from, column, tile.width > matrix.columns)), place, 16);
  });
}

void WarpCode::startFill(const Tile &tile, const Matrix &matrix, Value first) {
  if (!matrix.vectors)
    return fill(tile, matrix, first);
  bool mayEnd = tile.width > matrix.columns;
  forPieces(tile, [&](Value line, Value column, Value place) {
    Value from = stretched(least(add(first, line), matrix.rows - 1), matrix.stride);
    Value start = wide(mayEnd ? least(column, matrix.columns - shape.piece()) : column);
    Value present = mayEnd ? select(below(column, matrix.columns), integer(16), integer(0)) : integer(16);
    startCopy(place, at(matrix.data, sum64(from, start), storage()), 16, present);
  });
}

void WarpCode::finishFill(const Tile &tile, const Matrix &matrix) {
  if (shape.isBf16() || !matrix.vectors)
    return;
  forPieces(tile, [&](Value, Value, Value place) { store(rounded(load(words, place, 16)), place, 16); });
}

/// Lanes 0 .. 15 name rows, 16 .. 31 the same ones 16 bytes further: words of a left operand, and,
/// transposed, of a right operand of 16 rows by 16 columns of bf16.
Value WarpCode::rowsFirst(const Tile &tile) {
  Value place = add(mul(rem(lane, 16), tile.stride), mul(div(lane, 16), shape.piece()));
  return at(tile.data, place, storage());
}

/// Lanes 8 .. 15 name the first eight rows 16 bytes further: words of right operands whose columns are the
/// tile's rows.
Value WarpCode::columnsFirst(const Tile &tile) {
  Value line = add(mul(div(lane, 16), kEight), rem(lane, kEight));
  Value place = add(mul(line, tile.stride), mul(rem(div(lane, kEight), 2), shape.piece()));
  return at(tile.data, place, storage());
}

/// Four 8 x 8 matrices of two bytes each, or 8 x 4 of four, `distance` elements behind what the lane names.
Values WarpCode::loadMatrices(Value lanePlace, int64_t distance, bool transposed) {
  Value address = at(lanePlace, integer(distance), storage());
  auto result = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getI32Type()));
  Value loaded = call(result,
                      transposed ? "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"
                                 : "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16",
                      address);
  Values parts;
  for (int64_t i = 0; i < 4; ++i)
    parts.push_back(LLVM::ExtractValueOp::create(b, loaded, i));
  return parts;
}

void WarpCode::multiply(MutableArrayRef<Value> sums, ArrayRef<Value> left, Value first, Value second) {
  Values arguments(left);
  arguments.append({first, second});
  llvm::append_range(arguments, sums);
  auto result = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  Value product = call(
      result, shape.isBf16() ? "llvm.nvvm.mma.m16n8k16.row.col.bf16" : "llvm.nvvm.mma.m16n8k8.row.col.tf32",
      arguments);
  for (int64_t i = 0; i < 4; ++i)
    sums[i] = LLVM::ExtractValueOp::create(b, product, i);
}

/// The words of `depth` columns.
Values WarpCode::leftAt(const Tile &tile, int64_t column) {
  Values left;
  Value own = at(rowsFirst(tile), mul(warp, WarpShape::kSlab * shape.slabs * tile.stride), storage());
  for (int64_t slab = 0; slab < shape.slabs; ++slab)
    llvm::append_range(left, loadMatrices(own, slab * WarpShape::kSlab * tile.stride + column, false));
  return left;
}

WarpCode::Left WarpCode::keep(const Tile &tile) {
  Left left;
  for (int64_t column = 0; column < tile.width; column += shape.depth())
    llvm::append_range(left.words, leftAt(tile, column));
  return left;
}

Values WarpCode::products(const Left &left, const Tile &right, int64_t first) {
  Values sums = zeroSums(kWindow);
  Value own = columnsFirst(right);
  int64_t each = 4 * shape.slabs;
  for (int64_t column = 0; column < right.width; column += shape.depth()) {
    Values words = loadMatrices(own, first * right.stride + column, false);
    Values rows = left.words.empty()
                      ? leftAt(left.tile, column)
                      : Values(ArrayRef(left.words).slice(column / shape.depth() * each, each));
    for (int64_t slab = 0; slab < shape.slabs; ++slab)
      for (int64_t eight = 0; eight < 2; ++eight)
        multiply(MutableArrayRef(sums).slice(slab * 8 + eight * 4, 4), ArrayRef(rows).slice(slab * 4, 4),
                 words[2 * eight], words[2 * eight + 1]);
  }
  return sums;
}

Values WarpCode::packed(ArrayRef<Value> sums) {
  Values left;
  if (shape.isBf16()) {
    for (size_t i = 0; i < sums.size(); i += 2)
      left.push_back(pack(sums[i], sums[i + 1]));
    return left;
  }
  for (size_t i = 0; i < sums.size(); i += 4)
    for (size_t number : {0, 2, 1, 3})
      left.push_back(roundToTf32(sums[i + number]));
  return left;
}

void WarpCode::accumulate(MutableArrayRef<Value> sums, ArrayRef<Value> left, const Tile &right,
                          int64_t first) {
  if (!shape.isBf16())
    return accumulateSingles(sums, left, right, first);
  Value own = rowsFirst(right);
  int64_t each = right.width / 2;
  for (int64_t column = 0; column < right.width; column += kWindow) {
    Values words = loadMatrices(own, first * right.stride + column, true);
    for (int64_t slab = 0; slab < shape.slabs; ++slab)
      for (int64_t eight = 0; eight < 2; ++eight)
        multiply(sums.slice(slab * each + column / 2 + eight * 4, 4), left.slice(slab * 4, 4),
                 words[2 * eight], words[2 * eight + 1]);
  }
}

/// ldmatrix transposes halves of words only: each lane reads its two words, those of a warp from all banks.
void WarpCode::accumulateSingles(MutableArrayRef<Value> sums, ArrayRef<Value> left, const Tile &right,
                                 int64_t first) {
  Value own = at(right.data, add(mul(ownColumn, right.stride), div(lane, 4)), b.getI32Type());
  auto word = [&](int64_t line, int64_t column) {
    return load(b.getI32Type(), at(own, integer(line * right.stride + column), b.getI32Type()), 4);
  };
  int64_t each = right.width / 2;
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t column = 0; column < right.width; column += kEight) {
      int64_t line = first + half * kEight;
      Value low = word(line, column), high = word(line + 1, column);
      for (int64_t slab = 0; slab < shape.slabs; ++slab)
        multiply(sums.slice(slab * each + column / 2, 4), left.slice(slab * 8 + half * 4, 4), low, high);
    }
}

/// The numbers of columns ownColumn + column and the next one.
void WarpCode::writePair(const Matrix &matrix, Value line, int64_t column, Value low, Value high) {
  Value place = sum64(line, wide(add(ownColumn, column)));
  bool isBf16 = matrix.element.isBF16(), mayEnd = column + kEight > matrix.columns;
  if (matrix.vectors && isBf16) // eight columns are there or not
    return store(pack(low, high), at(matrix.data, place, b.getI16Type()), 4);
  if (matrix.vectors) {
    auto put = [&] { store(pairOf(low, high), at(matrix.data, place, b.getF32Type()), 8); };
    return mayEnd ? when(below(add(ownColumn, column), matrix.columns), put) : put();
  }
  Type type = isBf16 ? b.getI16Type() : matrix.element;
  for (int64_t i = 0; i < 2; ++i) {
    Value element = i == 0 ? low : high;
    auto put = [&] {
      if (isBf16)
        element = round(element);
      Value next = sum64(place, arith::ConstantIntOp::create(b, b.getI64Type(), i));
      store(element, at(matrix.data, next, type), isBf16 ? 2 : 4);
    };
    mayEnd ? when(below(add(ownColumn, column + i), matrix.columns), put) : put();
  }
}

void WarpCode::write(const Matrix &matrix, Value first, ArrayRef<Value> sums) {
  auto width = static_cast<int64_t>(sums.size()) * 2 / shape.slabs;
  for (int64_t i = 0; i < rowsEach(); ++i) {
    Value own = add(first, ownRow(i));
    when(below(own, matrix.rows), [&] {
      Value line = stretched(own, matrix.stride);
      for (int64_t column = 0; column < matrix.columns; column += kEight) {
        int64_t index = i / 2 * (width / 2) + column / 2 + i % 2 * 2;
        writePair(matrix, line, column, sums[index], sums[index + 1]);
      }
    });
  }
}

void WarpCode::dotRows(const Tile &dots, const Matrix &x, const Matrix &y, Value first) {
  constexpr int64_t kLanes = 8, kBands = WarpShape::kThreads / kLanes;
  const int64_t round = shape.piece() * kLanes;
  Value part = rem(thread, kLanes), band = div(thread, kLanes);
  for (int64_t done = 0; done < dots.width; done += kBands) {
    Value number = add(band, done), from = least(add(first, number), x.rows - 1), sum = real(0);
    for (int64_t column = 0; column < x.columns; column += round) {
      Value place = add(mul(part, shape.piece()), column);
      bool mayEnd = column + round > x.columns;
      Value left = pieceOf(x, from, place, mayEnd), right = pieceOf(y, from, place, mayEnd);
      for (int64_t i = 0; i < shape.piece(); ++i)
        sum = fma(numberOf(left, i), numberOf(right, i), sum);
    }
    sum = overLanes(sum, [&](Value a, Value b) { return plus(a, b); });
    when(below(part, 1), [&] { putOne(dots, number, sum); });
  }
}

Value WarpCode::leastOfWarps(Value own, const Tile &slots) {
  own = overLanes(own, {16, 8, 4}, [&](Value x, Value y) { return smaller(x, y); });
  when(below(lane, 1), [&] { putOne(slots, warp, own); });
  barrier(b);
  Value result = own;
  for (int64_t i = 0; i < WarpShape::kWarps; ++i)
    result = smaller(result, takeOne(slots, integer(i)));
  return result;
}

} // namespace accum::codegen
