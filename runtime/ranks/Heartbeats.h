// SPDX-License-Identifier: Apache-2.0
// Ranks tell each other, four times a second, that they live and whether they get anything done. So a rank
// that waits knows within the watchdog's time whom for, also when that one is on another machine.
#ifndef ACCUM_RUNTIME_RANKS_HEARTBEATS_H
#define ACCUM_RUNTIME_RANKS_HEARTBEATS_H

#include "runtime/ranks/CpuProgress.h"
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace accum::runtime {

/// Why a rank cannot go on, and whose fault it is.
struct RankFault {
  enum Kind : int32_t { kNone, kDead, kStalled, kUnheard, kLeft, kElsewhere };
  Kind kind = kNone;
  int32_t rank = -1;
  explicit operator bool() const { return kind != kNone; }
};

/// One sentence: "rank 2 has stalled: it did nothing for 20 s while the others wait for it".
std::string sentenceOf(const RankFault &fault, double watchdogSeconds);

class Heartbeats {
public:
  ~Heartbeats() { stop(); }

  /// `sockets`: one per rank, the own one -1; they stay the caller's. A thread sends and reads from now on.
  void start(const std::vector<int> &sockets);
  void stop();

  /// The rank that did nothing, or of which nothing was heard, for so long. Time in which this process was
  /// itself stopped does not count.
  RankFault findStalled(double seconds) const;
  /// Why `rank`, whose connection is closed, has left: the fault that it told before, or its own death.
  RankFault whyClosed(int rank) const;
  /// Tells all ranks why this one is about to leave.
  void tell(const RankFault &fault);

private:
  struct Message {
    uint64_t progress = 0;
    RankFault fault;
  };
  struct Peer {
    int socket = -1;
    Message in, out;
    size_t inBytes = 0, outBytes = sizeof(Message); ///< of the message under way
    uint64_t progress = 0;                          ///< as last heard
    std::atomic<uint32_t> still{0}, silent{0};      ///< rounds without progress, and without a message
    std::atomic<bool> closed{false};
    std::atomic<RankFault> told{};
  };

  void round();
  void send(Peer &peer, const RankFault &fault);
  void receive(Peer &peer);

  std::unique_ptr<Peer[]> peers;
  int count = 0;
  CpuProgress cpuProgress;
  std::mutex sending; ///< the thread and tell()
  std::atomic<bool> ending{false};
  std::thread thread;
};

} // namespace accum::runtime
#endif
