// SPDX-License-Identifier: Apache-2.0
// The file beside a toy artifact's shared objects that says which artifact they are.
#ifndef ACCUM_TEST_TOYCONFIG_H
#define ACCUM_TEST_TOYCONFIG_H

#include "ToyModel.h"
#include <cstdio>
#include <dlfcn.h>
#include <string>

namespace {

/// The folder of the shared object that holds `place`, whose toy.config is read into it.
std::string readConfig(ToyConfig &place) {
  Dl_info info;
  dladdr(reinterpret_cast<void *>(&place), &info);
  std::string folder = info.dli_fname;
  folder.resize(folder.rfind('/'));
  if (std::FILE *file = std::fopen((folder + "/toy.config").c_str(), "rb")) {
    if (std::fread(&place, sizeof place, 1, file) != 1)
      place = {};
    std::fclose(file);
  }
  return folder;
}

} // namespace
#endif
