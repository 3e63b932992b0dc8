// SPDX-License-Identifier: Apache-2.0
// Whether this machine has the instructions that an artifact's kernels were compiled for.
#ifndef ACCUM_RUNTIME_SYSTEM_CPUFEATURES_H
#define ACCUM_RUNTIME_SYSTEM_CPUFEATURES_H

#include <string>
#include <vector>

namespace accum::runtime {

/// Those of `needed` that this processor lacks. Names are LLVM's or /proc/cpuinfo's; punctuation does not
/// count.
std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &needed);

} // namespace accum::runtime
#endif
