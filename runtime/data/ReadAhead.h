// SPDX-License-Identifier: Apache-2.0
// Brings what comes next from the disk, on a thread of its own, while a step computes.
#ifndef ACCUM_RUNTIME_DATA_READAHEAD_H
#define ACCUM_RUNTIME_DATA_READAHEAD_H

#include "runtime/data/Dataset.h"
#include "runtime/data/Order.h"
#include "runtime/data/Window.h"
#include <condition_variable>
#include <mutex>
#include <thread>

namespace accum::runtime {

/// Reads samples into nowhere, so that the system has their pages when a step copies them. Steps do not wait
/// for it and take nothing from it: what it does not finish, or cannot read, they read themselves, and say.
class ReadAhead {
public:
  /// Both outlive it.
  ReadAhead(const Dataset &data, const Order &order) : data(data), order(order) {}
  ~ReadAhead();
  ReadAhead(const ReadAhead &) = delete;
  ReadAhead &operator=(const ReadAhead &) = delete;

  /// From now on the samples at positions [begin, end) of a window; of those before no more are read. The
  /// first call starts the thread; later ones allocate nothing.
  void start(const Window &window, int64_t begin, int64_t end);

private:
  struct Range {
    Window window{};
    int64_t begin = 0, end = 0;
  };
  void run();
  std::optional<uint64_t> next(std::unique_lock<std::mutex> &lock);

  const Dataset &data;
  const Order &order;
  std::mutex mutex; ///< of what follows
  std::condition_variable changed;
  Range range;
  bool ends = false;
  std::thread thread;
};

} // namespace accum::runtime
#endif
