// SPDX-License-Identifier: Apache-2.0
// The words for modes, in flags, plans, programs and manifests.
#include "base/Sharding.h"
#include <algorithm>

namespace accum {
namespace {

constexpr const char *kShards[] = {"none", "zero1", "zero2", "zero3"},
                     *kOffloads[] = {"none", "optimizer", "parameters"};

template <typename T> std::optional<T> named(const std::vector<T> &all, std::string_view word) {
  auto found = std::find_if(all.begin(), all.end(), [&](T each) { return toText(each) == word; });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

} // namespace

const char *toText(Shard shard) { return kShards[static_cast<int>(shard)]; }
const char *toText(Offload offload) { return kOffloads[static_cast<int>(offload)]; }

const std::vector<Shard> &allShards() {
  static const std::vector<Shard> all = {Shard::None, Shard::Optimizer, Shard::Gradients, Shard::Parameters};
  return all;
}

const std::vector<Offload> &allOffloads() {
  static const std::vector<Offload> all = {Offload::None, Offload::Optimizer, Offload::Parameters};
  return all;
}

std::optional<Shard> shardNamed(std::string_view word) { return named(allShards(), word); }
std::optional<Offload> offloadNamed(std::string_view word) { return named(allOffloads(), word); }

} // namespace accum
