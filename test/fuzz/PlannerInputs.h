// SPDX-License-Identifier: Apache-2.0
// Bytes -> the planner's four kinds of file: what the fuzzers and the seeded test both run.
#pragma once
#include "compiler/Planner/Problem/ProblemText.h"
#include "compiler/Planner/Search/ReusedPlan.h"
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Planner/Time/DeviceProfile.h"
#include "compiler/Planner/Verify/Verify.h"
#include "tools/accum-plan/RectangleTable.h"
#include <cstdio>
#include <cstdlib>
#include <string>

namespace accum::planner::test {

/// Inputs larger than this are read, but not planned: a fuzzer's time goes to many small ones.
constexpr size_t kMostPlanned = 400;

/// Ends the process with what went wrong and the input that did it.
[[noreturn]] inline void wrong(const std::string &what, std::string_view text) {
  std::fprintf(stderr, "%s\n%.*s\n", what.c_str(), static_cast<int>(text.size()), text.data());
  std::abort();
}

/// An error is one of the kind of file, and says something.
inline bool refused(const Error &error, const char *slug, std::string_view text) {
  if (error.slug != slug || error.message.empty())
    wrong("refused: " + error.message + " [" + error.slug + "]", text);
  return false;
}

/// A plan of whatever is a problem verifies, and survives being written and read. True when it was a problem.
inline bool planProblemBytes(std::string_view text) {
  static const DeviceProfile profile = *loadProfile("h100");
  Result<Problem> problem = parseProblem(text, "input");
  if (!problem)
    return refused(problem.error(), "malformed-problem", text);
  if (problem->commands.size() + problem->buffers.size() > kMostPlanned)
    return true;
  Options options{.batch = 6, .devices = 2, .budget = int64_t{1} << 30, .shard = "auto"};
  options.offload = text.size() % 2 == 0 ? "none" : "auto";
  Result<Search> search = solve(*problem, profile, options);
  if (!search)
    return refused(search.error(), "malformed-problem", text);
  if (!search->plan)
    return true;
  if (Status status = verify(*problem, *search->plan); !status)
    wrong(status.error().message, text);
  Result<Plan> again = parsePlan(toJson(*search->plan), "again");
  if (!again || !verify(*problem, *again))
    wrong(again ? "another plan is read than was written" : again.error().message, text);
  return true;
}

/// The checker accepts what is packed. True when it was a table.
inline bool packTableBytes(std::string_view text) {
  Result<RectangleTable> table = parseRectangles(text, "input");
  if (!table)
    return refused(table.error(), "malformed-csv", text);
  if (table->rows.size() > kMostPlanned)
    return true;
  Packing packing = pack(*table, {.visits = 100'000});
  if (!verify(*table, packing.offsets, packing.height) || packing.height < packing.lowerBound)
    wrong("not packed right", text);
  return true;
}

/// True when it was a profile.
inline bool readProfileBytes(std::string_view text) {
  Result<DeviceProfile> profile = parseProfile(text, "input", HostFacts());
  return profile ? true : refused(profile.error(), "malformed-profile", text);
}

/// A plan is used for `problem` only where the checker accepts it. True when it was used.
inline bool reusePlanBytes(std::string_view text, const Problem &problem) {
  static const DeviceProfile profile = *loadProfile("h100");
  Result<Plan> plan = parsePlan(text, "input");
  if (!plan)
    return refused(plan.error(), "malformed-plan", text);
  (void)verify(problem, *plan); // also of what is not used, such as plans that move activations
  Options options{.batch = plan->batch, .devices = plan->devices, .budget = int64_t{1} << 30};
  Result<Search> search = reusePlan(problem, profile, options, *plan);
  if (search && !verify(problem, *search->plan))
    wrong("a plan is used that does not verify", text);
  return static_cast<bool>(search);
}

} // namespace accum::planner::test
