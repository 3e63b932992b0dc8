// SPDX-License-Identifier: Apache-2.0
// Loads the communicator plugin; without it there is one rank.
#include "runtime/ranks/Collectives.h"
#include "runtime/accum_program.h"
#include "runtime/files/DType.h"
#include "runtime/ranks/TcpCollectives.h"
#include "runtime/system/Fork.h"
#include "runtime/system/ProgressCounter.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

namespace accum::runtime {
namespace {

constexpr const char *kPlugin = "libaccum_mpi.so";
constexpr double kPatience = 1e8;             ///< seconds: while rank 0 compiles
constexpr uint64_t kBroadcastWords = 1 << 17; ///< at once

/// The folder of the binary that holds this function.
std::string ownFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&watchdogSeconds), &info) || !info.dli_fname)
    return ".";
  std::string path = info.dli_fname;
  char link[4096];
  ssize_t length = readlink("/proc/self/exe", link, sizeof link);
  if (path.find('/') == std::string::npos && length > 0)
    path.assign(link, length);
  return path.substr(0, path.rfind('/'));
}

Error missing(const std::string &why) {
  return {kExitFile,
          "the MPI plugin " + std::string(kPlugin) + " cannot be loaded: " + why,
          "no-mpi",
          {"install Open MPI: apt-get install openmpi-bin libopenmpi3; or compile with --devices 1"}};
}

std::string &heard() {
  static std::string text;
  return text;
}

} // namespace

const std::string &heardError() { return heard(); }

double watchdogSeconds() {
  const char *text = std::getenv("ACCUM_WATCHDOG_SECONDS");
  double seconds = text ? std::atof(text) : 0;
  return seconds > 0 ? seconds : 20;
}

Status Collectives::join(const std::string &launcher) {
  auto place = placeOf(launcher);
  if (!place)
    return place.error();
  if (*place)
    return adopt(tcpCollectives(**place));
  std::string folder = ownFolder(), why;
  void *handle = nullptr;
  for (const std::string &path :
       {folder + "/" + kPlugin, folder + "/../lib/" + kPlugin, std::string(kPlugin)}) {
    // Global: Open MPI's own plugins look for its symbols.
    if (!handle && !(handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)))
      why = dlerror();
  }
  if (!handle && launcher != "mpi" && std::getenv("SLURM_PROCID")) { // srun needs no MPI
    if (place = placeOf("slurm"); !place)
      return place.error();
    return adopt(tcpCollectives(**place));
  }
  if (!handle)
    return missing(why);
  auto entry = reinterpret_cast<const accum_collectives_v1 *(*)()>(dlsym(handle, "accum_collectives"));
  if (!entry || entry()->abi != 4 || entry()->size < sizeof(accum_collectives_v1))
    return missing("it is of another version");
  return adopt(entry());
}

Status Collectives::adopt(const accum_collectives_v1 *entry) {
  uint64_t *counter = nullptr;
  if (entry->init(&ownRank, &count, &localCount, &counter) != 0)
    return Error{kExitRunFailed, entry->error_text(), "collective"};
  expectThreads(); // those that watch the ranks
  table = entry;
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));
  progressCounter = reinterpret_cast<std::atomic<uint64_t> *>(counter);
  return {};
}

/// The job is the parent's where this is its forked child.
Collectives::~Collectives() {
  if (isOrphan())
    (void)started.release();
  else
    (void)leave();
}

Status Collectives::leave() {
  if (!table)
    return {};
  enter(ACCUM_LEAVES, made);
  started.reset();
  progressCounter = &ownProgressCounter;
  int code = table->finalize();
  Status status = code == 0 ? Status() : failure(code);
  table = nullptr;
  return status;
}

Collectives::Doing::Doing(Collectives &ranks, accum_rank_action action, uint64_t step)
    : ranks(ranks), before(ranks.doing) {
  ranks.enter(action, step);
}

/// What was started before belongs to what this rank did before.
void Collectives::enter(accum_rank_action action, uint64_t step) {
  doing = {action, step};
  settle();
  if (table)
    table->enter(action, step);
}

Error Collectives::failure(int code) const {
  if (code != ACCUM_OTHER_CALL)
    return {kExitRunFailed, table->error_text(), "rank-stalled"};
  return {kExitRunFailed,
          table->error_text(),
          "other-call",
          {"all ranks make the same calls in the same order; with batches of its own each rank makes as many "
           "steps as the one that has the fewest"}};
}

std::string Collectives::version() const { return table ? table->version() : ""; }

/// The table is this thread's from here on.
void Collectives::settle() {
  if (started)
    started->settle();
}

Status Collectives::allReduce(void *data, uint64_t n, int dtype, accum_reduction reduction, double watchdog) {
  settle();
  sent += 2 * n * bytesOf(DType(dtype)) * uint64_t(count - 1) / uint64_t(count);
  int code = table ? table->all_reduce(data, n, dtype, reduction, watchdog) : 0;
  return code == 0 ? Status() : failure(code);
}

Status Collectives::reduceScatter(void *data, uint64_t n, int dtype, double watchdog) {
  settle();
  sent += n * bytesOf(DType(dtype)) * uint64_t(count - 1);
  int code = table ? table->reduce_scatter(data, n, dtype, watchdog) : 0;
  return code == 0 ? Status() : failure(code);
}

