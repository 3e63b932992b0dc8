// SPDX-License-Identifier: Apache-2.0
// How the host's library spreads a call over threads: in pieces that only the sizes decide, each taken by the
// next free thread (runtime/host/CallTiles.h). Three equal pieces on two threads take as long as four, so
// that times jump with sizes.
#pragma once
#include "compiler/Planner/Problem/CallShape.h"
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace accum::planner {

/// The multiply-adds of each piece of a GEMM, in the order in which they are taken: the tiles that the
/// runtime cuts it into, several together where they are small.
std::vector<double> gemmPieces(int64_t points, int64_t m, int64_t n, int64_t k, std::string_view dtype);

/// Bytes into which `threads` threads pack the operands of a GEMM of m samples, together; 0 for another call.
/// Those of f32 and f64 follow the tiles, others have panels of one size.
int64_t packedBytes(const CallShape &call, std::string_view dtype, int64_t m, int64_t threads);

/// What the busiest of `threads` threads does over an even share of all pieces; at least 1, and 1 where there
/// are so many pieces that it is near. Of one of `pieces` parts of m samples.
double unevenness(const CallShape &call, std::string_view dtype, int64_t m, int64_t pieces, int threads);

/// The same of a point of the call's table: a GEMM of one point, or heads of one sample.
double unevenness(std::string_view call, std::string_view dtype, const std::array<double, 3> &point,
                  int threads);

} // namespace accum::planner
