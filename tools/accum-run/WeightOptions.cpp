// SPDX-License-Identifier: Apache-2.0
// Weights that a run starts from.
#include "tools/accum-run/OptionText.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

void addWeights(CLI::App &app, Options &options) {
  CLI::Option *init = app.add_option("--init", options.init,
                                     "weights instead of the artifact's: FILE.safetensors, an index of "
                                     "several, or their folder; names of the model file or the framework")
                          ->check(notEmpty)
                          ->type_name("FILE");
  app.add_flag("--init-partial", options.initPartial,
               "take the tensors of --init that fit, and name the others")
      ->needs(init);
  app.add_option("--init-names", options.initNames,
                 "layouts in --init, if its shapes leave this open: onnx or framework")
      ->check(CLI::IsMember({"onnx", "framework"}))
      ->needs(init);
  CLI::Option *random = app.add_option("--random-params", options.randomParams,
                                       "random weights from this seed instead of the file's")
                            ->check(wholeNumber(0));
  init->excludes(random);
}

} // namespace accum::run
