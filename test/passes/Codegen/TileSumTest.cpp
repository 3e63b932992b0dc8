// SPDX-License-Identifier: Apache-2.0
// Rows that are written and added up by tiles on the way, against loops.
#include "KernelRun.h"

using namespace accum::test;

namespace {

class TileSum : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(, TileSum, testing::ValuesIn(allModes()), nameOf);

/// `[samples, rows, columns]` by tiles of `height`.
struct Shape {
  int samples, rows, height, columns;

  int tiles() const { return samples * rows / height; }
  int all() const { return samples * rows; }
  std::string full(const std::string &type = "$T") const { return tensor({samples, rows, columns}, type); }
  std::string cut() const { return tensor({samples, rows / height, height, columns}, "$T"); }
  std::string sums() const { return tensor({samples, rows / height, columns}, "$T"); }
  std::string statistics(bool withOne) const {
    return withOne ? tensor({samples, rows, 1}, "$T") : tensor({samples, rows}, "$T");
  }
  static std::string tensor(std::initializer_list<int> extents, const std::string &type) {
    std::string text = "tensor<";
    for (int extent : extents)
      text += std::to_string(extent) + "x";
    return text + type + ">";
  }
};

/// `%s = ` the sums over tiles of `%v`.
std::string tileSum(const Shape &shape, const std::string &value, const std::string &name) {
  return " %c" + name + " = nn.reshape %" + value + " : " + shape.full() + " -> " + shape.cut() + "\n %" +
         name + " = nn.reduce <sum> (%c" + name + ") {axes = array<i64: 2>} : (" + shape.cut() + ") -> " +
         shape.sums() + "\n";
}

Array sumsOf(const Shape &shape, const Array &rows) {
  Array sums(shape.tiles() * shape.columns);
  for (int row = 0; row < shape.all(); ++row)
    for (int column = 0; column < shape.columns; ++column)
      sums[row / shape.height * shape.columns + column] += rows[row * shape.columns + column];
  return sums;
}

TEST_P(TileSum, OfWhatIsWritten) {
  for (int columns : {32, 33, 200}) {
    Shape shape{2, 24, 8, columns};
    std::string text = "func.func private @k(%x: " + shape.full() + ", %y: " + shape.full() + ") -> (" +
                       shape.full() + ", " + shape.sums() +
                       ") attributes {accum.kernel = 0 : i64} {\n %d = nn.elementwise <mul> (%x, %y) : (" +
                       shape.full() + ", " + shape.full() + ") -> " + shape.full() + "\n" +
                       tileSum(shape, "d", "s") + " return %d, %s : " + shape.full() + ", " + shape.sums() +
                       " }";
    Array x = numbers(shape.all() * columns), y = numbers(shape.all() * columns, 2), product;
    for (size_t i = 0; i < x.size(); ++i)
      product.push_back(x[i] * y[i]);
    auto results = call(text, {x, y});
    expectClose(results[0], product);
    expectClose(results[1], sumsOf(shape, product));
  }
}

/// Centred rows, their means, and sums of what is read and of what is written. 256 and 1024 columns are all
/// of a block's, others leave threads without work; 4100 take a thread of several columns.
TEST_P(TileSum, OfRowsThatReduceOverThemselves) {
  for (int columns : {32, 40, 77, 256, 1024, 4100}) {
    Shape shape{1, 16, 8, columns};
    std::string one = shape.statistics(true), row = shape.statistics(false), full = shape.full();
    std::string text =
        "func.func private @k(%x: " + full + ") -> (" + full + ", " + row + ", " + shape.sums() + ", " +
        shape.sums() + ") attributes {accum.kernel = 0 : i64} {\n %n = nn.constant {value = dense<" +
        std::to_string(1.0 / columns) +
        "> : tensor<$T>} : tensor<$T>\n %t = nn.reduce <sum> (%x) {axes = array<i64: 2>} : (" + full +
        ") -> " + row + "\n %m = nn.elementwise <mul> (%t, %n) : (" + row + ", tensor<$T>) -> " + row +
        "\n %o = nn.reshape %m : " + row + " -> " + one + "\n %d = nn.elementwise <sub> (%x, %o) : (" + full +
        ", " + one + ") -> " + full + "\n" + tileSum(shape, "d", "s") + tileSum(shape, "x", "r") +
        " return %d, %m, %s, %r : " + full + ", " + row + ", " + shape.sums() + ", " + shape.sums() + " }";
    Array x = numbers(shape.all() * columns), centred, means;
    for (int i = 0; i < shape.all(); ++i) {
      double sum = 0;
      for (int j = 0; j < columns; ++j)
        sum += x[i * columns + j];
      means.push_back(sum * std::stod(std::to_string(1.0 / columns)));
      for (int j = 0; j < columns; ++j)
        centred.push_back(x[i * columns + j] - means.back());
    }
    auto results = call(text, {x});
    expectClose(results[0], centred);
    expectClose(results[1], means);
    expectClose(results[2], sumsOf(shape, centred), 4);
    expectClose(results[3], sumsOf(shape, x), 4);
  }
}

/// Sums of 16-bit rows stay wide: 256 ones and more are no bf16.
TEST_P(TileSum, OfNarrowRows) {
  Shape shape{1, 64, 64, 64};
  std::string narrow = shape.full("bf16"), full = shape.full();
  if (GetParam().type == std::string("f64"))
    return;
  std::string text = "func.func private @k(%x: " + narrow + ") -> (" + narrow + ", " + shape.sums() +
                     ") attributes {accum.kernel = 0 : i64} {\n %w = nn.cast %x : " + narrow + " -> " + full +
                     "\n %d = nn.elementwise <neg> (%w) : (" + full + ") -> " + full +
                     "\n %b = nn.cast %d : " + full + " -> " + narrow + "\n" + tileSum(shape, "d", "s") +
                     " return %b, %s : " + narrow + ", " + shape.sums() + " }";
  Array x(64 * 64, 4.03125), negative(64 * 64, -4.03125);
  auto results = call(text, {x});
  EXPECT_EQ(results[0], negative);
  EXPECT_EQ(results[1], sumsOf(shape, negative));
}

} // namespace
