// SPDX-License-Identifier: Apache-2.0
// Element by element; nothing here allocates by tensor size.
#include "tools/accum-diff/Compare.h"
#include "runtime/files/Convert.h"
#include <algorithm>
#include <cmath>
#include <fnmatch.h>
#include <map>

namespace accum::diff {

using runtime::Array;

namespace {

/// Equal infinities differ by 0, NaN differs from everything.
double distance(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return HUGE_VAL;
  return a == b ? 0 : std::abs(a - b);
}

double magnitudeOf(double a, double b) {
  double magnitude = std::max(std::abs(a), std::abs(b));
  return std::isfinite(magnitude) ? magnitude : 0;
}

std::vector<int64_t> indexOf(const Array &array, int64_t flat) {
  std::vector<int64_t> index(array.shape.size());
  for (size_t d = index.size(); d-- > 0; flat /= array.shape[d])
    index[d] = flat % array.shape[d];
  return index;
}

bool isSkipped(const std::string &name, const std::vector<std::string> &skipped) {
  return std::any_of(skipped.begin(), skipped.end(),
                     [&](const std::string &glob) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; });
}

std::map<std::string, const Array *> byName(const std::vector<Array> &arrays,
                                            const std::vector<std::string> &skipped) {
  std::map<std::string, const Array *> map;
  for (const Array &array : arrays)
    if (!isSkipped(array.name, skipped))
      map[array.name] = &array;
  return map;
}

} // namespace

TensorDifference compareTensors(const Array &a, const Array &b) {
  TensorDifference difference;
  difference.name = a.name;
  int64_t worst = 0;
  for (int64_t i = 0, n = a.elements(); i < n; ++i) {
    double x = runtime::asDouble(a.data, a.dtype, i), y = runtime::asDouble(b.data, b.dtype, i);
    difference.magnitude = std::max(difference.magnitude, magnitudeOf(x, y));
    if (distance(x, y) <= difference.absolute)
      continue;
    difference.absolute = distance(x, y);
    worst = i;
  }
  difference.at = indexOf(a, worst);
  if (a.elements() > 0) {
    difference.a = runtime::asDouble(a.data, a.dtype, worst);
    difference.b = runtime::asDouble(b.data, b.dtype, worst);
  }
  return difference;
}

Comparison compare(const std::vector<Array> &a, const std::vector<Array> &b,
                   const std::vector<std::string> &skipped) {
  auto left = byName(a, skipped), right = byName(b, skipped);
  Comparison comparison;
  for (const auto &[name, array] : left) {
    auto other = right.find(name);
    if (other == right.end())
      comparison.onlyInA.push_back(name);
    else if (array->shape != other->second->shape)
      comparison.shapes.push_back(name + ": " + runtime::formatShape(array->shape) + " and " +
                                  runtime::formatShape(other->second->shape));
    else
      comparison.tensors.push_back(compareTensors(*array, *other->second));
  }
  for (const auto &[name, array] : right)
    if (!left.count(name))
      comparison.onlyInB.push_back(name);
  std::sort(comparison.tensors.begin(), comparison.tensors.end(), [](const auto &x, const auto &y) {
    return x.relative() != y.relative() ? x.relative() > y.relative() : x.name < y.name;
  });
  return comparison;
}

} // namespace accum::diff
