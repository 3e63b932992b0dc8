// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters, the schedule of the learning rate, and what ends a run early.
#include "tools/accum-run/OptionText.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

void addOptimizer(CLI::App &app, Options &options) {
  runtime::HyperOptions &hyper = options.hyper;
  app.add_option("--lr", hyper.lr, "learning rate (default " + runtime::presetsOfRate() + ")")->check(number);
  app.add_option("--lr-scale", options.rateRules,
                 "factor of the learning rate for parameters that match; the first matching pattern wins")
      ->check([](const std::string &text) {
        return runtime::rateRuleIn(text) ? "" : "`" + text + "` is not a pattern, = and a number from 0 on";
      })
      ->type_name("GLOB=X")
      ->allow_extra_args(false);
  app.add_option("--weight-decay", hyper.weightDecay, "default 0")->check(number);
  app.add_option("--decay", hyper.decay,
                 "what decays: matrices (default), all, or globs over parameter names, each with its --decay")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  std::pair<runtime::HyperName, std::optional<double> *> own[] = {
      {runtime::HyperName::Beta1, &hyper.beta1},
      {runtime::HyperName::Beta2, &hyper.beta2},
      {runtime::HyperName::Eps, &hyper.eps},
      {runtime::HyperName::Momentum, &hyper.momentum}};
  for (auto [name, value] : own)
    app.add_option(runtime::flagOf(name), *value, "default by optimizer: " + runtime::presetsOf(name))
        ->check(number);
  app.add_option("--clip-norm", hyper.clipNorm, "the global norm of the gradients is at most this")
      ->check(number);
  app.add_option("--skip-spikes", hyper.skipSpikes,
                 "skip a step whose loss or gradient norm is more than this many standard deviations above "
                 "the mean of the last 128")
      ->check(number);
}

void addSchedule(CLI::App &app, Options &options) {
  runtime::ScheduleOptions &schedule = options.schedule;
  app.add_option("--schedule", schedule.kind,
                 "learning rate by optimizer step: " + runtime::scheduleChoices() + " (default constant)");
  app.add_option("--warmup", schedule.warmup, "warm-up steps, or a percentage of the run")->type_name("N|P%");
  app.add_option("--lr-floor", schedule.floor, "final learning rate of the schedule, or a percentage of --lr")
      ->type_name("X|P%");
  app.add_option("--decay-steps", schedule.decaySteps, "length of the final decay of wsd (default 10%)")
      ->type_name("N|P%");
}

void addEnds(CLI::App &app, Options &options) {
  app.add_option_function<std::string>(
         "--max-time", [&](const std::string &text) { options.maxSeconds = secondsIn(text).value_or(0); },
         "stop after the step in which this time is over, as on a signal (exit 5)")
      ->check([](const std::string &text) {
        return secondsIn(text) ? "" : "`" + text + "` is not a time like 11h30m, 90m or 45s";
      })
      ->type_name("TIME");
  app.add_option("--stop-at-loss", options.stopAtLoss,
                 "stop after the first step whose loss is at most this (exit 5)")
      ->check(number);
}

} // namespace accum::run
