// SPDX-License-Identifier: Apache-2.0
// Parameters into the state before step 1, and parameters or gradients out of it into a file.
#ifndef ACCUM_RUNTIME_WEIGHTS_PARAMETERS_H
#define ACCUM_RUNTIME_WEIGHTS_PARAMETERS_H

#include "runtime/device/StateMemory.h"
#include "runtime/files/SafetensorsWriter.h"

namespace accum::runtime {

/// Copies every parameter of the manifest from a safetensors file to its place in the state, converting f32
/// <-> f64, f16 and bf16 -> f32, and either of f32 and f16 -> bf16.
Status loadParameters(const Manifest &manifest, const std::string &path, StateMemory &state);

/// Without a file: ones for parameters of one axis that are no biases by their name, so that norms scale by
/// 1; zeros for all others.
Status inventParameters(const Manifest &manifest, StateMemory &state);

/// Fresh values for trained parameters: two or more axes, normal with deviation 0.02; one axis, 1 where the
/// file's values are all 1 (a norm's scale) and 0 elsewhere. Frozen ones keep the file's values. By all ranks
/// together.
Status randomizeParameters(const Manifest &manifest, uint64_t seed, StateMemory &state);

enum class SavedTensor { Parameter, Gradient, Average };
enum class SavedNames { Onnx, Framework };

/// The trained parameters, their gradients, or their moving averages, under every name and in the layout that
/// the model file has, or the framework's loader wants, which takes frozen parameters too (FrameworkNames.h).
/// In the dtype that is trained, whatever the model file has. Their data are `state` and the offset in a
/// whole one, for a reader that knows where that is.
std::vector<TensorToWrite> tensorsToSave(const Manifest &manifest, const uint8_t *state, SavedTensor what,
                                         SavedNames names);

} // namespace accum::runtime
#endif
