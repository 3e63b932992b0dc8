// SPDX-License-Identifier: Apache-2.0
// The checker: what must keep its bytes between which commands, a walk over them with the set of what is
// alive, and the sums. Shares nothing with the search.
#include "compiler/Planner/Verify/Verify.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include "compiler/Planner/Verify/Replay.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace accum::planner {

namespace {

/// Something with bytes in the scratch: a storage, or a command's workspace.
struct Tenant {
  int buffer = kNoIndex; ///< kNoIndex for a workspace
  int64_t offset = 0, bytes = 0;
  int first = INT32_MAX, last = -1; ///< keeps its bytes between these commands, both included
  bool whole = false;               ///< through the whole step
  bool nextIteration = false;       ///< the loop that `last` stands in needs it again
};

/// A plan's offsets by their names, which the plan has.
class Slots {
public:
  explicit Slots(const Plan &plan) {
    for (const auto &[id, offset] : plan.slots)
      unique &= offsets.emplace(id, offset).second;
  }
  std::optional<int64_t> find(std::string_view id) const {
    auto found = offsets.find(id);
    return found == offsets.end() ? std::nullopt : std::optional(found->second);
  }
  bool areUnique() const { return unique; }

private:
  std::unordered_map<std::string_view, int64_t> offsets;
  bool unique = true;
};

std::string nameOf(const Problem &problem, const Tenant &tenant) {
  return tenant.buffer == kNoIndex ? fmt::format("{}:w", problem.commands[tenant.first].id)
                                   : problem.buffers[tenant.buffer].id;
}

bool inLoop(const Problem &problem, int command) { return problem.isInLoop(problem.commands[command]); }

Status checkCut(const Plan &plan) {
  int64_t m = plan.cut.m, steps = plan.cut.steps;
  if (plan.batch < 1 || plan.devices < 1 || m < 1 || steps < 1 || plan.alignment < 1)
    return invalid("batch, devices, micro-batch, steps and alignment must be positive");
  int64_t samples = plan.batch / plan.devices + (plan.batch % plan.devices != 0);
  if (m > samples || steps != samples / m + (samples % m != 0))
    return invalid(fmt::format("{} micro-steps of {} do not cut {} samples per device", steps, m, samples));
  if (plan.cut.last != samples - (steps - 1) * m)
    return invalid(
        fmt::format("the last micro-step holds {}, not {}", samples - (steps - 1) * m, plan.cut.last));
  return {};
}

/// The least that a device holds of bytes in a role, before its part is padded; nothing where they are in
/// host memory.
std::optional<int64_t> bytesHeld(int64_t bytes, StateRole role, const Plan &plan) {
  int shard = static_cast<int>(shardNamed(plan.shard).value_or(Shard::None));
  int offload = static_cast<int>(offloadNamed(plan.offload).value_or(Offload::None));
  bool moments = role == StateRole::Optimizer || role == StateRole::Master;
  bool weights = role == StateRole::Parameters || role == StateRole::Frozen;
  if ((moments && offload >= 1) || (weights && offload >= 2))
    return std::nullopt;
  bool scattered = role == StateRole::Gradients && shard >= 2 && plan.reduce == "each";
  bool parted = scattered || (moments && shard >= 1) || (weights && shard >= 3);
  if (!parted || plan.devices == 1)
    return bytes;
  return bytes / plan.devices + (bytes % plan.devices != 0);
}

Status checkFixed(const Problem &problem, const Plan &plan) {
  std::optional<Shard> shard = shardNamed(plan.shard);
  if (!shard || !offloadNamed(plan.offload) || (plan.reduce != "once" && plan.reduce != "each"))
    return invalid("shard, offload or reduce is not a known word");
  for (const FixedMemory &fixed : problem.fixed) {
    int64_t whole = fixed.bytes.at(plan.cut.m);
    std::optional<int64_t> held = bytesHeld(whole, fixed.role, plan);
    // The padding of parts is the layout's, which the program is checked with.
    bool hasUnits = plan.shard != "none" || plan.offload != "none";
    if (hasUnits && fixed.name == kAlignmentLine)
      continue;
    if (held && std::none_of(plan.memory.begin(), plan.memory.end(), [&](const MemoryLine &line) {
          return line.name.starts_with(fixed.name) &&
                 (*held == whole ? line.bytes == *held : line.bytes >= *held);
        }))
      return invalid(fmt::format("no memory line has the {} bytes of `{}`", *held, fixed.name));
  }
  auto holds = [&](const char *name, int64_t bytes) {
    return std::any_of(plan.memory.begin(), plan.memory.end(),
                       [&](const MemoryLine &line) { return line.name == name && line.bytes >= bytes; });
  };
  int64_t pieces = problem.largestParameter; // at least the largest is whole for a while
  int64_t copies = 0;
  for (const Buffer &buffer : problem.buffers)
    copies += buffer.role == StateRole::Parameters ? buffer.bytes.fixed : 0;
  // It may be its copy in half the bytes that is.
  if (shard == Shard::Parameters && plan.devices > 1 &&
      !holds("gathered weights", copies > 0 ? pieces / 2 : pieces))
    return invalid("no memory line holds the weights that are gathered");
  int64_t part = copies / plan.devices + (copies % plan.devices != 0);
  if (shard == Shard::Parameters && plan.devices > 1 && copies > 0 && !holds("parts of copies", part))
    return invalid("no memory line holds the parts of copies of weights");
  if (plan.reduce == "each" && plan.devices > 1 && !holds("gradients to scatter", pieces))
    return invalid("no memory line holds the gradients that are scattered");
  return {};
}

Status checkMemory(const Problem &problem, const Plan &plan) {
  __int128 state = 0, scratch = 0, counted = 0;
  for (const MemoryLine &line : plan.memory) {
    if (line.bytes < 0)
      return invalid(fmt::format("memory line `{}` is negative", line.name));
    state += line.kind == MemoryClass::State ? line.bytes : 0;
    scratch += line.kind == MemoryClass::Scratch ? line.bytes : 0;
    counted += line.kind == MemoryClass::Context ? 0 : line.bytes;
  }
  if (state != plan.state || scratch != plan.scratch)
    return invalid("the memory lines do not add up to state and scratch");
  if (counted > plan.budget)
    return invalid(fmt::format("the plan takes more than its budget of {} bytes", plan.budget));
  if (plan.lowerBound > plan.scratch)
    return invalid("the scratch is smaller than its lower bound");
  return checkFixed(problem, plan);
}

/// The first command, or the last, of the phase that a command stands in.
int phaseEdge(const Problem &problem, int command, bool last) {
  auto isBefore = [](const Command &a, const Command &b) { return a.phase < b.phase; };
  auto range =
      std::equal_range(problem.commands.begin(), problem.commands.end(), problem.commands[command], isBefore);
  return static_cast<int>((last ? range.second - 1 : range.first) - problem.commands.begin());
}

/// A value made in one phase and used in another is there for all iterations of the loops at both ends.
void extendOverLoops(const Problem &problem, Tenant &tenant) {
  int commands = static_cast<int>(problem.commands.size());
  if (tenant.whole) {
    tenant.first = 0, tenant.last = commands - 1, tenant.nextIteration = true;
    return;
  }
  if (tenant.last >= 0 && tenant.buffer != kNoIndex && problem.buffers[tenant.buffer].producer == kNoIndex)
    tenant.first = phaseEdge(problem, tenant.first, false);
  if (tenant.last < 0 || problem.commands[tenant.first].phase == problem.commands[tenant.last].phase)
    return;
  tenant.nextIteration = inLoop(problem, tenant.last);
  if (inLoop(problem, tenant.first))
    tenant.first = phaseEdge(problem, tenant.first, false);
  if (tenant.nextIteration)
    tenant.last = phaseEdge(problem, tenant.last, true);
}

/// Whose kernel writes what a command makes: the first run of a tail is part of the command before it.
int writes(const Problem &problem, int producer) {
  const Command &command = problem.commands[producer];
  return command.cloneOf < 0 && command.tail ? producer - 1 : producer;
}

/// Every buffer has a slot, views that of their storage; fills `tenants` with the storages, by buffer.
Status collectBuffers(const Problem &problem, const Plan &plan, const Slots &slots,
                      std::vector<Tenant> &tenants, std::vector<int> &storage) {
  for (size_t index = 0; index < problem.buffers.size(); ++index) {
    const Buffer &buffer = problem.buffers[index];
    std::optional<int64_t> slot = slots.find(buffer.id);
    if (!slot)
      return invalid(fmt::format("buffer {} has no slot", buffer.id));
    bool isView = buffer.aliasOf != kNoIndex;
    storage[index] = isView ? storage[buffer.aliasOf] : static_cast<int>(index);
    Tenant &tenant = tenants[storage[index]];
    bool isInState =
        buffer.role == StateRole::Parameters && plan.shard == toText(Shard::Parameters) && plan.devices > 1;
    int64_t bytes = isInState ? 0 : buffer.bytes.at(plan.cut.m); // a part of a copy, else all of it
    if (!isView)
      tenant = {static_cast<int>(index), *slot, bytes};
    else if (bytes > tenant.bytes || (bytes > 0 && *slot != tenant.offset))
      return invalid(fmt::format("view {} is not inside its storage {}", buffer.id, nameOf(problem, tenant)));
    tenant.whole |= buffer.wholeStep;
    auto touch = [&](int command) {
      tenant.first = std::min(tenant.first, command);
      tenant.last = std::max(tenant.last, command);
    };
    for (int user : buffer.users)
      touch(user);
    if (buffer.producer != kNoIndex)
      touch(buffer.producer);
    if (buffer.producer != kNoIndex)
      touch(writes(problem, buffer.producer));
  }
  for (Tenant &tenant : tenants)
    extendOverLoops(problem, tenant);
  return {};
}

Status collectWorkspaces(const Problem &problem, const Plan &plan, const Slots &slots,
                         std::vector<Tenant> &tenants) {
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    int64_t bytes = problem.commands[index].variants.front().workspace.at(plan.cut.m);
    if (bytes == 0)
      continue;
    std::string id = fmt::format("{}:w", problem.commands[index].id);
    std::optional<int64_t> slot = slots.find(id);
    if (!slot)
      return invalid(fmt::format("workspace {} has no slot", id));
    int command = static_cast<int>(index);
    tenants.push_back({kNoIndex, *slot, bytes, command, command});
  }
  return {};
}

