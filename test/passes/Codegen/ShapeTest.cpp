// SPDX-License-Identifier: Apache-2.0
// Movement and indexed reads against index arithmetic.
#include "KernelRun.h"

using namespace accum::test;

namespace {

class Shape : public KernelTest {
public:
  /// One op from `in` (types without element type) to `out`.
  Array move(const std::string &op, const std::string &in, const std::string &out, const Array &x) {
    std::string from = "tensor<" + in + "$T>", to = "tensor<" + out + "$T>";
    return call("func.func private @k(%x: " + from + ") -> " + to +
                    " attributes {accum.kernel = 0 : i64} {\n %y = " + op + " : " + from + " -> " + to +
                    "\n return %y : " + to + " }",
                {x})[0];
  }
};
INSTANTIATE_TEST_SUITE_P(, Shape, testing::ValuesIn(allModes()), nameOf);

TEST_P(Shape, Reshape) {
  Array x = numbers(2 * 3 * 32);
  EXPECT_EQ(move("nn.reshape %x", "2x3x32x", "6x32x", x), x);
  EXPECT_EQ(move("nn.reshape %x", "2x3x32x", "192x", x), x);
  EXPECT_EQ(move("nn.reshape %x", "2x3x32x", "1x64x3x1x", x), x);
}

TEST_P(Shape, ReshapeBetweenOtherOps) {
  // Heads: [4, 6 * 16] -> [4, 6, 16] -> [6, 4, 16], and back through an elementwise op; 5 is no multiple of
  // anything.
  for (int width : {16, 5}) {
    std::string w = std::to_string(width), all = std::to_string(6 * width);
    std::string text = "func.func private @k(%x: tensor<4x" + all + "x$T>) -> (tensor<6x4x" + w +
                       "x$T>, tensor<4x" + all + "x$T>) attributes {accum.kernel = 0 : i64} {\n" +
                       " %r = nn.reshape %x : tensor<4x" + all + "x$T> -> tensor<4x6x" + w + "x$T>\n" +
                       " %t = nn.transpose %r [1, 0, 2] : tensor<4x6x" + w + "x$T> -> tensor<6x4x" + w +
                       "x$T>\n" + " %n = nn.elementwise <neg> (%r) : (tensor<4x6x" + w +
                       "x$T>) -> tensor<4x6x" + w + "x$T>\n" + " %b = nn.reshape %n : tensor<4x6x" + w +
                       "x$T> -> tensor<4x" + all + "x$T>\n %c = nn.elementwise <add> (%b, %x) : (tensor<4x" +
                       all + "x$T>, tensor<4x" + all + "x$T>) -> tensor<4x" + all +
                       "x$T>\n return %t, %c : tensor<6x4x" + w + "x$T>, tensor<4x" + all + "x$T> }";
    Array x = numbers(4 * 6 * width), expected;
    for (int h = 0; h < 6; ++h)
      for (int s = 0; s < 4; ++s)
        for (int d = 0; d < width; ++d)
          expected.push_back(x[(s * 6 + h) * width + d]);
    auto results = call(text, {x});
    EXPECT_EQ(results[0], expected);
    EXPECT_EQ(results[1], Array(x.size(), 0));
  }
}

TEST_P(Shape, Transpose) {
  Array x = numbers(5 * 3 * 19), swapped(x.size()), rotated(x.size());
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 19; ++k) {
        swapped[(i * 19 + k) * 3 + j] = x[(i * 3 + j) * 19 + k];
        rotated[(k * 5 + i) * 3 + j] = x[(i * 3 + j) * 19 + k];
      }
  EXPECT_EQ(move("nn.transpose %x [0, 2, 1]", "5x3x19x", "5x19x3x", x), swapped);
  EXPECT_EQ(move("nn.transpose %x [2, 0, 1]", "5x3x19x", "19x5x3x", x), rotated);
}

TEST_P(Shape, Broadcast) {
  Array x = numbers(3), expected;
  for (int i = 0; i < 2 * 3 * 18; ++i)
    expected.push_back(x[i / 18 % 3]);
  EXPECT_EQ(move("nn.broadcast %x", "3x1x", "2x3x18x", x), expected);
}

TEST_P(Shape, Slice) {
  Array x = numbers(6 * 40), block, strided;
  for (int i = 2; i < 5; ++i)
    for (int j = 3; j < 38; ++j)
      block.push_back(x[i * 40 + j]);
  for (int i = 5; i > -1; i -= 5)
    for (int j = 1; j < 40; j += 3)
      strided.push_back(x[i * 40 + j]);
  EXPECT_EQ(move("nn.slice %x at [2, 3] by [1, 1]", "6x40x", "3x35x", x), block);
  EXPECT_EQ(move("nn.slice %x at [5, 1] by [-5, 3]", "6x40x", "2x13x", x), strided);
}

