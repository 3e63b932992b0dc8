// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/GemmLibrary.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>
#include <cstdint>
#include <dlfcn.h>
#include <link.h>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
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

/// Starting up touches a fourth of the library's pages, of which products need few again. Those come back
/// from the page cache.
void releaseReadOnlyPages(const void *symbol) {
  Dl_info info;
  link_map *map = nullptr;
  if (dladdr1(symbol, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) == 0 || !map)
    return;
  auto release = [](dl_phdr_info *object, size_t, void *base) {
    if (object->dlpi_addr != *static_cast<ElfW(Addr) *>(base))
      return 0;
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    for (const ElfW(Phdr) &part : std::span(object->dlpi_phdr, object->dlpi_phnum))
      if (part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0) {
        uintptr_t begin = (object->dlpi_addr + part.p_vaddr) / page * page;
        madvise(reinterpret_cast<void *>(begin), object->dlpi_addr + part.p_vaddr + part.p_memsz - begin,
                MADV_DONTNEED);
      }
    return 1;
  };
  ElfW(Addr) base = map->l_addr;
  dl_iterate_phdr(release, &base);
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
  releaseReadOnlyPages(sgemm);
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
