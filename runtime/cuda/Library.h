// SPDX-License-Identifier: Apache-2.0
// A shared library that is looked for at run time, and a table of its functions.
#ifndef ACCUM_RUNTIME_CUDA_LIBRARY_H
#define ACCUM_RUNTIME_CUDA_LIBRARY_H

#include <initializer_list>
#include <string>

namespace accum::runtime::cuda {

/// One function of a table: its name in the library and where its pointer belongs.
struct Symbol {
  const char *name;
  void **place;
};

/// Opens the first of `names` that is there and fills in every symbol. Empty on success, else why not. Looks
/// on the loader's path; or, where ACCUM_CUDA_LIBRARIES names a folder, there and nowhere else.
std::string loadLibrary(std::initializer_list<const char *> names, std::initializer_list<Symbol> symbols);

} // namespace accum::runtime::cuda
#endif
