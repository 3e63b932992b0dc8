// SPDX-License-Identifier: Apache-2.0
// Scattered sums: the gradients of tables that were read by indices.
#include "KernelRun.h"

using namespace accum::test;

namespace {

class Scatter : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(, Scatter, testing::ValuesIn(allModes()), nameOf);

std::string scatter(const std::string &columns, const std::string &more = "") {
  return "func.func private @k(%i: tensor<4x2xi64>, %u: tensor<4x2x" + columns + "$T>) -> tensor<5x" +
         columns + "$T> attributes {accum.kernel = 0 : i64" + more +
         "} {\n %y = nn.scatter_add (%i, %u) {axis = 0 : i64} : (tensor<4x2xi64>, tensor<4x2x" + columns +
         "$T>) -> tensor<5x" + columns + "$T>\n return %y : tensor<5x" + columns + "$T> }";
}

TEST_P(Scatter, AddMeetsInOneRow) {
  Array indices = {0, 3, 3, -1, 3, 0, 1, 3};
  for (int columns : {1, 7, 64, 256, 300}) {
    Array u = numbers(8 * columns), expected(5 * columns);
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < columns; ++j)
        expected[(static_cast<int>(indices[i]) + 5) % 5 * columns + j] += u[i * columns + j];
    expectClose(call(scatter(std::to_string(columns) + "x"), {indices, u})[0], expected);
  }
  Array flat = call(scatter(""), {indices, {1, 1, 1, 1, 1, 1, 1, 1}})[0];
  EXPECT_EQ(flat, (Array{2, 1, 0, 4, 1}));
}

/// 40 rows added to a table of 1500: cut by rows of the table instead of by columns.
void addToLongTable(KernelTest &test, int columns, const std::string &more) {
  std::string c = std::to_string(columns) + "x";
  std::string text = "func.func private @k(%i: tensor<40xi64>, %u: tensor<40x" + c + "$T>) -> tensor<1500x" +
                     c + "$T> attributes {accum.kernel = 0 : i64" + more +
                     "} {\n %y = nn.scatter_add (%i, %u) {axis = 0 : i64} : (tensor<40xi64>, tensor<40x" + c +
                     "$T>) -> tensor<1500x" + c + "$T>\n return %y : tensor<1500x" + c + "$T> }";
  Array indices, u = numbers(40 * columns), before = numbers(1500 * columns, 2), expected(1500 * columns);
  for (int i = 0; i < 40; ++i) {
    indices.push_back(i * i % 1500 - (i % 3 ? 0 : 1500));
    for (int j = 0; j < columns; ++j)
      expected[i * i % 1500 * columns + j] += u[i * columns + j];
  }
  std::vector<Array> held = more.empty() ? std::vector<Array>() : std::vector<Array>{before};
  test.expectClose(test.call(text, {indices, u}, held, true)[0], expected);
  if (more.empty())
    return;
  for (size_t i = 0; i < before.size(); ++i)
    expected[i] += before[i];
  test.expectClose(test.call(text, {indices, u}, {before}, false)[0], expected);
}

TEST_P(Scatter, AddIntoALongTable) {
  for (int columns : {19, 132}) // 132: a GPU's threads have four each
    for (const char *more : {"", ", accumulate = array<i64: 0>"})
      addToLongTable(*this, columns, more);
}

TEST_P(Scatter, AddFindsWhatIsItsOwn) {
  // A GPU's block looks at many indices at once: many of one row, none, and a few of another.
  for (int columns : {5, 160}) {
    std::string c = std::to_string(columns) + "x", table = "tensor<12x" + c + "$T>";
    std::string text =
        "func.func private @k(%i: tensor<5x15xi64>, %u: tensor<5x15x" + c + "$T>) -> " + table +
        " attributes {accum.kernel = 0 : i64} {\n %y = nn.scatter_add (%i, %u) {axis = 0 : i64} : "
        "(tensor<5x15xi64>, tensor<5x15x" +
        c + "$T>) -> " + table + "\n return %y : " + table + " }";
    Array indices, u = numbers(75 * columns), expected(12 * columns);
    for (int i = 0; i < 75; ++i) {
      int row = i < 40 ? 3 : i < 70 ? i % 2 * 11 : 7;
      indices.push_back(i % 7 ? row : row - 12);
      for (int j = 0; j < columns; ++j)
        expected[row * columns + j] += u[i * columns + j];
    }
    expectClose(call(text, {indices, u})[0], expected);
  }
}

