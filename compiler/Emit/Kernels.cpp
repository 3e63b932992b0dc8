// SPDX-License-Identifier: Apache-2.0
// Kernels -> LLVM IR -> objects, a share of them per thread, and the table that names them.
#include "compiler/Emit/Kernels.h"
#include "compiler/Emit/KernelTable.h"
#include "compiler/Emit/Objects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/Codegen/Passes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Target/TargetMachine.h"
#include <tuple>

using namespace mlir;

namespace accum::emit {
namespace {

/// Some of the kernels on their way to one object.
struct Share {
  OwningOpRef<ModuleOp> module;
  std::string object;
  std::vector<std::pair<int64_t, KernelEntry>> entries; ///< by number
};

constexpr size_t kKernelsPerShare = 8; ///< fewer are not worth another thread

std::vector<func::FuncOp> kernelsOf(ModuleOp module) {
  std::vector<func::FuncOp> kernels;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr("accum.kernel"))
      kernels.push_back(function);
  return kernels;
}

int64_t numberOf(func::FuncOp kernel) { return kernel->getAttrOfType<IntegerAttr>("accum.kernel").getInt(); }

std::vector<Share> shareOut(ModuleOp module, StringRef path) {
  std::vector<func::FuncOp> kernels = kernelsOf(module);
  size_t threads = std::max(1u, module.getContext()->getNumThreads());
  size_t count = std::clamp<size_t>(kernels.size() / kKernelsPerShare, 1, threads);
  std::vector<Share> shares(count);
  for (auto [number, share] : llvm::enumerate(shares)) {
    share.module = ModuleOp::create(module.getLoc());
    share.object = (path + "." + Twine(number) + ".o").str();
  }
  for (auto [number, kernel] : llvm::enumerate(kernels))
    shares[number % count].module->push_back(kernel.clone());
  return shares;
}

void readEntries(Share &share) {
  for (auto function : share.module->getOps<LLVM::LLVMFuncOp>()) {
    auto line = function->getAttrOfType<DenseI64ArrayAttr>("accum.entry");
    if (!line)
      continue;
    StringRef name = function.getName();
    name.consume_front(kKernelPrefix);
    share.entries.push_back({line[0], {name.str(), line[1], line[2], line[3], {}}});
    function->removeAttr("accum.entry");
  }
}

LogicalResult lower(Share &share, int64_t lanes) {
  PassManager manager(share.module->getContext());
  buildCodegenPipeline(manager, lanes);
  if (failed(manager.run(*share.module)))
    return failure();
  readEntries(share);
  return success();
}

LogicalResult report(Location location, llvm::Error error) {
  if (!error)
    return success();
  return emitError(location) << llvm::toString(std::move(error)) << " [codegen]";
}

/// One table line per number.
FailureOr<std::vector<KernelEntry>> tableOf(ModuleOp module, ArrayRef<Share> shares) {
  std::map<int64_t, KernelEntry> byNumber;
  for (const Share &share : shares)
    for (const auto &[number, entry] : share.entries)
      if (!byNumber.insert({number, entry}).second)
        return module.emitError("two kernels are number ") << number;
  for (func::FuncOp kernel : kernelsOf(module))
    if (auto entry = byNumber.find(numberOf(kernel)); entry != byNumber.end())
      entry->second.operands = operandsOf(kernel);
  std::vector<KernelEntry> table;
  for (const auto &[number, entry] : byNumber) {
    if (number != static_cast<int64_t>(table.size()))
      return module.emitError("no kernel is number ") << table.size();
    table.push_back(entry);
  }
  return table;
}

class Compilation {
public:
  Compilation(ModuleOp module, const TargetCpu &cpu, bool reference, StringRef path)
      : module(module), cpu(cpu), lanes(reference ? 1 : cpu.vectorBytes / 4), path(path.str()),
        shares(shareOut(module, path)) {}
  ~Compilation() {
    for (const Share &share : shares)
      std::ignore = llvm::sys::fs::remove(share.object);
    std::ignore = llvm::sys::fs::remove(tableObject());
  }

  LogicalResult run() {
    MLIRContext *context = module.getContext();
    if (failed(failableParallelForEach(context, shares, [&](Share &share) { return lower(share, lanes); })))
      return failure();
    FailureOr<std::vector<KernelEntry>> table = tableOf(module, shares);
    if (failed(table) ||
        failed(failableParallelForEach(context, shares, [&](Share &share) { return translate(share); })))
      return failure();
    return link(*table);
  }

private:
  std::string tableObject() const { return path + ".table.o"; }

  LogicalResult write(llvm::Module &code, StringRef object) {
    auto machine = createTargetMachine(cpu);
    if (!machine)
      return report(module.getLoc(), machine.takeError());
    return report(module.getLoc(), writeObject(code, **machine, object));
  }

  LogicalResult translate(Share &share) {
    llvm::LLVMContext context;
    auto code = translateModuleToLLVMIR(*share.module, context, "kernels");
    if (!code)
      return failure();
    for (llvm::Function &function : *code) {
      function.addFnAttr("prefer-vector-width", std::to_string(8 * cpu.vectorBytes));
      function.addFnAttr("tune-cpu", cpu.tune);
    }
    return write(*code, share.object);
  }

  LogicalResult link(ArrayRef<KernelEntry> table) {
    llvm::LLVMContext context;
    if (failed(write(*makeKernelTable(context, table), tableObject())))
      return failure();
    std::vector<std::string> objects = {tableObject()};
    for (const Share &share : shares)
      objects.push_back(share.object);
    return report(module.getLoc(), linkSharedObject(objects, path));
  }

  ModuleOp module;
  TargetCpu cpu;
  int64_t lanes;
  std::string path;
  std::vector<Share> shares;
};

} // namespace

LogicalResult compileKernels(ModuleOp module, const KernelOptions &options, StringRef path) {
  llvm::Expected<TargetCpu> cpu = targetCpuNamed(options.cpu);
  if (!cpu)
    return report(module.getLoc(), cpu.takeError());
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  // A pass manager loads what its passes need when it runs, and a context must not change under several
  // threads.
  PassManager pipeline(module.getContext());
  buildCodegenPipeline(pipeline, /*lanes=*/1);
  pipeline.getDependentDialects(registry);
  module.getContext()->appendDialectRegistry(registry);
  module.getContext()->loadAllAvailableDialects();
  return Compilation(module, *cpu, options.reference, path).run();
}

} // namespace accum::emit
