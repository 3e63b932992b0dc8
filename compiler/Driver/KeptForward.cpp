// SPDX-License-Identifier: Apache-2.0
#include "compiler/Driver/KeptForward.h"
#include "compiler/Driver/Compilation.h"
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace accum::driver {

/// Of the predicted time; what is nearer is a tie for the planner too.
static constexpr double kClearlyFaster = 0.99;

bool mayKeepForward(const Options &options) {
  return options.splitBatch && !options.isOneOfSizes && options.prefer != "memory" && !options.checkOnly &&
         options.toPhase.empty();
}

namespace {

/// Holds back what a compilation says until it is the one that counts.
class HeldOutput : public Output {
public:
  explicit HeldOutput(Output &to) : to(to) {}

  void message(const Message &message) override {
    say([this, message] { to.message(message); });
  }
  void text(const std::string &lines) override {
    say([this, lines] { to.text(lines); });
  }
  void json(const std::string &object) override {
    say([this, object] { to.json(object); });
  }
  void release() {
    for (const std::function<void()> &each : std::exchange(held, {}))
      each();
    isOpen = true;
  }

private:
  void say(std::function<void()> what) {
    if (isOpen)
      what();
    else
      held.push_back(std::move(what));
  }

  Output &to;
  bool isOpen = false;
  std::vector<std::function<void()>> held;
};

/// One of the forms, up to its plan, and then to its end.
class Attempt {
public:
  Attempt(const Options &given, bool keepForward)
      : held(*given.sink), asked(given), tried(asIs(given, held, keepForward)), workspace(tried),
        compilation(tried, workspace) {
    asked.keepForward = keepForward;
  }

  bool plan() { return compilation.reachesPlan() && compilation.search().plan.has_value(); }
  const planner::Search &search() const { return compilation.search(); }
  int finish(int (*compileOne)(const Options &)) {
    if (writesOnTheWay(asked))
      return compileOne(asked);
    held.release();
    return compilation.finish();
  }

private:
  static bool writesOnTheWay(const Options &options) {
    return !options.dumpPhases.empty() || !options.report.empty();
  }
  static Options asIs(const Options &given, HeldOutput &held, bool keepForward) {
    Options options = given;
    options.keepForward = keepForward;
    options.sink = &held;
    options.dumpPhases.clear();
    options.report.clear();
    return options;
  }

  HeldOutput held;
  Options asked, tried;
  Workspace workspace;
  Compilation compilation;
};

} // namespace

/// Whether no other plan can be faster: no size would be if there were more memory, and nothing runs twice
/// but what is recomputed.
static bool isFastest(const planner::Search &kept) {
  double seconds = kept.plan->seconds();
  return kept.plan->cut.steps == 1 &&
         std::ranges::all_of(kept.candidates, [&](const planner::Candidate &each) {
           return each.seconds <= 0 || kClearlyFaster * seconds <= each.seconds;
         });
}

int compileKeptOrNot(const Options &options, int (*compileOne)(const Options &)) {
  Attempt kept(options, /*keepForward=*/true);
  if (!kept.plan())
    return compileOne(options);
  // A plan that was given is of one form.
  if (!options.planFile.empty() || isFastest(kept.search()))
    return kept.finish(compileOne);
  Attempt twice(options, /*keepForward=*/false);
  double least = options.prefer == "speed" ? 1 : kClearlyFaster;
  bool isFaster = !twice.plan() || kept.search().plan->seconds() < least * twice.search().plan->seconds();
  return (isFaster ? kept : twice).finish(compileOne);
}

} // namespace accum::driver
