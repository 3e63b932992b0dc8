// SPDX-License-Identifier: Apache-2.0
// What a run leaves behind.
#include "tools/accum-run/OptionText.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

void addOutput(CLI::App &app, Options &options) {
  app.add_option("--save", options.save,
                 "trained weights (default MODEL.trained.safetensors beside the artifact); FILE.onnx: the "
                 "model file with trained weights")
      ->check(notEmpty);
  app.add_option("--names", options.names, "names and layouts in saved files: onnx (default) or framework")
      ->check(CLI::IsMember({"onnx", "framework"}));
  app.add_option("--export-dtype", options.exportDtype,
                 "type of the weights in --save FILE.safetensors: f16 or bf16")
      ->check(CLI::IsMember({"f16", "bf16"}));
  app.add_option("--model", options.model,
                 "for --save FILE.onnx: the model file, if it was moved since it was compiled")
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
  app.add_option(
         "--report", options.report,
         "a page with curves of loss, norm, learning rate, speed and memory; rewritten every two minutes")
      ->check(notEmpty)
      ->type_name("FILE.html");
  app.add_option("--profile", options.profile,
                 "start and duration of each call, for Perfetto; on GPUs with ACCUM_CUDA_STEPWISE=1")
      ->type_name("FILE.json");
}

} // namespace accum::run