TEST_P(Shape, Pad) {
  std::string text = R"(func.func private @k(%x: tensor<2x18x$T>, %v: tensor<$T>) -> tensor<5x25x$T>
      attributes {accum.kernel = 0 : i64} {
    %y = nn.pad %x with %v low [1, 3] : (tensor<2x18x$T>, tensor<$T>) -> tensor<5x25x$T>
    return %y : tensor<5x25x$T> })";
  Array x = numbers(36), expected(125, 7);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 18; ++j)
      expected[(i + 1) * 25 + j + 3] = x[i * 18 + j];
  EXPECT_EQ(call(text, {x, {7}})[0], expected);
}

/// Rotation by halves of `2 * half`: -x behind, x in front; then the same with pads, which add up to it.
std::string rotation(int half, bool pads) {
  std::string text = R"(func.func private @k(%x: tensor<3xWx$T>) -> tensor<3xWx$T>
      attributes {accum.kernel = 0 : i64} {
    %a = nn.slice %x at [0, 0] by [1, 1] : tensor<3xWx$T> -> tensor<3xHx$T>
    %b = nn.slice %x at [0, H] by [1, 1] : tensor<3xWx$T> -> tensor<3xHx$T>
    %n = nn.elementwise <neg> (%b) : (tensor<3xHx$T>) -> tensor<3xHx$T>
)";
  text +=
      pads
          ? R"(    %z = nn.constant {value = dense<0.0> : tensor<$T>} : tensor<$T>
    %p = nn.pad %n with %z low [0, 0] : (tensor<3xHx$T>, tensor<$T>) -> tensor<3xWx$T>
    %q = nn.pad %a with %z low [0, H] : (tensor<3xHx$T>, tensor<$T>) -> tensor<3xWx$T>
    %y = nn.elementwise <add> (%p, %q) : (tensor<3xWx$T>, tensor<3xWx$T>) -> tensor<3xWx$T>
)"
          : R"(    %y = nn.concat (%n, %a) {axis = 1 : i64} : (tensor<3xHx$T>, tensor<3xHx$T>) -> tensor<3xWx$T>
)";
  text += "    return %y : tensor<3xWx$T> }";
  std::string result;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == 'W')
      result += std::to_string(2 * half);
    else
      result += text[i] == 'H' ? std::to_string(half) : std::string(1, text[i]);
  return result;
}

TEST_P(Shape, HalvesInTurnAsRotaryEmbeddingsDo) {
  for (int half : {10, 16, 32, 64}) { // halves that vectors tile, and one that they do not
    Array x = numbers(6 * half), expected;
    for (int i = 0; i < 6 * half; ++i)
      expected.push_back(i % (2 * half) < half ? -x[i + half] : x[i - half]);
    EXPECT_EQ(call(rotation(half, false), {x})[0], expected) << half;
    EXPECT_EQ(call(rotation(half, true), {x})[0], expected) << half;
  }
}

TEST_P(Shape, ConcatOnAnOuterAxisWithAnEmptyPiece) {
  std::string text = R"(func.func private @k(%a: tensor<2x9x$T>, %e: tensor<0x9x$T>, %b: tensor<1x9x$T>)
      -> tensor<3x9x$T> attributes {accum.kernel = 0 : i64} {
    %y = nn.concat (%a, %e, %b) {axis = 0 : i64}
        : (tensor<2x9x$T>, tensor<0x9x$T>, tensor<1x9x$T>) -> tensor<3x9x$T>
    return %y : tensor<3x9x$T> })";
  Array a = numbers(18, 1), b = numbers(9, 2), expected = a;
  expected.insert(expected.end(), b.begin(), b.end());
  EXPECT_EQ(call(text, {a, {}, b})[0], expected);
}

TEST_P(Shape, ConcatOfBroadcastRowsOutsideTheirRange) {
  // The second piece's row index comes from a lane that stands before its first element.
  std::string text = R"(func.func private @k(%a: tensor<64x$T>, %b: tensor<3x1x$T>) -> tensor<256x$T>
      attributes {accum.kernel = 0 : i64} {
    %w = nn.broadcast %b : tensor<3x1x$T> -> tensor<3x64x$T>
    %r = nn.reshape %w : tensor<3x64x$T> -> tensor<192x$T>
    %y = nn.concat (%a, %r) {axis = 0 : i64} : (tensor<64x$T>, tensor<192x$T>) -> tensor<256x$T>
    return %y : tensor<256x$T> })";
  Array a = numbers(64, 1), b = numbers(3, 2), expected = a;
  for (int i = 0; i < 192; ++i)
    expected.push_back(b[i / 64]);
  EXPECT_EQ(call(text, {a, b})[0], expected);
}

