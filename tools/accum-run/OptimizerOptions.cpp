// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters, the schedule of the learning rate, and what ends a run early.
#include "tools/accum-run/OptionText.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

void addOptimizer(CLI::App &app, Options &options) {
  runtime::HyperOptions &hyper = options.hyper;
  app.add_option("--lr", hyper.lr, "learning rate (default 0.001)")->check(number);
  app.add_option("--weight-decay", hyper.weightDecay, "default 0")->check(number);
  app.add_option("--decay", hyper.decay,
                 "what decays: matrices (default), all, or a glob over parameter names");
  app.add_option("--beta1", hyper.beta1, "adam, adamw: default 0.9")->check(number);
  app.add_option("--beta2", hyper.beta2, "adam, adamw: default 0.999")->check(number);
  app.add_option("--eps", hyper.eps, "adam, adamw: default 1e-8")->check(number);
  app.add_option("--momentum", hyper.momentum, "sgd-momentum: default 0.9")->check(number);
  app.add_option("--clip-norm", hyper.clipNorm, "the global norm of the gradients is at most this")
      ->check(number);
  app.add_option(
         "--skip-spikes", hyper.skipSpikes,
         "leave out a step whose loss or gradient norm is so many standard deviations above the last 128")
      ->check(number);
}

void addSchedule(CLI::App &app, Options &options) {
  runtime::ScheduleOptions &schedule = options.schedule;
  app.add_option(
      "--schedule", schedule.kind,
      "of the learning rate, by optimizer step: constant (default), linear, cosine, inverse-sqrt, wsd, "
      "or a file of lines `step,factor`");
  app.add_option("--warmup", schedule.warmup, "steps up to the full rate, or a percentage of the run")
      ->type_name("N|P%");
  app.add_option("--lr-floor", schedule.floor, "where the schedule ends: a rate, or a percentage of --lr")
      ->type_name("X|P%");
  app.add_option("--decay-steps", schedule.decaySteps, "of wsd: its last steps, which fall (default 10%)")
      ->type_name("N|P%");
}

void addEnds(CLI::App &app, Options &options) {
  app.add_option_function<std::string>(
         "--max-time", [&](const std::string &text) { options.maxSeconds = secondsIn(text).value_or(0); },
         "end behind the first step after so long, as at a signal (exit 5)")
      ->check([](const std::string &text) {
        return secondsIn(text) ? "" : "`" + text + "` is not a time like 11h30m, 90m or 45s";
      })
      ->type_name("TIME");
  app.add_option("--stop-at-loss", options.stopAtLoss,
                 "end behind the first step with such a loss or a lower one (exit 5)")
      ->check(number);
}

} // namespace accum::run
