// SPDX-License-Identifier: Apache-2.0
// Sums are taken in the order of the ranks, whichever terms come first, so that they have the same bits on
// every rank and in every run.
#include "runtime/ranks/TcpCollectives.h"
#include "runtime/accum_program.h"
#include "runtime/ranks/Collectives.h"
#include "runtime/ranks/Heartbeat.h"
#include "runtime/ranks/Pulse.h"
#include "runtime/ranks/RankSockets.h"
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

constexpr uint64_t kTermsBytes = 1 << 20; ///< what waits to be summed, of all ranks together
constexpr uint64_t kLargestPiece = 256 << 10, kLeastPiece = 4 << 10;
constexpr double kLook = 0.1; ///< seconds of waiting between two looks at whether somebody has stalled

/// What is still to be sent to a rank, and to be received from it.
struct Transfer {
  const uint8_t *out = nullptr;
  uint8_t *in = nullptr;
  uint64_t outLeft = 0, inLeft = 0;
  bool isDone() const { return outLeft == 0 && inLeft == 0; }
};

struct Job {
  LaunchPlace place;
  RankSockets sockets;
  Pulse pulse;
  std::vector<Transfer> transfers; ///< by rank
  std::vector<pollfd> waited;
  std::vector<uint8_t> terms; ///< a piece of each rank's
  uint64_t pieceBytes = 0;
  std::string error;
} job;

int fail(const std::string &sentence) {
  job.error = sentence;
  return 1;
}

/// The other ranks learn whose fault it is, before they see that this one leaves.
int fail(const RankFault &fault, double watchdog) {
  job.pulse.tell(fault);
  return fail(sentenceOf(fault, watchdog));
}

uint8_t *termOf(int rank) { return job.terms.data() + uint64_t(rank) * job.pieceBytes; }

int failClosed(int rank, double watchdog) { return fail(job.pulse.whyClosed(rank), watchdog); }

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
  for (size_t rank = 0; rank < job.transfers.size(); ++rank) {
    const Transfer &transfer = job.transfers[rank];
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
    for (size_t rank = 0; rank < job.transfers.size(); ++rank) {
      if (job.transfers[rank].isDone())
        continue;
      ssize_t more = advance(job.sockets.data[rank], job.transfers[rank]);
      if (more < 0)
        return failClosed(int(rank), watchdog);
      moved += more;
      isDone &= job.transfers[rank].isDone();
    }
    if (isDone)
      return 0;
    beat();
    if (moved > 0)
      continue;
    sleepUntilReady(int(kLook * 1000));
    if (now() - looked < kLook)
      continue;
    looked = now();
    if (RankFault fault = job.pulse.findStalled(watchdog))
      return fail(fault, watchdog);
  }
}

int init(int32_t *rank, int32_t *ranks, int32_t *localRanks, uint64_t **heartbeatPlace) {
  auto sockets = connectRanks(job.place, 3 * watchdogSeconds());
  if (!sockets)
    return fail(sockets.error().message);
  job.sockets = std::move(*sockets);
  *rank = job.place.rank;
  *ranks = job.place.ranks;
  *localRanks = job.sockets.localRanks;
  *heartbeatPlace = reinterpret_cast<uint64_t *>(&ownHeartbeat);
  auto count = uint64_t(job.place.ranks);
  job.transfers.resize(count);
  job.waited.reserve(count);
  job.pieceBytes = std::clamp(kTermsBytes / count, kLeastPiece, kLargestPiece) / 8 * 8;
  job.terms.resize(job.pieceBytes * count);
  job.pulse.start(job.sockets.pulse);
  return 0;
}

template <typename T> void combine(void *into, const void *from, uint64_t count, int32_t reduction) {
  auto *sum = static_cast<T *>(into);
  const auto *term = static_cast<const T *>(from);
  for (uint64_t i = 0; i < count; ++i)
    sum[i] = reduction == ACCUM_MAX ? std::max(sum[i], term[i]) : sum[i] + term[i];
}

void combine(void *into, const void *from, uint64_t count, int32_t dtype, int32_t reduction) {
  if (dtype == ACCUM_I32)
    combine<int32_t>(into, from, count, reduction);
  else if (dtype == ACCUM_I64)
    combine<int64_t>(into, from, count, reduction);
  else if (dtype == ACCUM_F32)
    combine<float>(into, from, count, reduction);
  else
    combine<double>(into, from, count, reduction);
}

/// What a rank has of a piece.
struct Share {
  uint8_t *data;
  uint64_t bytes;
};

bool isSummable(int32_t dtype) {
  return dtype == ACCUM_I32 || dtype == ACCUM_I64 || dtype == ACCUM_F32 || dtype == ACCUM_F64;
}

uint64_t sizeOf(int32_t dtype) { return dtype == ACCUM_I64 || dtype == ACCUM_F64 ? 8 : 4; }

