// SPDX-License-Identifier: Apache-2.0
// Packing inputs as compilers for accelerators dump them: buffers of networks in execution order, with few
// distinct sizes, short and long lives mixed.
#pragma once
#include "test/compiler/Planner/PackingInstances.h"
#include <array>

namespace accum::planner {

enum class NetworkKind {
  Residual,  ///< blocks of convolutions around a skip connection, weights loaded a few operators ahead
  Encoder,   ///< down and up again, every level's result kept for the way up, then joined with it
  Dense,     ///< every layer reads all results of its block
  Tiles,     ///< loop nests with double-buffered tiles, accumulators and weights that stay
  FusedRows, ///< lines of an image on their way through several convolutions at once
  Decoder,   ///< keys and values that stay for all steps to come, among short-lived activations
  Cores      ///< chains on several cores, out of step, that read from each other
};

constexpr std::array<const char *, 7> kNetworkKinds = {"residual",   "encoder", "dense", "tiles",
                                                       "fused rows", "decoder", "cores"};

/// At least so many buffers, shuffled.
std::vector<Rectangle> networkInstance(Random &random, NetworkKind kind, int buffers);

} // namespace accum::planner
