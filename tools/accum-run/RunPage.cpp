// SPDX-License-Identifier: Apache-2.0
// Tiles, charts, the plan.
#include "tools/accum-run/RunPage.h"
#include "runtime/system/Memory.h"
#include "tools/accum-run/PageAssets.h"
#include "tools/accum-run/Quantity.h"
#include "tools/accum-run/RunChart.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace accum::run {
namespace {

using Json = nlohmann::ordered_json;

std::string tile(const std::string &name, const std::string &figure, const std::string &below) {
  return fmt::format("<div class='tile'><span>{}</span><b>{}</b><small>{}</small></div>\n", name, figure,
                     below);
}

std::string header(const RunStory &story) {
  std::string text =
      fmt::format("<header><h1>{}</h1>\n<p>{}; global batch {}, micro-batch {}, {} device{}</p>\n",
                  escaped(story.artifact), story.info.optimizer ? story.info.optimizer : "", story.info.batch,
                  story.info.m, story.info.devices, story.info.devices == 1 ? "" : "s");
  text += "<div class='tiles'>\n";
  text += tile("steps", fmt::format("{}", story.from + story.steps),
               story.total == UINT64_MAX ? "" : fmt::format("of {}", story.total));
  if (!story.loss.empty())
    text += tile("loss", fmt::format("{:.5g}", story.loss.points().back().mean()),
                 fmt::format("from {:.5g}", story.loss.points().front().mean()));
  if (story.best)
    text += tile("best evaluation", fmt::format("{:.5g}", story.best->loss),
                 fmt::format("at step {}", story.best->step));
  if (story.stepSeconds > 0)
    text += tile(story.targets ? "tokens per second" : "samples per second",
                 withPrefix(double(story.targets ? story.targets : story.samples) / story.stepSeconds),
                 fmt::format("{:.2g} % of it waiting for data", 100 * story.waitSeconds / story.stepSeconds));
  text += tile("memory", runtime::formatBytes(story.info.peak_bytes),
               "planned " + runtime::formatBytes(story.info.arena_bytes));
  text += tile("time", duration(story.seconds), "so far");
  return text + "</div></header>\n";
}

std::string section(const std::string &name, const std::string &body) {
  return body.empty() ? "" : "<section><h2>" + name + "</h2>\n" + body + "</section>\n";
}

std::string plain(double value) { return fmt::format("{:.5g}", value); }

std::string charts(const RunStory &story) {
  uint64_t from = story.from, to = std::max(story.from + story.steps, from + 1);
  auto bytes = [](double value) { return runtime::formatBytes(uint64_t(std::max(value, 0.0))); };
  auto part = [](double value) { return fmt::format("{:.3g} %", 100 * value); };
  std::string skipped;
  if (story.skipped + story.spikes > 0)
    skipped =
        fmt::format("<p>{} steps left out as spikes, {} not finite: marked in the curve of the norm.</p>\n",
                    story.spikes, story.skipped);
  std::string loss =
      RunChart{.id = "loss",
               .title = story.evalLoss.empty() ? "training" : "training, and evaluations as dots",
               .curve = story.loss,
               .from = from,
               .to = to,
               .dots = &story.evalLoss,
               .label = plain}
          .draw();
  loss +=
      RunChart{
          "eval_accuracy", "accuracy of evaluations", story.evalAccuracy, from, to, {}, {}, {}, false, part}
          .draw();
  std::string step =
      RunChart{"norm", "gradient norm, before clipping", story.norm, from, to, {}, &story.skips, {}, true,
               plain}
          .draw() +
      skipped + RunChart{"lr", "learning rate", story.rate, from, to, {}, {}, {}, true, plain}.draw();
  const char *unit = story.targets ? "tokens per second" : "samples per second";
  std::string speed =
      RunChart{"speed", unit, story.speed, from, to, {}, {}, {}, true, withPrefix}.draw() +
      RunChart{"wait", "part of a step that waits for data", story.wait, from, to, {}, {}, {}, true, part}
          .draw();
  std::string memory = RunChart{"memory",     "in use at most; the dashed line is what the plan takes",
                                story.memory, from,
                                to,           {},
                                {},           double(story.info.arena_bytes),
                                true,         bytes}
                           .draw();
  return section("Loss", loss) + section("Gradients and learning rate", step) + section("Speed", speed) +
         section("Memory", memory);
}

Json pointsOf(const RunCurve &curve) {
  Json points = Json::array();
  for (const RunCurve::Point &point : curve.points())
    points.push_back({point.step, point.least, point.mean(), point.greatest});
  return points;
}

/// `</script>` cannot be in it: the only text is that of the keys.
std::string data(const RunStory &story) {
  Json curves = {{"loss", pointsOf(story.loss)},
                 {"norm", pointsOf(story.norm)},
                 {"lr", pointsOf(story.rate)},
                 {"speed", pointsOf(story.speed)},
                 {"wait", pointsOf(story.wait)},
                 {"memory", pointsOf(story.memory)},
                 {"skips", pointsOf(story.skips)},
                 {"eval_loss", pointsOf(story.evalLoss)},
                 {"eval_accuracy", pointsOf(story.evalAccuracy)}};
  Json all = {{"steps", story.steps},
              {"arena_bytes", story.info.arena_bytes},
              {"peak_bytes", story.info.peak_bytes},
              {"curves", std::move(curves)}};
  return "<script type='application/json' id='run'>" + all.dump() + "</script>\n";
}

} // namespace

std::string runPage(const RunStory &story) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'/>\n<meta name='viewport' "
      "content='width=device-width, initial-scale=1'/>\n<title>{}: the run</title>\n<style>\n{}</style>\n"
      "</head><body>\n",
      escaped(story.artifact), pageStyle());
  page += header(story) + charts(story);
  page +=
      section("What was run", fmt::format("<pre>{}</pre>\n<details open><summary>the plan</summary><pre>{}"
                                          "</pre></details>\n",
                                          escaped(story.command), escaped(story.plan)));
  return page + data(story) + fmt::format("<script>\n{}</script>\n</body></html>\n", pageScript());
}

} // namespace accum::run
