// SPDX-License-Identifier: Apache-2.0
// kernels.ptx and what is made of it.
#include "compiler/Emit/Cuda/CudaFiles.h"
#include "compiler/Emit/Cuda/PtxTarget.h"
#include "compiler/Emit/Cuda/SimModule.h"
#include "compiler/Emit/Objects.h"
#include "llvm/IR/Module.h"
#include <fstream>

using namespace mlir;

namespace accum::emit {
namespace {

LogicalResult report(ModuleOp module, llvm::Error error) {
  return emitError(module.getLoc()) << llvm::toString(std::move(error)) << " [codegen]";
}

LogicalResult assemble(ModuleOp module, const CudaFilesOptions &options,
                       const std::filesystem::path &folder) {
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    return success(); // the driver compiles the PTX when it loads it
  std::string cubin = (folder / ("kernels." + options.architecture + ".cubin")).string();
  auto said = assemblePtx(*ptxas, options.architecture, (folder / "kernels.ptx").string(), cubin);
  return said ? success() : report(module, said.takeError());
}

LogicalResult writeSim(ModuleOp module, const CudaKernels &kernels, StringRef cpuName,
                       const std::filesystem::path &path) {
  auto cpu = targetCpuNamed(cpuName);
  if (!cpu)
    return emitError(module.getLoc()) << llvm::toString(cpu.takeError()) << " [usage]";
  auto code = simModule(kernels);
  if (!code)
    return report(module, code.takeError());
  if (llvm::Error error = writeSharedObject(**code, *cpu, llvm::CodeGenOptLevel::Less, path.string()))
    return report(module, std::move(error));
  return success();
}

} // namespace

LogicalResult writeCudaFiles(ModuleOp module, const CudaFilesOptions &options,
                             const std::filesystem::path &folder, runtime::Manifest &manifest) {
  auto kernels = compileCudaKernels(module);
  if (failed(kernels))
    return failure();
  manifest.target = "cuda";
  for (const CudaKernel &kernel : kernels->kernels)
    manifest.kernels.push_back(kernel.spec);
  std::ofstream file(folder / "kernels.ptx", std::ios::binary);
  if (!(file << kernels->ptx) || !file.flush())
    return emitError(module.getLoc()) << "kernels.ptx cannot be written [output-failed]";
  if (failed(assemble(module, options, folder)))
    return failure();
  return options.withSim ? writeSim(module, *kernels, options.cpu, folder / "kernels.sim.so") : success();
}

} // namespace accum::emit
