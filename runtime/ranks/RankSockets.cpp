// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/RankSockets.h"
#include "runtime/system/Clock.h"
#include "runtime/system/ProgressCounter.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace accum::runtime {
namespace {

constexpr uint64_t kMagic = 0x6163637565740002;
constexpr double kHelloSeconds = 5; ///< that who connects has to say who he is

enum Use : int32_t { kData, kPulse };

/// What a rank says when it connects.
struct Hello {
  uint64_t magic, host;
  int32_t rank, ranks, use, port; ///< port: where it listens itself
};

/// Where a rank listens, as rank 0 tells the others.
struct Listed {
  in6_addr address;
  uint32_t scope;
  int32_t port;
  uint64_t host;
};

Error failure(const std::string &sentence) { return {kExitRunFailed, sentence, "collective"}; }

uint64_t ownHost() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return std::hash<std::string>{}(name);
}

bool isLoopback(const in6_addr &address) {
  return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

void limitWaits(int socket, double seconds) {
  timeval limit = {time_t(seconds), 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); // of connect() too
}

/// One connection, or -1.
int connectTo(const sockaddr *address, socklen_t bytes) {
  int peer = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (peer < 0)
    return -1;
  limitWaits(peer, kHelloSeconds);
  if (connect(peer, address, bytes) == 0)
    return peer;
  close(peer);
  return -1;
}

/// The joining of one job.
class Meeting {
public:
  Meeting(const LaunchPlace &place, double seconds) : place(place), seconds(seconds), started(now()) {
    sockets.data.assign(size_t(place.ranks), -1);
    sockets.heartbeats.assign(size_t(place.ranks), -1);
    listed.resize(size_t(place.ranks));
  }
  ~Meeting() {
    if (listener >= 0)
      close(listener);
  }

  Status meet() { return place.rank == 0 ? lead() : follow(); }
  int countLocal() const {
    return int(std::count_if(listed.begin(), listed.end(),
                             [](const Listed &each) { return each.host == ownHost(); }));
  }

  RankSockets sockets;

private:
  /// Rank 0.
  Status lead() {
    if (Status status = listenAt(place.port); !status)
      return status;
    listed[0] = {{}, 0, 0, ownHost()};
    if (Status status = acceptFrom(1); !status)
      return status;
    for (int rank = 1; rank < place.ranks; ++rank)
      if (!sendAll(sockets.data[rank], listed.data(), listed.size() * sizeof(Listed)))
        return hasDied(rank);
    return {};
  }

  Status follow() {
    if (Status status = listenAt(0); !status)
      return status;
    if (Status status = connectToLeader(); !status)
      return status;
    if (!receiveAll(sockets.data[0], listed.data(), listed.size() * sizeof(Listed)))
      return failure("rank 0 has not said where the other ranks are within " + time() +
                     " s: one of them has not come");
    for (int rank = 1; rank < place.rank; ++rank)
      if (Status status = connectToRank(rank); !status)
        return status;
    return acceptFrom(place.rank + 1);
  }

  std::string time() const { return std::to_string(int(seconds)); }
  bool isLate() const { return now() - started > seconds; }

  static Status hasDied(int rank) {
    return failure("rank " + std::to_string(rank) + " has died: its connection is closed");
  }

  Status listenAt(int port) {
    int yes = 1, no = 0;
    listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    sockaddr_in6 any = {};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(uint16_t(port));
    socklen_t bytes = sizeof any;
    bool isOpen = listener >= 0 && bind(listener, reinterpret_cast<sockaddr *>(&any), sizeof any) == 0 &&
                  listen(listener, 2 * place.ranks) == 0 &&
                  getsockname(listener, reinterpret_cast<sockaddr *>(&any), &bytes) == 0;
    ownPort = ntohs(any.sin6_port);
    if (isOpen)
      return {};
    return failure("rank " + std::to_string(place.rank) + " cannot listen at port " + std::to_string(port) +
                   ": " + std::strerror(errno));
  }

  /// Both connections of each rank from `first` on, in any order. A stranger's is closed.
  Status acceptFrom(int first) {
    for (int missing = 2 * (place.ranks - first); missing > 0;) {
      countProgress();
      pollfd entry = {listener, POLLIN, 0};
      poll(&entry, 1, 100);
      if (isLate())
        return failure(std::to_string((missing + 1) / 2) + " ranks have not come to port " +
                       std::to_string(ownPort) + " of rank " + std::to_string(place.rank) + " within " +
                       time() + " s");
      sockaddr_in6 from = {};
      socklen_t bytes = sizeof from;
      int peer =
          entry.revents ? accept4(listener, reinterpret_cast<sockaddr *>(&from), &bytes, SOCK_CLOEXEC) : -1;
      if (peer < 0)
        continue;
      limitWaits(peer, kHelloSeconds);
      Hello hello = {};
      bool isWhole = recv(peer, &hello, sizeof hello, MSG_WAITALL) == ssize_t(sizeof hello);
      bool isExpected = isWhole && hello.magic == kMagic && hello.ranks == place.ranks &&
                        hello.rank >= first && hello.rank < place.ranks &&
                        (hello.use == kData || hello.use == kPulse);
      if (!isExpected) {
        close(peer);
        continue;
      }
      int &kept = of(hello.use)[hello.rank];
      if (kept >= 0)
        close(kept); // it broke at the other end, which has come again
      else
        --missing;
      kept = peer;
      listed[hello.rank] = {from.sin6_addr, from.sin6_scope_id, hello.port, hello.host};
    }
    return {};
  }

  Status connectToLeader() {
    addrinfo hints = {}, *addresses = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    std::string port = std::to_string(place.port), where = place.address + ":" + port;
    if (int code = getaddrinfo(place.address.c_str(), port.c_str(), &hints, &addresses))
      return failure("the address of rank 0, " + where + ", is not known: " + gai_strerror(code));
    while (sockets.data[0] < 0 && !isLate()) {
      for (const addrinfo *at = addresses; at && sockets.data[0] < 0; at = at->ai_next)
        if (introduce(0, kData, connectTo(at->ai_addr, at->ai_addrlen)))
          introduce(0, kPulse, connectTo(at->ai_addr, at->ai_addrlen));
      if (sockets.data[0] < 0)
        usleep(50'000);
    }
    freeaddrinfo(addresses);
    if (sockets.heartbeats[0] < 0)
      return failure("rank 0 does not answer at " + where + " within " + time() + " s");
    return {};
  }

  /// A rank that rank 0 sees under a loopback address is on rank 0's machine: it has the address under which
  /// this rank sees that one.
  Status connectToRank(int rank) {
    sockaddr_in6 where = {};
    where.sin6_family = AF_INET6;
    where.sin6_addr = listed[rank].address;
    where.sin6_scope_id = listed[rank].scope;
    if (isLoopback(where.sin6_addr))
      where = leaderAddress();
    where.sin6_port = htons(uint16_t(listed[rank].port));
    const auto *address = reinterpret_cast<const sockaddr *>(&where);
    while (!isLate()) {
      if (introduce(rank, kData, connectTo(address, sizeof where)) &&
          introduce(rank, kPulse, connectTo(address, sizeof where)))
        return {};
      usleep(50'000);
    }
    return failure("rank " + std::to_string(rank) + " does not answer rank " + std::to_string(place.rank) +
                   " at port " + std::to_string(listed[rank].port) + " within " + time() +
                   " s: ranks need open ports between all their machines");
  }

  sockaddr_in6 leaderAddress() const {
    sockaddr_storage peer = {};
    socklen_t bytes = sizeof peer;
    getpeername(sockets.data[0], reinterpret_cast<sockaddr *>(&peer), &bytes);
    sockaddr_in6 result = {};
    result.sin6_family = AF_INET6;
    if (peer.ss_family == AF_INET6)
      return reinterpret_cast<const sockaddr_in6 &>(peer);
    auto &bytesOf = result.sin6_addr.s6_addr; // ::ffff:a.b.c.d
    bytesOf[10] = bytesOf[11] = 0xff;
    std::memcpy(bytesOf + 12, &reinterpret_cast<const sockaddr_in &>(peer).sin_addr, 4);
    return result;
  }

  /// Says who connects. A connection that breaks is closed and made again.
  bool introduce(int rank, Use use, int peer) {
    if (peer < 0)
      return false;
    Hello hello = {kMagic, ownHost(), place.rank, place.ranks, use, ownPort};
    int &kept = of(use)[rank];
    if (kept >= 0)
      close(kept);
    kept = sendAll(peer, &hello, sizeof hello) ? peer : -1;
    if (kept < 0)
      close(peer);
    return kept >= 0;
  }

  std::vector<int> &of(int32_t use) { return use == kData ? sockets.data : sockets.heartbeats; }

  bool sendAll(int peer, const void *data, size_t bytes) {
    return send(peer, data, bytes, MSG_NOSIGNAL) == ssize_t(bytes);
  }

  bool receiveAll(int peer, void *data, size_t bytes) {
    auto *to = static_cast<char *>(data);
    while (bytes > 0 && !isLate()) {
      countProgress();
      ssize_t got = recv(peer, to, bytes, 0);
      if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK))
        return false;
      to += std::max<ssize_t>(got, 0);
      bytes -= size_t(std::max<ssize_t>(got, 0));
    }
    return bytes == 0;
  }

  LaunchPlace place;
  double seconds, started;
  int listener = -1, ownPort = 0;
  std::vector<Listed> listed;
};

void sendAtOnce(int socket) {
  int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
}

} // namespace

void RankSockets::close() {
  for (std::vector<int> *all : {&data, &heartbeats}) {
    for (int socket : *all)
      if (socket >= 0)
        ::close(socket);
    all->clear();
  }
}

Expected<RankSockets> connectRanks(const LaunchPlace &place, double seconds) {
  Meeting meeting(place, seconds);
  if (Status status = meeting.meet(); !status) {
    meeting.sockets.close();
    return status.error();
  }
  meeting.sockets.localRanks = meeting.countLocal();
  for (const std::vector<int> *all : {&meeting.sockets.data, &meeting.sockets.heartbeats})
    for (int socket : *all)
      if (socket >= 0)
        sendAtOnce(socket);
  return std::move(meeting.sockets);
}

} // namespace accum::runtime
