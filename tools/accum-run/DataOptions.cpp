// SPDX-License-Identifier: Apache-2.0
// Which samples a run sees, and how many steps it takes.
#include "tools/accum-run/OptionText.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

void addData(CLI::App &app, Options &options) {
  app.add_option("--data", options.data,
                 ".safetensors, .npz or NAME=FILE.npy: one array per model input, samples on the first axis; "
                 "or tokens: .bin (raw, llm.c's, or Megatron's with its .idx) or one-dimensional .npy; or a "
                 "folder or a quoted pattern of such files")
      ->type_name("PATH...");
  app.add_option("--token-type", options.tokenType,
                 "token type of a .bin without a header: u16 (default) or u32")
      ->check(CLI::IsMember({"u16", "u32"}));
  app.add_option("--document-separator", options.documentSeparator,
                 "the token that ends a document, or index for Megatron's: labels do not cross it, and "
                 "position_ids restart")
      ->type_name("ID|index");
  app.add_option("--token-labels", options.tokenLabels,
                 "labels made from tokens: same (the model shifts them) or next, if the loss of the artifact "
                 "leaves this open")
      ->check(CLI::IsMember({"same", "next"}));
  app.add_flag("--truncate", options.truncate,
               "cut samples that are longer than the largest of several lengths (default: refused)");
  app.add_flag("--synthetic", options.synthetic, "random inputs from the artifact's signature");
  app.add_option("--steps", options.steps, "optimizer steps")->check(wholeNumber(0));
  app.add_option("--epochs", options.epochs, "passes over the data")->check(wholeNumber(0));
  app.add_flag("--shuffle,!--no-shuffle", options.shuffle, "a new order in every epoch (default)");
  app.add_option("--seed", options.seed, "seed of shuffle, dropout and synthetic data (default 0)")
      ->check(wholeNumber(0));
  app.add_flag("--drop-last", options.dropLast, "drop an incomplete last step of an epoch");
}

} // namespace accum::run
