// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/Heartbeats.h"
#include "runtime/system/ProgressCounter.h"
#include "runtime/system/QuietThread.h"
#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>

namespace accum::runtime {
namespace {

constexpr double kRound = 0.25;       ///< seconds between two messages
constexpr double kLeastSilence = 1;   ///< seconds that a healthy rank may be late
constexpr int kRoundsForFarewell = 8; ///< in which the last words of a rank that has left arrive

bool isLater(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

} // namespace

std::string sentenceOf(const RankFault &fault, double watchdogSeconds) {
  std::string rank = "rank " + std::to_string(fault.rank), seconds = std::to_string(int(watchdogSeconds));
  switch (fault.kind) {
  case RankFault::kStalled:
    return rank + " has stalled: it did nothing for " + seconds + " s while the others wait for it";
  case RankFault::kUnheard:
    return rank + " has stalled or cannot be reached: nothing was heard of it for " + seconds + " s";
  case RankFault::kLeft:
    return rank + " has left while others go on";
  case RankFault::kElsewhere:
    return rank + " and another rank make different calls";
  default:
    return rank + " has died: its connection is closed";
  }
}

void Heartbeats::start(const std::vector<int> &sockets) {
  count = int(sockets.size());
  peers = std::make_unique<Peer[]>(sockets.size());
  for (int rank = 0; rank < count; ++rank)
    peers[rank].socket = sockets[rank];
  ending = false;
  thread = startQuietThread([this] {
    while (!ending) {
      round();
      usleep(useconds_t(kRound * 1e6));
    }
  });
}

void Heartbeats::stop() {
  ending = true;
  if (thread.joinable())
    thread.join();
}

void Heartbeats::round() {
  if (cpuProgress.isMade())
    countProgress();
  for (int rank = 0; rank < count; ++rank) {
    Peer &peer = peers[rank];
    if (peer.socket < 0 || peer.closed)
      continue;
    send(peer, {});
    // Counted before reading: what has been heard in this round sets them back.
    ++peer.still;
    ++peer.silent;
    receive(peer);
  }
}

/// What does not fit into the socket's buffer is left for the next round: then nobody reads at the other end.
void Heartbeats::send(Peer &peer, const RankFault &fault) {
  std::lock_guard lock(sending);
  if (peer.outBytes == sizeof(Message)) {
    peer.out = {progressCounter.load()->load(std::memory_order_relaxed), fault};
    peer.outBytes = 0;
  }
  ssize_t sent = ::send(peer.socket, reinterpret_cast<const char *>(&peer.out) + peer.outBytes,
                        sizeof(Message) - peer.outBytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0)
    peer.outBytes += size_t(sent);
  else if (peer.outBytes == 0)
    peer.outBytes = sizeof(Message); // nothing of it is under way: the next one is newer
}

void Heartbeats::receive(Peer &peer) {
  while (true) {
    ssize_t got = recv(peer.socket, reinterpret_cast<char *>(&peer.in) + peer.inBytes,
                       sizeof(Message) - peer.inBytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && !isLater(errno)))
      peer.closed = true;
    if (got <= 0)
      return;
    peer.inBytes += size_t(got);
    if (peer.inBytes < sizeof(Message))
      continue;
    peer.inBytes = 0;
    peer.silent = 0;
    if (peer.in.progress != peer.progress)
      peer.still = 0;
    peer.progress = peer.in.progress;
    if (peer.in.fault)
      peer.told = peer.in.fault;
  }
}

RankFault Heartbeats::findStalled(double seconds) const {
  auto limit = uint32_t(std::max(seconds, kLeastSilence) / kRound);
  for (int rank = 0; rank < count; ++rank) {
    const Peer &peer = peers[rank];
    if (peer.socket < 0 || peer.closed)
      continue;
    if (peer.silent > limit)
      return {RankFault::kUnheard, rank};
    if (peer.still > limit)
      return {RankFault::kStalled, rank};
  }
  return {};
}

RankFault Heartbeats::whyClosed(int rank) const {
  for (int round = 0; round < kRoundsForFarewell && !peers[rank].closed; ++round)
    usleep(useconds_t(kRound * 1e6));
  RankFault told = peers[rank].told;
  return told ? told : RankFault{RankFault::kDead, rank};
}

void Heartbeats::tell(const RankFault &fault) {
  for (int rank = 0; rank < count; ++rank)
    if (peers[rank].socket >= 0 && rank != fault.rank)
      send(peers[rank], fault);
}

} // namespace accum::runtime
