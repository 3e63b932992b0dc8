// SPDX-License-Identifier: Apache-2.0
// The NVPTX code generator, and ptxas where it is installed.
#include "compiler/Emit/Cuda/PtxTarget.h"
#include "compiler/Emit/Objects.h"
#include "passes/Codegen/FunctionAttributes.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <mutex>
#include <tuple>

using namespace llvm;

namespace accum::emit {
namespace {

/// PTX ISA that sm_80 needs and that drivers since CUDA 11.4 read.
constexpr StringRef kPtxVersion = "+ptx74";

template <typename... Args> Error failure(const char *format, Args &&...args) {
  return createStringError(formatv(format, std::forward<Args>(args)...).str());
}

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

/// "0 bytes spill stores, 0 bytes spill loads" of every kernel.
int64_t spillsIn(StringRef text) {
  int64_t total = 0;
  for (StringRef word : {"bytes spill stores", "bytes spill loads"})
    for (size_t at = text.find(word); at != StringRef::npos; at = text.find(word, at + 1)) {
      StringRef number = text.take_front(at).rtrim();
      number = number.drop_front(number.find_last_not_of("0123456789") + 1);
      int64_t bytes = 0;
      if (!number.getAsInteger(10, bytes))
        total += bytes;
    }
  return total;
}

std::string readAndRemove(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  std::string text = buffer ? (*buffer)->getBuffer().str() : "";
  std::ignore = sys::fs::remove(path);
  return text;
}

} // namespace

Expected<std::unique_ptr<TargetMachine>> createPtxMachine(StringRef architecture) {
  initialize();
  Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return failure("{0}", message);
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Fast; // products and sums become one instruction, as nvcc has it
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, architecture, kPtxVersion, options, Reloc::PIC_, std::nullopt, CodeGenOptLevel::Default));
  if (!machine)
    return failure("LLVM has no code generator for {0}", architecture);
  return machine;
}

/// Where a kernel says that its loops stay as they are, ptxas is told.
static void keepLoops(Module &module) {
  for (Function &function : module) {
    if (!function.hasFnAttribute(codegen::kKeepsLoops))
      continue;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    for (Loop *loop : loops.getLoopsInPreorder())
      loop->setLoopAlreadyUnrolled();
  }
}

Error writePtx(Module &module, TargetMachine &machine, std::string &ptx) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  optimizeModule(module, machine);
  keepLoops(module);
  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::AssemblyFile))
    return failure("LLVM cannot emit PTX");
  // Code generation changes the module; what is left of it is for the simulator.
  std::unique_ptr<Module> copy = CloneModule(module);
  passes.run(*copy);
  ptx = std::string(text);
  return Error::success();
}

std::optional<std::string> findPtxas() {
  if (auto path = sys::findProgramByName("ptxas"))
    return *path;
  SmallVector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (auto home = sys::Process::GetEnv(variable))
      folders.push_back(*home + "/bin");
  folders.push_back("/usr/local/cuda/bin");
  SmallVector<StringRef> places(folders.begin(), folders.end());
  if (auto path = sys::findProgramByName("ptxas", places))
    return *path;
  return std::nullopt;
}

Expected<PtxasReport> assemblePtx(StringRef ptxas, StringRef architecture, StringRef ptxPath,
                                  StringRef cubinPath) {
  std::string said = (cubinPath + ".log").str();
  std::string arch = ("-arch=" + architecture).str();
  StringRef arguments[] = {ptxas, arch, "--verbose", ptxPath, "-o", cubinPath};
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(said), StringRef(said)};
  std::string message;
  int code = sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects, 0, 0, &message);
  PtxasReport report{readAndRemove(said), 0};
  if (code != 0)
    return failure("{0} for {1} failed: {2}{3}", ptxas, architecture, message, StringRef(report.text).trim());
  report.spillBytes = spillsIn(report.text);
  return report;
}

} // namespace accum::emit
