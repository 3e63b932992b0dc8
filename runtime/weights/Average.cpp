// SPDX-License-Identifier: Apache-2.0
// The moving average of the weights: where it begins, and evaluations of it. Kernels keep it: see
// passes/Fuse/UpdateFormulas.cpp.
#include "runtime/artifact/Optimizers.h"
#include "runtime/weights/Weights.h"
#include <algorithm>
#include <cstring>

namespace accum::runtime {

/// Where a slot of a parameter lies; as long as nothing was averaged, the average is the parameter itself.
uint64_t Weights::averageOf(const ParameterSpec &param, const SlotSpec &slot) const {
  return averageFollows && slot.name == kAverage ? param.stateOffset : slot.stateOffset;
}

/// body(of the parameter, of its average, bytes) for each piece of each trained parameter: offsets in a whole
/// state.
template <typename Body> Status Weights::overAverage(Body &&body) {
  for (const ParameterSpec &param : manifest.params)
    for (const SlotSpec &slot : param.slots)
      for (uint64_t done = 0; slot.name == kAverage && done < param.bytes();
           done += StateMemory::kPieceBytes) {
        uint64_t bytes = std::min(StateMemory::kPieceBytes, param.bytes() - done);
        if (Status status = body(param.stateOffset + done, slot.stateOffset + done, bytes); !status)
          return status;
      }
  return {};
}

Status Weights::settleAverage() {
  if (!averageFollows)
    return {};
  averageFollows = false;
  std::vector<uint8_t> values;
  return overAverage([&](uint64_t parameter, uint64_t average, uint64_t bytes) -> Status {
    auto data = opened.memory.viewTogether(parameter, bytes);
    if (!data)
      return data.error();
    values.assign(*data, *data + bytes);
    return opened.memory.write(average, bytes, [&](uint8_t *to) { std::memcpy(to, values.data(), bytes); });
  });
}

/// Programs read parameters where those are.
Status Weights::exchangeForEvaluation() {
  if (!takesAverage || averageFollows)
    return {};
  std::vector<uint8_t> values[2];
  return overAverage([&](uint64_t parameter, uint64_t average, uint64_t bytes) -> Status {
    const uint64_t places[2] = {parameter, average};
    for (int i : {0, 1}) {
      auto data = opened.memory.viewTogether(places[i], bytes);
      if (!data)
        return data.error();
      values[i].assign(*data, *data + bytes);
    }
    for (int i : {0, 1})
      if (Status status = opened.memory.write(
              places[i], bytes, [&](uint8_t *to) { std::memcpy(to, values[1 - i].data(), bytes); });
          !status)
        return status;
    return {};
  });
}

Status Weights::use(const std::string &which) {
  if (which != "trained" && which != kAverage)
    return usage("weights are `trained` or `ema`, not `" + which + "`");
  if (which == kAverage && !findOptimizer(manifest.optimizer)->keepsAverage)
    return usage("the artifact keeps no EMA of the weights",
                 {"accumc --ema compiles one in: it takes the memory of the weights once more"});
  takesAverage = which == kAverage;
  return {};
}

} // namespace accum::runtime