/// `count` updates of `columns` numbers, of type `type`, at `rowOf(number)` of a table of 1030 rows.
void addManyRows(KernelTest &test, int count, int columns, const std::string &type, int (*rowOf)(int)) {
  std::string c = std::to_string(columns) + "x", n = std::to_string(count) + "x", i = "tensor<" + n + "i64>";
  std::string updates = "tensor<" + n + c + type + ">", wide = "tensor<" + n + c + "$T>",
              table = "tensor<1030x" + c + "$T>";
  std::string text = "func.func private @k(%i: " + i + ", %u: " + updates + ") -> " + table +
                     " attributes {accum.kernel = 0 : i64} {\n %w = nn.cast %u : " + updates + " -> " + wide +
                     "\n %y = nn.scatter_add (%i, %w) {axis = 0 : i64} : (" + i + ", " + wide + ") -> " +
                     table + "\n return %y : " + table + " }";
  Array indices, u(static_cast<size_t>(count) * columns), expected(1030 * columns);
  for (int i = 0; i < count; ++i) {
    indices.push_back(rowOf(i));
    for (int j = 0; j < columns; ++j) {
      u[i * columns + j] = (i + 3 * j) % 8 - 3.5; // exact in 8 bits, and so is every sum in f32
      expected[rowOf(i) * columns + j] += u[i * columns + j];
    }
  }
  EXPECT_EQ(test.call(text, {indices, u})[0], expected);
}

TEST_P(Scatter, AddOfFrequentRows) {
  auto frequent = [](int i) { return i % 5 == 0 ? i % 1030 : 512; }; // among others, which interrupt it
  auto same = [](int) { return 1029; };
  auto pairs = [](int i) { return i % 2 * 3 + i / 4000; }; // of one block, in turns
  for (int columns : {5, 136}) {
    addManyRows(*this, 8209, columns, "$T", frequent); // more than two rounds of looks, and a rest
    addManyRows(*this, 4096, columns, "$T", same);     // as many as a round can find
    addManyRows(*this, 4100, columns, "$T", pairs);
  }
  addManyRows(*this, 8209, 256, "bf16", frequent);
  addManyRows(*this, 3, 264, "bf16", same);
}

/// Sums of `few` and of `many` updates, of which only the second list has entries for every look.
void addToTwoTables(KernelTest &test, int few, int many) {
  auto typeOf = [](int rows, const std::string &type) {
    return "tensor<" + std::to_string(rows) + type + ">";
  };
  auto operands = [&](const char *i, const char *u, int count) {
    return std::string("%") + i + ": " + typeOf(count, "xi64") + ", %" + u + ": " + typeOf(count, "x8x$T");
  };
  auto sum = [&](const std::string &names, int count, const std::string &table) {
    return " = nn.scatter_add (" + names + ") {axis = 0 : i64} : (" + typeOf(count, "xi64") + ", " +
           typeOf(count, "x8x$T") + ") -> " + table + "\n ";
  };
  std::string one = typeOf(11, "x8x$T"), other = typeOf(700, "x8x$T");
  std::string text = "func.func private @k(" + operands("i", "u", few) + ", " + operands("j", "v", many) +
                     ") -> (" + one + ", " + other + ") attributes {accum.kernel = 0 : i64} {\n %y" +
                     sum("%i, %u", few, one) + "%z" + sum("%j, %v", many, other) + "return %y, %z : " + one +
                     ", " + other + " }";
  std::vector<Array> given, expected = {Array(11 * 8), Array(700 * 8)};
  for (size_t table : {0, 1}) {
    int count = table == 0 ? few : many, rows = table == 0 ? 11 : 700;
    Array indices, u;
    for (int i = 0; i < count; ++i) {
      indices.push_back(i % 3 == 0 ? rows - 1 : i * 7 % rows);
      for (int j = 0; j < 8; ++j) {
        u.push_back((i + 3 * j) % 8 - 3.5);
        expected[table][static_cast<size_t>(indices.back()) * 8 + j] += u.back();
      }
    }
    given.insert(given.end(), {indices, u});
  }
  EXPECT_EQ(test.call(text, given), expected);
}

TEST_P(Scatter, AddsOfTwoSizesShareAKernel) {
  addToTwoTables(*this, 40, 5000); // the list in shared memory grows
  addToTwoTables(*this, 5000, 40); // and stays as it is
}

TEST_P(Scatter, AddAccumulates) {
  std::string text = scatter("17x", ", accumulate = array<i64: 0>");
  Array indices = {0, 3, 3, 4, 3, 0, 1, 3}, u = numbers(8 * 17), before = numbers(5 * 17, 4), fresh(5 * 17);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 17; ++j)
      fresh[static_cast<int>(indices[i]) * 17 + j] += u[i * 17 + j];
  Array both = before;
  for (size_t i = 0; i < both.size(); ++i)
    both[i] += fresh[i];
  expectClose(call(text, {indices, u}, {Array(5 * 17, std::nan(""))}, true)[0], fresh);
  expectClose(call(text, {indices, u}, {before}, false)[0], both);
}

