// SPDX-License-Identifier: Apache-2.0
// Tensors that lie in memory, as the bytes of a file: turned and rounded on the way, without a copy of a
// whole tensor.
#ifndef ACCUM_RUNTIME_FILES_TENSORSTREAM_H
#define ACCUM_RUNTIME_FILES_TENSORSTREAM_H

#include "runtime/files/DType.h"
#include "runtime/system/Status.h"
#include <cstdint>
#include <functional>

namespace accum::runtime {

struct TensorToWrite {
  std::string name;
  const uint8_t *data; ///< row-major; what the reader is given
  DType dtype;
  std::vector<int64_t> shape;       ///< in memory
  bool transposed = false;          ///< two axes, swapped in the file
  double added = 0;                 ///< elements of the file are smaller by this
  std::optional<DType> stored = {}; ///< the file's type, where it is another float type

  DType fileType() const { return stored.value_or(dtype); }
  std::vector<int64_t> fileShape() const;
  int64_t elements() const;
  uint64_t fileBytes() const { return elements() * bytesOf(fileType()); }
};

/// Makes bytes of a tensor readable until its next call: for tensors that lie in a device's memory, or on
/// other ranks. Asked for about a megabyte at a time.
using TensorReader = std::function<Expected<const uint8_t *>(const uint8_t *data, uint64_t bytes)>;
/// Takes the next bytes of a file.
using ByteSink = std::function<Status(const uint8_t *data, uint64_t bytes)>;

/// All bytes of the tensor as the file has them, in order, rounded to nearest even. Without a reader `data`
/// is memory of the process. Slug `overflow` (exit 4) for a finite value that the file's type has not.
Status streamTensor(const TensorToWrite &tensor, const TensorReader &read, const ByteSink &sink);

} // namespace accum::runtime
#endif
