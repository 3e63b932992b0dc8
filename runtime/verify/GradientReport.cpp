// SPDX-License-Identifier: Apache-2.0
// A line or two for each kind of direction.
#include "runtime/verify/GradientReport.h"
#include <algorithm>

namespace accum::runtime::verify {
namespace {

constexpr size_t kNamed = 3;
/// Deviations by which rounding may shift an error that counts as fine.
constexpr double kSigmas = 5;

std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < std::min(kNamed, names.size()); ++i)
    text += (i ? ", " : "") + names[i];
  return text + (names.size() > kNamed ? ", ..." : "");
}

void sayNames(const Trial &trial, const char *what, const std::vector<std::string> &names) {
  if (!names.empty())
    trial.say("           {} {}: {}", names.size(), what, joined(names));
}

} // namespace

void AlongReport::Worst::take(double other, const std::string &tensor) {
  if (name.empty() || other > error) {
    error = other;
    name = tensor;
  }
}

void GradientReport::add(Along along, size_t tensor, const std::string &name, const Slope &slope,
                         const Limits &limits, bool heldBack) {
  AlongReport &report = reports[size_t(along)];
  bool isFine = slope.error <= limits.tolerance && kSigmas * slope.scatter <= limits.tolerance;
  switch (slope.verdict) {
  case SlopeVerdict::Agrees:
    (isFine ? report.fine : report.coarse)++;
    return (isFine ? report.worst : report.worstCoarse).take(slope.error, name);
  case SlopeVerdict::Kinked:
    return report.kinked.push_back(name);
  case SlopeVerdict::TooSmall:
    return report.tooSmall.push_back(name);
  case SlopeVerdict::Wrong:
    break;
  }
  if (heldBack)
    report.heldBack.push_back(name);
  else if (wrongOnes.empty() || wrongOnes.back().tensor != tensor)
    wrongOnes.push_back({slope.error, name, tensor});
}

void GradientReport::say(const Trial &trial, const std::array<Limits, 2> &limits) const {
  for (Along along : {Along::Gradient, Along::Signs}) {
    const AlongReport &report = reports[size_t(along)];
    const char *how = along == Along::Gradient ? "along the gradient" : "along random signs";
    auto [tolerance, coarse] = limits[size_t(along)];
    std::string worst =
        report.fine > 0 ? fmt::format(", worst {:.1e} {}", report.worst.error, report.worst.name) : "";
    trial.say("         {}: {} agree to {:.0e}{}", how, report.fine, tolerance, worst);
    if (report.fine > 0)
      trial.note(fmt::format("{} {}", how, report.worst.name), report.worst.error, tolerance, true);
    if (report.coarse > 0) {
      trial.say("           {} agree as far as rounding shows, worst {:.1e} {}", report.coarse,
                report.worstCoarse.error, report.worstCoarse.name);
      trial.note(fmt::format("{} {}, as far as rounding shows", how, report.worstCoarse.name),
                 report.worstCoarse.error, coarse, true);
    }
    sayNames(trial, "too small to tell from rounding", report.tooSmall);
    sayNames(trial, "at a kink or a jump of the loss, or beside its end", report.kinked);
    sayNames(trial, "that the model holds back in part, or chooses by (detach, rounding, top-k)",
             report.heldBack);
  }
}

} // namespace accum::runtime::verify
