// SPDX-License-Identifier: Apache-2.0
// What a run leaves behind.
#include "tools/accum-run/OptionText.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

void addOutput(CLI::App &app, Options &options) {
  app.add_option("--save", options.save,
                 "trained weights (default MODEL.trained.safetensors beside the artifact); FILE.onnx: the "
                 "model file with them in it")
      ->check(notEmpty);
  app.add_option("--names", options.names, "names and layouts in saved files: onnx (default) or framework")
      ->check(CLI::IsMember({"onnx", "framework"}));
  app.add_option("--export-dtype", options.exportDtype, "of --save FILE.safetensors: f16 or bf16")
      ->check(CLI::IsMember({"f16", "bf16"}));
  app.add_option("--model", options.model,
                 "of --save FILE.onnx: the model file, where it is not where it was compiled")
      ->check(notEmpty)
      ->type_name("FILE");
  app.add_option("--dump-gradients", options.dumpGradients, "gradients of the last step")
      ->check(notEmpty)
      ->type_name("FILE");
  app.add_option("--print-param", options.printParam, "first values of a parameter after every micro-step")
      ->type_name("NAME[:COUNT]");
  app.add_option("--log", options.log, "one JSON line per step; - is stdout")
      ->check(notEmpty)
      ->type_name("FILE");
  app.add_option("--tensorboard", options.tensorboard,
                 "folder of event files: loss, norm, learning rate, speed, memory, evaluations")
      ->check(notEmpty)
      ->type_name("DIR");
  app.add_option("--report", options.report,
                 "a page of curves: loss, norm, learning rate, speed, memory; also every two minutes")
      ->check(notEmpty)
      ->type_name("FILE.html");
  app.add_option(
         "--profile", options.profile,
         "when each call began and how long it took, for Perfetto; on GPUs with ACCUM_CUDA_STEPWISE=1")
      ->type_name("FILE.json");
}

} // namespace accum::run
