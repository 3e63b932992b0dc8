// SPDX-License-Identifier: Apache-2.0
// Which samples a run sees, and how many steps it takes.
#include "tools/accum-run/OptionText.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

void addData(CLI::App &app, Options &options) {
  app.add_option("--data", options.data,
                 ".safetensors, .npz or NAME=FILE.npy: one array per model input, samples "
                 "leading")
      ->type_name("PATH...");
  app.add_flag("--synthetic", options.synthetic, "random inputs from the artifact's signature");
  app.add_option("--steps", options.steps, "optimizer steps")->check(wholeNumber(0));
  app.add_option("--epochs", options.epochs, "passes over the data")->check(wholeNumber(0));
  app.add_flag("--shuffle,!--no-shuffle", options.shuffle, "another order in every epoch (default)");
  app.add_option("--seed", options.seed, "of the shuffle, of dropout and of synthetic data (default 0)")
      ->check(wholeNumber(0));
  app.add_flag("--drop-last", options.dropLast, "leave out the last incomplete window of an epoch");
}

} // namespace accum::run
