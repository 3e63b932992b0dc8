// SPDX-License-Identifier: Apache-2.0
// Shares that move over connections between every two ranks. Ahead of those of a collective goes what the
// rank does: who reads something else than it expects knows which ranks have lost each other.
#include "runtime/ranks/TcpCollectives.h"
#include "runtime/accum_program.h"
#include "runtime/ranks/Collectives.h"
#include "runtime/ranks/Heartbeats.h"
#include "runtime/ranks/RankCall.h"
#include "runtime/ranks/RankSockets.h"
#include "runtime/ranks/Shares.h"
#include "runtime/system/Clock.h"
#include "runtime/system/ProgressCounter.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace accum::runtime {
namespace {

constexpr double kLook = 0.1; ///< seconds of waiting between two looks at whether somebody has stalled

/// The last words of a rank that leaves on its own arrive, and are read, in so many seconds.
constexpr double kFarewell = 1;

/// What another rank does, as it said ahead of the collective, and how much of that is still on its way.
struct Heading {
  RankCall in;
  size_t inLeft = 0, outLeft = 0;
  std::string behind = {}; ///< of one that does not go with this rank's: what came with it
  bool isDone() const { return inLeft == 0 && outLeft == 0; }
};

struct Job {
  LaunchPlace place;
  RankSockets sockets;
  Heartbeats heartbeats;
  Shares shares;
  RankCall own;
  std::vector<Heading> headings; ///< by rank
  std::vector<pollfd> waited;
  std::string error;
  int failed = 0;                     ///< the code of all that follows a failed collective
  std::atomic<bool> exchanges{false}; ///< bytes of a collective are under way
};

/// It outlives the process's end: a forked child that exits ends nothing that is its parent's.
Job &job = *new Job;

int fail(const std::string &sentence, int code = 1) {
  job.error = sentence;
  return code;
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

/// What a rank that leaves has said of why.
std::string reasonOf(int rank) {
  std::string reason = job.headings[rank].behind;
  size_t got = reason.size();
  reason.resize(std::min(job.headings[rank].in.bytes, kMostReason));
  pollfd waited = {job.sockets.data[rank], POLLIN, 0};
  for (ssize_t more = 1; more > 0 && got < reason.size();) {
    poll(&waited, 1, int(kFarewell * 1000));
    more = recv(waited.fd, reason.data() + got, reason.size() - got, MSG_DONTWAIT);
    got += size_t(std::max<ssize_t>(more, 0));
  }
  reason.resize(got);
  return reason;
}

int failOther(int rank) {
  const RankCall &its = job.headings[rank].in;
  bool isGone = its.action == ACCUM_LEAVES, leaves = job.own.action == ACCUM_LEAVES;
  job.heartbeats.tell(
      {isGone || leaves ? RankFault::kLeft : RankFault::kElsewhere, leaves ? job.place.rank : rank});
  std::string reason = isGone ? reasonOf(rank) : "";
  return fail(sentenceOf(job.place.rank, job.own, rank, its, reason), ACCUM_OTHER_CALL);
}

/// The rest of a rank's heading, and of its transfer, in one call: as much as the socket takes, or has, at
/// once. -1 where the other end has closed it.
template <typename Move> ssize_t moveSome(iovec (&rests)[2], Move &&move) {
  msghdr message = {};
  message.msg_iov = rests;
  message.msg_iovlen = 2;
  ssize_t moved = rests[0].iov_len + rests[1].iov_len == 0 ? 0 : move(&message);
  bool isClosed = moved <= 0 && rests[0].iov_len + rests[1].iov_len > 0 && !isLater(moved);
  return isClosed ? -1 : std::max<ssize_t>(moved, 0);
}

/// How many of the moved bytes were the transfer's; the others were the heading's.
uint64_t takeHeading(size_t &left, ssize_t moved) {
  size_t own = std::min(left, size_t(moved));
  left -= own;
  return size_t(moved) - own;
}

ssize_t advanceOut(int rank) {
  Heading &heading = job.headings[rank];
  Transfer &transfer = job.shares.transfers[rank];
  auto *end = reinterpret_cast<uint8_t *>(&job.own + 1);
  iovec rests[2] = {{end - heading.outLeft, heading.outLeft},
                    {const_cast<uint8_t *>(transfer.out), transfer.outLeft}}; // only read
  ssize_t moved = moveSome(rests, [&](const msghdr *message) {
    return sendmsg(job.sockets.data[rank], message, MSG_DONTWAIT | MSG_NOSIGNAL);
  });
  if (moved < 0)
    return -1;
  uint64_t sent = takeHeading(heading.outLeft, moved);
  transfer.out += sent;
  transfer.outLeft -= sent;
  return moved;
}

ssize_t advanceIn(int rank) {
  Heading &heading = job.headings[rank];
  Transfer &transfer = job.shares.transfers[rank];
  auto *end = reinterpret_cast<uint8_t *>(&heading.in + 1);
  iovec rests[2] = {{end - heading.inLeft, heading.inLeft}, {transfer.in, transfer.inLeft}};
  ssize_t moved = moveSome(
      rests, [&](msghdr *message) { return recvmsg(job.sockets.data[rank], message, MSG_DONTWAIT); });
  if (moved < 0)
    return -1;
  bool isRead = heading.inLeft == 0;
  uint64_t got = takeHeading(heading.inLeft, moved);
  if (!isRead && heading.inLeft == 0 && !job.own.goesWith(heading.in))
    heading.behind.assign(reinterpret_cast<char *>(transfer.in), got);
  transfer.in += got;
  transfer.inLeft -= got;
  return moved;
}

bool isDone(size_t rank) { return job.headings[rank].isDone() && job.shares.transfers[rank].isDone(); }

void sleepUntilReady(int milliseconds) {
  job.waited.clear();
  for (size_t rank = 0; rank < job.headings.size(); ++rank) {
    const Transfer &transfer = job.shares.transfers[rank];
    const Heading &heading = job.headings[rank];
    bool receives = heading.inLeft || transfer.inLeft, sends = heading.outLeft || transfer.outLeft;
    if (receives || sends)
      job.waited.push_back(
          {job.sockets.data[rank], short((receives ? POLLIN : 0) | (sends ? POLLOUT : 0)), 0});
  }
  poll(job.waited.data(), job.waited.size(), milliseconds);
}

/// Who has closed a connection may have said before what it does.
int advance(int rank, double watchdog, ssize_t &moved) {
  ssize_t sent = advanceOut(rank), got = advanceIn(rank);
  const Heading &heading = job.headings[rank];
  if (heading.inLeft == 0 && !job.own.goesWith(heading.in))
    return failOther(rank);
  if (sent < 0 || got < 0)
    return failClosed(rank, watchdog);
  moved += sent + got;
  return 0;
}

/// Until all transfers are done.
int exchange(double watchdog) {
  for (double looked = now();;) {
    ssize_t moved = 0;
    bool all = true;
    for (size_t rank = 0; rank < job.headings.size(); ++rank) {
      if (isDone(rank))
        continue;
      if (int code = advance(int(rank), watchdog, moved))
        return code;
      all &= isDone(rank);
    }
    if (all)
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

/// body(), behind a heading for each other rank.
template <typename Body> int collective(RankCall::Collective kind, uint64_t bytes, Body &&body) {
  if (job.failed)
    return job.failed;
  job.own.collective = kind;
  job.own.bytes = bytes;
  for (size_t rank = 0; rank < job.headings.size(); ++rank) {
    size_t size = job.sockets.data[rank] < 0 ? 0 : sizeof(RankCall);
    job.headings[rank].in = job.own;
    job.headings[rank].inLeft = job.headings[rank].outLeft = size;
  }
  job.exchanges = true;
  std::ranges::fill(job.shares.transfers, Transfer());
  job.failed = body();
  for (size_t rank = 0; job.failed && rank < job.headings.size(); ++rank)
    if (job.headings[rank].outLeft > 0)
      advanceOut(int(rank)); // who comes later learns what this rank was in
  job.exchanges = false;
  return job.failed;
}

/// Else the others would not see the death of a rank whose child lives on.
void closeInChildren() {
  static int once = pthread_atfork(nullptr, nullptr, [] {
    for (const std::vector<int> *all : {&job.sockets.data, &job.sockets.heartbeats})
      for (int socket : *all)
        if (socket >= 0)
          close(socket);
  });
  (void)once;
}

int init(int32_t *rank, int32_t *ranks, int32_t *localRanks, uint64_t **counter) {
  closeInChildren();
  auto sockets = connectRanks(job.place, 3 * watchdogSeconds());
  if (!sockets)
    return fail(sockets.error().message);
  job.sockets = std::move(*sockets);
  *rank = job.place.rank;
  *ranks = job.place.ranks;
  *localRanks = job.sockets.localRanks;
  *counter = reinterpret_cast<uint64_t *>(&ownProgressCounter);
  job.shares.start(job.place.rank, job.place.ranks);
  job.failed = 0;
  job.headings.resize(size_t(job.place.ranks));
  job.waited.reserve(size_t(job.place.ranks));
  job.heartbeats.start(job.sockets.heartbeats);
  return 0;
}

void enter(int32_t action, uint64_t step) {
  job.own.action = action;
  job.own.step = step;
}

int allReduce(void *data, uint64_t n, int32_t dtype, int32_t reduction, double watchdog) {
  if (!Shares::isSummable(dtype))
    return fail("an all-reduce of this dtype is not built");
  return collective(RankCall::kAllReduce, n, [&] {
    return job.shares.allReduce(data, n, dtype, reduction, [&] { return exchange(watchdog); });
  });
}

int reduceScatter(void *data, uint64_t n, int32_t dtype, double watchdog) {
  if (!Shares::isSummable(dtype))
    return fail("a reduce-scatter of this dtype is not built");
  return collective(RankCall::kReduceScatter, n, [&] {
    return job.shares.reduceScatter(data, n, dtype, [&] { return exchange(watchdog); });
  });
}

int allGather(void *data, uint64_t bytes, double watchdog) {
  return collective(RankCall::kAllGather, bytes,
                    [&] { return job.shares.allGather(data, bytes, [&] { return exchange(watchdog); }); });
}

/// A closed connection shows at once; data waiting to be read is no news, but for a rank that has left before
/// the step that this one is in.
int watch() {
  for (size_t rank = 0; rank < job.sockets.data.size(); ++rank) {
    RankCall its;
    int socket = job.sockets.data[rank];
    ssize_t got = socket < 0 ? 1 : recv(socket, &its, sizeof its, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && !isLater(got)))
      return failClosed(int(rank), watchdogSeconds());
    bool inStep = job.own.action >= ACCUM_STEPS && job.own.action <= ACCUM_UPDATES;
    if (got != sizeof its || its.action != ACCUM_LEAVES || !inStep || its.step > job.own.step)
      continue;
    recv(socket, &job.headings[rank].in, sizeof its, MSG_DONTWAIT);
    return job.failed = failOther(int(rank));
  }
  RankFault fault = job.heartbeats.findStalled(watchdogSeconds());
  return fault ? fail(fault, watchdogSeconds()) : 0;
}

const char *errorText() { return job.error.c_str(); }

/// Nothing more is sent. What the others have sent is read until they close, too: else the system may throw
/// away what they have not read yet.
void sayFarewell() {
  for (int socket : job.sockets.data)
    if (socket >= 0)
      shutdown(socket, SHUT_WR);
  std::vector<uint8_t> read(64 << 10);
  for (double began = now(); now() - began < kFarewell;) {
    job.waited.clear();
    for (int &socket : job.sockets.data) {
      ssize_t got = socket < 0 ? 0 : recv(socket, read.data(), read.size(), MSG_DONTWAIT);
      if (got > 0 || (socket >= 0 && isLater(got)))
        job.waited.push_back({socket, POLLIN, 0});
      else
        socket = -1; // closed with the process
    }
    if (job.waited.empty())
      return;
    poll(job.waited.data(), job.waited.size(), int(kLook * 1000));
  }
}

/// The sockets close, which the others see. Who is not in the middle of something tells them before.
void abortJob(int32_t exitCode, const char *why) {
  if (!job.failed && !job.exchanges) {
    std::string reason = std::string(why ? why : "").substr(0, kMostReason);
    RankCall call = job.own;
    call.bytes = reason.size();
    for (int socket : job.sockets.data) {
      iovec parts[2] = {{&call, sizeof call}, {reason.data(), reason.size()}};
      if (socket >= 0)
        moveSome(parts, [&](const msghdr *message) {
          return sendmsg(socket, message, MSG_DONTWAIT | MSG_NOSIGNAL);
        });
    }
  }
  sayFarewell();
  _exit(exitCode);
}

/// All ranks leave together, so that nobody takes a leaving for a death. After an error there is nobody to
/// wait for; who is gone has left, too.
int finalize() {
  int code = collective(RankCall::kNone, 0, [] { return exchange(watchdogSeconds()); });
  job.heartbeats.stop();
  if (code)
    sayFarewell();
  job.sockets.close();
  return code == ACCUM_OTHER_CALL ? code : 0;
}

const char *version() { return "sockets"; }

int takesThreads() { return 1; }

} // namespace

const accum_collectives_v1 *tcpCollectives(const LaunchPlace &place) {
  job.place = place;
  static const accum_collectives_v1 table = {4,           sizeof(accum_collectives_v1),
                                             init,        enter,
                                             allReduce,   reduceScatter,
                                             allGather,   watch,
                                             errorText,   abortJob,
                                             finalize,    version,
                                             takesThreads};
  return &table;
}

} // namespace accum::runtime
