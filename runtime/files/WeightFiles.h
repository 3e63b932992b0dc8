// SPDX-License-Identifier: Apache-2.0
// Weights of a model as frameworks keep them: one safetensors file, or an index of several.
#ifndef ACCUM_RUNTIME_FILES_WEIGHTFILES_H
#define ACCUM_RUNTIME_FILES_WEIGHTFILES_H

#include "runtime/files/Array.h"

namespace accum::runtime {

/// The tensors of FILE.safetensors, of the shards that a FILE.index.json names, or of the folder that holds
/// `model.safetensors` or its index; mapped. Slugs `unreadable`, `malformed`, `missing-file` (exit 3).
Expected<std::vector<Array>> readWeights(const std::string &path);

} // namespace accum::runtime
#endif
