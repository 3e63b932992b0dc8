// SPDX-License-Identifier: Apache-2.0
// Bytes -> import: what the fuzzer and the seeded test both run.
#pragma once
#include "compiler/Import/parameters/Parameters.h"
#include <span>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace accum::import::test {

/// Reads the bytes as a model and, where that works, decides its parameters and touches their bytes. Anything
/// but a crash, a hang or a sanitizer's report is right. True when it was a model.
inline bool importBytes(std::span<const uint8_t> bytes) {
  int file = ::memfd_create("model", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(file);
  bool isWritten = ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  bool isModel = false;
  if (isWritten) {
    auto model = readModel(path, {.allowMissingWeights = true});
    isModel = static_cast<bool>(model);
    auto table = isModel ? decideParameters(*model) : Result<ParameterTable>(ParameterTable());
    for (const Tensor &tensor : isModel ? model->graph.initializers : std::vector<Tensor>())
      (void)fingerprint(tensor);
  }
  ::close(file);
  return isModel;
}

} // namespace accum::import::test
