// SPDX-License-Identifier: Apache-2.0
// The loaded CUDA driver with one card chosen and its context current; released with the object.
#ifndef ACCUM_RUNTIME_CUDA_DRIVER_H
#define ACCUM_RUNTIME_CUDA_DRIVER_H

#include "runtime/cuda/DriverApi.h"
#include "runtime/system/Status.h"
#include <functional>
#include <memory>

namespace accum::runtime::cuda {

/// The card that a process takes: its number among those of this machine, counted as the launcher does; a
/// process that sees a single card takes that.
struct Card {
  int ordinal = 0, visible = 0;
  std::string name;
  int major = 0, minor = 0;
  std::string architecture() const { return "sm_" + std::to_string(major) + std::to_string(minor); }
};

class Driver {
public:
  /// Errors, exit 4: no driver, one that is too old, no card, too few cards for this local rank.
  static Expected<std::unique_ptr<Driver>> open(int localRank);
  ~Driver();
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

  const DriverApi api;
  const Card &card() const { return chosen; }
  int version() const { return number; } ///< 13000: CUDA 13.0
  /// Makes the card's context that of the thread which calls it; usable without this object.
  std::function<Result()> entrance() const {
    return [set = api.cuCtxSetCurrent, own = context] { return set(own); };
  }

  /// Success, or an error with the call's name and the driver's words; says so where the card is lost.
  Status check(Result code, const char *call) const;
  std::string describe(Result code) const;

private:
  explicit Driver(const DriverApi &api) : api(api) {}
  Status choose(int localRank);

  Card chosen;
  DeviceNumber device = 0;
  Context context = nullptr;
  int number = 0;
};

} // namespace accum::runtime::cuda

/// Returns the error of a driver call from a function that returns a Status or an Expected: CUDA_TRY(driver,
/// cuStreamSynchronize, stream).
#define CUDA_TRY(driver, call, ...)                                                                          \
  do {                                                                                                       \
    if (::accum::runtime::Status tried = (driver).check((driver).api.call(__VA_ARGS__), #call); !tried)      \
      return tried.error();                                                                                  \
  } while (false)

#endif
