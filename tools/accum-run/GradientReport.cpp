// SPDX-License-Identifier: Apache-2.0
// A line or two for each kind of direction.
#include "tools/accum-run/GradientReport.h"
#include <algorithm>
#include <cstdio>

namespace accum::run {
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

void printNames(const char *what, const std::vector<std::string> &names) {
  if (!names.empty())
    std::printf("           %zu %s: %s\n", names.size(), what, joined(names).c_str());
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

void GradientReport::print(const std::array<Limits, 2> &limits) const {
  for (Along along : {Along::Gradient, Along::Signs}) {
    const AlongReport &report = reports[size_t(along)];
    std::printf("         %s: %lld agree to %.0e",
                along == Along::Gradient ? "along the gradient" : "along random signs",
                (long long)report.fine, limits[size_t(along)].tolerance);
    if (report.fine > 0)
      std::printf(", worst %.1e %s", report.worst.error, report.worst.name.c_str());
    std::printf("\n");
    if (report.coarse > 0)
      std::printf("           %lld agree as far as rounding shows, worst %.1e %s\n", (long long)report.coarse,
                  report.worstCoarse.error, report.worstCoarse.name.c_str());
    printNames("too small to tell from rounding", report.tooSmall);
    printNames("at a kink or a jump of the loss, or beside its end", report.kinked);
    printNames("that the model holds back in part, or chooses by (detach, rounding, top-k)", report.heldBack);
  }
}

} // namespace accum::run
