// SPDX-License-Identifier: Apache-2.0
// accum_program(), the one symbol of program.so.
#include "compiler/Emit/ProgramTable.h"
#include "runtime/accum_program.h"
#include "llvm/IR/IRBuilder.h"
#include <cstddef>

namespace accum::emit {

void addProgramTable(llvm::Module &module, device::ProgramOp program, const ProgramFunctions &functions) {
  static_assert(offsetof(accum_program_v1, eval) == offsetof(accum_program_v1, step) + sizeof(void *) &&
                offsetof(accum_program_v1, predict) == offsetof(accum_program_v1, eval) + sizeof(void *) &&
                sizeof(accum_program_v1) == offsetof(accum_program_v1, predict) + sizeof(void *));
  accum_program_v1 table = {ACCUM_ABI_VERSION,
                            sizeof(accum_program_v1),
                            program.getStateBytes(),
                            program.getScratchBytes(),
                            static_cast<uint32_t>(program.getM()),
                            static_cast<uint32_t>(program.getDevices()),
                            nullptr,
                            nullptr,
                            nullptr};
  llvm::LLVMContext &context = module.getContext();
  llvm::StringRef bytes(reinterpret_cast<const char *>(&table), offsetof(accum_program_v1, step));
  llvm::Constant *predict = functions.predict;
  if (!predict)
    predict = llvm::ConstantPointerNull::get(llvm::PointerType::get(context, 0));
  auto *initial =
      llvm::ConstantStruct::getAnon({llvm::ConstantDataArray::getString(context, bytes, /*AddNull=*/false),
                                     functions.step, functions.eval, predict});
  auto *global = new llvm::GlobalVariable(module, initial->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, initial, "program");
  global->setAlignment(llvm::Align(8));
  auto *type = llvm::FunctionType::get(llvm::PointerType::get(context, 0), false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "accum_program", module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", entry));
  b.CreateRet(global);
}

} // namespace accum::emit
