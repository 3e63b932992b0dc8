// SPDX-License-Identifier: Apache-2.0
// The application's side of NVTX 3: tables that a tool fills in once.
#include "runtime/session/Nvtx.h"
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <iterator>

namespace accum::runtime::nvtx {
namespace {

constexpr uint32_t kMostEntries = *std::max_element(std::begin(kEntries), std::end(kEntries));

/// Function pointers, and pointers to them, null in front of the first and behind the last one, as tools
/// expect.
struct Tables {
  FunctionPointer functions[kModules][kMostEntries] = {};
  FunctionPointer *places[kModules][kMostEntries + 1] = {};

  Tables() {
    for (uint32_t module = 0; module < kModules; ++module)
      for (uint32_t entry = 1; entry < kEntries[module]; ++entry)
        places[module][entry] = &functions[module][entry];
  }
} tables;

int moduleTable(uint32_t module, FunctionPointer ***table, unsigned *entries) {
  if (module == 0 || module >= kModules)
    return 0;
  if (table)
    *table = tables.places[module];
  if (entries)
    *entries = kEntries[module];
  return 1;
}

void ignoreToolVersion(uint32_t) {}

const void *exportTable(uint32_t table) {
  static constexpr Callbacks callbacks = {sizeof(Callbacks), moduleTable};
  static constexpr VersionInfo versions = {sizeof(VersionInfo), kVersion, 0, ignoreToolVersion};
  if (table == kTableCallbacks)
    return &callbacks;
  return table == kTableVersionInfo ? &versions : nullptr;
}

/// A tool that does not load, or does not want to, is no reason not to train.
bool attach() {
  const char *path = std::getenv("NVTX_INJECTION64_PATH");
  void *library = path && *path ? dlopen(path, RTLD_LAZY) : nullptr;
  auto initialize =
      library ? reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2")) : nullptr;
  return initialize && initialize(exportTable) != 0 && tables.functions[kModuleCore][kRangePush] &&
         tables.functions[kModuleCore][kRangePop];
}

} // namespace

bool isAttached() {
  static const bool attached = attach();
  return attached;
}

void push(const char *name) {
  if (isAttached())
    reinterpret_cast<int (*)(const char *)>(tables.functions[kModuleCore][kRangePush])(name);
}

void pop() {
  if (isAttached())
    reinterpret_cast<int (*)()>(tables.functions[kModuleCore][kRangePop])();
}

} // namespace accum::runtime::nvtx
