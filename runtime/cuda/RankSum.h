// SPDX-License-Identifier: Apache-2.0
// Sums over ranks by NCCL, on a stream of their own; a communicator's id travels over the collectives of the
// host.
#ifndef ACCUM_RUNTIME_CUDA_RANKSUM_H
#define ACCUM_RUNTIME_CUDA_RANKSUM_H

#include "runtime/cuda/ComputeStream.h"
#include "runtime/cuda/NcclApi.h"
#include "runtime/files/DType.h"
#include "runtime/ranks/Collectives.h"
#include <map>
#include <set>
#include <tuple>

namespace accum::runtime::cuda {

class RankSum {
public:
  explicit RankSum(ComputeStream &compute) : compute(compute) {}
  ~RankSum();
  RankSum(const RankSum &) = delete;
  RankSum &operator=(const RankSum &) = delete;

  /// Loads NCCL, which one rank does without.
  Status load();
  /// With one rank nothing happens. From here on waits of the compute stream watch the other ranks. All ranks
  /// get here, and all fail where the first has no id to give.
  Status join(Collectives &ranks);
  /// After an error: ends what is under way. Graphs that hold sums are gone by then, since NCCL waits for
  /// them.
  void abandon();
  /// Whether there are other ranks.
  bool isActive() const { return communicator != nullptr; }
  /// In place, after what is on the compute stream; beside what follows there, until `finish`.
  Status start(void *data, uint64_t n, DType dtype);
  /// `data`: a part of n elements for each rank; the own one becomes the sum.
  Status startReduceScatter(void *data, uint64_t n, DType dtype);
  /// `to`: a part of so many bytes for each rank; `from`: the own one.
  Status startAllGather(void *to, const void *from, uint64_t bytes);
  /// What follows on the compute stream comes after all that was started, or after what was started there.
  Status finish();
  Status finish(uint64_t place);
  /// "NCCL 2.28.3", or nothing.
  std::string version() const;

private:
  Status check(Result code, const char *call) const;
  Status meet(const UniqueId &id);
  Status watch(double seconds, double patience);
  Status sum(void *data, uint64_t n, int type);
  Status wait();
  Status mark(const void *place, const Status &started);
  template <typename Call> Status run(const char *name, uint64_t n, int type, Call &&call);

  ComputeStream &compute;
  Collectives *ranks = nullptr;
  NcclApi api;
  Communicator communicator = nullptr;
  Stream stream = nullptr;
  Event before = nullptr, after = nullptr;
  std::map<uint64_t, Event> arrivals; ///< by place, of the parts that came there last
  bool broken = false;
  /// Name, elements and type of the calls made so far: the first of a kind may connect ranks, and waits for
  /// them.
  std::set<std::tuple<std::string, uint64_t, int>> known;
};

} // namespace accum::runtime::cuda
#endif