TEST_P(Scatter, AddPerSampleInTheMiddle) {
  std::string text =
      R"(func.func private @k(%i: tensor<2x6xi64>, %u: tensor<2x3x6x4x$T>) -> tensor<2x3x5x4x$T>
      attributes {accum.kernel = 0 : i64} {
    %y = nn.scatter_add (%i, %u) {axis = 2 : i64, batch_dims = 1 : i64}
        : (tensor<2x6xi64>, tensor<2x3x6x4x$T>) -> tensor<2x3x5x4x$T>
    return %y : tensor<2x3x5x4x$T> })";
  Array indices = {0, 4, 1, 1, 2, 3, 4, 4, 0, 2, 1, 3}, u = numbers(144), expected(120);
  for (int i = 0; i < 144; ++i) {
    int b = i / 72, l = i / 24 % 3, t = i % 4, target = static_cast<int>(indices[b * 6 + i / 4 % 6]);
    expected[((b * 3 + l) * 5 + target) * 4 + t] += u[i];
  }
  expectClose(call(text, {indices, u})[0], expected);
}

TEST_P(Scatter, ElementsAdd) {
  std::string text = R"(func.func private @k(%i: tensor<3x4xi64>, %u: tensor<3x4x$T>) -> tensor<3x6x$T>
      attributes {accum.kernel = 0 : i64} {
    %y = nn.scatter_elements_add (%i, %u) {axis = 1 : i64} : (tensor<3x4xi64>, tensor<3x4x$T>) -> tensor<3x6x$T>
    return %y : tensor<3x6x$T> })";
  Array indices = {0, 5, 0, 2, 1, 1, 1, 1, -1, 3, 4, 5}, u = numbers(12), expected(18);
  for (int i = 0; i < 12; ++i)
    expected[i / 4 * 6 + (static_cast<int>(indices[i]) + 6) % 6] += u[i];
  expectClose(call(text, {indices, u})[0], expected);
}

TEST_P(Scatter, ElementsAddWithShorterUpdates) {
  std::string text = R"(func.func private @k(%i: tensor<2x2xi64>, %u: tensor<2x2x$T>) -> tensor<3x4x$T>
      attributes {accum.kernel = 0 : i64} {
    %y = nn.scatter_elements_add (%i, %u) {axis = 0 : i64} : (tensor<2x2xi64>, tensor<2x2x$T>) -> tensor<3x4x$T>
    return %y : tensor<3x4x$T> })";
  EXPECT_EQ(call(text, {{2, 0, 2, 1}, {1, 2, 3, 4}})[0], (Array{0, 2, 0, 0, 0, 4, 0, 0, 4, 0, 0, 0}));
}

/// `count` updates of the only row of a table, by scatter_add, by scatter_elements_add and by the latter
/// along an axis behind another one of extent 1.
std::vector<std::string> intoOneElement(int count, const std::string &more) {
  std::string n = std::to_string(count);
  auto kernel = [&](const std::string &op, const std::string &shape, const std::string &table, int axis) {
    std::string i = "tensor<" + shape + "xi64>", u = "tensor<" + shape + "x$T>";
    return "func.func private @k(%i: " + i + ", %u: " + u + ") -> " + table +
           " attributes {accum.kernel = 0 : i64" + more + "} {\n %y = nn." + op +
           " (%i, %u) {axis = " + std::to_string(axis) + " : i64} : (" + i + ", " + u + ") -> " + table +
           "\n return %y : " + table + " }";
  };
  return {kernel("scatter_add", n, "tensor<1x$T>", 0), kernel("scatter_elements_add", n, "tensor<1x$T>", 0),
          kernel("scatter_elements_add", "1x" + n, "tensor<1x1x$T>", 1)};
}

TEST_P(Scatter, AddIntoOneElement) {
  // The place is known before any loop, and what it holds is not: it is zeroed, and added to, in between.
  for (int count : {1, 3, 40}) {
    Array indices(count, 0), u, before = {2.5}, sum = {0};
    for (int i = 0; i < count; ++i) {
      u.push_back(i % 7 - 2.5); // every sum is exact in f32
      sum[0] += u.back();
    }
    Array both = {sum[0] + before[0]};
    for (const std::string &text : intoOneElement(count, ""))
      expectClose(call(text, {indices, u})[0], sum);
    for (const std::string &text : intoOneElement(count, ", accumulate = array<i64: 0>")) {
      expectClose(call(text, {indices, u}, {{std::nan("")}}, true)[0], sum);
      expectClose(call(text, {indices, u}, {before}, false)[0], both);
    }
  }
}

} // namespace
