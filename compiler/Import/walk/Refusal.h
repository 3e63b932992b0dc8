// SPDX-License-Identifier: Apache-2.0
// How one node says no. Inside this library only: rules throw it, the walk over the graph catches it for each
// node, so that rules read as the operator's specification does and everything wrong is told at once.
#pragma once
#include <string>
#include <vector>

namespace accum::import {

struct Refusal {
  std::string slug; ///< as in Failure
  std::string message;
  std::vector<std::string> notes;
};

[[noreturn]] void refuseUnsupported(std::string message);
/// Shapes or types that the operator's specification does not allow.
[[noreturn]] void refuseMalformed(std::string message);
/// The result would depend on how the batch is cut.
[[noreturn]] void refuseCrossBatch(std::string message, std::vector<std::string> notes = {});

} // namespace accum::import
