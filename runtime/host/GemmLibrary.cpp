// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/GemmLibrary.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>
#include <dlfcn.h>
#include <vector>

namespace accum::runtime {
namespace {

GemmLibrary library;

constexpr int kNewestMinor = 24; ///< of oneDNN 3, whose last version of 2025 is 3.10

/// oneDNN's own name holds its major version, and Debian's since 13 the minor one too.
std::vector<std::string> libraryNames() {
  std::vector<std::string> names = {"libdnnl.so.2", "libdnnl.so.3"};
  for (int minor = kNewestMinor; minor >= 0; --minor)
    names.push_back("libdnnl.so.3." + std::to_string(minor));
  names.push_back("libdnnl.so");
  return names;
}

} // namespace

const GemmLibrary &gemmLibrary() { return library; }

std::string gemmLibraryVersion() { return library.version; }

Status loadGemmLibrary() {
  if (library.sgemm)
    return {};
  void *handle = nullptr;
  for (const std::string &name : libraryNames())
    if (!handle)
      handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  void *sgemm = handle ? dlsym(handle, "dnnl_sgemm") : nullptr;
  if (!sgemm)
    return Error{
        kExitFile,
        "oneDNN (libdnnl.so.2 or .3) is not on this machine, and the program multiplies matrices",
        "no-onednn",
        {"install it: apt-get install libdnnl2 (Debian 12), libdnnl3.6 (Debian 13), libdnnl3 (Ubuntu "
         "24.04)"}};
  struct Version {
    int major, minor, patch;
  };
  if (auto *version = reinterpret_cast<const Version *(*)()>(dlsym(handle, "dnnl_version")))
    library.version = "oneDNN " + std::to_string(version()->major) + "." + std::to_string(version()->minor) +
                      "." + std::to_string(version()->patch);
  // Found among the libraries that oneDNN needs; a build without OpenMP has no threads of its own.
  LibraryThreads threads = {reinterpret_cast<int (*)()>(dlsym(handle, "omp_get_max_threads")),
                            reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"))};
  if (threads.get && threads.set)
    keepLibrarySingle(threads);
  library.bf16Gemm = reinterpret_cast<Bf16GemmFn>(dlsym(handle, "dnnl_gemm_bf16bf16f32"));
  library.sgemm = reinterpret_cast<SgemmFn>(sgemm);
  return {};
}

GemmOperand operandOf(int64_t rowStride, int64_t colStride, int64_t rows, int64_t cols) {
  if (colStride == 1)
    return {'N', std::max(rowStride, cols)};
  return {'T', std::max(colStride, rows)};
}

bool isTakeable(int64_t rowStride, int64_t colStride, int64_t rows, int64_t cols) {
  return (colStride == 1 && (rowStride >= cols || rows == 1)) ||
         (rowStride == 1 && (colStride >= rows || cols == 1));
}

} // namespace accum::runtime
