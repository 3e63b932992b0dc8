// SPDX-License-Identifier: Apache-2.0
// Tests on values; each stops at the first counter-example.
#include "compiler/Import/model/Contents.h"
#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <unordered_set>

namespace accum::import {
namespace {

bool isReadable(const Tensor &tensor) { return isFloat(tensor.dtype) && tensor.data.isPresent(); }

template <class T> T load(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

double halfToDouble(uint16_t bits) {
  int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31)
    return mantissa ? std::nan("") : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24));
}

int64_t columnsOf(const Tensor &tensor) { return tensor.shape.empty() ? 1 : tensor.shape.back(); }

/// How far a sine of the file may be off: a few roundings.
double slackOf(const Tensor &tensor) { return tensor.dtype == DType::BFloat16 ? 1.6e-2 : 2e-3; }

/// Sines and cosines in pairs: the squares of a row sum to half its length. Padding rows are zero.
bool isPairedTable(const Tensor &tensor, int64_t rows, int64_t columns) {
  int64_t step = std::max<int64_t>(rows / 64, 1);
  int64_t seen = 0;
  for (int64_t row = 0; row < rows; row += step) {
    double squares = 0;
    for (int64_t column = 0; column < columns; ++column) {
      double value = elementAt(tensor, row * columns + column);
      if (!(std::abs(value) <= 1 + 1e-6)) // one is a number of every type
        return false;
      squares += value * value;
    }
    if (squares == 0)
      continue;
    if (std::abs(squares / static_cast<double>(columns) - 0.5) > slackOf(tensor) / 2)
      return false;
    ++seen;
  }
  return seen >= 3;
}

/// Each column is cos(row * f) or sin(row * f): rows 0, 1, 2 satisfy the double-angle identities.
bool isAngleTable(const Tensor &tensor, int64_t columns) {
  bool varies = false;
  auto isNear = [slack = slackOf(tensor)](double a, double b) { return std::abs(a - b) <= slack; };
  for (int64_t column = 0; column < columns; ++column) {
    double v0 = elementAt(tensor, column), v1 = elementAt(tensor, columns + column);
    double v2 = elementAt(tensor, 2 * columns + column);
    bool isCosine = isNear(v0, 1) && isNear(v2, 2 * v1 * v1 - 1);
    bool isSine = isNear(v0, 0) && isNear(v2 * v2, 4 * v1 * v1 * (1 - v1 * v1));
    if (!isCosine && !isSine)
      return false;
    varies |= std::abs(v1 - v0) > 0.05;
  }
  return varies;
}
} // namespace

double elementAt(const Tensor &tensor, int64_t index) {
  assert(isReadable(tensor) && index >= 0 && index < tensor.elementCount());
  const std::byte *at =
      tensor.data.bytes().data() + static_cast<size_t>(index) * (bitWidth(tensor.dtype) / 8);
  switch (tensor.dtype) {
  case DType::Float64:
    return load<double>(at);
  case DType::Float16:
    return halfToDouble(load<uint16_t>(at));
  case DType::BFloat16:
    return std::bit_cast<float>(uint32_t(load<uint16_t>(at)) << 16);
  default:
    return load<float>(at);
  }
}

bool isAllEqual(const Tensor &tensor) {
  if (!isReadable(tensor) || tensor.elementCount() < 2)
    return false;
  auto bytes = tensor.data.bytes();
  size_t width = static_cast<size_t>(bitWidth(tensor.dtype)) / 8;
  // Equal to itself shifted by one element.
  return std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
}

bool isTrigonometricTable(const Tensor &tensor) {
  int64_t columns = columnsOf(tensor);
  if (!isReadable(tensor) || tensor.shape.size() < 2 || columns < 2)
    return false;
  int64_t rows = tensor.elementCount() / columns;
  if (rows < 3)
    return false;
  return (columns % 2 == 0 && isPairedTable(tensor, rows, columns)) || isAngleTable(tensor, columns);
}

