// SPDX-License-Identifier: Apache-2.0
// manifest.json of a scheduled module (docs/manifest.md), up to the list of files.
#pragma once

#include "compiler/Emit/Artifact.h"
#include "dialects/Device/DeviceDialect.h"
#include "runtime/artifact/Manifest.h"

namespace accum::emit {

/// Fails, with a diagnostic, where the program and the state layout disagree or the manifest contradicts
/// itself.
mlir::FailureOr<runtime::Manifest> makeManifest(mlir::ModuleOp module, device::ProgramOp program,
                                                const ArtifactOptions &options);

} // namespace accum::emit
