// SPDX-License-Identifier: Apache-2.0
// Kernels whose rows lie apart against the same kernels with rows one behind the other. What is between rows
// is garbage that must survive; the simulator stops whoever reads it.
#include "KernelRun.h"

using namespace accum::test;

namespace {

class PaddedRows : public KernelTest {
protected:
  /// `text` with every `!N` as a pitch of N elements, and without.
  void expectSame(const std::string &text, const std::vector<Array> &operands, double factor = 1) {
    std::string padded, plain;
    for (size_t at = 0; at < text.size();) {
      if (text[at] != '!') {
        padded += text[at];
        plain += text[at++];
        continue;
      }
      size_t end = text.find_first_not_of("0123456789", ++at);
      padded += " {accum.pitch = " + text.substr(at, end - at) + " : i64}";
      at = end;
    }
    std::vector<Array> expected = call(plain, operands), actual = call(padded, operands);
    for (size_t i = 0; i < expected.size(); ++i)
      expectClose(actual[i], expected[i], factor);
  }
};
INSTANTIATE_TEST_SUITE_P(, PaddedRows, testing::ValuesIn(allModes()), nameOf);

TEST_P(PaddedRows, Elements) {
  expectSame(
      "func.func private @k(%x: tensor<5x30x69x$T>!72, %b: tensor<69x$T>) -> (tensor<5x30x69x$T>!80) "
      "attributes {accum.kernel = 0 : i64} {\n"
      " %y = nn.elementwise <add> (%x, %b) : (tensor<5x30x69x$T>, tensor<69x$T>) -> tensor<5x30x69x$T>\n"
      " return %y : tensor<5x30x69x$T> }",
      {numbers(5 * 30 * 69), numbers(69, 2)});
}

TEST_P(PaddedRows, ElementsOfAPlainOperand) {
  expectSame(
      "func.func private @k(%x: tensor<50x69x$T>, %z: tensor<50x69x$T>!72) -> tensor<50x69x$T> "
      "attributes {accum.kernel = 0 : i64} {\n"
      " %y = nn.elementwise <mul> (%x, %z) : (tensor<50x69x$T>, tensor<50x69x$T>) -> tensor<50x69x$T>\n"
      " return %y : tensor<50x69x$T> }",
      {numbers(50 * 69), numbers(50 * 69, 2)});
}

TEST_P(PaddedRows, RoundedWeights) {
  expectSame(
      "func.func private @k(%w: tensor<40x101xf32>) -> (tensor<40x101xbf16>!104) "
      "attributes {accum.kernel = 0 : i64} {\n"
      " %y = nn.cast %w : tensor<40x101xf32> -> tensor<40x101xbf16>\n return %y : tensor<40x101xbf16> }",
      {numbers(40 * 101)});
}

TEST_P(PaddedRows, WarpsAndBlocks) {
  for (auto [columns, pitch] : {std::pair("133", "136"), std::pair("9001", "9024")}) {
    std::string type = "tensor<7x" + std::string(columns) + "x$T>", apart = std::string("!") + pitch;
    expectSame("func.func private @k(%x: " + type + apart + ") -> (" + type + apart +
                   ") attributes {accum.kernel = 0 : i64} {\n %y = nn.softmax (%x) {axis = 1 : i64} : (" +
                   type + ") -> " + type + "\n return %y : " + type + " }",
               {numbers(7 * std::stoul(columns))}, 4);
  }
}

std::string crossEntropy(const std::string &element) {
  std::string logits = "tensor<6x1031x" + element + ">", wide = "tensor<6x1031xf32>";
  std::string cast = element == "f32" ? "" : " %z = nn.cast %x : " + logits + " -> " + wide + "\n";
  return "func.func private @k(%x: " + logits +
         "!1056, %l: tensor<6xi64>) -> (tensor<6xf32>, tensor<6xf32>) attributes {accum.kernel = 0 : i64} "
         "{\n" +
         cast + " %y:2 = nn.cross_entropy(%" + (cast.empty() ? "x" : "z") +
         ", %l) {ignore_index = -100 : i64} : (" + wide +
         ", tensor<6xi64>) -> (tensor<6xf32>, tensor<6xf32>)\n return %y#0, %y#1 : tensor<6xf32>, "
         "tensor<6xf32> }";
}

TEST_P(PaddedRows, CrossEntropy) {
  const Array labels = {0, 1030, 5, -100, 1027, 1028};
  for (const char *element : {"f32", "bf16"})
    expectSame(crossEntropy(element), {numbers(6 * 1031), labels}, GetParam().tolerance < 1e-10 ? 1e8 : 1);
}

TEST_P(PaddedRows, CrossEntropysCotangent) {
  const Array labels = {0, 1030, 5, -100, 1027, 1028};
  std::string type = "tensor<6x1031x$T>", row = "tensor<6x$T>";
  expectSame("func.func private @k(%x: " + type + "!1056, %l: tensor<6xi64>, %e: " + row + ", %d: " + row +
                 ") -> (" + type + "!1040) attributes {accum.kernel = 0 : i64} {\n" +
                 " %y = nn.cross_entropy_grad(%x, %l, %e, %d) {ignore_index = -100 : i64} : (" + type +
                 ", tensor<6xi64>, " + row + ", " + row + ") -> " + type + "\n return %y : " + type + " }",
             {numbers(6 * 1031), labels, Array(6, 7.5), numbers(6, 3)});
}

TEST_P(PaddedRows, SumsOfColumns) {
  expectSame("func.func private @k(%x: tensor<300x69x$T>!72) -> tensor<69x$T> attributes {accum.kernel = 0 : "
             "i64} {\n"
             " %y = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<300x69x$T>) -> tensor<69x$T>\n"
             " return %y : tensor<69x$T> }",
             {numbers(300 * 69)}, 2);
}

TEST_P(PaddedRows, Transposed) {
  expectSame(
      "func.func private @k(%x: tensor<40x69x$T>!72) -> tensor<69x40x$T> attributes {accum.kernel = 0 : i64} "
      "{\n"
      " %y = nn.transpose %x [1, 0] : tensor<40x69x$T> -> tensor<69x40x$T>\n return %y : tensor<69x40x$T> }",
      {numbers(40 * 69)});
}

TEST_P(PaddedRows, SeenInOtherShapes) {
  expectSame(
      "func.func private @k(%x: tensor<8x5x69x$T>!72) -> (tensor<2x20x69x$T>!80) "
      "attributes {accum.kernel = 0 : i64} {\n"
      " %v = nn.reshape %x : tensor<8x5x69x$T> -> tensor<40x69x$T>\n"
      " %y = nn.elementwise <exp> (%v) : (tensor<40x69x$T>) -> tensor<40x69x$T>\n"
      " %w = nn.reshape %y : tensor<40x69x$T> -> tensor<2x20x69x$T>\n return %w : tensor<2x20x69x$T> }",
      {numbers(8 * 5 * 69)}, 2);
}

} // namespace
