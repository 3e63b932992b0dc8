// SPDX-License-Identifier: Apache-2.0
// step 120/19073 | 126M tok | loss 4.8213 | norm 1.42 | lr 3.60e-04 | 503 ms | 2.08M tok/s | 53.8 GiB | eta
// 2h38m
#include "tools/accum-run/records/ProgressLine.h"
#include "base/FormatBytes.h"
#include "runtime/system/Clock.h"
#include "runtime/system/Memory.h"
#include "tools/accum-run/records/Quantity.h"
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace accum::run {
ProgressLine::ProgressLine(const Options &options, uint64_t from, uint64_t total)
    : options(options), isTerminal(isatty(STDERR_FILENO) != 0), from(from), total(total),
      started(runtime::now()), shown(started), checkpoint(started) {}

bool ProgressLine::isDue(uint64_t step) {
  double now = runtime::now();
  bool isLate = options.progressEvery.seconds > 0 && now - shown >= options.progressEvery.seconds;
  bool isCounted = options.progressEvery.steps > 0 && step % options.progressEvery.steps == 0;
  if (!isTerminal && !isLate && !isCounted)
    return false;
  shown = now;
  return true;
}

/// " | checkpoint in 380", steps or time; empty where none is to come but the last.
std::string ProgressLine::toCheckpoint(uint64_t step) {
  if (options.checkpointEvery.steps > 0) {
    uint64_t left = options.checkpointEvery.steps - step % options.checkpointEvery.steps;
    return step + left < total ? fmt::format(" | checkpoint in {}", left) : "";
  }
  if (options.checkpointEvery.seconds <= 0)
    return "";
  double now = runtime::now();
  if (now - checkpoint >= options.checkpointEvery.seconds)
    checkpoint = now; // behind this step
  return " | checkpoint in " + duration(options.checkpointEvery.seconds - (now - checkpoint));
}

void ProgressLine::step(uint64_t step, const accum_info &info, const accum_step_result &result) {
  tokens += result.targets;
  std::string next = toCheckpoint(step);
  if (!isDue(step))
    return;
  std::string line = fmt::format("step {}/{}", step, total);
  if (tokens)
    line += fmt::format(" | {} tok", withPrefix(double(tokens)));
  line += fmt::format(" | loss {:.4f}", result.loss);
  if (!std::isnan(result.gradient_norm))
    line += fmt::format(" | norm {:.3g}", result.gradient_norm);
  line += fmt::format(" | lr {:.2e} | {:.3g} ms", info.lr, result.seconds * 1e3);
  double rate = double(result.targets ? result.targets : result.samples) / result.seconds;
  line += fmt::format(" | {} {}/s | {}", withPrefix(rate), result.targets ? "tok" : "samples",
                      formatBytes(info.peak_bytes));
  double each = (runtime::now() - started) / double(step - from);
  line += next + " | eta " + duration(each * double(total - step));
  std::fprintf(stderr, isTerminal ? "\r\033[K%s" : "%s\n", line.c_str());
  std::fflush(stderr);
  open = isTerminal;
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
