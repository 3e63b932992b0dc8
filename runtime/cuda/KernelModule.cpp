// SPDX-License-Identifier: Apache-2.0
// Chooses the image, and says in a sentence why the driver does not take it.
#include "runtime/cuda/KernelModule.h"
#include "runtime/files/File.h"
#include <algorithm>

namespace accum::runtime::cuda {
namespace {

constexpr uint64_t kMaxImage = 256 << 20;
constexpr const char *kPtx = "kernels.ptx";

std::string firstLines(const char *log) {
  std::string text = log;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ';');
  return text.empty() ? "" : ": " + text;
}

} // namespace

LoadedModule::~LoadedModule() {
  if (module)
    driver.api.cuModuleUnload(module);
}

Status LoadedModule::load(const void *image, const std::string &what) {
  source = what;
  char log[4096] = {};
  int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferBytes};
  // The driver's interface passes small integers as pointers:
  void *values[] = {log, reinterpret_cast<void *>(sizeof log - 1)};
  Result code = driver.api.cuModuleLoadDataEx(&module, image, 2, options, values);
  if (code == kUnsupportedPtxVersion)
    return Error{kExitRunFailed,
                 what + " is of a newer CUDA than this driver: " + driver.describe(code),
                 "cuda-driver-too-old",
                 {"update the NVIDIA driver"}};
  if (code == kJitCompilerNotFound || code == kJitDisabled)
    return Error{kExitRunFailed,
                 what + " needs the driver's compiler of PTX: " + driver.describe(code),
                 "ptx",
                 {"install libnvidia-ptxjitcompiler, in a container show the driver's `compute` part; unset "
                  "CUDA_DISABLE_PTX_JIT",
                  "or compile the model for this card where ptxas is found: accumc --list-targets"}};
  if (code == kNoBinaryForGpu || code == kInvalidImage)
    return Error{kExitRunFailed,
                 what + " does not run on " + driver.card().name + " (" + driver.card().architecture() +
                     "): " + driver.describe(code),
                 "gpu-architecture",
                 {"compile the model for this card: accumc --list-targets"}};
  if (code == kInvalidPtx)
    return Error{kExitRunFailed,
                 "the driver cannot compile " + what + firstLines(log),
                 "ptx",
                 {"this is a bug of accumc or of the driver: please report it with the file"}};
  return driver.check(code, "cuModuleLoadDataEx");
}

Expected<Function> LoadedModule::find(const char *name) const {
  Function function = nullptr;
  Result code = driver.api.cuModuleGetFunction(&function, module, name);
  if (code == kNotFound)
    return Error{kExitFile, source + ": has no kernel " + name, "bad-artifact", {"compile the model again"}};
  if (Status status = driver.check(code, "cuModuleGetFunction"); !status)
    return status.error();
  return function;
}

/// The card's own cubin, or PTX: where there is no such cubin, and where the driver does not take it, since a
/// driver of CUDA 12 loads PTX of this artifact but no cubin made by CUDA 13.
Status KernelModule::loadImage(const Artifact &artifact) {
  std::string refused;
  Status status = Error{kExitFile,
                        artifact.folder + ": the manifest lists no " + kPtx,
                        "bad-artifact",
                        {"compile the model again"}};
  for (const std::string &name :
       {"kernels." + compute.driver.card().architecture() + ".cubin", std::string(kPtx)}) {
    if (!artifact.has(name))
      continue;
    auto image = readText(artifact.file(name), kMaxImage);
    if (!image)
      return image.error();
    status = module.load(image->c_str(), artifact.file(name));
    file = refused.empty() ? name : name + ", since the driver does not take " + refused;
    if (status || status.error().slug == "gpu-lost")
      return status;
    refused = name;
  }
  return status;
}

Status KernelModule::load(const Artifact &artifact) {
  if (Status status = loadImage(artifact); !status)
    return status;
  specs = &artifact.manifest.kernels;
  for (const KernelSpec &spec : *specs) {
    auto function = module.find(spec.symbol.c_str());
    if (!function)
      return function.error();
    functions.push_back(*function);
    parameters.resize(std::max<size_t>(parameters.size(), spec.args));
    if (spec.sharedBytes > 48 << 10) // above this a kernel has to ask
      CUDA_TRY(compute.driver, cuFuncSetAttribute, *function, kMaxDynamicSharedBytes, int(spec.sharedBytes));
  }
  return {};
}

std::vector<std::string> KernelModule::names() const {
  std::vector<std::string> all;
  for (const KernelSpec &spec : *specs)
    all.push_back(spec.name);
  return all;
}

Status KernelModule::launch(uint64_t kernel, const uint64_t *args) {
  const KernelSpec &spec = (*specs)[kernel];
  for (uint32_t i = 0; i < spec.args; ++i)
    parameters[i] = const_cast<uint64_t *>(args + i);
  const auto &[gx, gy, gz] = spec.grid;
  const auto &[bx, by, bz] = spec.block;
  CUDA_TRY(compute.driver, cuLaunchKernel, functions[kernel], gx, gy, gz, bx, by, bz, spec.sharedBytes,
           compute.stream, parameters.data(), nullptr);
  return {};
}

} // namespace accum::runtime::cuda
