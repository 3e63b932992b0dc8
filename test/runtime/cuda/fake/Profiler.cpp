// SPDX-License-Identifier: Apache-2.0
// A tool as NVTX_INJECTION64_PATH names one: writes each range of time to FAKE_PROFILER_LOG, one a line,
// indented by what it is in.
#include "runtime/session/Nvtx.h"
#include <cstdio>
#include <cstdlib>

using namespace accum::runtime::nvtx;

namespace {

std::FILE *out = nullptr;
int depth = 0;

int onPush(const char *name) {
  std::fprintf(out, "%*s%s\n", 2 * depth, "", name);
  std::fflush(out);
  return depth++;
}

int onPop() {
  if (depth == 0)
    std::fprintf(out, "a pop without its push\n");
  return --depth;
}

void atEnd() {
  if (depth != 0)
    std::fprintf(out, "%d ranges left open\n", depth);
  std::fclose(out);
}

} // namespace

// Calls what is declared in C with an enumeration for the number: the same call, another type of function.
extern "C" [[clang::no_sanitize("function")]] int InitializeInjectionNvtx2(ExportTable exports) {
  const auto *callbacks = static_cast<const Callbacks *>(exports(kTableCallbacks));
  const auto *versions = static_cast<const VersionInfo *>(exports(kTableVersionInfo));
  const char *path = std::getenv("FAKE_PROFILER_LOG");
  FunctionPointer **core = nullptr;
  unsigned entries = 0;
  if (!callbacks || !versions || versions->version != kVersion || !path)
    return 0;
  // As real tools do: every module is asked for, and a whole table written.
  for (uint32_t module = 1; module < kModules; ++module) {
    if (!callbacks->moduleTable(module, &core, &entries) || entries != kEntries[module] || core[entries])
      return 0;
    for (unsigned i = 1; i < entries; ++i)
      *core[i] = nullptr;
  }
  callbacks->moduleTable(kModuleCore, &core, &entries);
  *core[kRangePush] = reinterpret_cast<FunctionPointer>(onPush);
  *core[kRangePop] = reinterpret_cast<FunctionPointer>(onPop);
  out = std::fopen(path, "w");
  std::atexit(atEnd);
  return out != nullptr;
}
