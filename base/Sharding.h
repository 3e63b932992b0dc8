// SPDX-License-Identifier: Apache-2.0
// How the state of a training step is spread over devices, and what of it is kept off them.
#ifndef ACCUM_BASE_SHARDING_H
#define ACCUM_BASE_SHARDING_H

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace accum {

/// ZeRO stages. Each shards what the one before does, and one thing more.
enum class Shard : uint8_t { None, Optimizer, Gradients, Parameters };
enum class Offload : uint8_t { None, Optimizer, Parameters };

const char *toText(Shard shard);     ///< `none`, `zero1`, `zero2`, `zero3`
const char *toText(Offload offload); ///< `none`, `optimizer`, `parameters`
std::optional<Shard> shardNamed(std::string_view word);
std::optional<Offload> offloadNamed(std::string_view word);
const std::vector<Shard> &allShards();
const std::vector<Offload> &allOffloads();

/// A sharding mode. With `reduceEach` gradients are reduced and scattered in every micro-step, so that a
/// device holds its part of them only. Otherwise they are accumulated as a whole and reduced once per step.
struct Sharing {
  Shard shard = Shard::None;
  Offload offload = Offload::None;
  bool reduceEach = false;
  bool operator==(const Sharing &) const = default;

  bool isSharded() const { return shard != Shard::None; }
  bool isOffloaded() const { return offload != Offload::None; }
  /// A device holds its part of the parameters, and of their copies, only.
  bool cutsParameters(int64_t devices) const { return shard == Shard::Parameters && devices > 1; }
  /// Parameters are gathered or read unit by unit, frozen matrices too.
  bool gathersParameters(int64_t devices) const {
    return cutsParameters(devices) || offload == Offload::Parameters;
  }
  /// The state is cut into units.
  bool hasUnits(int64_t devices) const {
    return offload == Offload::Parameters || (isSharded() && devices > 1);
  }
  bool scattersEach(int64_t devices) const { return reduceEach && devices > 1; }
};

} // namespace accum
#endif
