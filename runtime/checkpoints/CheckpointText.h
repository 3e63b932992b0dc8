// SPDX-License-Identifier: Apache-2.0
// What is in a checkpoint, for people.
#ifndef ACCUM_RUNTIME_CHECKPOINTS_CHECKPOINTTEXT_H
#define ACCUM_RUNTIME_CHECKPOINTS_CHECKPOINTTEXT_H

#include "runtime/system/Status.h"
#include <string>

namespace accum::runtime {

/// Whether a path is a checkpoint, or a folder of them.
bool holdsCheckpoints(const std::string &path);

/// Of one: step, data, optimizer, tensors; of a folder: a line for each, whole or damaged. Slug
/// `damaged-checkpoint` (exit 3) for one that is.
Expected<std::string> describeCheckpoints(const std::string &path);

} // namespace accum::runtime
#endif
