// SPDX-License-Identifier: Apache-2.0
// A mapped file of one byte per rank.
#include "tools/accum-run/training/RankBoard.h"
#include "runtime/accum_runtime.h"
#include "tools/accum-run/training/StopSignal.h"
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace accum::run {
namespace {

constexpr const char *kVariable = "ACCUM_RANK_BOARD";

} // namespace

RankBoard::RankBoard(int ranks) : ranks(ranks) {
  const char *folder = std::getenv("TMPDIR");
  path = std::string(folder ? folder : "/tmp") + "/accum-run-XXXXXX";
  int descriptor = mkstemp(path.data());
  if (descriptor < 0 || ftruncate(descriptor, ranks) != 0)
    this->ranks = 0; // without a board the job runs as well
  if (descriptor >= 0)
    close(descriptor);
  if (this->ranks == 0)
    return;
  map(path);
  setenv(kVariable, path.c_str(), 1);
}

RankBoard::RankBoard() {
  const char *name = std::getenv(kVariable);
  struct stat info;
  if (!name || stat(name, &info) != 0)
    return;
  ranks = int(info.st_size);
  map(name);
}

RankBoard::~RankBoard() {
  if (marks)
    munmap(marks, ranks);
  if (!path.empty())
    unlink(path.c_str());
}

void RankBoard::map(const std::string &name) {
  int descriptor = open(name.c_str(), O_RDWR | O_CLOEXEC);
  void *base = descriptor < 0 || ranks == 0
                   ? MAP_FAILED
                   : mmap(nullptr, ranks, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (descriptor >= 0)
    close(descriptor);
  marks = base == MAP_FAILED ? nullptr : static_cast<char *>(base);
}

void RankBoard::set(int rank, Mark mark) {
  if (marks && rank >= 0 && rank < ranks)
    marks[rank] = mark;
}

std::vector<int> RankBoard::find(Mark mark) const {
  std::vector<int> found;
  for (int rank = 0; marks && rank < ranks; ++rank)
    if (marks[rank] == mark)
      found.push_back(rank);
  return found;
}

/// The ranks of one who was started by hand, or by torchrun, may each have a screen of their own.
static bool isStartedAlone() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (std::getenv(name))
      return false;
  return std::getenv("RANK") != nullptr;
}

int launchedRank() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK"})
    if (const char *text = std::getenv(name))
      return std::atoi(text);
  return 0;
}

/// Ranks that could not join cannot agree on who speaks: rank 0 does at once, and the others only where it
/// had nothing to say. Where they agreed that another one speaks there is no message, but time for it: mpirun
/// ends all with the first.
int sayOpenFailed(int code, const std::string &message, RankBoard &board) {
  if (message.empty())
    usleep(1'500'000);
  board.set(launchedRank(), RankBoard::Ended);
  if (launchedRank() != 0)
    usleep(500'000);
  std::vector<int> ended = board.find(RankBoard::Ended);
  bool said = stopRequested() || (!ended.empty() && ended.front() == 0);
  if (launchedRank() == 0 || !said)
    std::fputs(message.empty() && isStartedAlone() ? accum_other_error() : message.c_str(), stderr);
  return code;
}

} // namespace accum::run
