// SPDX-License-Identifier: Apache-2.0
// A toy artifact with its data, run by accum-run, against the plain loop.
#ifndef ACCUM_TEST_TOYTRAINING_H
#define ACCUM_TEST_TOYTRAINING_H

#include "test/runtime/ToyArtifact.h"

namespace accum::test {

/// Where things are, and the words for accum-run.
struct ToyFiles {
  std::string artifact, words, saved, gradients, log;
};

/// In a fresh folder of this name.
ToyFiles prepareToy(const std::string &name, const ToyOptions &options, const ToyData &data,
                    const ToyRun &run);

/// Saved parameters, gradients and the last line of the log.
void expectEqualsReference(const ToyFiles &files, const ToyState &expected, double tolerance);

} // namespace accum::test
#endif
