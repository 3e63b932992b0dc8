// SPDX-License-Identifier: Apache-2.0
// Keys into measured times: the sizes of a library call, and the elements per operation of a
// kernel.
#pragma once
#include "compiler/Planner/Problem/Amount.h"
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accum::planner {

/// A library call. The name says which table holds its times, and how many sizes it has:
///
///     gemm-nn, gemm-nt, gemm-tn, gemm-tt             points, M, N, K      (n, t: whether A and B are stored
///     transposed) attention[-backward][-causal]                  batch, heads, groups, queries, keys,
///     features, value features
struct CallShape {
  std::string name = {}; ///< empty: no library call
  std::vector<Amount> sizes = {};
  bool operator==(const CallShape &) const = default;
};

/// Elements that one operation of a kernel touches: `exp`, `layer_norm`, `plain` (what costs a cycle or
/// less).
struct OperationCount {
  std::string operation = {};
  Amount elements = {};
  bool operator==(const OperationCount &) const = default;
};

/// Sizes that a call of this name has; 0 for a name that is none.
size_t sizeCountOf(std::string_view call);

/// The point of a call's table for one of `pieces` parts of m samples: GEMM (points * M, N, K); attention
/// (batch * heads, the geometric mean of queries and keys, the mean of both feature sizes). Their weighted
/// product, `callWork`, is what time is nearly proportional to.
std::array<double, 3> callPoint(const CallShape &call, int64_t m, int64_t pieces = 1);

/// The same where an attention's keys and features fill whole vectors of `lanes` elements, as they are
/// computed: 36 features take as long as 48.
std::array<double, 3> callPointInVectors(const CallShape &call, int64_t m, int64_t pieces, int64_t lanes);
/// x * y * z for a GEMM, x * y^2 * z for an attention.
double callWork(std::string_view call, const std::array<double, 3> &point);

/// `gemm-nt:1,128*m,768,3072` and `exp@98304*m`; sizes are affine. Malformed: none.
std::string toText(const CallShape &call);
std::optional<CallShape> parseCall(std::string_view text);
std::string toText(const OperationCount &count);
std::optional<OperationCount> parseOperationCount(std::string_view text);

} // namespace accum::planner
