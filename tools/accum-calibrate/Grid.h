// SPDX-License-Identifier: Apache-2.0
// Which calls are measured at which sizes.
#pragma once
#include "compiler/Planner/Time/TimeTables.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace accum::calibrate {

/// A table to fill: a call by its name in profiles, and the sizes along its three axes.
struct Grid {
  std::string call;
  std::array<std::vector<int64_t>, 3> axes;
  planner::Operands operands = planner::Operands::Near;
  std::string dtype = "f32"; ///< or `bf16`: of operands and results; weight gradients are f32

  size_t points() const { return axes[0].size() * axes[1].size() * axes[2].size(); }
  /// The sizes of a point, the last axis fastest.
  std::array<int64_t, 3> point(size_t index) const;
  /// Multiply-adds of a point.
  double work(size_t index) const;
  /// `gemm-nn`, `gemm-nn far`, `gemm-nn bf16`.
  std::string name() const;
};

/// GEMMs with rows of tokens against matrices of weights (forward, input gradients) and rows of tokens summed
/// (weight gradients), at the hidden sizes of transformers, with weights in a cache and, for fewer points,
/// from memory; attention by heads, length and features.
/// `coarse`: a few points of each, for machines that have no minutes.
std::vector<Grid> makeGrids(bool coarse);

} // namespace accum::calibrate
