// SPDX-License-Identifier: Apache-2.0
// What the stages of a packing came to.
#pragma once
#include "compiler/Planner/Packing/Packing.h"
#include <algorithm>
#include <chrono>

namespace accum::planner {

/// What each stage came to, and how long it took.
class Stages {
public:
  /// A stage may come back: its times add up.
  void add(const char *name, const Packing &best) {
    auto now = std::chrono::steady_clock::now();
    auto known = std::ranges::find(list, name, &PackingStage::name);
    if (known == list.end())
      known = list.insert(known, {name, best.height, 0});
    known->height = best.height;
    known->seconds += std::chrono::duration<double>(now - last).count();
    last = now;
  }
  std::vector<PackingStage> list = {};

private:
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

} // namespace accum::planner
