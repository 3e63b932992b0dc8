// SPDX-License-Identifier: Apache-2.0
// What an array of the data must look like: its shape, and every value in it.
#include "runtime/Convert.h"
#include "runtime/Dataset.h"
#include "runtime/Heartbeat.h"
#include <cmath>

namespace accum::runtime {
namespace {

Error badData(const std::string &message) { return {kExitFile, message, "bad-data"}; }

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

/// The first element that is wrong, or -1.
template <typename Test> int64_t findWrong(const Array &array, Test &&isWrong) {
  int64_t wrong = -1;
  forEachPiece(array, [&](int64_t first, int64_t count) {
    beat();
    for (int64_t i = first; i < first + count && wrong < 0; ++i)
      if (isWrong(i))
        wrong = i;
    return wrong < 0;
  });
  return wrong;
}

Status checkIndices(const InputSpec &spec, const Array &array) {
  int64_t ignored = spec.ignoreIndex.value_or(0), bound = *spec.bound;
  int64_t wrong = findWrong(array, [&](int64_t i) {
    int64_t value = asInteger(array.data, array.dtype, i);
    return (value < 0 || value >= bound) && value != ignored;
  });
  if (wrong < 0)
    return {};
  std::string expected = "0 <= value < " + std::to_string(bound);
  if (spec.ignoreIndex)
    expected += ", or " + std::to_string(ignored);
  return badValue(array, wrong, std::to_string(asInteger(array.data, array.dtype, wrong)), expected);
}

Status checkFloats(const Array &array) {
  int64_t wrong =
      findWrong(array, [&](int64_t i) { return std::isnan(asDouble(array.data, array.dtype, i)); });
  return wrong < 0 ? Status() : badValue(array, wrong, "NaN", "a number");
}

Status checkBools(const Array &array) {
  int64_t wrong = findWrong(array, [&](int64_t i) { return array.data[i] > 1; });
  return wrong < 0 ? Status() : badValue(array, wrong, std::to_string(array.data[wrong]), "0 or 1");
}

} // namespace

Expected<int64_t> samplesOf(const InputSpec &spec, const Array &array) {
  std::vector<int64_t> rest = sampleShape(spec);
  std::vector<int64_t> tail(array.shape.begin() + !array.shape.empty(), array.shape.end());
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
  for (int64_t extent : rest)
    expected += ", " + std::to_string(extent);
  return badData(array.path + ": array `" + array.name + "` has shape " + formatShape(array.shape) +
                 ", expected " + expected + "]");
}

Status checkValues(const InputSpec &spec, const Array &array) {
  if (isFloat(array.dtype))
    return checkFloats(array);
  if (array.dtype == ACCUM_BOOL)
    return checkBools(array);
  return spec.bound ? checkIndices(spec, array) : Status();
}

} // namespace accum::runtime
