// SPDX-License-Identifier: Apache-2.0
// The toy model's initial parameters, shared by its files and its reference.
#ifndef ACCUM_TEST_TOYVALUES_H
#define ACCUM_TEST_TOYVALUES_H

#include "test/runtime/ToyArtifact.h"

namespace accum::test {

inline constexpr double kScale = 1.5;

/// Values that f32 holds exactly.
inline ToyState startState() {
  ToyState state;
  for (int i = 0; i < kFeatures; ++i)
    state.w.push_back((i - 2) * 0.25);
  for (int i = 0; i < kVocabulary; ++i)
    state.e.push_back((i - 3) * 0.125);
  state.b = 0.5;
  return state;
}

} // namespace accum::test
#endif
