// SPDX-License-Identifier: Apache-2.0
// Data that is not trained on, and when its loss is taken.
#include "tools/accum-run/OptionText.h"
#include "tools/accum-run/Options.h"
#include <set>

namespace accum::run {

void addEvaluation(CLI::App &app, Options &options) {
  app.add_option(
         "--eval", options.evalData,
         "files as in --data; their loss, without dropout, after the last step and as --eval-every says")
      ->type_name("PATH...");
  app.add_option("--val-split", options.valSplit,
                 "instead of --eval: exclude the last P% of --data (or a number of samples) from training, "
                 "and evaluate them")
      ->type_name("P%");
  app.add_option("--eval-every", options.evalEvery, "evaluate every N steps")->check(wholeNumber(1));
  app.add_option("--best", options.best, "keep the weights of the lowest evaluation loss here")
      ->check(notEmpty)
      ->type_name("FILE");
  app.add_option("--eval-micro-batch")->group("")->check([](const std::string &) {
    return "--eval-micro-batch: evaluation has the micro-batch of training: leave it out";
  });
  app.add_flag("--eval-only", options.evalOnly,
               "evaluate the weights of the artifact or of --resume; trains nothing");
}

/// Nothing that is asked for is passed over.
static runtime::Status checkEvalOnly(const CLI::App &app) {
  const std::set<std::string> taken = {"artifact",
                                       "--eval",
                                       "--eval-only",
                                       "--data",
                                       "--val-split",
                                       "--resume",
                                       "--init",
                                       "--init-partial",
                                       "--init-names",
                                       "--log",
                                       "--seed",
                                       "--random-params",
                                       "--checkpoint",
                                       "--target",
                                       "--threads",
                                       "--launcher",
                                       "--progress",
                                       "--token-type",
                                       "--document-separator",
                                       "--token-labels",
                                       "--truncate",
                                       "--devices"};
  for (const CLI::Option *option : app.get_options())
    if (option->count() > 0 && !taken.contains(option->get_name()))
      return usage("--eval-only trains nothing and saves nothing: leave " + option->get_name() + " out");
  return {};
}

runtime::Status checkEvaluation(const CLI::App &app, const Options &options) {
  if (options.evalEvery > 0 && options.evalData.empty() && options.valSplit.empty())
    return usage("--eval-every needs --eval PATH");
  if (!options.best.empty() && options.evalData.empty() && options.valSplit.empty())
    return usage("--best needs --eval PATH: the lowest loss is that of an evaluation");
  if (!options.evalData.empty() && !options.valSplit.empty())
    return usage("--eval and --val-split exclude each other");
  if (!options.valSplit.empty() && options.data.empty())
    return usage("--val-split needs --data");
  if (options.evalOnly && options.evalData.empty() && options.valSplit.empty())
    return usage("--eval-only needs --eval PATH, or --data PATH and --val-split");
  if (options.evalOnly && !options.data.empty() && options.valSplit.empty())
    return usage("--eval-only trains nothing and saves nothing: leave --data out, or say --val-split");
  return options.evalOnly ? checkEvalOnly(app) : runtime::Status();
}

} // namespace accum::run
