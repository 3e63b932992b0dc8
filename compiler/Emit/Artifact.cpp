// SPDX-License-Identifier: Apache-2.0
// The files of an artifact, in order.
#include "compiler/Emit/Artifact.h"
#include "compiler/Emit/Cuda/CudaFiles.h"
#include "compiler/Emit/Kernels.h"
#include "compiler/Emit/Manifest.h"
#include "compiler/Emit/Objects.h"
#include "compiler/Emit/OutputFolder.h"
#include "compiler/Emit/ParameterFile.h"
#include "compiler/Emit/Program.h"
#include "runtime/files/File.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace accum::emit {
namespace {

/// Objects, shared objects, program.cpp and plan.json of a large model.
constexpr uint64_t kRoomForCode = 8 << 20;

LogicalResult report(ModuleOp module, const runtime::Error &error) {
  InFlightDiagnostic diagnostic = emitError(UnknownLoc::get(module.getContext()), error.message);
  diagnostic << " [" << error.slug << "]";
  for (const std::string &note : error.notes)
    diagnostic.attachNote() << note;
  return diagnostic;
}

LogicalResult check(ModuleOp module, const runtime::Status &status) {
  return status ? success() : report(module, status.error());
}

LogicalResult writeProgram(ModuleOp module, device::ProgramOp program, const ArtifactOptions &options,
                           OutputFolder &folder) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  printProgram(program, std::filesystem::path(options.folder).filename().string(), stream);
  if (failed(check(module, folder.writeText("program.cpp", text))))
    return failure();
  auto cpu = targetCpuNamed(options.cpu);
  if (!cpu)
    return emitError(program.getLoc(), llvm::toString(cpu.takeError())) << " [usage]";
  llvm::LLVMContext context;
  auto code = programModule(program, context);
  // Not optimised: calls in a row have nothing to gain, and a function of thousands of them takes LLVM's
  // passes and register allocation a time that grows with the square of their number.
  if (llvm::Error error =
          writeSharedObject(*code, *cpu, llvm::CodeGenOptLevel::None, folder.file("program.so").string())) {
    std::string text = llvm::toString(std::move(error));
    bool noLinker = StringRef(text).starts_with("no linker");
    return report(module, noLinker ? runtime::Error{runtime::kExitFile, text, "no-linker"}
                                   : outputFailed("program.so", text));
  }
  return success();
}

LogicalResult writeKernels(ModuleOp module, const ArtifactOptions &options, const OutputFolder &folder,
                           runtime::Manifest &manifest) {
  if (!options.architecture.empty())
    return writeCudaFiles(module, {options.architecture, options.cpu, options.withSim}, folder.folder(),
                          manifest);
  std::string path = folder.file("kernels.so").string();
  if (options.kernels)
    return options.kernels(module, path);
  return compileKernels(module, {options.cpu, options.reference}, path);
}

LogicalResult writeMorePlans(ModuleOp module, const ArtifactOptions &options, OutputFolder &folder) {
  for (const auto &[name, text] : options.morePlans)
    if (failed(check(module, folder.writeText(name, text))))
      return failure();
  return success();
}

/// Sizes and checksums of what stands in the folder by now.
LogicalResult listFiles(ModuleOp module, const OutputFolder &folder, runtime::Manifest &manifest) {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder.folder()))
    names.push_back(entry.path().filename().string());
  llvm::sort(names);
  for (const std::string &name : names) {
    auto hash = runtime::hashFile(folder.file(name).string());
    if (!hash)
      return report(module, outputFailed(name, hash.error().message));
    manifest.files.push_back({name, std::filesystem::file_size(folder.file(name)), *hash});
  }
  return success();
}

} // namespace

LogicalResult writeArtifact(ModuleOp module, const ArtifactOptions &options) {
  auto programs = module.getOps<device::ProgramOp>();
  if (programs.empty())
    return module.emitError("has no device.program");
  device::ProgramOp program = *programs.begin();
  auto folder = OutputFolder::create(options.folder);
  if (!folder)
    return report(module, folder.error());
  auto manifest = makeManifest(module, program, options);
  if (failed(manifest) ||
      failed(check(module, writeParameters(module, options.model, (*folder)->file("params.safetensors")))) ||
      failed(check(module, (*folder)->requireRoom(kRoomForCode))) ||
      failed(writeProgram(module, program, options, **folder)) ||
      failed(writeKernels(module, options, **folder, *manifest)) ||
      failed(check(module, (*folder)->writeText("plan.json", options.plan))) ||
      failed(writeMorePlans(module, options, **folder)) || failed(listFiles(module, **folder, *manifest)) ||
      failed(check(module, (*folder)->writeText("manifest.json", runtime::toJson(*manifest)))))
    return failure();
  return check(module, (*folder)->commit());
}

} // namespace accum::emit
