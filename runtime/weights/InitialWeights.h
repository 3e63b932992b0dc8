// SPDX-License-Identifier: Apache-2.0
// Weights of another file into the state: which of its tensors is which parameter, and what is left.
#ifndef ACCUM_RUNTIME_WEIGHTS_INITIALWEIGHTS_H
#define ACCUM_RUNTIME_WEIGHTS_INITIALWEIGHTS_H

#include "runtime/device/StateMemory.h"
#include "runtime/files/Array.h"

namespace accum::runtime {

struct InitialWeights {
  std::string path;     ///< of readWeights
  std::string names;    ///< "onnx" or "framework": whose layouts the file has; empty: as its shapes tell
  bool partial = false; ///< what is missing or left over is no error
};

struct TakenWeights {
  std::vector<size_t> params; ///< numbers of those that the file held, ascending
  std::vector<std::string> notices;
};

/// Writes the parameters that a file holds to their places in the state, piece by piece.
/// Names are the model file's (aliases too) or the framework's, with a prefix more or less where one makes
/// more of them fit; layouts are those of the name. Without `partial` every trained parameter must be there,
/// with its shape, and nothing else. Slug `weights` (exit 3).
Expected<TakenWeights> initParameters(const Manifest &manifest, const InitialWeights &from,
                                      StateMemory &state);

} // namespace accum::runtime
#endif