/// `own` becomes the sum of all ranks' terms, those of the others being in job.terms.
void combineTerms(Share own, int32_t dtype, int32_t reduction) {
  int rank = job.place.rank;
  uint64_t count = own.bytes / sizeOf(dtype);
  uint8_t *sum = rank == 0 ? own.data : termOf(0);
  for (int other = 1; other < job.place.ranks; ++other)
    combine(sum, other == rank ? own.data : termOf(other), count, dtype, reduction);
  if (rank != 0)
    std::memcpy(own.data, sum, own.bytes);
}

/// shareOf(rank) is the Share of each rank in this rank's data. The own one becomes the sum of all ranks'.
template <typename ShareOf>
int sumShares(ShareOf &&shareOf, int32_t dtype, int32_t reduction, double watchdog) {
  Share own = shareOf(job.place.rank);
  for (int rank = 0; rank < job.place.ranks; ++rank) {
    Share share = shareOf(rank);
    job.transfers[rank] =
        rank == job.place.rank ? Transfer{} : Transfer{share.data, termOf(rank), share.bytes, own.bytes};
  }
  if (int code = exchange(watchdog))
    return code;
  combineTerms(own, dtype, reduction);
  return 0;
}

/// The own share comes to all ranks, and theirs to this one.
template <typename ShareOf> int spreadShares(ShareOf &&shareOf, double watchdog) {
  Share own = shareOf(job.place.rank);
  for (int rank = 0; rank < job.place.ranks; ++rank) {
    Share share = shareOf(rank);
    job.transfers[rank] =
        rank == job.place.rank ? Transfer{} : Transfer{own.data, share.data, own.bytes, share.bytes};
  }
  return exchange(watchdog);
}

int allReduce(void *data, uint64_t n, int32_t dtype, int32_t reduction, double watchdog) {
  if (!isSummable(dtype))
    return fail("an all-reduce of this dtype is not built");
  auto ranks = uint64_t(job.place.ranks), size = sizeOf(dtype), step = job.pieceBytes / size;
  for (uint64_t first = 0; first < n; first += step * ranks) {
    uint64_t count = std::min(step * ranks, n - first), each = (count + ranks - 1) / ranks;
    auto shareOf = [&](int rank) -> Share {
      uint64_t from = std::min(uint64_t(rank) * each, count);
      return {static_cast<uint8_t *>(data) + (first + from) * size, std::min(each, count - from) * size};
    };
    if (int code = sumShares(shareOf, dtype, reduction, watchdog))
      return code;
    if (int code = spreadShares(shareOf, watchdog))
      return code;
  }
  return 0;
}

/// body(shareOf) for each piece, where the data has a part of so many bytes for each rank.
template <typename Body> int overParts(void *data, uint64_t bytes, Body &&body) {
  for (uint64_t first = 0; first < bytes; first += job.pieceBytes)
    if (int code = body([&](int rank) -> Share {
          return {static_cast<uint8_t *>(data) + uint64_t(rank) * bytes + first,
                  std::min(job.pieceBytes, bytes - first)};
        }))
      return code;
  return 0;
}

int reduceScatter(void *data, uint64_t n, int32_t dtype, double watchdog) {
  if (!isSummable(dtype))
    return fail("a reduce-scatter of this dtype is not built");
  return overParts(data, n * sizeOf(dtype),
                   [&](auto &&shareOf) { return sumShares(shareOf, dtype, ACCUM_SUM, watchdog); });
}

int allGather(void *data, uint64_t bytes, double watchdog) {
  return overParts(data, bytes, [&](auto &&shareOf) { return spreadShares(shareOf, watchdog); });
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
  RankFault fault = job.pulse.findStalled(watchdogSeconds());
  return fault ? fail(fault, watchdogSeconds()) : 0;
}

const char *errorText() { return job.error.c_str(); }

void abortJob(int32_t exitCode) { _exit(exitCode); } // the sockets close, which the others see

/// All ranks leave together, so that nobody takes a leaving for a death. After an error there is nobody to
/// wait for.
int finalize() {
  int32_t done = 0;
  int code = job.error.empty() ? allReduce(&done, 1, ACCUM_I32, ACCUM_SUM, watchdogSeconds()) : 1;
  job.pulse.stop();
  job.sockets.close();
  return code;
}

const char *version() { return "sockets"; }

} // namespace

const accum_collectives_v1 *tcpCollectives(const LaunchPlace &place) {
  job.place = place;
  static const accum_collectives_v1 table = {2,
                                             sizeof(accum_collectives_v1),
                                             init,
                                             allReduce,
                                             reduceScatter,
                                             allGather,
                                             watch,
                                             errorText,
                                             abortJob,
                                             finalize,
                                             version};
  return &table;
}

} // namespace accum::runtime
