// SPDX-License-Identifier: Apache-2.0
// Packing inputs that leave no room, or next to none, of many kinds: each fits into 2^20 by the way it was
// made.
#pragma once
#include "test/compiler/Planner/PackingInstances.h"
#include <array>

namespace accum::planner {

/// The first are cut out of a full rectangle; the others record an allocator that fills holes as time goes
/// by.
enum class TightKind {
  Guillotine,   ///< cut from edge to edge, areas alike
  Slivers,      ///< any piece is cut next
  Pinwheels,    ///< two cuts in five make a pinwheel
  AllPinwheels, ///< every cut that can
  FewMoments,   ///< some 20 live at a time, and many begin and end together
  FewSizes,     ///< 32 sizes
  HeavyTails,   ///< cuts near an edge: a few are huge, many tiny
  ShrunkLives,  ///< a third live up to a tenth shorter than where they were cut
  ShrunkSizes,  ///< a third are a thousandth of the height smaller
  Dropped,      ///< a twentieth taken away
  ShortAndLong, ///< one in six lives for a fifth of all time, the others for a few moments
  AnySizes,     ///< sizes of no common measure, lives of 1 to 40
  PowersOfTwo,  ///< sizes and lives
  Loop,         ///< seven to thirteen tiles again and again
  Pipeline,     ///< first in, first out
  Phases,       ///< full for a while, then half empty
  Loose         ///< holes may stay empty for a moment, and lives end early
};

constexpr std::array<const char *, 17> kTightKinds = {
    "guillotine",    "slivers",      "pinwheels",    "all pinwheels", "few moments",    "few sizes",
    "heavy tails",   "shrunk lives", "shrunk sizes", "dropped",       "short and long", "any sizes",
    "powers of two", "loop",         "pipeline",     "phases",        "loose"};

/// About so many rectangles, shuffled, that fit into 2^20.
std::vector<Rectangle> tightInstance(Random &random, TightKind kind, int buffers);

} // namespace accum::planner
