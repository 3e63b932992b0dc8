// SPDX-License-Identifier: Apache-2.0
// Powers of two have worse strides than their neighbours, so that others stand between them. The last size is
// none: vocabularies lie beyond it and are told from it (4096 says of 5003 columns that they take a quarter
// longer).
#include "tools/accum-calibrate/Grid.h"

namespace accum::calibrate {

std::array<int64_t, 3> Grid::point(size_t index) const {
  size_t last = axes[2].size(), middle = axes[1].size();
  return {axes[0][index / last / middle], axes[1][index / last % middle], axes[2][index % last]};
}

double Grid::work(size_t index) const {
  auto [x, y, z] = point(index);
  return planner::callWork(call, {static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)});
}

std::string Grid::name() const {
  return call + (operands == planner::Operands::Far ? " far" : "") + (dtype == "f32" ? "" : " " + dtype);
}

/// Fewer points: what lies between two of them follows f32's ways.
static void addBf16Grids(bool coarse, std::vector<Grid> &grids) {
  using Axis = std::vector<int64_t>;
  constexpr auto kNear = planner::Operands::Near;
  Axis tokens = coarse ? Axis{128} : Axis{16, 64, 256, 1024};
  Axis weights = coarse ? Axis{128, 768} : Axis{64, 192, 384, 768, 1536, 3072};
  for (const char *call : {"gemm-nn", "gemm-nt"})
    grids.push_back({call, {tokens, weights, weights}, kNear, "bf16"});
  grids.push_back({"gemm-tn", {weights, weights, tokens}, kNear, "bf16"});
  Axis heads = coarse ? Axis{16} : Axis{4, 16, 64}, lengths = coarse ? Axis{128} : Axis{64, 256, 1024};
  Axis features = coarse ? Axis{64} : Axis{32, 64, 128};
  for (const char *call :
       {"attention", "attention-causal", "attention-backward", "attention-backward-causal"})
    grids.push_back({call, {heads, lengths, features}, kNear, "bf16"});
}

std::vector<Grid> makeGrids(bool coarse) {
  using Axis = std::vector<int64_t>;
  Axis tokens = coarse ? Axis{64, 512} : Axis{16, 32, 64, 128, 256, 512, 1024};
  Axis weights =
      coarse ? Axis{128, 768} : Axis{64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 5120};
  std::vector<Grid> grids = {{"gemm-nn", {tokens, weights, weights}},
                             {"gemm-nt", {tokens, weights, weights}},
                             {"gemm-tn", {weights, weights, tokens}}};
  // What waiting for memory adds follows the bytes of the weights, and with many rows nothing waits.
  Axis few = coarse ? Axis{64} : Axis{16, 32, 64, 128, 512};
  Axis wide = coarse ? Axis{128, 768} : Axis{128, 256, 512, 768, 1536, 3072};
  constexpr auto kFar = planner::Operands::Far;
  grids.push_back({"gemm-nn", {few, wide, wide}, kFar});
  grids.push_back({"gemm-nt", {few, wide, wide}, kFar});
  grids.push_back({"gemm-tn", {wide, wide, few}, kFar});
  Axis heads = coarse ? Axis{4, 16} : Axis{4, 16, 64}, features = coarse ? Axis{64} : Axis{32, 64, 128};
  Axis lengths = coarse ? Axis{32, 128} : Axis{32, 64, 128, 256, 512, 1024};
  for (const char *call :
       {"attention", "attention-causal", "attention-backward", "attention-backward-causal"})
    grids.push_back({call, {heads, lengths, features}});
  addBf16Grids(coarse, grids);
  return grids;
}

} // namespace accum::calibrate
