// SPDX-License-Identifier: Apache-2.0
#include "compiler/Planner/Time/Instructions.h"
#include <algorithm>
#include <string_view>
#include <utility>

namespace accum::planner {

namespace {

/// Addresses, loads and stores, for each byte.
constexpr double kPerByte = 0.25;
/// An operation that is not in the table.
constexpr double kOther = 8;

/// For each element that an operation touches, sorted. Counted where the kernels of GPT-2, BERT and LLaMA
/// have it, else the length of its code.
constexpr std::pair<std::string_view, double> kPerElement[] = {
    {"acos", 45},
    {"asin", 45},
    {"atan", 30},
    {"atan2", 45},
    {"binary_cross_entropy", 45},
    {"cos", 40},
    {"cross_entropy", 6},
    {"cross_entropy_computed", 6},
    {"cross_entropy_grad", 16},
    {"div", 12},
    {"erf", 25},
    {"erfc", 55},
    {"erfcx", 60},
    {"erfcx_grad", 95},
    {"exp", 4},
    {"expm1", 34},
    {"gather", 2},
    {"gelu", 18.5},
    {"gelu_grad", 24},
    {"gelu_tanh", 14},
    {"gelu_tanh_grad", 18},
    {"layer_norm", 18},
    {"log", 16},
    {"log1p", 22},
    {"log_erfc", 115},
    {"plain", 0.85},
    {"pow", 40},
    {"rearrange", 4},
    {"reciprocal", 2},
    {"reduce_columns", 1},
    {"reduce_computed_columns", 1},
    {"reduce_rows", 5.5},
    {"reduce_wide_columns", 1},
    {"rms_norm", 18},
    {"rsqrt", 12},
    {"scatter_add", 6},
    {"sigmoid", 6},
    {"sigmoid_cross_entropy", 60},
    {"silu", 7},
    {"silu_grad", 9.5},
    {"sin", 40},
    {"softmax", 14},
    {"softplus", 25},
    {"sqrt", 12},
    {"tanh", 14},
    {"transpose", 4},
    {"transpose_last", 4},
};

double perElement(std::string_view operation) {
  auto found =
      std::ranges::lower_bound(kPerElement, operation, {}, &std::pair<std::string_view, double>::first);
  return found != std::end(kPerElement) && found->first == operation ? found->second : kOther;
}

} // namespace

double instructionsOf(const Variant &kernel, int64_t m, int64_t pieces) {
  if (kernel.work.empty())
    return 0;
  double sum = kPerByte * kernel.bytes.real(m, pieces);
  for (const OperationCount &count : kernel.work)
    sum += perElement(count.operation) * count.elements.real(m, pieces);
  return sum;
}

} // namespace accum::planner
