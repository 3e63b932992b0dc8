// SPDX-License-Identifier: Apache-2.0
// The artifact's kernels on the card: a cubin for its architecture, or PTX that the driver compiles.
#ifndef ACCUM_RUNTIME_CUDA_KERNELMODULE_H
#define ACCUM_RUNTIME_CUDA_KERNELMODULE_H

#include "runtime/artifact/Artifact.h"
#include "runtime/cuda/ComputeStream.h"

namespace accum::runtime::cuda {

/// A module that is unloaded with the object.
class LoadedModule {
public:
  explicit LoadedModule(Driver &driver) : driver(driver) {}
  ~LoadedModule();
  LoadedModule(const LoadedModule &) = delete;
  LoadedModule &operator=(const LoadedModule &) = delete;

  /// `image`: PTX with a terminating zero, or a cubin; `what` names it in errors, which hold what the
  /// driver's compiler said.
  Status load(const void *image, const std::string &what);
  Expected<Function> find(const char *name) const;

private:
  Driver &driver;
  Module module = nullptr;
  std::string source; ///< for errors
};

class KernelModule {
public:
  explicit KernelModule(ComputeStream &compute) : compute(compute), module(compute.driver) {}

  Status load(const Artifact &artifact);
  /// Kernel number `kernel` with its grid of the manifest; `args` holds its pointers, as words.
  Status launch(uint64_t kernel, const uint64_t *args);
  uint32_t argsOf(uint64_t kernel) const { return (*specs)[kernel].args; }
  size_t count() const { return functions.size(); }
  std::vector<std::string> names() const;
  /// "kernels.sm_90.cubin"; and why not that, where it is PTX instead.
  const std::string &source() const { return file; }

private:
  Status loadImage(const Artifact &artifact);

  ComputeStream &compute;
  LoadedModule module;
  std::string file;
  const std::vector<KernelSpec> *specs = nullptr;
  std::vector<Function> functions;
  std::vector<void *> parameters; ///< room for the longest argument list
};

} // namespace accum::runtime::cuda
#endif
