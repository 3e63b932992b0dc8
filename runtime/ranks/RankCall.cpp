// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/RankCall.h"
#include <utility>

namespace accum::runtime {
namespace {

std::string countOf(uint64_t steps) { return std::to_string(steps) + (steps == 1 ? " step" : " steps"); }

std::string describe(int rank, const RankCall &call) {
  std::string name = "rank " + std::to_string(rank), after = " after " + countOf(call.step);
  std::string step = "step " + std::to_string(call.step + 1);
  switch (call.action) {
  case ACCUM_OPENS:
    return name + " opens an artifact";
  case ACCUM_STEPS:
    return name + " is in " + step;
  case ACCUM_ACCUMULATES:
    return name + " accumulates for " + step;
  case ACCUM_UPDATES:
    return name + " is in the update of " + step;
  case ACCUM_EVALUATES:
    return name + " evaluates" + after;
  case ACCUM_PREDICTS:
    return name + " predicts" + after;
  case ACCUM_CHECKPOINTS:
    return name + " writes a checkpoint" + after;
  case ACCUM_RESUMES:
    return name + " takes weights or a checkpoint" + after;
  case ACCUM_READS:
    return name + " reads or saves weights" + after;
  case ACCUM_COMPARES:
    return name + " compares a number with the others";
  case ACCUM_SHARES:
    return name + " takes part in what rank 0 makes for all";
  case ACCUM_LEAVES:
    return name + " has left" + after;
  default:
    return name + " is before its first step";
  }
}

} // namespace

std::string sentenceOf(int rank, const RankCall &call, int other, const RankCall &its,
                       const std::string &reason) {
  const RankCall *first = &call, *second = &its;
  bool isTurned =
      call.action == ACCUM_LEAVES || its.action == ACCUM_LEAVES ? its.action == ACCUM_LEAVES : other < rank;
  if (isTurned) {
    std::swap(rank, other);
    std::swap(first, second);
  }
  std::string text = describe(rank, *first) + (reason.empty() ? "" : " (" + reason + ")");
  if (first->action != second->action || first->step != second->step)
    return text + ", " + describe(other, *second);
  return text + ", and rank " + std::to_string(other) + " at another place of it";
}

} // namespace accum::runtime
