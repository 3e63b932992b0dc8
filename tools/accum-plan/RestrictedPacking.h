// SPDX-License-Identifier: Apache-2.0
// Packing where some rectangles are aligned or stand somewhere: tables have that, plans do not.
#pragma once
#include "compiler/Planner/Packing/Packing.h"

namespace accum::planner {

/// Packs with a restriction per rectangle: first fit, then evictions; exact search only where nothing is
/// restricted. Sizes need not be multiples of anything. Rectangles that are given an offset must not overlap.
Packing packRestricted(std::span<const Rectangle> rectangles, std::span<const Restriction> restrictions,
                       const PackingEffort &effort);

} // namespace accum::planner
