// SPDX-License-Identifier: Apache-2.0
// One element of a value whose content import knows: an integer affine in the sample's index and the batch
// size, or a float.
#pragma once
#include "base/DType.h"
#include "dialects/NN/NNDialect.h"
#include <cstdint>
#include <optional>

namespace accum::import {

/// Integers and booleans: constant + perIndex * i + perBatch * N, for the sample i of a batch of N samples,
/// 0 <= i < N, N >= 1. Floats are constants.
struct Element {
  union {
    int64_t constant = 0;
    double real;
  };
  int32_t perIndex = 0;
  int32_t perBatch = 0;

  static Element integer(int64_t constant, int64_t perIndex = 0, int64_t perBatch = 0);
  static Element floating(double value);
  static Element boolean(bool value) { return integer(value); }
  bool isConstant() const { return perIndex == 0 && perBatch == 0; }
  /// Value for sample i of N. Integers only.
  int64_t at(int64_t i, int64_t n) const { return constant + perIndex * i + perBatch * n; }
};
bool sameElement(const Element &a, const Element &b);

/// Least and greatest value over all N >= 1 and 0 <= i < N; nothing where unbounded.
struct Bounds {
  std::optional<int64_t> low, high;
};
Bounds boundsOf(const Element &element);

/// Comparisons, predicates and logical functions.
bool givesBool(nn::ElementwiseFn fn);

/// `fn` on elements of type `type` (that of the last operand), in that type's own precision. Nothing where
/// the result is not affine, or a comparison is not the same for all N and i. Integer operations wrap as
/// `type` does.
std::optional<Element> evaluate(nn::ElementwiseFn fn, DType type, llvm::ArrayRef<Element> operands);

/// The part of it for floats; nothing for 16-bit ones.
std::optional<Element> evaluateReal(nn::ElementwiseFn fn, DType type, llvm::ArrayRef<Element> operands);

/// Conversion as ONNX Cast does it. Nothing for an affine value that becomes a float or a boolean that
/// varies.
std::optional<Element> convert(const Element &element, DType from, DType to);

} // namespace accum::import
