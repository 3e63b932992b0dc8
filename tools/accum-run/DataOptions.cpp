// SPDX-License-Identifier: Apache-2.0
// Which samples a run sees, and how many steps it takes.
#include "tools/accum-run/OptionText.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

void addData(CLI::App &app, Options &options) {
  app.add_option(
         "--data", options.data,
         ".safetensors, .npz or NAME=FILE.npy: one array per model input, samples leading; or tokens: .bin "
         "(raw, llm.c's, or Megatron's with its .idx) or .npy of one axis; or a folder or a quoted pattern "
         "of shards of one of these")
      ->type_name("PATH...");
  app.add_option("--token-type", options.tokenType, "of a .bin without a header: u16 (default) or u32")
      ->check(CLI::IsMember({"u16", "u32"}));
  app.add_option("--document-separator", options.documentSeparator,
                 "the token that ends a document, or index for Megatron's: labels do not go beyond it, and "
                 "position_ids begin anew")
      ->type_name("ID|index");
  app.add_option(
         "--token-labels", options.tokenLabels,
         "labels made of tokens: same (the model shifts them) or next, where the artifact's loss does not "
         "say which")
      ->check(CLI::IsMember({"same", "next"}));
  app.add_flag("--synthetic", options.synthetic, "random inputs from the artifact's signature");
  app.add_option("--steps", options.steps, "optimizer steps")->check(wholeNumber(0));
  app.add_option("--epochs", options.epochs, "passes over the data")->check(wholeNumber(0));
  app.add_flag("--shuffle,!--no-shuffle", options.shuffle, "another order in every epoch (default)");
  app.add_option("--seed", options.seed, "of the shuffle, of dropout and of synthetic data (default 0)")
      ->check(wholeNumber(0));
  app.add_flag("--drop-last", options.dropLast, "leave out the last incomplete window of an epoch");
}

} // namespace accum::run
