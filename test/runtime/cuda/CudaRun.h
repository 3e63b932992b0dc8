// SPDX-License-Identifier: Apache-2.0
// accum-run on the fake GPU.
#ifndef ACCUM_TEST_CUDARUN_H
#define ACCUM_TEST_CUDARUN_H

#include "test/runtime/Command.h"
#include "test/runtime/ToyTraining.h"

namespace accum::test {

/// The environment in which accum-run finds the fake libraries and this artifact's kernels. `settings`: more
/// of the kind "FAKE_CUDA_SEED=3 ".
inline std::string fakeGpu(const std::string &artifact, const std::string &settings = "",
                           const std::string &libraries = FAKE_CUDA_LIBRARIES) {
  return "ACCUM_CUDA_LIBRARIES=" + libraries + " FAKE_CUDA_KERNELS=" + artifact + "/kernels.so " + settings +
         " ";
}

inline Outcome runOnFake(const ToyFiles &files, const std::string &settings = "") {
  return runCommand(fakeGpu(files.artifact, settings) + ACCUM_RUN " " + files.words);
}

} // namespace accum::test
#endif