TEST_P(Shape, GatherRowsWithNegativeIndices) {
  std::string text = R"(func.func private @k(%x: tensor<7x19x$T>, %i: tensor<2x3xi64>) -> tensor<2x3x19x$T>
      attributes {accum.kernel = 0 : i64} {
    %y = nn.gather (%x, %i) {axis = 0 : i64} : (tensor<7x19x$T>, tensor<2x3xi64>) -> tensor<2x3x19x$T>
    return %y : tensor<2x3x19x$T> })";
  Array x = numbers(7 * 19), indices = {0, 6, -1, 3, -7, 3}, expected;
  for (double i : indices)
    for (int j = 0; j < 19; ++j)
      expected.push_back(x[static_cast<int>(i < 0 ? i + 7 : i) * 19 + j]);
  EXPECT_EQ(call(text, {x, indices})[0], expected);
}

TEST_P(Shape, GatherInTheMiddleAndPerSample) {
  std::string text =
      R"(func.func private @k(%x: tensor<2x3x5x4x$T>, %i: tensor<2x6xi32>) -> tensor<2x3x6x4x$T>
      attributes {accum.kernel = 0 : i64} {
    %y = nn.gather (%x, %i) {axis = 2 : i64, batch_dims = 1 : i64}
        : (tensor<2x3x5x4x$T>, tensor<2x6xi32>) -> tensor<2x3x6x4x$T>
    return %y : tensor<2x3x6x4x$T> })";
  Array x = numbers(120), indices = {0, 4, 1, 1, 2, 3, 4, 4, 0, 2, 1, 3}, expected;
  for (int b = 0; b < 2; ++b)
    for (int l = 0; l < 3; ++l)
      for (int i = 0; i < 6; ++i)
        for (int t = 0; t < 4; ++t)
          expected.push_back(x[((b * 3 + l) * 5 + static_cast<int>(indices[b * 6 + i])) * 4 + t]);
  EXPECT_EQ(call(text, {x, indices})[0], expected);
}

TEST_P(Shape, GatherElements) {
  std::string text = R"(func.func private @k(%x: tensor<4x9x$T>, %i: tensor<4x20xi64>) -> tensor<4x20x$T>
      attributes {accum.kernel = 0 : i64} {
    %y = nn.gather_elements (%x, %i) {axis = 1 : i64} : (tensor<4x9x$T>, tensor<4x20xi64>) -> tensor<4x20x$T>
    return %y : tensor<4x20x$T> })";
  Array x = numbers(36), indices, expected;
  for (int i = 0; i < 80; ++i) {
    indices.push_back((i * 7) % 9 - (i % 2 ? 9 : 0));
    expected.push_back(x[i / 20 * 9 + (i * 7) % 9]);
  }
  EXPECT_EQ(call(text, {x, indices})[0], expected);
}

TEST_P(Shape, AnIndexOutsideStaysInTheTable) {
  // -100 is a label that loss functions ignore: what is read does not matter, that it can be read does.
  std::string text = R"(func.func private @k(%x: tensor<2x3x$T>, %i: tensor<2x1xi64>) -> tensor<2x1x$T>
      attributes {accum.kernel = 0 : i64} {
    %y = nn.gather_elements (%x, %i) {axis = 1 : i64} : (tensor<2x3x$T>, tensor<2x1xi64>) -> tensor<2x1x$T>
    return %y : tensor<2x1x$T> })";
  EXPECT_EQ(call(text, {{1, 2, 3, 4, 5, 6}, {-100, 1e15}})[0], (Array{1, 6}));
}

TEST_P(Shape, WhatHasNoCodeIsRefusedByName) {
  std::string text = R"(func.func private @k(%x: tensor<1x4x$T>) -> tensor<1x2x$T>
      attributes {accum.kernel = 0 : i64} {
    %y:2 = nn.top_k(%x) {axis = 1 : i64, k = 2 : i64} : (tensor<1x4x$T>) -> (tensor<1x2x$T>, tensor<1x2xi64>)
    return %y#0 : tensor<1x2x$T> })";
  EXPECT_EQ(refusal(text), "'nn.top_k' op has no kernel code [kernel-op]");
}

} // namespace
