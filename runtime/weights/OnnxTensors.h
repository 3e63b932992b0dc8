// SPDX-License-Identifier: Apache-2.0
// Where the tensors of a model file lie, and the message around new values for some of them.
#ifndef ACCUM_RUNTIME_WEIGHTS_ONNXTENSORS_H
#define ACCUM_RUNTIME_WEIGHTS_ONNXTENSORS_H

#include "runtime/artifact/Manifest.h"
#include "runtime/files/TensorStream.h"
#include <map>
#include <set>

namespace accum::runtime {

/// A part of the new file: bytes of the old one, bytes of its own, or a tensor's values.
struct OnnxPiece {
  uint64_t begin = 0, end = 0; ///< of the old file
  std::string bytes = {};
  const TensorToWrite *tensor = nullptr;

  uint64_t size() const { return tensor ? tensor->fileBytes() : end - begin + bytes.size(); }
};
using OnnxPieces = std::vector<OnnxPiece>;

/// A tensor's place in a file beside the model.
struct OnnxPlace {
  uint64_t offset = 0;
  const TensorToWrite *tensor = nullptr;
};

/// What becomes of a model file.
struct OnnxRewrite {
  OnnxPieces pieces;
  std::map<std::string, std::vector<OnnxPlace>> external; ///< by location; those that keep their values too
  std::set<const uint8_t *> found;                        ///< TensorToWrite::data of those in the file
};

/// Of a whole model file in memory. `tensors` get the type that the file has; of `separated` those get
/// initializers of their own that are among them, or keep what others of them had; `rename` gives the new
/// location for one of the old file. Slug `model-file`.
Expected<OnnxRewrite> rewriteOnnx(const uint8_t *file, uint64_t bytes, const std::string &path,
                                  std::vector<TensorToWrite> &tensors,
                                  const std::vector<SeparatedSpec> &separated,
                                  const std::function<std::string(const std::string &)> &rename);

} // namespace accum::runtime
#endif
