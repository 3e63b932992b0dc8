// SPDX-License-Identifier: Apache-2.0
// The device profiles of profiles/*.json, compiled in; the build writes their definition.
#pragma once
#include <span>
#include <string_view>

namespace accum::planner {

struct BuiltinProfile {
  std::string_view name;
  std::string_view json;
};

std::span<const BuiltinProfile> builtinProfiles();

} // namespace accum::planner
