// SPDX-License-Identifier: Apache-2.0
// Counted in the kernels' machine code for sm_90: nobody has timed one.
#include "compiler/Planner/Time/HeadWidth.h"
#include <algorithm>

namespace accum::planner {

namespace {

/// A round of a block's loops (a tile of its own by one that streams by), for each 1,024 floating-point
/// operations that count: 2 products forward, 5 backward, whatever the kernel repeats.
struct Tiles {
  std::string_view dtype;
  bool backward;
  int64_t features; ///< of heads up to so many, and more than the line before
  double units;     ///< matrix instructions of a warp, or (f32) multiply-adds of each scheduler
  double shared;    ///< clocks that shared memory is busy, at 128 bytes each
  double issue;     ///< instructions of each scheduler
  double alone;     ///< clocks of a block by itself, without those of matrix instructions
  int64_t blocks;   ///< on a multiprocessor, as registers allow
  int64_t bytes;    ///< of a block's shared memory
};

// clang-format off
constexpr Tiles kTiles[] = {
    {"bf16", false, 64, 0.0625, 0.6484, 0.4111, 1.062, 3, 36880},
    {"bf16", false, 96, 0.0625, 0.6562, 0.401, 1.216, 3, 26640},
    {"bf16", false, 128, 0.0625, 0.6484, 0.3584, 1.009, 2, 34832},
    {"bf16", false, 160, 0.0625, 0.725, 0.4719, 1.434, 2, 21520},
    {"bf16", false, 192, 0.0625, 0.6562, 0.4245, 1.24, 2, 25616},
    {"bf16", false, 224, 0.0625, 0.6964, 0.4319, 1.164, 2, 29712},
    {"bf16", false, 256, 0.0625, 0.6484, 0.3945, 1.045, 2, 33808},
    {"bf16", true, 64, 0.0875, 1.006, 0.4391, 1.472, 2, 28288},
    {"bf16", true, 96, 0.0875, 1.154, 0.4979, 1.828, 2, 33600},
    {"bf16", true, 128, 0.0875, 1.078, 0.3789, 1.43, 2, 43840},
    {"bf16", true, 160, 0.1, 1.728, 0.5356, 1.905, 2, 75584},
    {"bf16", true, 192, 0.1, 1.64, 0.4536, 1.645, 2, 89920},
    {"bf16", true, 224, 0.1, 1.511, 0.3991, 1.446, 2, 81984},
    {"bf16", true, 256, 0.1, 1.484, 0.3281, 1.285, 2, 93248},
    {"tf32", false, 64, 0.125, 1.609, 1.021, 2.4, 3, 34832},
    {"tf32", false, 96, 0.125, 1.625, 1.076, 2.784, 2, 25616},
    {"tf32", false, 128, 0.125, 1.609, 0.9492, 2.328, 2, 33808},
    {"tf32", true, 64, 0.175, 2.206, 1.031, 3.145, 2, 35088},
    {"tf32", true, 96, 0.2, 3.054, 1.229, 3.555, 2, 64320},
    {"tf32", true, 128, 0.2, 2.997, 1.115, 3.036, 2, 84800},
    {"f32", false, 64, 4.039, 3.688, 5.164, 6.141, 4, 45056},
    {"f32", false, 96, 4.031, 4.542, 5.284, 13.17, 6, 28672},
    {"f32", false, 128, 4.148, 4.625, 5.258, 12.47, 6, 36864},
    {"f32", false, 160, 4.019, 4.375, 5.1, 11.76, 6, 45056},
    {"f32", false, 192, 4.016, 4.333, 5.01, 11.32, 4, 53248},
    {"f32", false, 224, 4.013, 4.304, 4.973, 11.06, 4, 61440},
    {"f32", false, 256, 4.012, 4.281, 4.931, 10.84, 4, 69632},
    {"f32", true, 64, 5.65, 5.275, 7.015, 15.59, 6, 45056},
    {"f32", true, 96, 5.667, 9.533, 8.44, 21.05, 5, 28672},
    {"f32", true, 128, 5.662, 9.4, 8.323, 19.77, 4, 36864},
    {"f32", true, 160, 5.66, 14.93, 10.09, 12.59, 3, 45056},
    {"f32", true, 192, 5.658, 14.88, 10.02, 12.1, 2, 53248},
    {"f32", true, 224, 5.657, 14.84, 9.971, 11.76, 2, 61440},
    {"f32", true, 256, 5.656, 14.81, 9.934, 11.5, 2, 69632},
};
// clang-format on

/// Of a multiprocessor.
struct Multiprocessor {
  double clocksOfMatrix = 0; ///< of a scheduler's matrix instruction
  double lanes = 128;        ///< that multiply and add in f32
  int64_t shared = 0;        ///< bytes
};

/// A matrix instruction is 4,096 operations in bf16 and half as many, at half the rate, in tf32. Those of one
/// warp reach 60 % of sm_90's rate, which later cards are not assumed to exceed.
Multiprocessor multiprocessorOf(const DeviceProfile &card) {
  constexpr double kMost = 0.6 * 4096, kOperations = 4096, kSchedulers = 4;
  const std::string &name = card.architecture;
  Multiprocessor result;
  if (name == "sm_80")
    result = {.lanes = 64, .shared = 164 << 10};
  else
    result.shared = (name.starts_with("sm_9") || name.starts_with("sm_10") ? 228 : 100) << 10;
  double perLane = card.rate(true, "bf16").peak / card.rate(false, "f32").peak;
  double each = std::min(2 * result.lanes * perLane, kMost) / kSchedulers;
  result.clocksOfMatrix = kOperations / each;
  return result;
}

/// Clocks of a multiprocessor for 1,024 operations: those of what is busiest, or those that its blocks wait
/// where there are too few of them.
double clocksOf(const Tiles &tiles, const Multiprocessor &on) {
  bool isPlain = tiles.dtype == "f32";
  double unit = isPlain ? 128 / on.lanes : on.clocksOfMatrix, units = tiles.units * unit;
  double alone = tiles.alone + (isPlain ? units - tiles.units : units);
  constexpr int64_t kReserved = 1 << 10; // of each block
  int64_t blocks = std::clamp<int64_t>(on.shared / (tiles.bytes + kReserved), 1, tiles.blocks);
  return std::max({units, tiles.shared, tiles.issue, alone / static_cast<double>(blocks)});
}

/// The line for heads of so many features; the last one for wider ones.
const Tiles &tilesOf(std::string_view dtype, bool backward, double features) {
  const Tiles *found = nullptr;
  for (const Tiles &each : kTiles)
    if (each.dtype == dtype && each.backward == backward) {
      found = &each;
      if (static_cast<double>(each.features) >= features)
        break;
    }
  return *found;
}

/// Of the wider of keys and values, which decides what tiles there are; 0: no attention.
double widthOf(const CallShape &call) {
  if (!call.name.starts_with("attention"))
    return 0;
  return std::max(call.sizes[5].real(1), call.sizes[6].real(1));
}

} // namespace

double headShare(const DeviceProfile &card, const CallShape &call, std::string_view dtype) {
  constexpr double kNarrow = 64; // features
  double width = widthOf(call);
  if (!card.isCuda() || width <= kNarrow)
    return 1;
  std::string_view computed = dtype == "bf16" || dtype == "tf32" ? dtype : "f32";
  bool backward = call.name.find("backward") != std::string::npos;
  Multiprocessor on = multiprocessorOf(card);
  return clocksOf(tilesOf(computed, backward, kNarrow), on) /
         clocksOf(tilesOf(computed, backward, width), on);
}

} // namespace accum::planner
