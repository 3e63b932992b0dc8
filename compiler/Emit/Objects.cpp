// SPDX-License-Identifier: Apache-2.0
// LLVM IR -> object file: processors, optimisation, code generation.
#include "compiler/Emit/Objects.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include <mutex>
#include <tuple>

using namespace llvm;

namespace accum::emit {
namespace {

template <typename... Args> Error failure(const char *format, Args &&...args) {
  return createStringError(formatv(format, std::forward<Args>(args)...).str());
}

struct Level {
  const char *name;
  unsigned vectorBytes;
  std::vector<const char *> adds; ///< to the level before, named as in /proc/cpuinfo
};

/// The x86-64 psABI's levels, lowest first.
const std::vector<Level> &levels() {
  static const std::vector<Level> all = {
      {"x86-64", 16, {"sse2"}},
      {"x86-64-v2", 16, {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"}},
      {"x86-64-v3", 32, {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}},
      {"x86-64-v4", 64, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
  };
  return all;
}

/// LLVM's name of a feature that /proc/cpuinfo calls `name`.
StringRef llvmFeature(StringRef name) {
  static const std::pair<StringRef, StringRef> renamed[] = {
      {"lahf_lm", "sahf"}, {"abm", "lzcnt"}, {"bmi1", "bmi"}, {"sse4_1", "sse4.1"}, {"sse4_2", "sse4.2"}};
  for (auto [cpuinfo, llvm] : renamed)
    if (name == cpuinfo)
      return llvm;
  return name;
}

bool hostHas(const Level &level) {
  static const StringMap<bool> features = sys::getHostCPUFeatures();
  return all_of(level.adds, [](const char *name) { return features.lookup(llvmFeature(name)); });
}

void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    InitializeNativeTargetAsmParser();
  });
}

} // namespace

Expected<TargetCpu> targetCpuNamed(StringRef name) {
  Triple host(sys::getProcessTriple());
  if (host.getArch() != Triple::x86_64)
    return failure("host code generation knows x86-64 only, this machine is {0}", host.getArchName());
  TargetCpu cpu;
  cpu.tune = sys::getHostCPUName();
  for (const Level &level : levels()) {
    if (name == "native" && !hostHas(level))
      break;
    cpu.level = level.name;
    cpu.vectorBytes = level.vectorBytes;
    cpu.features.insert(cpu.features.end(), level.adds.begin(), level.adds.end());
    if (name == level.name)
      return cpu;
  }
  if (name == "native")
    return cpu;
  return failure("cpu '{0}' is unknown, expected native, x86-64, x86-64-v2, x86-64-v3 or x86-64-v4", name);
}

Expected<std::unique_ptr<TargetMachine>> createTargetMachine(const TargetCpu &cpu, CodeGenOptLevel level) {
  initializeTargets();
  Triple triple(sys::getProcessTriple());
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return failure("{0}", message);
  std::unique_ptr<TargetMachine> machine(
      target->createTargetMachine(triple, cpu.level, "", TargetOptions(), Reloc::PIC_, std::nullopt, level));
  if (!machine)
    return failure("LLVM has no code generator for {0}", cpu.level);
  return machine;
}

void optimizeModule(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, modules);
}

Error writeObject(Module &module, TargetMachine &machine, StringRef objectPath) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  if (machine.getOptLevel() != CodeGenOptLevel::None)
    optimizeModule(module, machine);
  std::error_code code;
  raw_fd_ostream file(objectPath, code);
  if (code)
    return failure("{0} cannot be written: {1}", objectPath, code.message());
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, file, nullptr, CodeGenFileType::ObjectFile))
    return failure("LLVM cannot emit object files for this machine");
  passes.run(module);
  file.close();
  if (file.has_error()) {
    Error error = failure("{0} cannot be written: {1}", objectPath, file.error().message());
    file.clear_error();
    return error;
  }
  return Error::success();
}

Error writeSharedObject(Module &module, const TargetCpu &cpu, CodeGenOptLevel level, StringRef path) {
  auto machine = createTargetMachine(cpu, level);
  if (!machine)
    return machine.takeError();
  std::string object = (path + ".o").str();
  Error error = writeObject(module, **machine, object);
  if (!error)
    error = linkSharedObject({object}, path);
  std::ignore = sys::fs::remove(object);
  return error;
}

} // namespace accum::emit
