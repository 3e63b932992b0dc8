// SPDX-License-Identifier: Apache-2.0
// Sizes and accesses from a kernel's types.
#include "compiler/Emit/KernelOperands.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/Train/RowPitch.h"
#include "runtime/accum_operands.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace accum::emit {

static KernelOperand operandOf(Type type, int64_t pitch, accum_access access) {
  auto tensor = cast<RankedTensorType>(type);
  KernelOperand operand{static_cast<uint64_t>(device::bytesOf(tensor, pitch)), access};
  if (pitch == 0)
    return operand;
  uint64_t element = tensor.getElementTypeBitWidth() / 8;
  operand.row = static_cast<uint64_t>(tensor.getShape().back()) * element;
  operand.pitch = static_cast<uint64_t>(pitch) * element;
  return operand;
}

std::vector<KernelOperand> operandsOf(func::FuncOp kernel) {
  std::vector<KernelOperand> operands;
  for (auto [number, type] : llvm::enumerate(kernel.getArgumentTypes()))
    operands.push_back(operandOf(type, argumentPitch(kernel, number), ACCUM_READ));
  auto added = kernel->getAttrOfType<DenseI64ArrayAttr>("accumulate");
  for (auto [number, type] : llvm::enumerate(kernel.getResultTypes())) {
    bool adds = added && llvm::is_contained(added.asArrayRef(), static_cast<int64_t>(number));
    operands.push_back(operandOf(type, resultPitch(kernel, number), adds ? ACCUM_ADD : ACCUM_WRITE));
  }
  if (added)
    operands.push_back({1, ACCUM_READ});
  return operands;
}

llvm::Constant *constantOperands(llvm::Module &module, ArrayRef<KernelOperand> operands) {
  static_assert(sizeof(accum_operand) == 32, "as written below");
  auto *i64 = llvm::Type::getInt64Ty(module.getContext()), *i32 = llvm::Type::getInt32Ty(module.getContext());
  SmallVector<llvm::Constant *> lines;
  for (const KernelOperand &operand : operands)
    lines.push_back(llvm::ConstantStruct::getAnon(
        {llvm::ConstantInt::get(i64, operand.bytes), llvm::ConstantInt::get(i64, operand.row),
         llvm::ConstantInt::get(i64, operand.pitch), llvm::ConstantInt::get(i32, operand.access),
         llvm::ConstantInt::get(i32, 0)}));
  auto *array = llvm::ConstantArray::get(llvm::ArrayType::get(lines.front()->getType(), lines.size()), lines);
  return new llvm::GlobalVariable(module, array->getType(), true, llvm::GlobalValue::PrivateLinkage, array,
                                  "operands");
}

} // namespace accum::emit
