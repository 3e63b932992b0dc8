// SPDX-License-Identifier: Apache-2.0
// The part of accum_runtime.h that is about options of a run.
#include "runtime/session/CInterface.h"
#include <algorithm>
#include <bit>
#include <cstring>

using namespace accum::runtime;

namespace {

/// A NaN that nobody computes.
constexpr uint64_t kNotGiven = 0x7ff8'0000'0000'0acc;

constexpr std::pair<double accum_hyper_options::*, std::optional<double> HyperOptions::*> kNumbers[] = {
    {&accum_hyper_options::lr, &HyperOptions::lr},
    {&accum_hyper_options::weight_decay, &HyperOptions::weightDecay},
    {&accum_hyper_options::beta1, &HyperOptions::beta1},
    {&accum_hyper_options::beta2, &HyperOptions::beta2},
    {&accum_hyper_options::eps, &HyperOptions::eps},
    {&accum_hyper_options::momentum, &HyperOptions::momentum},
    {&accum_hyper_options::clip_norm, &HyperOptions::clipNorm},
    {&accum_hyper_options::skip_spikes, &HyperOptions::skipSpikes},
    {&accum_hyper_options::ema, &HyperOptions::ema}};

HyperOptions hyperOf(const accum_hyper_options &options) {
  accum_hyper_options known; // a caller of an older header has fewer
  accum_hyper_defaults(&known);
  std::memcpy(&known, &options, std::min<size_t>(options.size, sizeof known));
  HyperOptions hyper;
  for (auto [from, to] : kNumbers)
    if (std::bit_cast<uint64_t>(known.*from) != kNotGiven)
      hyper.*to = known.*from;
  if (known.decay && *known.decay)
    hyper.decay = {known.decay};
  for (const char *const *glob = known.decays; glob && *glob; ++glob)
    hyper.decay.emplace_back(*glob);
  for (const char *const *text = known.lr_scales; text && *text; ++text)
    hyper.lrScales.emplace_back(*text);
  return hyper;
}

ScheduleOptions scheduleOf(const accum_schedule_options &options) {
  auto text = [](const char *value, const char *otherwise) { return std::string(value ? value : otherwise); };
  return {text(options.kind, "constant"), text(options.warmup, ""), text(options.floor, ""),
          text(options.decay_steps, "")};
}

std::vector<Setting> settingsOf(const char *const *names, const char *const *texts, size_t count) {
  std::vector<Setting> settings;
  for (size_t i = 0; i < count; ++i)
    settings.push_back({names[i], texts[i] ? std::optional<std::string>(texts[i]) : std::nullopt});
  return settings;
}

/// What no session of this optimizer takes.
Status checkRun(const std::string &optimizer, const RunOptions &options) {
  const OptimizerSpec *spec = findOptimizer(optimizer);
  if (!spec)
    return usage("`" + optimizer + "` is no optimizer");
  if (Status status = Hyper::check(*spec, options); !status)
    return status;
  auto made = Schedule::make(options, options.steps.value_or(0), options.lr.value_or(spec->lr));
  return made ? Status() : made.error();
}

std::vector<accum_run_option> listOptions() {
  std::vector<accum_run_option> listed;
  for (const RunOption &row : runOptions())
    listed.push_back({sizeof(accum_run_option), row.owner != OptionOwner::Process, row.name, row.group,
                      row.help.c_str(), row.python});
  return listed;
}

} // namespace

extern "C" {

void accum_hyper_defaults(accum_hyper_options *options) {
  *options = {};
  options->size = sizeof *options;
  for (auto [number, unused] : kNumbers)
    options->*number = std::bit_cast<double>(kNotGiven);
}

int accum_set_hyper(accum_session *session, const accum_hyper_options *options) {
  return guarded([&] { return report(session->session->setHyper(hyperOf(*options))); });
}

int accum_schedule_ends(const char *kind) {
  const ScheduleRow *row = findSchedule(kind);
  return row && row->ends;
}

int accum_set_schedule(accum_session *session, const accum_schedule_options *options) {
  return guarded(
      [&] { return report(session->session->numbers.setSchedule(scheduleOf(*options), options->steps)); });
}

int accum_check_run(const char *optimizer, const accum_hyper_options *hyper,
                    const accum_schedule_options *schedule) {
  return guarded([&] {
    RunOptions options;
    static_cast<HyperOptions &>(options) = hyperOf(*hyper);
    static_cast<ScheduleOptions &>(options) = scheduleOf(*schedule);
    options.steps = schedule->steps;
    return report(checkRun(optimizer, options));
  });
}

const accum_run_option *accum_run_option_at(size_t index) {
  static const std::vector<accum_run_option> listed = listOptions();
  return index < listed.size() ? &listed[index] : nullptr;
}

int accum_set(accum_session *session, const char *const *names, const char *const *texts, size_t count) {
  return guarded([&] { return report(session->session->set(settingsOf(names, texts, count))); });
}

int accum_check_options(const char *optimizer, const char *const *names, const char *const *texts,
                        size_t count) {
  return guarded([&] {
    RunOptions options;
    Status status = takeSettings(settingsOf(names, texts, count), options);
    return report(status ? checkRun(optimizer, options) : status);
  });
}

} // extern "C"