/// Whether `result` may stand where `operand` stands: offered by its producer, in which the operand dies for
/// good.
bool mayTakePlace(const Problem &problem, const Plan &plan, const std::vector<int> &storage,
                  const Tenant &operand, const Tenant &result) {
  if (result.buffer == kNoIndex || operand.buffer == kNoIndex || operand.nextIteration ||
      operand.offset != result.offset || operand.first >= result.first || operand.last != result.first)
    return false;
  const Buffer &buffer = problem.buffers[result.buffer];
  return buffer.producer != kNoIndex && writes(problem, buffer.producer) == result.first &&
         std::any_of(buffer.mayAlias.begin(), buffer.mayAlias.end(), [&](int offered) {
           return storage[offered] == operand.buffer &&
                  result.bytes <= problem.buffers[offered].bytes.at(plan.cut.m);
         });
}

Status checkOverlaps(const Problem &problem, const Plan &plan, std::vector<Tenant> tenants,
                     const std::vector<int> &storage) {
  std::erase_if(tenants, [](const Tenant &tenant) { return tenant.bytes == 0 || tenant.last < 0; });
  std::sort(tenants.begin(), tenants.end(), [](const Tenant &a, const Tenant &b) {
    return std::pair(a.first, a.buffer) < std::pair(b.first, b.buffer);
  });
  std::multimap<int64_t, const Tenant *> alive;                              // by offset
  std::multimap<int, std::multimap<int64_t, const Tenant *>::iterator> ends; // by last command
  for (const Tenant &tenant : tenants) {
    if (tenant.offset < 0 || tenant.offset % plan.alignment != 0 || tenant.bytes > plan.scratch ||
        tenant.offset > plan.scratch - tenant.bytes)
      return invalid(fmt::format("slot {} ({} bytes at {}) is misaligned or outside the scratch of {} bytes",
                                 nameOf(problem, tenant), tenant.bytes, tenant.offset, plan.scratch));
    for (; !ends.empty() && ends.begin()->first < tenant.first; ends.erase(ends.begin()))
      alive.erase(ends.begin()->second);
    auto at = alive.lower_bound(tenant.offset);
    if (at != alive.begin())
      at = alive.lower_bound(std::prev(at)->first); // what is below may reach up to here
    for (; at != alive.end() && at->first < tenant.offset + tenant.bytes; ++at)
      if (at->first + at->second->bytes > tenant.offset &&
          !mayTakePlace(problem, plan, storage, *at->second, tenant))
        return invalid(fmt::format("slots {} and {} overlap while both are alive",
                                   nameOf(problem, *at->second), nameOf(problem, tenant)));
    ends.emplace(tenant.last, alive.emplace(tenant.offset, &tenant));
  }
  return {};
}

} // namespace

Status verify(const Problem &asked, const Plan &plan) {
  if (Status status = checkCut(plan); !status)
    return status;
  Result<Problem> played = replay(asked, plan);
  if (!played)
    return played.error();
  const Problem &problem = *played;
  if (Status status = checkMemory(problem, plan); !status)
    return status;
  Slots slots(plan);
  if (!slots.areUnique())
    return invalid("a slot is given twice");
  std::vector<Tenant> tenants(problem.buffers.size());
  std::vector<int> storage(problem.buffers.size());
  if (Status status = collectBuffers(problem, plan, slots, tenants, storage); !status)
    return status;
  if (Status status = collectWorkspaces(problem, plan, slots, tenants); !status)
    return status;
  return checkOverlaps(problem, plan, std::move(tenants), storage);
}

} // namespace accum::planner
