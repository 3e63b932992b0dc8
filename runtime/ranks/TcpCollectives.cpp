// SPDX-License-Identifier: Apache-2.0
// A star of sockets. Sums are taken in the order of the ranks, in pieces that a socket's buffers hold easily.
#include "runtime/ranks/TcpCollectives.h"
#include "runtime/accum_program.h"
#include "runtime/ranks/Collectives.h"
#include "runtime/ranks/Heartbeat.h"
#include "runtime/system/Clock.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace accum::runtime {
namespace {

constexpr uint64_t kPieceBytes = 256 << 10;
constexpr uint64_t kMagic = 0x6163637565740001;
constexpr double kPatience = 20; ///< times the watchdog's seconds: a rank may compute for long

/// What a rank says when it connects.
struct Hello {
  uint64_t magic, host;
  int32_t rank, ranks;
};

struct Job {
  LaunchPlace place;
  std::vector<int> sockets; ///< on rank 0 one per rank, its own -1; elsewhere one, to rank 0
  std::vector<uint8_t> piece;
  std::string error;
} job;

int fail(const std::string &sentence) {
  job.error = sentence;
  return 1;
}

bool isRoot() { return job.place.rank == 0; }
std::string peerName(size_t index) { return "rank " + std::to_string(isRoot() ? int(index) : 0); }

/// Until the socket can be read, or the time is up.
int waitFor(size_t peer, double seconds) {
  double started = now();
  while (true) {
    beat();
    pollfd entry = {job.sockets[peer], POLLIN, 0};
    int ready = poll(&entry, 1, 100);
    if (ready > 0)
      return 0;
    if (ready < 0 && errno != EINTR)
      return fail(std::string("the connection to ") + peerName(peer) + " failed: " + std::strerror(errno));
    if (now() - started > seconds)
      return fail(peerName(peer) + " has stalled: the others have waited " + std::to_string(int(seconds)) +
                  " s for it");
  }
}

int receive(size_t peer, void *data, uint64_t bytes, double seconds) {
  auto *to = static_cast<uint8_t *>(data);
  while (bytes > 0) {
    if (int code = waitFor(peer, seconds))
      return code;
    ssize_t got = recv(job.sockets[peer], to, bytes, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return fail(peerName(peer) + " has died: its connection is closed");
    to += got;
    bytes -= uint64_t(got);
  }
  return 0;
}

int transmit(size_t peer, const void *data, uint64_t bytes) {
  const auto *from = static_cast<const uint8_t *>(data);
  while (bytes > 0) {
    ssize_t sent = send(job.sockets[peer], from, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return fail(peerName(peer) + " has died: its connection is closed");
    from += sent;
    bytes -= uint64_t(sent);
  }
  return 0;
}

void sendAtOnce(int socket) {
  int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

uint64_t ownHost() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return std::hash<std::string>{}(name);
}

int listenAt(int port) {
  int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1, no = 0;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  sockaddr_in6 any = {};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(uint16_t(port));
  if (listener >= 0 && bind(listener, reinterpret_cast<sockaddr *>(&any), sizeof any) == 0 &&
      listen(listener, job.place.ranks) == 0)
    return listener;
  fail("rank 0 cannot listen at port " + std::to_string(port) + ": " + std::strerror(errno));
  if (listener >= 0)
    close(listener);
  return -1;
}

/// Rank 0: one connection from each of the others, in any order. A stranger's is closed.
int gather(double seconds, std::vector<uint64_t> &hosts) {
  int listener = listenAt(job.place.port);
  if (listener < 0)
    return 1;
  double started = now();
  for (int missing = job.place.ranks - 1; missing > 0;) {
    pollfd entry = {listener, POLLIN, 0};
    poll(&entry, 1, 100);
    if (now() - started > seconds) {
      close(listener);
      return fail(std::to_string(missing) + " ranks have not come to port " + std::to_string(job.place.port) +
                  " within " + std::to_string(int(seconds)) + " s");
    }
    int peer = entry.revents ? accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) : -1;
    if (peer < 0)
      continue;
    timeval limit = {5, 0};
    setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    Hello hello = {};
    bool whole = recv(peer, &hello, sizeof hello, MSG_WAITALL) == ssize_t(sizeof hello);
    bool expected = whole && hello.magic == kMagic && hello.ranks == job.place.ranks && hello.rank > 0 &&
                    hello.rank < job.place.ranks && job.sockets[hello.rank] < 0;
    if (!expected) {
      close(peer);
      continue;
    }
    sendAtOnce(peer);
    job.sockets[hello.rank] = peer;
    hosts[hello.rank] = hello.host;
    --missing;
  }
  close(listener);
  return 0;
}

int connectOnce(const addrinfo *addresses) {
  for (const addrinfo *at = addresses; at; at = at->ai_next) {
    int peer = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (peer >= 0 && connect(peer, at->ai_addr, at->ai_addrlen) == 0)
      return peer;
    if (peer >= 0)
      close(peer);
  }
  return -1;
}

int reach(double seconds) {
  addrinfo hints = {}, *addresses = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  std::string port = std::to_string(job.place.port), where = job.place.address + ":" + port;
  if (int code = getaddrinfo(job.place.address.c_str(), port.c_str(), &hints, &addresses))
    return fail("the address of rank 0, " + where + ", is not known: " + gai_strerror(code));
  int peer = -1;
  for (double started = now(); (peer = connectOnce(addresses)) < 0 && now() - started < seconds;)
    usleep(50'000);
  freeaddrinfo(addresses);
  if (peer < 0)
    return fail("rank 0 does not answer at " + where + " within " + std::to_string(int(seconds)) + " s");
  sendAtOnce(peer);
  job.sockets = {peer};
  Hello hello = {kMagic, ownHost(), job.place.rank, job.place.ranks};
  return transmit(0, &hello, sizeof hello);
}

int init(int32_t *rank, int32_t *ranks, int32_t *localRanks, uint64_t **heartbeatPlace) {
  *rank = job.place.rank;
  *ranks = job.place.ranks;
  *heartbeatPlace = reinterpret_cast<uint64_t *>(&ownHeartbeat);
  double seconds = 3 * watchdogSeconds();
  if (!isRoot()) {
    int code = reach(seconds);
    return code ? code : receive(0, localRanks, sizeof *localRanks, seconds);
  }
  job.sockets.assign(job.place.ranks, -1);
  std::vector<uint64_t> hosts(job.place.ranks, ownHost());
  if (int code = gather(seconds, hosts))
    return code;
  for (int peer = 0; peer < job.place.ranks; ++peer) {
    auto here = int32_t(std::count(hosts.begin(), hosts.end(), hosts[peer]));
    if (peer == 0)
      *localRanks = here;
    else if (int code = transmit(peer, &here, sizeof here))
      return code;
  }
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

int reducePiece(uint8_t *data, uint64_t count, uint64_t size, int32_t dtype, int32_t reduction,
                double seconds) {
  if (!isRoot()) {
    int code = transmit(0, data, count * size);
    return code ? code : receive(0, data, count * size, seconds);
  }
  for (int peer = 1; peer < job.place.ranks; ++peer) {
    if (int code = receive(peer, job.piece.data(), count * size, seconds))
      return code;
    combine(data, job.piece.data(), count, dtype, reduction);
  }
  for (int peer = 1; peer < job.place.ranks; ++peer)
    if (int code = transmit(peer, data, count * size))
      return code;
  return 0;
}

int allReduce(void *data, uint64_t n, int32_t dtype, int32_t reduction, double watchdog) {
  if (dtype != ACCUM_I32 && dtype != ACCUM_I64 && dtype != ACCUM_F32 && dtype != ACCUM_F64)
    return fail("an all-reduce of this dtype is not built");
  uint64_t size = dtype == ACCUM_I64 || dtype == ACCUM_F64 ? 8 : 4, step = kPieceBytes / size;
  job.piece.resize(kPieceBytes);
  for (uint64_t first = 0; first < n; first += step)
    if (int code = reducePiece(static_cast<uint8_t *>(data) + first * size, std::min(step, n - first), size,
                               dtype, reduction, kPatience * watchdog))
      return code;
  return 0;
}

/// All sums are taken by rank 0 and sent back whole: a star has no use for parts.
int reduceScatter(void *data, uint64_t n, int32_t dtype, double watchdog) {
  return allReduce(data, n * uint64_t(job.place.ranks), dtype, ACCUM_SUM, watchdog);
}

int sharePart(uint8_t *part, uint64_t bytes, int owner, double seconds) {
  if (!isRoot())
    return owner == job.place.rank ? transmit(0, part, bytes) : receive(0, part, bytes, seconds);
  if (owner != 0)
    if (int code = receive(owner, part, bytes, seconds))
      return code;
  for (int peer = 1; peer < job.place.ranks; ++peer)
    if (int code = peer == owner ? 0 : transmit(peer, part, bytes))
      return code;
  return 0;
}

int allGather(void *data, uint64_t bytes, double watchdog) {
  for (uint64_t first = 0; first < bytes; first += kPieceBytes)
    for (int owner = 0; owner < job.place.ranks; ++owner)
      if (int code = sharePart(static_cast<uint8_t *>(data) + uint64_t(owner) * bytes + first,
                               std::min(kPieceBytes, bytes - first), owner, kPatience * watchdog))
        return code;
  return 0;
}

/// A closed connection shows at once; data waiting to be read is no news.
int watch() {
  for (size_t peer = 0; peer < job.sockets.size(); ++peer) {
    char byte;
    ssize_t got = job.sockets[peer] < 0 ? 1 : recv(job.sockets[peer], &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
      return fail(peerName(peer) + " has died: its connection is closed");
  }
  return 0;
}

const char *errorText() { return job.error.c_str(); }

void abortJob(int32_t exitCode) { _exit(exitCode); } // the sockets close, which the others see

/// Rank 0 leaves last, so that nobody takes its leaving for a death. After an error there is nobody to wait
/// for.
int finalize() {
  int32_t done = 0;
  int code = job.error.empty() ? allReduce(&done, 1, ACCUM_I32, ACCUM_SUM, watchdogSeconds()) : 1;
  for (int socket : job.sockets)
    if (socket >= 0)
      close(socket);
  job.sockets.clear();
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
