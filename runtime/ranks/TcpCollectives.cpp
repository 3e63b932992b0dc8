// SPDX-License-Identifier: Apache-2.0
// Shares that move over connections between every two ranks.
#include "runtime/ranks/TcpCollectives.h"
#include "runtime/accum_program.h"
#include "runtime/ranks/Collectives.h"
#include "runtime/ranks/Heartbeats.h"
#include "runtime/ranks/ProgressCounter.h"
#include "runtime/ranks/RankSockets.h"
#include "runtime/ranks/Shares.h"
#include "runtime/system/Clock.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace accum::runtime {
namespace {

constexpr double kLook = 0.1; ///< seconds of waiting between two looks at whether somebody has stalled

struct Job {
  LaunchPlace place;
  RankSockets sockets;
  Heartbeats heartbeats;
  Shares shares;
  std::vector<pollfd> waited;
  std::string error;
} job;

int fail(const std::string &sentence) {
  job.error = sentence;
  return 1;
}

/// The other ranks learn whose fault it is, before they see that this one leaves.
int fail(const RankFault &fault, double watchdog) {
  job.heartbeats.tell(fault);
  return fail(sentenceOf(fault, watchdog));
}

int failClosed(int rank, double watchdog) { return fail(job.heartbeats.whyClosed(rank), watchdog); }

bool isLater(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

/// As much as the socket takes and has at once. Bytes moved, or -1 where the other end has closed it.
ssize_t advance(int socket, Transfer &transfer) {
  ssize_t moved = 0;
  if (transfer.outLeft > 0) {
    ssize_t sent = send(socket, transfer.out, transfer.outLeft, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0 && !isLater(sent))
      return -1;
    sent = std::max<ssize_t>(sent, 0);
    transfer.out += sent;
    transfer.outLeft -= uint64_t(sent);
    moved += sent;
  }
  if (transfer.inLeft > 0) {
    ssize_t got = recv(socket, transfer.in, transfer.inLeft, MSG_DONTWAIT);
    if (got <= 0 && !isLater(got))
      return -1;
    got = std::max<ssize_t>(got, 0);
    transfer.in += got;
    transfer.inLeft -= uint64_t(got);
    moved += got;
  }
  return moved;
}

void sleepUntilReady(int milliseconds) {
  job.waited.clear();
  for (size_t rank = 0; rank < job.shares.transfers.size(); ++rank) {
    const Transfer &transfer = job.shares.transfers[rank];
    if (!transfer.isDone())
      job.waited.push_back({job.sockets.data[rank],
                            short((transfer.inLeft ? POLLIN : 0) | (transfer.outLeft ? POLLOUT : 0)), 0});
  }
  poll(job.waited.data(), job.waited.size(), milliseconds);
}

/// Until all transfers are done.
int exchange(double watchdog) {
  for (double looked = now();;) {
    ssize_t moved = 0;
    bool isDone = true;
    for (size_t rank = 0; rank < job.shares.transfers.size(); ++rank) {
      if (job.shares.transfers[rank].isDone())
        continue;
      ssize_t more = advance(job.sockets.data[rank], job.shares.transfers[rank]);
      if (more < 0)
        return failClosed(int(rank), watchdog);
      moved += more;
      isDone &= job.shares.transfers[rank].isDone();
    }
    if (isDone)
      return 0;
    countProgress();
    if (moved > 0)
      continue;
    sleepUntilReady(int(kLook * 1000));
    if (now() - looked < kLook)
      continue;
    looked = now();
    if (RankFault fault = job.heartbeats.findStalled(watchdog))
      return fail(fault, watchdog);
  }
}

int init(int32_t *rank, int32_t *ranks, int32_t *localRanks, uint64_t **counter) {
  auto sockets = connectRanks(job.place, 3 * watchdogSeconds());
  if (!sockets)
    return fail(sockets.error().message);
  job.sockets = std::move(*sockets);
  *rank = job.place.rank;
  *ranks = job.place.ranks;
  *localRanks = job.sockets.localRanks;
  *counter = reinterpret_cast<uint64_t *>(&ownProgressCounter);
  job.shares.start(job.place.rank, job.place.ranks);
  job.waited.reserve(size_t(job.place.ranks));
  job.heartbeats.start(job.sockets.heartbeats);
  return 0;
}

int allReduce(void *data, uint64_t n, int32_t dtype, int32_t reduction, double watchdog) {
  if (!Shares::isSummable(dtype))
    return fail("an all-reduce of this dtype is not built");
  return job.shares.allReduce(data, n, dtype, reduction, [&] { return exchange(watchdog); });
}

int reduceScatter(void *data, uint64_t n, int32_t dtype, double watchdog) {
  if (!Shares::isSummable(dtype))
    return fail("a reduce-scatter of this dtype is not built");
  return job.shares.reduceScatter(data, n, dtype, [&] { return exchange(watchdog); });
}

int allGather(void *data, uint64_t bytes, double watchdog) {
  return job.shares.allGather(data, bytes, [&] { return exchange(watchdog); });
}

/// A closed connection shows at once; data waiting to be read is no news.
int watch() {
  for (size_t rank = 0; rank < job.sockets.data.size(); ++rank) {
    char byte;
    int socket = job.sockets.data[rank];
    ssize_t got = socket < 0 ? 1 : recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && !isLater(got)))
      return failClosed(int(rank), watchdogSeconds());
  }
  RankFault fault = job.heartbeats.findStalled(watchdogSeconds());
  return fault ? fail(fault, watchdogSeconds()) : 0;
}

const char *errorText() { return job.error.c_str(); }

void abortJob(int32_t exitCode) { _exit(exitCode); } // the sockets close, which the others see

/// All ranks leave together, so that nobody takes a leaving for a death. After an error there is nobody to
/// wait for.
int finalize() {
  int32_t done = 0;
  int code = job.error.empty() ? allReduce(&done, 1, ACCUM_I32, ACCUM_SUM, watchdogSeconds()) : 1;
  job.heartbeats.stop();
  job.sockets.close();
  return code;
}

const char *version() { return "sockets"; }

int takesThreads() { return 1; }

} // namespace

const accum_collectives_v1 *tcpCollectives(const LaunchPlace &place) {
  job.place = place;
  static const accum_collectives_v1 table = {3,
                                             sizeof(accum_collectives_v1),
                                             init,
                                             allReduce,
                                             reduceScatter,
                                             allGather,
                                             watch,
                                             errorText,
                                             abortJob,
                                             finalize,
                                             version,
                                             takesThreads};
  return &table;
}

} // namespace accum::runtime