bool isMask(const Tensor &tensor) {
  if (!isReadable(tensor) || tensor.shape.size() < 2 || tensor.elementCount() < 4)
    return false;
  double first = elementAt(tensor, 0), second = first;
  for (int64_t i = 1, count = tensor.elementCount(); i < count; ++i) {
    double value = elementAt(tensor, i);
    if (value == first || value == second)
      continue;
    if (second != first || std::isnan(value))
      return false;
    second = value;
  }
  auto marks = [](double value) { return value == 0 || value <= -1e4; };
  return second != first && (marks(first) || marks(second));
}

bool hidesScores(const Tensor &tensor) {
  if (!isReadable(tensor) || tensor.dtype != DType::Float16)
    return false;
  bool found = false;
  for (int64_t i = 0, count = tensor.elementCount(); i < count; ++i) {
    double value = elementAt(tensor, i);
    if (!(value <= 0))
      return false;
    found |= value == -largestHalf;
  }
  return found;
}

bool isAffineIn(const Tensor &tensor, const Tensor &other) {
  int64_t count = other.elementCount();
  if (!isReadable(tensor) || !isReadable(other) || tensor.elementCount() != count || count < 3)
    return false;
  int64_t least = 0, most = 0;
  for (int64_t i = 1; i < count; ++i) {
    double value = elementAt(other, i);
    least = value < elementAt(other, least) ? i : least;
    most = value > elementAt(other, most) ? i : most;
  }
  double begin = elementAt(other, least), range = elementAt(other, most) - begin;
  double first = elementAt(tensor, least), rise = elementAt(tensor, most) - first;
  if (!(range > 0) || !(std::abs(rise) > 0) || !std::isfinite(range) || !std::isfinite(rise))
    return false;
  double slack = 1e-5 * (std::abs(rise) + std::abs(first));
  for (int64_t i = 0; i < count; ++i)
    if (!(std::abs(elementAt(tensor, i) - first - (elementAt(other, i) - begin) / range * rise) <= slack))
      return false;
  return true;
}

bool isGeometric(const Tensor &tensor) {
  int64_t count = isReadable(tensor) ? tensor.elementCount() : 0;
  if (count < 3)
    return false;
  double ratio = elementAt(tensor, 1);
  if (elementAt(tensor, 0) != 1 || !(ratio > 0 && ratio < 1))
    return false;
  for (int64_t i = 1; i < count; ++i)
    if (std::abs(elementAt(tensor, i) / elementAt(tensor, i - 1) / ratio - 1) > 1e-2)
      return false;
  return true;
}

bool isOfEvenSteps(const Tensor &tensor) {
  int64_t count = isReadable(tensor) ? tensor.elementCount() : 0, columns = count ? columnsOf(tensor) : 0;
  if (columns < 3)
    return false;
  for (int64_t row = 0; row < count; row += columns) {
    double first = elementAt(tensor, row), step = elementAt(tensor, row + 1) - first;
    for (int64_t i = 2; i < columns; ++i) {
      double expected = first + step * static_cast<double>(i);
      if (std::abs(elementAt(tensor, row + i) - expected) > 1e-5 * (std::abs(first) + std::abs(expected)))
        return false;
    }
  }
  return true;
}

bool hasDistinctRows(const Tensor &tensor) {
  if (!isReadable(tensor) || tensor.elementCount() == 0)
    return false;
  auto bytes = tensor.data.bytes();
  size_t rowBytes = static_cast<size_t>(columnsOf(tensor)) * (bitWidth(tensor.dtype) / 8);
  std::unordered_set<std::string_view> rows;
  for (size_t at = 0; at < bytes.size(); at += rowBytes)
    if (!rows.emplace(reinterpret_cast<const char *>(bytes.data()) + at, rowBytes).second)
      return false;
  return true;
}

} // namespace accum::import
