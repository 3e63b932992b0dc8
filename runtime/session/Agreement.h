// SPDX-License-Identifier: Apache-2.0
// What the ranks of a run must have in common. All of them make the same calls; slugs `other-artifact` and
// `other-run` (exit 2).
#ifndef ACCUM_RUNTIME_SESSION_AGREEMENT_H
#define ACCUM_RUNTIME_SESSION_AGREEMENT_H

#include "runtime/checkpoints/Checkpoints.h"
#include "runtime/data/Dataset.h"

namespace accum::runtime {

/// A value of which "the ranks of this run do not all `what`" where it differs, and the way out.
Status requireSame(Opened &opened, const char *what, uint64_t value, const char *note);
/// Processes that compile for themselves may have drawn other weights, or planned for other memory.
Status requireOneArtifact(Opened &opened, bool readsWeights);
/// `numbers`: a checksum of what decides an update.
Status requireSameNumbers(Opened &opened, uint64_t numbers);
/// Processes that are started by hand may be given other data, other numbers or another checkpoint. Each
/// would compute its own step; of a sharded state the parts would not belong together.
Status requireOneRun(Opened &opened, const CheckpointFacts &own, uint64_t numbers);
/// Of files the names and sizes.
Status requireSameSamples(Opened &opened, const Dataset &samples, uint64_t seed);

} // namespace accum::runtime
#endif
