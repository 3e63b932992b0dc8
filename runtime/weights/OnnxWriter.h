// SPDX-License-Identifier: Apache-2.0
// A model file again, with other values in its tensors: nodes, names, types and all else byte for byte, but
// for tensors that the exporter merged and that are apart by now.
#ifndef ACCUM_RUNTIME_WEIGHTS_ONNXWRITER_H
#define ACCUM_RUNTIME_WEIGHTS_ONNXWRITER_H

#include "runtime/artifact/Manifest.h"
#include "runtime/files/TensorStream.h"

namespace accum::runtime {

struct OnnxSave {
  std::string model, path;
  bool keepOld = false;
  bool checkOnly = false; ///< writes nothing, and looks whether all is there
  std::vector<SeparatedSpec> separated = {};
};

/// Copies MODEL to PATH and puts `tensors` in the place of its initializers and constants of those names, in
/// the file's own types. Weights in other files are copied to PATH.data (PATH.2.data ...) with what else they
/// hold, and PATH says so. Of the tensors that share `data` one must be in the file. Slugs `model-file` (exit
/// 3) for a file that has not what is asked for, `usage` for a path of the model itself, `overflow`,
/// `unwritable`.
Status writeOnnx(const OnnxSave &save, std::vector<TensorToWrite> tensors, const TensorReader &read = {});

} // namespace accum::runtime
#endif
