// SPDX-License-Identifier: Apache-2.0
// Two printers of one device.program: code that runs and code to read. Both use accum_program.h only, and do
// the same, bit for bit.
#pragma once

#include "dialects/Device/DeviceDialect.h"
#include "runtime/accum_program.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace accum::emit {

/// LLVM IR that defines accum_program() and calls nothing but memcpy, for the words of a GEMM.
std::unique_ptr<llvm::Module> programModule(device::ProgramOp program, llvm::LLVMContext &context);

/// C++20 that defines accum_program(). `title` is the first comment's subject: the artifact's name.
void printProgram(device::ProgramOp program, llvm::StringRef title, llvm::raw_ostream &stream);

/// A device.gemm in the runtime's words, pointers null.
accum_gemm describeGemm(device::GemmOp gemm);

/// A device.attention in the runtime's words, pointers null.
accum_attention describeAttention(device::AttentionOp attention);
/// Where accum_attention has the operand called `name`, in bytes; its pointer comes first there.
uint64_t offsetOfOperand(llvm::StringRef name);
/// Where operand number `operand` starts in its buffer, in bytes.
int64_t byteOffsetOf(device::AttentionOp attention, unsigned operand);

} // namespace accum::emit
