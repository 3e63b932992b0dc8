// SPDX-License-Identifier: Apache-2.0
// By the share of a window, or by the lengths of its samples.
#include "runtime/session/MicroSteps.h"
#include <algorithm>

namespace accum::runtime {

Status MicroSteps::setCut(const StepCut &value) {
  const Manifest &manifest = opened.artifact.manifest;
  if (value.rows < 0 || value.rows > manifest.m)
    return usage(std::to_string(value.rows) + " samples do not fit into a micro-step of " +
                 std::to_string(manifest.m));
  bool isCut = !manifest.isCuttable() && value.rows % manifest.m != 0;
  if (manifest.wholeBatch && (isCut || value.only >= 0 || value.samples % manifest.batch != 0))
    return usage("a batch whose samples are related to each other is not cut");
  chosen = value;
  return {};
}

void MicroSteps::divide(const Feed &of, const Window &window, const Share &share, int64_t rows) {
  std::vector<uint8_t> needs = of.needsOf(window, 0, window.samples);
  if (chosen.longest)
    std::ranges::fill(needs, uint8_t(opened.artifact.manifest.lengths.size() - 1));
  if (!needs.empty())
    divided.emplace(needs, opened.artifact.manifest.lengths, opened.ranks->ranks(), opened.ranks->rank(),
                    rows);
  else if (divided)
    divided->take(share);
  else
    divided.emplace(share);
}

Status MicroSteps::divideOwn(const Feed &of, const Window &window, const Share &share) {
  const std::vector<LengthSpec> &lengths = opened.artifact.manifest.lengths;
  if (lengths.empty()) {
    divide(of, window, share);
    return {};
  }
  std::vector<uint8_t> needs = of.needsOf(window, share.begin, share.end);
  std::vector<int64_t> most = Division::countsOf(needs, lengths.size());
  Status status = opened.ranks->allReduce(most.data(), most.size(), ACCUM_I64, ACCUM_MAX);
  if (status)
    divided.emplace(needs, most, lengths, share);
  return status;
}

Share MicroSteps::shareIn(uint32_t phase) const {
  uint32_t length = opened.artifact.manifest.phases[phase].length;
  Share in = divided->shares[length];
  const Manifest &manifest = opened.artifact.manifest;
  bool addsGradients = manifest.phases[phase].addsGradients;
  // Where samples are related, another loop may have left the first micro-step to this one.
  in.reversed = chosen.reversed && (addsGradients || manifest.wholeBatch);
  if (chosen.only < 0 || !addsGradients)
    return in;
  int64_t before = 0; // micro-steps of the lengths before
  for (uint32_t other = 0; other < length; ++other)
    before += divided->microSteps[other];
  in.only = Share::kNone;
  if (chosen.only >= before && chosen.only < before + in.steps)
    in.only = uint32_t(chosen.only - before);
  return in;
}

uint32_t MicroSteps::stepsIn(uint32_t phase) const {
  return divided->microSteps[opened.artifact.manifest.phases[phase].length];
}

uint32_t MicroSteps::numberOf(uint32_t phase, uint32_t k) const {
  uint32_t length = opened.artifact.manifest.phases[phase].length, number = k;
  if (k >= stepsIn(phase))
    return divided->steps - 1;
  for (uint32_t other = 0; other < length; ++other)
    number += divided->microSteps[other];
  return number;
}

MicroStep MicroSteps::at(uint32_t phase, uint32_t k) const {
  uint32_t number = numberOf(phase, k);
  return {phase, k, number == 0, number + 1 == divided->steps};
}

std::optional<MicroStep> MicroSteps::after(uint32_t phase, uint32_t k) const {
  if (k + 1 < stepsIn(phase))
    return at(phase, k + 1);
  auto next = opened.artifact.manifest.loopAfter(phase);
  while (next && stepsIn(*next) == 0)
    next = opened.artifact.manifest.loopAfter(*next);
  return next ? std::optional(at(*next, 0)) : std::nullopt;
}

} // namespace accum::runtime
