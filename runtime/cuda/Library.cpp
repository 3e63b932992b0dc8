// SPDX-License-Identifier: Apache-2.0
// dlopen and dlsym. Libraries stay loaded until the process ends.
#include "runtime/cuda/Library.h"
#include <cstdlib>
#include <dlfcn.h>

namespace accum::runtime::cuda {

std::string loadLibrary(std::initializer_list<const char *> names, std::initializer_list<Symbol> symbols) {
  const char *folder = std::getenv("ACCUM_CUDA_LIBRARIES");
  std::string why;
  void *handle = nullptr;
  for (const char *name : names) {
    std::string path = folder && *folder ? std::string(folder) + "/" + name : name;
    if (handle || (handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)))
      break;
    why += (why.empty() ? "" : "; ") + std::string(dlerror());
  }
  if (!handle)
    return why;
  for (const Symbol &symbol : symbols)
    if (!(*symbol.place = dlsym(handle, symbol.name)))
      return std::string(*names.begin()) + " lacks " + symbol.name;
  return "";
}

} // namespace accum::runtime::cuda
