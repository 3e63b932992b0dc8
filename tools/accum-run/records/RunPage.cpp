// SPDX-License-Identifier: Apache-2.0
// Tiles, charts, the plan.
#include "tools/accum-run/records/RunPage.h"
#include "base/FormatBytes.h"
#include "runtime/system/Memory.h"
#include "tools/accum-run/records/PageAssets.h"
#include "tools/accum-run/records/Quantity.h"
#include "tools/accum-run/records/RunChart.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace accum::run {
namespace {

std::string tile(const std::string &name, const std::string &figure, const std::string &below) {
  return fmt::format("<div class='tile'><span>{}</span><b>{}</b><small>{}</small></div>\n", name, figure,
                     below);
}

std::string brief(double seconds) {
  return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

std::string header(const RunStory &story) {
  std::string text =
      fmt::format("<header><h1>{}</h1>\n<p>{}; global batch {}, micro-batch {}, {} device{}</p>\n",
                  escaped(story.artifact), story.info.optimizer ? story.info.optimizer : "", story.info.batch,
                  story.info.m, story.info.devices, story.info.devices == 1 ? "" : "s");
  text += "<div class='tiles'>\n";
  text += tile("steps", fmt::format("{}", story.from + story.steps),
               story.total == UINT64_MAX ? "" : fmt::format("of {}", story.total));
  if (story.steps > 0)
    text += tile("loss", fmt::format("{:.5g}", story.lastLoss), fmt::format("from {:.5g}", story.firstLoss));
  if (story.best)
    text += tile("best evaluation", fmt::format("{:.5g}", story.best->loss),
                 fmt::format("at step {}", story.best->step));
  if (story.stepSeconds > 0)
    text += tile(story.targets ? "tokens per second" : "samples per second",
                 withPrefix(double(story.targets ? story.targets : story.samples) / story.stepSeconds),
                 fmt::format("{:.2g} % of it waiting for data", 100 * story.waitSeconds / story.stepSeconds));
  if (story.steps > 0 && story.plannedSeconds > 0)
    text += tile("step", brief(story.stepSeconds / double(story.steps)),
                 "planned " + brief(story.plannedSeconds));
  text += tile("memory", formatBytes(story.info.peak_bytes), "planned " + formatBytes(story.plannedBytes));
  text += tile("time", duration(story.seconds), "by the clock");
  return text + "</div></header>\n";
}

std::string section(const std::string &name, const std::string &body) {
  return body.empty() ? "" : "<section><h2>" + name + "</h2>\n" + body + "</section>\n";
}

std::string plain(double value) { return fmt::format("{:.5g}", value); }

std::string part(double value) { return fmt::format("{:.3g} %", 100 * value); }

std::string bytes(double value) { return formatBytes(uint64_t(std::max(value, 0.0))); }

/// From zero on.
RunChart chartOf(const RunStory &story, const char *id, const char *title, const RunCurve &curve,
                 std::string (*label)(double)) {
  uint64_t to = std::max(story.from + story.steps, story.from + 1);
  return {.id = id,
          .title = title,
          .curve = curve,
          .from = story.from,
          .to = to,
          .fromZero = true,
          .label = label};
}

void inPercent(RunChart &chart) {
  chart.unit = 0.01;
  chart.suffix = " %";
}

std::string lossCharts(const RunStory &story) {
  bool isEvaluated = !story.evalLoss.empty();
  RunChart loss =
      chartOf(story, "loss", isEvaluated ? "training by steps, and evaluations as dots" : "training by steps",
              story.loss, plain);
  loss.dots = &story.evalLoss;
  RunChart accuracy = chartOf(story, "eval_accuracy", "accuracy of evaluations", story.evalAccuracy, part);
  loss.fromZero = accuracy.fromZero = false;
  inPercent(accuracy);
  return section("Loss", loss.draw() + accuracy.draw());
}

std::string stepCharts(const RunStory &story) {
  RunChart norm = chartOf(story, "norm", "gradient norm, before clipping", story.norm, plain);
  norm.isLogarithmic = true;
  norm.marks = &story.skips;
  std::string skipped;
  if (story.skipped + story.spikes > 0)
    skipped = fmt::format("<p>Left out, and marked above: {} steps as spikes, {} not finite.</p>\n",
                          story.spikes, story.skipped);
  return section("Gradients and learning rate",
                 norm.draw() + skipped + chartOf(story, "lr", "learning rate", story.rate, plain).draw());
}

std::string speedCharts(const RunStory &story) {
  const char *unit = story.targets ? "tokens per second" : "samples per second";
  RunChart wait = chartOf(story, "wait", "part of a step that waits for data", story.wait, part);
  inPercent(wait);
  return section("Speed", chartOf(story, "speed", unit, story.speed, withPrefix).draw() + wait.draw());
}

std::string memoryCharts(const RunStory &story) {
  RunChart memory =
      chartOf(story, "memory", "in use at most; the dashed line is the plan's total", story.memory, bytes);
  memory.limit = double(story.plannedBytes);
  bool isSmall = std::max(story.info.peak_bytes, story.plannedBytes) < 1 << 30;
  memory.unit = isSmall ? 1 << 20 : 1 << 30;
  memory.suffix = isSmall ? " MiB" : " GiB";
  return section("Memory", memory.draw());
}

/// As text at once: a tree of so many numbers takes several times the memory, which no plan counts.
void addPoints(const char *name, const RunCurve &curve, std::string &text) {
  constexpr size_t kMostOfAPoint = 64; // bytes
  text.reserve(text.size() + kMostOfAPoint * curve.points().size());
  text += fmt::format("{}\"{}\":[", text.ends_with('{') ? "" : ",", name);
  for (const RunCurve::Point &point : curve.points())
    fmt::format_to(std::back_inserter(text), "{}[{},{},{},{}]", text.ends_with('[') ? "" : ",", point.step,
                   point.least, point.mean(), point.greatest);
  text += "]";
}

/// `</script>` cannot be in it: the only text is that of the keys.
void addData(const RunStory &story, std::string &text) {
  text += fmt::format("<script type='application/json' id='run'>{{\"steps\":{},\"arena_bytes\":{},"
                      "\"planned_bytes\":{},\"peak_bytes\":{},\"curves\":{{",
                      story.steps, story.info.arena_bytes, story.plannedBytes, story.info.peak_bytes);
  for (const auto &[name, curve] : {std::pair("loss", &story.loss),
                                    {"norm", &story.norm},
                                    {"lr", &story.rate},
                                    {"speed", &story.speed},
                                    {"wait", &story.wait},
                                    {"memory", &story.memory},
                                    {"skips", &story.skips},
                                    {"eval_loss", &story.evalLoss},
                                    {"eval_accuracy", &story.evalAccuracy}})
    addPoints(name, *curve, text);
  text += "}}</script>\n";
}

} // namespace

std::string runPage(const RunStory &story) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'/>\n<meta name='viewport' "
      "content='width=device-width, initial-scale=1'/>\n<title>{}: the run</title>\n<style>\n{}</style>\n"
      "</head><body>\n",
      escaped(story.artifact), pageStyle());
  page += header(story) + lossCharts(story) + stepCharts(story) + speedCharts(story) + memoryCharts(story);
  page +=
      section("What was run", fmt::format("<pre>{}</pre>\n<details open><summary>the plan</summary><pre>{}"
                                          "</pre></details>\n",
                                          escaped(story.command), escaped(story.plan)));
  addData(story, page);
  page += fmt::format("<script>\n{}</script>\n</body></html>\n", pageScript());
  return page;
}

} // namespace accum::run
