// SPDX-License-Identifier: Apache-2.0
// An artifact that this process has opened: what the parts of a session have in common.
#ifndef ACCUM_RUNTIME_DEVICE_OPENED_H
#define ACCUM_RUNTIME_DEVICE_OPENED_H

#include "runtime/device/StateMemory.h"

namespace accum::runtime {

struct Opened {
  Artifact artifact;
  std::shared_ptr<Collectives> ranks = std::make_shared<Collectives>(); ///< alone, or the job's
  std::unique_ptr<Device> device;
  uint8_t *state = nullptr; ///< in the device's memory, scratch after it
  StateMemory memory;
  std::vector<std::string> notices; ///< decisions for the user, one line each

  void note(std::string notice) { notices.push_back(std::move(notice)); }
  void noteOnce(const std::vector<std::string> &several);
  /// Success on all ranks, or the error of one of them.
  Status agree(const Status &own) { return ranks->agree(own); }
  /// Of state and scratch, up to where inputs may begin.
  uint64_t programBytes() const;
  /// Where every rank has all of them.
  bool isGradient(const void *data) const;
  Expected<double> valueOf(const ScalarSpec &scalar);
  /// Of a scalar of the manifest, where it has one of this name.
  Expected<double> scalarOr(const char *name, double otherwise);
  /// Between two steps: scratch, gradients and scalars hold this byte. What lies between two gradients stays
  /// zero: norms and updates go over it.
  Status fill(uint8_t byte);
};

} // namespace accum::runtime
#endif
