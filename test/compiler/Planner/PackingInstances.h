// SPDX-License-Identifier: Apache-2.0
// Kinds of packing inputs from a seed: cut rectangles, whose optimum is known, and inputs like those of a
// training step.
#pragma once
#include "test/compiler/Planner/RandomProblem.h"
#include <functional>

namespace accum::planner {

/// How a full rectangle in time x address is cut; a packing without waste exists for all its pieces together.
struct Cutting {
  int pieces = 100, horizon = 50;
  int64_t height = 1 << 20, grain = 1; ///< sizes are multiples of the grain
  int pinwheelPercent = 0;             ///< cuts into five that no line through the piece could make
  bool largestFirst = true; ///< pieces of like area; otherwise any piece is cut next, down to slivers
  bool nearEdges = false;   ///< cuts take an eighth away, or less: a few pieces stay huge
};

/// The pieces, shuffled. May be fewer than asked for where nothing is left to cut.
std::vector<Rectangle> cutRectangle(Random &random, const Cutting &cutting);

/// What holds the memory of an accelerator: tiles of loops, most of them gone after a few steps.
enum class TileKind {
  DoubleBuffered, ///< tiles live for two turns of their loop, one in use and one on its way
  Skewed,         ///< a pipeline: each stage holds its tile a step longer than the one before
  Fan,            ///< a large tile is scattered into equal ones that end together, and gathered again
  Prefetched      ///< weights that wait for many steps between short-lived tiles
};

/// A memory that is full at all times.
struct Tiling {
  TileKind kind = TileKind::DoubleBuffered;
  int buffers = 300;
  int64_t capacity = 1 << 20, alignment = 1 << 13;
  int shrunkPercent = 0; ///< of the buffers: half an alignment smaller, so that not everything is full
};

/// The buffers, shuffled; a packing of the height `capacity` exists.
std::vector<Rectangle> tileLoop(Random &random, const Tiling &tiling);

/// A part of a memory until `end`, free or not.
struct MemorySlot {
  int64_t size;
  int end;
  bool isFree = false;
};

/// Fills a hole of so many bytes at a time with slots that end later.
using FillHole = std::function<void(int now, int64_t free, std::vector<MemorySlot> &slots)>;

/// What is left of the slots, by address, at a time: those that ended leave holes, and holes side by side are
/// filled as one.
std::vector<MemorySlot> refilled(const std::vector<MemorySlot> &slots, int now, const FillHole &fill);

void shuffle(Random &random, std::vector<Rectangle> &rectangles);

/// Takes away about so many of a hundred rectangles.
void drop(Random &random, std::vector<Rectangle> &rectangles, int percent);

/// A training step of equal layers: activations live from their layer's forward to its backward, workspaces
/// and gradients for a moment; sizes are multiples of 256.
std::vector<Rectangle> layeredRectangles(Random &random, int layers, int perLayer);

/// Any starts, lives of 1 to `longest`, sizes of 256 to 256 * 4000.
std::vector<Rectangle> scatteredRectangles(Random &random, int count, int longest);

} // namespace accum::planner
