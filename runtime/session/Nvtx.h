// SPDX-License-Identifier: Apache-2.0
// Named ranges of time for a profiler that is attached (Nsight and others), by the protocol of NVTX 3: such a
// tool names a library in NVTX_INJECTION64_PATH, which asks for the places of function pointers and fills
// them in. No header and no library of NVIDIA's is needed; a test compares with the real headers.
#ifndef ACCUM_RUNTIME_SESSION_NVTX_H
#define ACCUM_RUNTIME_SESSION_NVTX_H

#include <cstddef>
#include <cstdint>

namespace accum::runtime::nvtx {

// --- the protocol, as nvtxTypes.h has it ---
using FunctionPointer = void (*)();
enum : uint32_t { kTableCallbacks = 1, kTableVersionInfo = 3 }; // NvtxExportTableID
enum : uint32_t { kModuleCore = 1, kModules = 7 };              // NvtxCallbackModule
enum : uint32_t { kRangePush = 9, kRangePop = 11 };             // NvtxCallbackIdCore
// Entries of each module's table, by NvtxCallbackModule, the null one in front included; all but two of one
// are there to be filled in only.
inline constexpr uint32_t kEntries[kModules] = {0, 16, 9, 15, 7, 16, 7};
inline constexpr uint32_t kVersion = 3;

struct Callbacks {
  size_t bytes;
  int (*moduleTable)(uint32_t module, FunctionPointer ***table, unsigned *entries);
};
struct VersionInfo {
  size_t bytes;
  uint32_t version, reserved;
  void (*setToolVersion)(uint32_t version);
};
using ExportTable = const void *(*)(uint32_t table);
using Initialize = int (*)(ExportTable exports); ///< of the tool: InitializeInjectionNvtx2

/// What this thread is in; does nothing where no tool is attached. Ranges nest: each push has its pop.
void push(const char *name);
void pop();
/// Whether a tool is attached and wants ranges. The first call looks for one.
bool isAttached();

} // namespace accum::runtime::nvtx
#endif
