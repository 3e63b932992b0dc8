// SPDX-License-Identifier: Apache-2.0
// A model that has the kernels which transformers have, as accumc's own text: what kernels cost is measured
// by compiling and running it.
#pragma once
#include <cstdint>
#include <string>

namespace accum::calibrate {

struct ProbeSize {
  int64_t length = 128, hidden = 512, inner = 2048, vocabulary = 4096;
  int64_t heads = 8;
  int64_t samples = 4;  ///< of a micro-step
  bool hasBias = false; ///< behind the logits
};

/// The text of a dump behind `import`, and the size of the weights file that it reads.
struct ProbeModel {
  std::string text;
  int64_t weightBytes = 0;
};

/// `weights` is the name of the weights file beside the dump. Blocks, each added to the residual: layer norm
/// with the tanh form of GELU, rotary attention, RMS norm with SiLU, GELU, softmax, and the bare functions;
/// transposes of the last axis, whole and in fours; then the vocabulary and its cross entropy.
ProbeModel makeProbe(const ProbeSize &size, const std::string &folder, const std::string &weights);

} // namespace accum::calibrate
