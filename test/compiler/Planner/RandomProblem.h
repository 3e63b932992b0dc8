// SPDX-License-Identifier: Apache-2.0
// Small random problems and rectangles from a seed, with every feature of the model in them.
#pragma once
#include "compiler/Planner/Packing/Packing.h"
#include "compiler/Planner/Problem/Problem.h"
#include <random>

namespace accum::planner {

using Random = std::mt19937_64;

/// Uniform in [low, high]; the same on every platform.
int64_t draw(Random &random, int64_t low, int64_t high);

/// About `commands` commands over all phases, the usual ones or seven, in-place offers, views, workspaces,
/// tables, whole-step buffers, a backward part, variants and followers.
Problem randomProblem(Random &random, int commands);

/// A micro-step: `layers` equal layers of `commands` forward commands in a chain with side links, then as
/// many backward ones that read what was kept; about `variants` commands of a layer with a second variant.
Problem randomStep(Random &random, int commands, int layers, int variants);

std::vector<Rectangle> randomRectangles(Random &random, int count, int horizon, int64_t largest);

/// CPU seconds of this process.
double cpuSeconds();

/// More CPU seconds than anything here takes, by more than a factor of ten, on a slow machine and with a
/// sanitizer's checks: a search that is quadratic in a large input takes hours. How fast things are is
/// measured by accum-planner-bench.
constexpr double kHang = 300;

/// No two rectangles that live together overlap, none is outside [0, height): the O(n^2) way.
bool isPacking(const std::vector<Rectangle> &rectangles, const Packing &packing);

} // namespace accum::planner
