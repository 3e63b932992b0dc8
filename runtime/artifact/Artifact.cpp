// SPDX-License-Identifier: Apache-2.0
// Everything that can be wrong with an artifact is found here, before any of its code runs.
#include "runtime/artifact/Artifact.h"
#include "runtime/files/File.h"
#include "runtime/system/CpuFeatures.h"
#include <algorithm>
#include <cstddef>
#include <dlfcn.h>
#include <malloc.h>
#include <sys/stat.h>

namespace accum::runtime {
namespace {

// GPT-3's manifest is some 3 MiB.
constexpr uint64_t kMaxManifest = 256 << 20;

Error bad(const std::string &message, const std::string &slug = "bad-artifact") {
  return {kExitFile, message, slug, {"compile the model again"}};
}

Status checkAgainst(const Artifact &artifact, const FileSpec &spec) {
  std::string path = artifact.file(spec.name);
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return bad(path + ": is missing from the artifact");
  if (uint64_t(info.st_size) != spec.bytes)
    return bad(path + ": is damaged: " + std::to_string(info.st_size) + " bytes, expected " +
               std::to_string(spec.bytes));
  auto hash = hashFile(path);
  if (!hash)
    return hash.error();
  if (*hash != spec.xxh3)
    return bad(path + ": is damaged: its checksum is " + *hash + ", expected " + spec.xxh3);
  return {};
}

Status checkVersions(const Artifact &artifact) {
  const Manifest &manifest = artifact.manifest;
  if (manifest.abi != ACCUM_ABI_VERSION)
    return Error{kExitFile,
                 artifact.folder + ": was compiled by " + manifest.producer + " for program interface " +
                     std::to_string(manifest.abi) + ", this runtime has " + std::to_string(ACCUM_ABI_VERSION),
                 "artifact-version",
                 {"use an accum-run and an accumc of one version, or compile the model again"}};
  std::vector<std::string> missing = missingCpuFeatures(manifest.cpuFeatures);
  if (missing.empty())
    return {};
  std::string names;
  for (const std::string &name : missing)
    names += " " + name;
  return Error{kExitFile,
               artifact.folder + ": was compiled for a processor with" + names + ", which this one lacks",
               "cpu-features",
               {"compile it on this machine, or with --cpu x86-64-v3"}};
}

constexpr const char *kProgram = "program.so";
/// A program from before predictions ends there.
constexpr uint32_t kLeastProgram = offsetof(accum_program_v1, predict);

Status checkProgram(const Artifact &artifact, const std::string &name) {
  const Manifest &manifest = artifact.manifest;
  const accum_program_v1 &program = *artifact.program;
  if (program.state_bytes != manifest.stateBytes || program.m != manifest.m ||
      program.devices != manifest.devices)
    return bad(name + ": does not belong to the manifest beside it");
  return {};
}

} // namespace

bool Artifact::has(const std::string &name) const {
  return std::any_of(manifest.files.begin(), manifest.files.end(),
                     [&](const FileSpec &spec) { return spec.name == name; });
}

Expected<Artifact> readArtifact(const std::string &folder) {
  Artifact artifact;
  artifact.folder = folder.size() > 1 && folder.back() == '/' ? folder.substr(0, folder.size() - 1) : folder;
  struct stat info;
  if (stat(folder.c_str(), &info) != 0)
    return Error{
        kExitFile, folder + ": no such artifact", "no-artifact", {"make one: accumc MODEL.onnx --batch N"}};
  std::string path = artifact.file("manifest.json");
  if (!S_ISDIR(info.st_mode) || stat(path.c_str(), &info) != 0)
    return Error{kExitFile,
                 folder + ": is not an artifact: it has no manifest.json",
                 "no-artifact",
                 {"make one: accumc MODEL.onnx --batch N"}};
  auto text = readText(path, kMaxManifest);
  if (!text)
    return text.error();
  auto manifest = parseManifest(*text, path);
  if (!manifest)
    return manifest.error();
  artifact.manifest = std::move(*manifest);
  // What reading took would stay with the process: 1 KiB for each command of the program.
  *text = {};
  malloc_trim(0);
  return artifact;
}

Status checkFiles(const Artifact &artifact, const std::string &checkedLater) {
  for (const FileSpec &spec : artifact.manifest.files)
    if (spec.name != checkedLater)
      if (Status status = checkAgainst(artifact, spec); !status)
        return status;
  return {};
}

Status checkFile(const Artifact &artifact, const std::string &name) {
  for (const FileSpec &spec : artifact.manifest.files)
    if (spec.name == name)
      return checkAgainst(artifact, spec);
  return bad(artifact.folder + ": the manifest lists no " + name);
}

Expected<void *> openObject(const Artifact &artifact, const std::string &file) {
  if (!artifact.has(file))
    return bad(artifact.folder + ": the manifest lists no " + file);
  std::string path = artifact.file(file);
  // A name without a slash would be searched for on the loader's path.
  if (path.find('/') == std::string::npos)
    path = "./" + path;
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return bad(path + ": cannot be loaded: " + dlerror());
  return handle;
}

Expected<void *> findFunction(const Artifact &artifact, const std::string &file, const char *symbol) {
  auto handle = openObject(artifact, file);
  if (!handle)
    return handle.error();
  void *function = dlsym(*handle, symbol);
  if (!function)
    return bad(artifact.file(file) + ": does not define " + symbol + "()");
  return function;
}

Status checkInterface(const void *table, uint32_t size, const std::string &name) {
  struct Head {
    uint32_t abi, size;
  };
  const auto *head = static_cast<const Head *>(table);
  if (head->abi == ACCUM_ABI_VERSION && head->size >= size)
    return {};
  return bad(name + ": has program interface " + std::to_string(head->abi) + ", expected " +
                 std::to_string(ACCUM_ABI_VERSION),
             "artifact-version");
}

Status loadProgram(Artifact &artifact, const accum_program_v1 *own) {
  if (Status status = checkVersions(artifact); !status)
    return status;
  if (own) {
    std::string name = "the program built into the caller";
    if (Status status = checkInterface(own, kLeastProgram, name); !status)
      return status;
    artifact.program = own;
    return checkProgram(artifact, name);
  }
  auto program = loadTable<accum_program_v1>(artifact, kProgram, "accum_program", kLeastProgram);
  if (!program)
    return program.error();
  artifact.program = *program;
  return checkProgram(artifact, artifact.file(kProgram));
}

std::optional<Error> otherDevices(const Manifest &manifest, int64_t devices) {
  if (manifest.shard.isNone() || devices == manifest.devices)
    return std::nullopt;
  std::string compiled = std::to_string(manifest.devices);
  return Error{kExitUsage,
               "the state is sharded (" + std::string(toText(manifest.shard.mode.shard)) + ") over " +
                   compiled + " devices, not " + std::to_string(devices),
               "usage",
               {"--devices " + compiled + " runs it, and mpirun -n " + compiled + " joins it",
                "accumc --devices " + std::to_string(devices) +
                    " compiles for another number, which goes on from its checkpoints"}};
}

} // namespace accum::runtime
