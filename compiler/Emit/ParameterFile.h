// SPDX-License-Identifier: Apache-2.0
// params.safetensors: the initial parameters, copied out of the model's files.
#pragma once

#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/system/Status.h"
#include <filesystem>

namespace accum::emit {

/// Every `train.param` of the module under its ONNX name, in the model's dtype and layout. `model` is the
/// model's file, sources are relative to its folder. Pages of zeros stay holes in `path`. Errors:
/// [missing-weights] where bytes are absent or differ from what was imported; [output-failed].
runtime::Status writeParameters(mlir::ModuleOp module, const std::filesystem::path &model,
                                const std::filesystem::path &path);

} // namespace accum::emit
