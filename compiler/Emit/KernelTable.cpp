// SPDX-License-Identifier: Apache-2.0
// accum_kernels_v1 and accum_kernel_v1 (runtime/accum_program.h) as constants.
#include "compiler/Emit/KernelTable.h"
#include "runtime/accum_program.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace accum::emit {
namespace {

/// { const char *name; void (*fn)(...); int64_t n, chunks; uint32_t num_args; }
StructType *entryType(LLVMContext &context) {
  Type *pointer = PointerType::get(context, 0), *i64 = Type::getInt64Ty(context);
  return StructType::get(context, {pointer, pointer, i64, i64, Type::getInt32Ty(context)});
}

Constant *constantEntry(Module &module, const KernelEntry &entry) {
  LLVMContext &context = module.getContext();
  Type *pointer = PointerType::get(context, 0), *i64 = Type::getInt64Ty(context);
  auto *type = FunctionType::get(Type::getVoidTy(context), {pointer, i64, i64}, false);
  auto *function = Function::Create(type, GlobalValue::ExternalLinkage, kKernelPrefix + entry.name, module);
  function->setVisibility(GlobalValue::HiddenVisibility);
  Constant *text = ConstantDataArray::getString(context, entry.name);
  auto *name = new GlobalVariable(module, text->getType(), true, GlobalValue::PrivateLinkage, text, "name");
  return ConstantStruct::get(entryType(context),
                             {name, function, ConstantInt::get(i64, entry.n),
                              ConstantInt::get(i64, entry.chunks),
                              ConstantInt::get(Type::getInt32Ty(context), entry.arguments)});
}

} // namespace

/// A function of the shared object that returns `value`.
static void exportValue(Module &module, StringRef name, Constant *value) {
  LLVMContext &context = module.getContext();
  auto *type = FunctionType::get(PointerType::get(context, 0), false);
  auto *function = Function::Create(type, GlobalValue::ExternalLinkage, name, module);
  IRBuilder<>(BasicBlock::Create(context, "", function)).CreateRet(value);
}

static Constant *constantArray(Module &module, Type *element, ArrayRef<Constant *> lines, StringRef name) {
  Constant *array = ConstantArray::get(ArrayType::get(element, lines.size()), lines);
  return new GlobalVariable(module, array->getType(), true, GlobalValue::PrivateLinkage, array, name);
}

std::unique_ptr<Module> makeKernelTable(LLVMContext &context, ArrayRef<KernelEntry> entries) {
  static_assert(sizeof(accum_kernel_v1) == 40 && sizeof(accum_kernels_v1) == 24, "as written below");
  auto module = std::make_unique<Module>("kernel-table", context);
  std::vector<Constant *> lines, operands;
  for (const KernelEntry &entry : entries) {
    lines.push_back(constantEntry(*module, entry));
    operands.push_back(constantOperands(*module, entry.operands));
  }
  Constant *table = constantArray(*module, entryType(context), lines, "table");
  Type *i32 = Type::getInt32Ty(context);
  Constant *fields[] = {ConstantInt::get(i32, ACCUM_ABI_VERSION),
                        ConstantInt::get(i32, sizeof(accum_kernels_v1)),
                        ConstantInt::get(i32, entries.size()), table};
  Constant *header = ConstantStruct::getAnon(fields);
  auto *kernels =
      new GlobalVariable(*module, header->getType(), true, GlobalValue::PrivateLinkage, header, "kernels");
  exportValue(*module, "accum_kernels", kernels);
  exportValue(*module, "accum_operands",
              constantArray(*module, PointerType::get(context, 0), operands, "operands"));
  return module;
}

} // namespace accum::emit
