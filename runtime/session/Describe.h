// SPDX-License-Identifier: Apache-2.0
// What is in an artifact, as text: signature, plan table, memory table, versions.
#ifndef ACCUM_RUNTIME_SESSION_DESCRIBE_H
#define ACCUM_RUNTIME_SESSION_DESCRIBE_H

#include "runtime/artifact/Artifact.h"

namespace accum::runtime {

/// `artifact` may come from readArtifact alone; with its programs loaded the memory table is complete.
std::string describe(const Artifact &artifact);

/// What the plan says that each process takes in all, of bytes; 0 where the artifact has no such plan.
uint64_t predictedBytes(const Artifact &artifact);

/// What the plan says that an optimizer step takes; 0 where the artifact has no such plan.
double predictedSeconds(const Artifact &artifact);

} // namespace accum::runtime
#endif
