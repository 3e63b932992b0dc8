// SPDX-License-Identifier: Apache-2.0
// What an array of the data must look like: its shape, and every value in it.
#include "runtime/data/Dataset.h"
#include "runtime/files/Convert.h"
#include "runtime/system/ProgressCounter.h"
#include <cmath>
#include <cstring>

namespace accum::runtime {
namespace {

/// The slab without its batch axis where that has one row; otherwise all of it.
std::vector<int64_t> sampleShape(const InputSpec &spec) {
  std::vector<int64_t> shape = spec.shape;
  if (shape[*spec.batchDim] == 1)
    shape.erase(shape.begin() + *spec.batchDim);
  return shape;
}

std::string indexOf(const Array &array, int64_t flat) {
  std::vector<int64_t> index(array.shape.size());
  for (size_t d = index.size(); d-- > 0; flat /= array.shape[d])
    index[d] = flat % array.shape[d];
  return formatShape(index);
}

Error badValue(const Array &array, int64_t flat, const std::string &value, const std::string &expected) {
  return badData(array.path + ": array `" + array.name + "` holds " + value + " at " + indexOf(array, flat) +
                 ", expected " + expected);
}

/// An element that is wrong, with its bytes; index -1: none is.
struct Wrong {
  int64_t index = -1;
  uint8_t bytes[8] = {};
};

/// The first one: isWrong(values, i) looks at element i of a piece.
template <typename Test> Expected<Wrong> findWrong(const Array &array, Test &&isWrong) {
  Wrong wrong;
  auto look = [&](int64_t first, int64_t count, const uint8_t *values) {
    countProgress();
    for (int64_t i = 0; i < count && wrong.index < 0; ++i) {
      if (!isWrong(values, i))
        continue;
      wrong.index = first + i;
      std::memcpy(wrong.bytes, values + i * int64_t(bytesOf(array.dtype)), bytesOf(array.dtype));
    }
    return wrong.index < 0;
  };
  if (Status status = forEachPiece(array, look); !status)
    return status.error();
  return wrong;
}

Status checkIndices(const InputSpec &spec, const Array &array) {
  int64_t ignored = spec.ignoreIndex.value_or(0), bound = *spec.bound;
  auto wrong = findWrong(array, [&](const uint8_t *values, int64_t i) {
    int64_t value = asInteger(values, array.dtype, i);
    return (value < 0 || value >= bound) && value != ignored;
  });
  if (!wrong || wrong->index < 0)
    return wrong ? Status() : wrong.error();
  std::string expected = "0 <= value < " + std::to_string(bound);
  if (spec.ignoreIndex)
    expected += ", or " + std::to_string(ignored);
  return badValue(array, wrong->index, std::to_string(asInteger(wrong->bytes, array.dtype, 0)), expected);
}

Status checkFloats(const Array &array) {
  auto wrong = findWrong(
      array, [&](const uint8_t *values, int64_t i) { return std::isnan(asDouble(values, array.dtype, i)); });
  if (!wrong || wrong->index < 0)
    return wrong ? Status() : wrong.error();
  return badValue(array, wrong->index, "NaN", "a number");
}

Status checkBools(const Array &array) {
  auto wrong = findWrong(array, [](const uint8_t *values, int64_t i) { return values[i] > 1; });
  if (!wrong || wrong->index < 0)
    return wrong ? Status() : wrong.error();
  return badValue(array, wrong->index, std::to_string(wrong->bytes[0]), "0 or 1");
}

/// What an integer type holds; of u64 the half that i64 has too.
std::pair<int64_t, int64_t> rangeOf(DType dtype) {
  switch (dtype) {
  case ACCUM_BOOL:
    return {0, 1};
  case ACCUM_I8:
    return {INT8_MIN, INT8_MAX};
  case ACCUM_U8:
    return {0, UINT8_MAX};
  case ACCUM_I32:
    return {INT32_MIN, INT32_MAX};
  default:
    return {INT64_MIN, INT64_MAX};
  }
}

/// Every value is one of the input's type too.
Status checkNarrowed(const InputSpec &spec, const Array &array) {
  auto [least, most] = rangeOf(spec.dtype);
  bool isUnsigned = array.dtype == ACCUM_U64;
  auto wrong = findWrong(array, [&, least = least, most = most](const uint8_t *values, int64_t i) {
    int64_t value = asInteger(values, array.dtype, i);
    return value < least || value > most || (isUnsigned && value < 0);
  });
  if (!wrong || wrong->index < 0)
    return wrong ? Status() : wrong.error();
  int64_t value = asInteger(wrong->bytes, array.dtype, 0);
  Error error =
      badValue(array, wrong->index, isUnsigned ? std::to_string(uint64_t(value)) : std::to_string(value),
               std::to_string(least) + " <= value <= " + std::to_string(most) +
                   ", since the model's input is " + std::string(nameOf(spec.dtype)));
  error.notes.push_back("export the model with an input of " + std::string(nameOf(array.dtype)) +
                        ", or mend the data");
  return error;
}

} // namespace

Expected<int64_t> samplesOf(const InputSpec &spec, const Array &array) {
  std::vector<int64_t> rest = sampleShape(spec);
  std::vector<int64_t> tail(array.shape.begin() + !array.shape.empty(), array.shape.end());
  if (const auto &padded = spec.padded;
      padded && tail.size() == rest.size() && tail[size_t(padded->axis) - 1] > 0)
    rest[size_t(padded->axis) - 1] = tail[size_t(padded->axis) - 1]; // of any length
  if (!array.shape.empty() && tail == rest)
    return array.shape[0];
  int64_t rows = spec.shape[*spec.batchDim];
  if (*spec.batchDim == 0 && !array.shape.empty() && array.shape[0] % rows == 0) {
    std::vector<int64_t> whole = spec.shape;
    whole[0] = array.shape[0];
    if (whole == array.shape)
      return array.shape[0] / rows;
  }
  std::string expected = "[samples";
  rest = sampleShape(spec);
  for (size_t d = 0; d < rest.size(); ++d)
    expected +=
        (spec.padded && spec.padded->axis == int64_t(d) + 1 ? ", up to " : ", ") + std::to_string(rest[d]);
  return badData(array.path + ": array `" + array.name + "` has shape " + formatShape(array.shape) +
                 ", expected " + expected + "]");
}

Expected<int64_t> findZero(const Array &array) {
  auto zero = findWrong(
      array, [&](const uint8_t *values, int64_t i) { return asDouble(values, array.dtype, i) == 0; });
  return zero ? Expected<int64_t>(zero->index) : zero.error();
}

Status checkValues(const InputSpec &spec, const Array &array) {
  if (isFloat(array.dtype))
    return checkFloats(array);
  if (array.dtype == ACCUM_BOOL)
    return checkBools(array);
  if (!canConvert(array.dtype, spec.dtype))
    if (Status status = checkNarrowed(spec, array); !status)
      return status;
  return spec.bound ? checkIndices(spec, array) : Status();
}

} // namespace accum::runtime
