// SPDX-License-Identifier: Apache-2.0
// Where a run is kept, and where it goes on.
#include "tools/accum-run/OptionText.h"
#include "tools/accum-run/Options.h"
#include <algorithm>
#include <cctype>

namespace accum::run {
namespace {

/// `500` steps, or `10min`.
std::string readInterval(const std::string &text, Options &options) {
  options.checkpointSteps = 0;
  options.checkpointSeconds = 0;
  if (text.ends_with("min"))
    options.checkpointSeconds = secondsIn(text.substr(0, text.size() - 2)).value_or(0);
  else if (!text.empty() && text.size() < 19 && std::all_of(text.begin(), text.end(), isdigit))
    options.checkpointSteps = std::stoull(text);
  return options.checkpointSteps > 0 || options.checkpointSeconds > 0
             ? ""
             : "`" + text + "` is neither a number of steps nor a time like 10min";
}

} // namespace

void addCheckpoints(CLI::App &app, Options &options) {
  app.add_option("--checkpoint", options.checkpoint,
                 "folder of checkpoints: written at the end, on a signal, and as --checkpoint-every says")
      ->check(notEmpty)
      ->type_name("DIR");
  app.add_option("--checkpoint-every")
      ->each([](const std::string &) {})
      ->check([&](const std::string &text) { return readInterval(text, options); })
      ->description("steps, or minutes as in 10min")
      ->type_name("N|Nmin");
  app.add_option("--checkpoint-keep", options.checkpointKeep, "keep only the newest N (default: all)")
      ->check(wholeNumber(1));
  app.add_flag("--checkpoint-background", options.checkpointBackground,
               "write them in a thread, from a copy of the state, whose memory is printed");
  app.add_option("--resume", options.resume,
                 "a checkpoint, a folder of them, or auto: the newest of --checkpoint, if there is one")
      ->check(notEmpty)
      ->type_name("DIR|auto");
  app.add_flag("--resume-weights-only", options.resumeWeightsOnly,
               "take the weights of --resume and begin a new run");
}

} // namespace accum::run
