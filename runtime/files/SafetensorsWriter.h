// SPDX-License-Identifier: Apache-2.0
// Writes tensors that lie in memory as one safetensors file, transposing on the way, without a copy of a
// whole tensor.
#ifndef ACCUM_RUNTIME_FILES_SAFETENSORSWRITER_H
#define ACCUM_RUNTIME_FILES_SAFETENSORSWRITER_H

#include "runtime/files/TensorStream.h"

namespace accum::runtime {

/// What stands before the tensors, which follow one another without gaps.
std::string safetensorsHeader(const std::vector<TensorToWrite> &tensors);

/// Through a temporary file and a rename; with `keepOld` an existing file becomes PATH.1. Without a reader
/// `data` is memory of the process.
Status writeSafetensors(const std::string &path, const std::vector<TensorToWrite> &tensors, bool keepOld,
                        const TensorReader &read = {});

} // namespace accum::runtime
#endif
