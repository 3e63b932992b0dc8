// SPDX-License-Identifier: Apache-2.0
// State that does not fit beside the rest: a file without a name, read and written by a thread of its own.
#ifndef ACCUM_RUNTIME_HOST_OFFLOADFILE_H
#define ACCUM_RUNTIME_HOST_OFFLOADFILE_H

#include "runtime/system/Status.h"
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace accum::runtime {

/// Its pages are the system's cache of the file, not the process's memory. The file is gone with the process,
/// however that ends.
class OffloadFile {
public:
  /// `bytes` of zeros in `folder`, where they have their room from now on. Slugs `file-unwritable` where the
  /// folder takes no file, `disk-full`, and `usage` for a folder that lies in memory itself.
  static Expected<std::unique_ptr<OffloadFile>> create(const std::string &folder, uint64_t bytes);
  ~OffloadFile();
  OffloadFile(const OffloadFile &) = delete;
  OffloadFile &operator=(const OffloadFile &) = delete;

  /// `bytes` at `offset`, to or from memory, one after the other in the order of the calls. Nobody else uses
  /// the memory until the same call without `start`, which waits for it.
  void startRead(uint64_t offset, uint8_t *to, uint64_t bytes);
  void startWrite(uint64_t offset, const uint8_t *from, uint64_t bytes);
  /// What was not started is done now, behind all that was.
  Status read(uint64_t offset, uint8_t *to, uint64_t bytes);
  Status write(uint64_t offset, const uint8_t *from, uint64_t bytes);
  /// What was started ends, and nobody will wait for it.
  void forget();

private:
  struct Transfer {
    uint64_t offset;
    uint8_t *memory;
    uint64_t bytes;
    bool writes;

    bool operator==(const Transfer &) const = default;
  };
  OffloadFile(std::string folder, int descriptor);
  void start(Transfer transfer);
  Status end(const Transfer &transfer);
  void work();
  Status move(const Transfer &transfer) const;

  std::string folder;
  int descriptor;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Transfer> waiting; ///< the first one is under way; a step allocates nothing here
  std::vector<Transfer> begun;   ///< that somebody waits for
  Status outcome;                ///< of all so far: the first error
  bool ends = false;
  std::thread worker;
};

} // namespace accum::runtime
#endif
