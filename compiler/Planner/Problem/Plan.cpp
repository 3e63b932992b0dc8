// SPDX-License-Identifier: Apache-2.0
// The sums over a plan's lines, and the words of its enumerations.
#include "compiler/Planner/Problem/Plan.h"

namespace accum::planner {

const char *toText(Verdict verdict) {
  static constexpr const char *words[] = {"chosen", "does-not-fit", "slower", "more-memory", "not-divisible"};
  return words[static_cast<int>(verdict)];
}

const char *toText(MemoryClass kind) {
  static constexpr const char *words[] = {"state", "scratch", "inputs", "library", "runtime", "context"};
  return words[static_cast<int>(kind)];
}

int64_t Plan::counted() const {
  int64_t sum = 0;
  for (const MemoryLine &line : memory)
    sum += line.kind == MemoryClass::Context ? 0 : line.bytes;
  return sum;
}

int64_t Plan::total() const {
  int64_t sum = 0;
  for (const MemoryLine &line : memory)
    sum += line.bytes;
  return sum;
}

double Plan::seconds() const {
  double sum = 0;
  for (const TimeLine &line : time)
    sum += line.seconds;
  return sum;
}

} // namespace accum::planner