Status Collectives::allGather(void *data, uint64_t bytes, double watchdog) {
  settle();
  sent += bytes * uint64_t(count - 1);
  int code = table ? table->all_gather(data, bytes, watchdog) : 0;
  return code == 0 ? Status() : failure(code);
}

/// Null where calls stay on this thread.
StartedCollectives *Collectives::beside() {
  if (!table || table->takes_threads() == 0)
    return nullptr;
  if (!started)
    started = std::make_unique<StartedCollectives>(*table, ownRank);
  return started.get();
}

void Collectives::startReduceScatter(void *data, uint64_t n, int dtype) {
  StartedCollectives *on = beside();
  if (!on)
    return;
  sent += n * bytesOf(DType(dtype)) * uint64_t(count - 1);
  on->start({static_cast<uint8_t *>(data), nullptr, n, dtype, watchdogSeconds()});
}

void Collectives::startAllGather(void *data, const void *from, uint64_t bytes) {
  StartedCollectives *on = beside();
  if (!on)
    return;
  sent += bytes * uint64_t(count - 1);
  on->start({static_cast<uint8_t *>(data), static_cast<const uint8_t *>(from), bytes, 0, watchdogSeconds()});
}

void Collectives::forget() {
  if (started)
    started->forget();
}

Status Collectives::watch() {
  int code = table ? table->watch() : 0;
  return code == 0 ? Status() : failure(code);
}

Expected<int64_t> Collectives::maximum(int64_t value, double watchdog) {
  if (Status status = allReduce(&value, 1, ACCUM_I64, ACCUM_MAX, watchdog); !status)
    return status.error();
  return value;
}

Expected<bool> Collectives::isSame(uint64_t value) {
  int64_t ends[2] = {int64_t(value), int64_t(~value)}; // the largest, and the inverse of the least
  if (Status status = allReduce(ends, 2, ACCUM_I64, ACCUM_MAX); !status)
    return status.error();
  return ends[0] == ~ends[1];
}

/// A sum of which all terms but one are zero.
Status Collectives::broadcast(void *data, uint64_t bytes) {
  auto *to = static_cast<uint8_t *>(data);
  std::vector<int64_t> words(std::min(kBroadcastWords, (bytes + 7) / 8));
  for (uint64_t done = 0; done < bytes; done += words.size() * 8) {
    uint64_t piece = std::min(bytes - done, words.size() * 8);
    std::ranges::fill(words, 0);
    if (ownRank == 0)
      std::memcpy(words.data(), to + done, piece);
    if (Status status = allReduce(words.data(), words.size(), ACCUM_I64, ACCUM_SUM, kPatience); !status)
      return status;
    std::memcpy(to + done, words.data(), piece);
  }
  return {};
}

/// An error that says no more than that other ranks did not come.
static bool hasOnlyWaited(const Status &own) { return !own && own.error().slug == "rank-stalled"; }

/// All ranks keep what the speaker has to say. Who knows an error of its own keeps that one.
void Collectives::hear(const Status &own, int speaker) {
  constexpr size_t kMost = 2048;
  bool listens = ownRank != speaker && (own || hasOnlyWaited(own));
  std::string text = own ? "" : format(own.error());
  std::vector<int64_t> words(kMost / sizeof(int64_t));
  if (ownRank == speaker)
    std::memcpy(words.data(), text.data(), std::min(text.size(), kMost - 1));
  std::string how = "another rank failed, and this one: ";
  if (listens) {
    how = "another rank failed, rank " + std::to_string(speaker) + ": ";
    text =
        allReduce(words.data(), words.size(), ACCUM_I64) ? reinterpret_cast<const char *>(words.data()) : "";
  } else if (Status sent = allReduce(words.data(), words.size(), ACCUM_I64); !sent) {
    text.clear();
  }
  const std::string start = "error: ";
  heard() = text.starts_with(start) ? start + how + text.substr(start.size()) : "";
}

/// The largest number speaks: its exit code is part of it.
Status Collectives::agree(const Status &own) {
  constexpr int64_t kCodes = 256;
  bool waited = hasOnlyWaited(own);
  int64_t weight = own ? 0 : kCodes * (count - ownRank + (waited ? 0 : count)) + own.error().exitCode;
  // Who has waited already has little patience left.
  auto speaker = maximum(weight, waited ? watchdogSeconds() / 20 : watchdogSeconds());
  if (!speaker)
    return waited ? own : speaker.error();
  if (*speaker == 0)
    return own;
  int64_t order = *speaker / kCodes; // the rank from behind, of those that know more behind all others
  hear(own, count - int(order > count ? order - count : order));
  if (*speaker == weight)
    return own;
  return Error{own ? int(*speaker % kCodes) : own.error().exitCode, "", ""};
}

Status Collectives::meet() {
  auto isMet = maximum(0);
  return isMet ? Status() : isMet.error();
}

void Collectives::abort(int exitCode, const char *why) {
  if (table) {
    table->enter(ACCUM_LEAVES, made);
    table->abort(exitCode, why);
  }
  _exit(exitCode);
}

Expected<std::shared_ptr<Collectives>> joinJob(const std::string &launcher) {
  static std::weak_ptr<Collectives> joined;
  if (auto job = joined.lock())
    return job;
  auto job = std::make_shared<Collectives>();
  if (Status status = job->join(launcher); !status)
    return status.error();
  joined = job;
  return job;
}

} // namespace accum::runtime
