// SPDX-License-Identifier: Apache-2.0
// The stream on which a program's work runs in order, and waiting for it.
#ifndef ACCUM_RUNTIME_CUDA_COMPUTESTREAM_H
#define ACCUM_RUNTIME_CUDA_COMPUTESTREAM_H

#include "runtime/cuda/Driver.h"
#include <functional>

namespace accum::runtime::cuda {

class ComputeStream {
public:
  /// Looks after the other ranks during a wait; its error ends the wait. Gets the seconds waited so far.
  using Watch = std::function<Status(double seconds)>;

  explicit ComputeStream(Driver &driver) : driver(driver) {}
  ~ComputeStream();
  ComputeStream(const ComputeStream &) = delete;
  ComputeStream &operator=(const ComputeStream &) = delete;

  Status create();
  void setWatch(Watch function) { watch = std::move(function); }
  /// Until everything on the stream has happened.
  Status wait();
  /// Until the event has: what it waits for may in turn wait for the other ranks. One that was never recorded
  /// has happened.
  Status waitFor(Event event);

  Driver &driver;
  Stream stream = nullptr;

private:
  Event done = nullptr;
  Watch watch;
};

} // namespace accum::runtime::cuda
#endif
