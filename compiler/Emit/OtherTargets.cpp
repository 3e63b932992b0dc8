// SPDX-License-Identifier: Apache-2.0
// The linker inside asks for every target of LLVM and for Polly, to compile what is left over from link-time
// optimisation. Programs are objects of x86-64 already: the other targets, 80 MB, are defined here as
// nothing, before the static libraries are looked into.
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"

#define ACCUM_NO_TARGET(name)                                                                                \
  void LLVMInitialize##name##TargetInfo();                                                                   \
  void LLVMInitialize##name##Target();                                                                       \
  void LLVMInitialize##name##TargetMC();                                                                     \
  void LLVMInitialize##name##AsmPrinter();                                                                   \
  void LLVMInitialize##name##AsmParser();                                                                    \
  void LLVMInitialize##name##TargetInfo() {}                                                                 \
  void LLVMInitialize##name##Target() {}                                                                     \
  void LLVMInitialize##name##TargetMC() {}                                                                   \
  void LLVMInitialize##name##AsmPrinter() {}                                                                 \
  void LLVMInitialize##name##AsmParser() {}

extern "C" {
ACCUM_NO_TARGET(AArch64)
ACCUM_NO_TARGET(AMDGPU)
ACCUM_NO_TARGET(ARM)
ACCUM_NO_TARGET(AVR)
ACCUM_NO_TARGET(BPF)
ACCUM_NO_TARGET(Hexagon)
ACCUM_NO_TARGET(Lanai)
ACCUM_NO_TARGET(LoongArch)
ACCUM_NO_TARGET(M68k)
ACCUM_NO_TARGET(MSP430)
ACCUM_NO_TARGET(Mips)
ACCUM_NO_TARGET(PowerPC)
ACCUM_NO_TARGET(RISCV)
ACCUM_NO_TARGET(SPIRV)
ACCUM_NO_TARGET(Sparc)
ACCUM_NO_TARGET(SystemZ)
ACCUM_NO_TARGET(VE)
ACCUM_NO_TARGET(WebAssembly)
ACCUM_NO_TARGET(XCore)
ACCUM_NO_TARGET(Xtensa)
}

llvm::PassPluginLibraryInfo getPollyPluginInfo();
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "", [](llvm::PassBuilder &) {}};
}
