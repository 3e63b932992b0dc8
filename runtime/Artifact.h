// SPDX-License-Identifier: Apache-2.0
// An artifact folder, opened: the manifest, whole files, and the program and kernels loaded.
#ifndef ACCUM_RUNTIME_ARTIFACT_H
#define ACCUM_RUNTIME_ARTIFACT_H

#include "runtime/Manifest.h"

namespace accum::runtime {

struct Artifact {
  std::string folder;
  Manifest manifest;
  const accum_program_v1 *program = nullptr;
  const accum_kernels_v1 *kernels = nullptr;

  std::string file(const std::string &name) const { return folder + "/" + name; }
  /// "plan.json" and the like, when the manifest lists it.
  bool has(const std::string &name) const;
};

/// Reads and checks the manifest alone.
Expected<Artifact> readArtifact(const std::string &folder);

/// Checks every file against the manifest, byte for byte. Loads no code.
Status checkFiles(const Artifact &artifact);

/// Checks that this machine and this runtime can execute the artifact, and loads program.so and kernels.so.
/// Loaded code stays until the process ends.
Status loadPrograms(Artifact &artifact);

} // namespace accum::runtime
#endif
