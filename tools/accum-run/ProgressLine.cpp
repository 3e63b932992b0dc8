// SPDX-License-Identifier: Apache-2.0
// step 120/19073 | 126M tok | loss 4.8213 | norm 1.42 | lr 3.60e-04 | 503 ms | 2.08M tok/s | 53.8 GiB | eta
// 2h38m
#include "tools/accum-run/ProgressLine.h"
#include "runtime/system/Memory.h"
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace accum::run {
namespace {

std::string withPrefix(double value) {
  constexpr const char *kPrefixes[] = {"", "k", "M", "G", "T"};
  int prefix = 0;
  for (; value >= 1000 && prefix < 4; ++prefix)
    value /= 1000;
  return fmt::format("{:.3g}{}", value, kPrefixes[prefix]);
}

std::string duration(double seconds) {
  auto whole = int64_t(seconds);
  if (whole < 60)
    return fmt::format("{}s", whole);
  if (whole < 3600)
    return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

} // namespace

ProgressLine::ProgressLine(uint64_t steps) : active(isatty(STDERR_FILENO) != 0), steps(steps) {}

void ProgressLine::step(uint64_t step, const accum_info &info, const accum_step_result &result) {
  tokens += result.targets;
  seconds += result.seconds;
  if (!active)
    return;
  std::string line = fmt::format("step {}/{}", step, steps);
  if (tokens)
    line += fmt::format(" | {} tok", withPrefix(double(tokens)));
  line += fmt::format(" | loss {:.4f}", result.loss);
  if (!std::isnan(result.gradient_norm))
    line += fmt::format(" | norm {:.3g}", result.gradient_norm);
  line += fmt::format(" | lr {:.2e} | {:.3g} ms", info.lr, result.seconds * 1e3);
  double rate = double(result.targets ? result.targets : result.samples) / result.seconds;
  line += fmt::format(" | {} {}/s | {}", withPrefix(rate), result.targets ? "tok" : "samples",
                      runtime::formatBytes(info.peak_bytes));
  line += " | eta " + duration(seconds / double(step) * double(steps - step));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  open = true;
}

void ProgressLine::interrupt() {
  if (open)
    std::fputc('\n', stderr);
  open = false;
}

int ProgressLine::finish() {
  interrupt();
  return 0;
}

} // namespace accum::run
