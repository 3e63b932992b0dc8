// SPDX-License-Identifier: Apache-2.0
// The compiler as a whole: from options to an exit code.
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/Compilation.h"
#include "compiler/Driver/CompiledLengths.h"
#include "compiler/Driver/Explore.h"
#include "compiler/Driver/KeptForward.h"
#include "compiler/Driver/SplitBatch.h"
#include "compiler/Driver/WholeBatch.h"

namespace accum::driver {

/// `--on-cross-batch disable`: the causes, where the graph relates samples and nothing else is wrong.
static std::vector<std::string> causesToAllow(const Options &options) {
  if (options.onCrossBatch != "disable" || options.wholeBatch || isDump(options.model))
    return {};
  Checked checked = checkOnce(checkAlone(options));
  return checked.relatesSamples ? checked.errors : std::vector<std::string>();
}

static int compileOne(const Options &options, planner::Search *search = nullptr) {
  Workspace workspace(options);
  Compilation compilation(options, workspace);
  int code = compilation.run();
  if (search)
    *search = compilation.search();
  return code;
}

static int compileAlone(const Options &options) { return compileOne(options); }

int compile(const Options &given) {
  if (given.listTargets) {
    given.sink->text(planner::describeProfiles());
    return 0;
  }
  if (given.lengths.any())
    return compileLengths(given);
  auto settled = given.onCrossBatch == "split" && !isDump(given.model) ? settleSplit(given, checkOnce)
                                                                       : std::optional(given);
  if (!settled)
    return 2;
  const Options &options = *settled;
  if (auto causes = causesToAllow(options); !causes.empty())
    return announceWholeBatch(options, causes) ? compileOne(wholeBatch(options)) : 2;
  if (!exploredRange(options.microBatchText))
    return mayKeepForward(options) ? compileKeptOrNot(options, compileAlone) : compileOne(options);
  return explore(options, compileOne);
}

} // namespace accum::driver
