// SPDX-License-Identifier: Apache-2.0
// The decision: sizes, offsets, and the figures that justify it. plan.json is its only serialised form.
#pragma once
#include "compiler/Planner/Problem/Options.h"
#include "compiler/Planner/Problem/Result.h"
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace accum::planner {

/// What became of a candidate.
enum class Verdict : uint8_t { Chosen, DoesNotFit, Slower, MoreMemory, NotDivisible };

struct Candidate {
  Cut cut = {};
  int64_t scratch = 0;    ///< bytes; the lower bound where not `packed`
  int64_t lowerBound = 0; ///< bytes: the largest load at any command
  int64_t counted = 0;    ///< everything that comes out of the budget, with `scratch`
  int64_t arena = 0;      ///< state + scratch
  bool packed = false;
  int64_t recomputed = 0; ///< commands that run a second time in a micro-step
  std::string shard = "none", offload = "none", reduce = "once";
  double seconds = 0; ///< predicted, a whole step
  Verdict verdict = Verdict::Slower;
  int64_t over = 0;      ///< bytes over the budget, where it does not fit
  std::string note = {}; ///< why it is slower, in words
};

/// Bytes of memory in which a device has whole units of a sharded state: of parameters that were gathered,
/// and of gradients until they are scattered.
struct UnitRoom {
  int64_t gathered = 0, scattered = 0;
  bool operator==(const UnitRoom &) const = default;

  UnitRoom atLeast(const UnitRoom &other) const {
    return {std::max(gathered, other.gathered), std::max(scattered, other.scattered)};
  }
};

/// State and scratch are the arena. Context is memory that was gone before the budget was measured.
enum class MemoryClass : uint8_t { State, Scratch, Inputs, Library, Runtime, Context };

struct MemoryLine {
  MemoryClass kind = MemoryClass::State;
  std::string name = {};
  int64_t bytes = 0;
  bool operator==(const MemoryLine &) const = default;
};

struct TimeLine {
  std::string name = {};
  double seconds = 0;
  double hidden = 0; ///< seconds that run alongside earlier lines; not in `seconds`
};

struct Plan {
  std::string problem = {}; ///< Problem::name
  std::string target = {};  ///< DeviceProfile::name
  std::string basis = {};   ///< of the predicted times
  int64_t batch = 1, devices = 1;
  Cut cut = {};
  int64_t alignment = 1;
  int64_t state = 0;
  int64_t scratch = 0;
  int64_t lowerBound = 0; ///< no packing at this m has less scratch than this
  int64_t budget = 0;
  std::string shard = "none", offload = "none";
  std::string reduce = "once";         ///< gradients over the devices: `once` a step, or `each` micro-step
  UnitRoom room = {};                  ///< of the state: memory for whole units of it
  std::vector<int64_t> recompute = {}; ///< command ids
  std::vector<std::pair<int64_t, std::string>> variants = {}; ///< command id -> other than the default
  std::vector<std::pair<std::string, int64_t>> slots =
      {};                                 ///< buffer id (or `ID:w`) -> offset in scratch, by id
  std::vector<MemoryLine> memory = {};    ///< State lines sum to state, Scratch to scratch
  std::vector<TimeLine> time = {};        ///< sums to the predicted step
  std::vector<Candidate> candidates = {}; ///< largest m first; a size may stand more than once

  int64_t arena() const { return state + scratch; }
  int64_t counted() const; ///< all lines but Context: what the budget is compared with
  int64_t total() const;   ///< all lines
  double seconds() const;  ///< a whole step
};

/// plan.json: versioned, keys in a fixed order, the same bytes for the same plan.
std::string toJson(const Plan &plan);

/// Reads plan.json strictly; `origin` is the file's name in messages. Slug `malformed-plan`. That the plan is
/// right for a problem is `verify`'s to say.
Result<Plan> parsePlan(std::string_view json, const std::string &origin);

const char *toText(Verdict verdict); ///< `chosen`, `does-not-fit`, `slower`, `more-memory`, `not-divisible`
const char *toText(MemoryClass kind);

} // namespace accum::planner
