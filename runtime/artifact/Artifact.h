// SPDX-License-Identifier: Apache-2.0
// An artifact folder, opened: the manifest, whole files, and the program and kernels loaded.
#ifndef ACCUM_RUNTIME_ARTIFACT_ARTIFACT_H
#define ACCUM_RUNTIME_ARTIFACT_ARTIFACT_H

#include "runtime/artifact/Manifest.h"

namespace accum::runtime {

struct Artifact {
  std::string folder;
  Manifest manifest;
  const accum_program_v1 *program = nullptr;

  std::string file(const std::string &name) const { return folder + "/" + name; }
  /// "plan.json" and the like, when the manifest lists it.
  bool has(const std::string &name) const;
};

/// Reads and checks the manifest alone.
Expected<Artifact> readArtifact(const std::string &folder);

/// Checks every file against the manifest, byte for byte, but for the one that is `checkedLater`. Loads no
/// code.
Status checkFiles(const Artifact &artifact, const std::string &checkedLater = "");

/// The same for one file that the manifest lists.
Status checkFile(const Artifact &artifact, const std::string &name);

/// Checks that this machine and this runtime can execute the artifact, and loads program.so, or takes `own`
/// in its place. Loaded code stays until the process ends.
Status loadProgram(Artifact &artifact, const accum_program_v1 *own = nullptr);

/// Its function that predicts; null where it has none, as programs of older compilers do not.
inline auto predictOf(const accum_program_v1 &program) {
  return program.size >= sizeof program ? program.predict : nullptr;
}

/// A file of the artifact that is a shared object, as dlopen gives it.
Expected<void *> openObject(const Artifact &artifact, const std::string &file);

/// A function of such a file.
Expected<void *> findFunction(const Artifact &artifact, const std::string &file, const char *symbol);

/// Refuses a table of another interface, or smaller than `size`; `name` is what it is from.
Status checkInterface(const void *table, uint32_t size, const std::string &name);

/// The table that `symbol` of such a file returns; `least`: the bytes of it that older ones have too.
template <typename Table>
Expected<const Table *> loadTable(const Artifact &artifact, const std::string &file, const char *symbol,
                                  uint32_t least = sizeof(Table)) {
  auto function = findFunction(artifact, file, symbol);
  if (!function)
    return function.error();
  const Table *table = reinterpret_cast<const Table *(*)()>(*function)();
  if (Status status = checkInterface(table, least, artifact.file(file)); !status)
    return status.error();
  return table;
}

/// Why an artifact does not run on so many devices: its state is in parts for others. Slug `usage` (exit 2).
std::optional<Error> otherDevices(const Manifest &manifest, int64_t devices);

} // namespace accum::runtime
#endif
