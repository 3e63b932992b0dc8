// SPDX-License-Identifier: Apache-2.0
// Parameters into the state before step 1, and parameters or gradients out of it into a file.
#ifndef ACCUM_RUNTIME_PARAMETERS_H
#define ACCUM_RUNTIME_PARAMETERS_H

#include "runtime/Array.h"
#include "runtime/Device.h"

namespace accum::runtime {

/// Copies every parameter of the manifest from a safetensors file to its place in `state`, memory of the
/// device, converting f32 <-> f64. `fileTypes` gets the file's dtype of each, in manifest order.
Status loadParameters(const Manifest &manifest, const std::string &path, Device &device, uint8_t *state,
                      std::vector<DType> &fileTypes);

/// Without a file: ones for parameters of one axis that are no biases by their name, so that norms scale by
/// 1; zeros for all others.
Status inventParameters(const Manifest &manifest, Device &device, uint8_t *state);

/// Fresh values for trained parameters: two or more axes, normal with deviation 0.02; one axis, 1 where the
/// file's values are all 1 (a norm's scale) and 0 elsewhere. Frozen ones keep the file's values.
Status randomizeParameters(const Manifest &manifest, uint64_t seed, Device &device, uint8_t *state);

enum class SavedTensor { Parameter, Gradient };
enum class SavedNames { Onnx, Framework };

/// Writes the trained parameters, or their gradients, under every name and in the layout that the model file
/// has (or the framework's loader wants; refused where the manifest does not know). In the file's dtype,
/// except that an f64 parameter is written as f64. An empty path only asks whether the names are known.
Status saveTensors(const Manifest &manifest, Device &device, const uint8_t *state,
                   const std::vector<DType> &fileTypes, SavedTensor what, SavedNames names,
                   const std::string &path, bool keepOld);

} // namespace accum::runtime
#endif
