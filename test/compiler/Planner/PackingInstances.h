// SPDX-License-Identifier: Apache-2.0
// Kinds of packing inputs from a seed: cut rectangles, whose optimum is known, and inputs like those of a
// training step.
#pragma once
#include "test/compiler/Planner/RandomProblem.h"

namespace accum::planner {

/// How a full rectangle in time x address is cut; a packing without waste exists for all its pieces together.
struct Cutting {
  int pieces = 100, horizon = 50;
  int64_t height = 1 << 20, grain = 1; ///< sizes are multiples of the grain
  int pinwheelPercent = 0;             ///< cuts into five that no line through the piece could make
  bool largestFirst = true; ///< pieces of like area; otherwise any piece is cut next, down to slivers
};

/// The pieces, shuffled. May be fewer than asked for where nothing is left to cut.
std::vector<Rectangle> cutRectangle(Random &random, const Cutting &cutting);

/// Takes away about so many of a hundred rectangles.
void drop(Random &random, std::vector<Rectangle> &rectangles, int percent);

/// A training step of equal layers: activations live from their layer's forward to its backward, workspaces
/// and gradients for a moment; sizes are multiples of 256.
std::vector<Rectangle> layeredRectangles(Random &random, int layers, int perLayer);

/// Any starts, lives of 1 to `longest`, sizes of 256 to 256 * 4000.
std::vector<Rectangle> scatteredRectangles(Random &random, int count, int longest);

} // namespace accum::planner
