// SPDX-License-Identifier: Apache-2.0
// Writes tensors that lie in memory as one safetensors file, transposing on the way, without a copy of a
// whole tensor.
#ifndef ACCUM_RUNTIME_FILES_SAFETENSORSWRITER_H
#define ACCUM_RUNTIME_FILES_SAFETENSORSWRITER_H

#include "runtime/artifact/DType.h"
#include "runtime/system/Status.h"
#include <cstdint>
#include <functional>

namespace accum::runtime {

struct TensorToWrite {
  std::string name;
  const uint8_t *data; ///< row-major; what the reader is given
  DType dtype;
  std::vector<int64_t> shape; ///< in memory
  bool transposed = false;    ///< two axes, swapped in the file
  double added = 0;           ///< elements of the file are smaller by this
};

/// Makes a tensor's bytes readable until its next call: for tensors that lie in a device's memory.
using TensorReader = std::function<Expected<const uint8_t *>(const uint8_t *data, uint64_t bytes)>;

/// Through a temporary file and a rename; with `keepOld` an existing file becomes PATH.1. Without a reader
/// `data` is memory of the process.
Status writeSafetensors(const std::string &path, const std::vector<TensorToWrite> &tensors, bool keepOld,
                        const TensorReader &read = {});

} // namespace accum::runtime
#endif
