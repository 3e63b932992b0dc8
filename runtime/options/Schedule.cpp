// SPDX-License-Identifier: Apache-2.0
// Formulas, and what users may write for them.
#include "runtime/options/Schedule.h"
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numbers>
#include <optional>

namespace accum::runtime {
namespace {

/// Steps after which inverse-sqrt has fallen to 1 / sqrt(2) where there is no warm-up to say so.
constexpr double kTimescale = 10000;

double constant(const SchedulePoint &) { return 1; }

double linear(const SchedulePoint &at) { return at.between(1 - at.part); }

double cosine(const SchedulePoint &at) { return at.between((1 + std::cos(std::numbers::pi * at.part)) / 2); }

double inverseSqrt(const SchedulePoint &at) {
  double scale = at.warmup > 0 ? at.warmup : kTimescale;
  return std::max(at.floor, std::sqrt(scale / (at.step - at.warmup + scale)));
}

/// Warm-up, stable, decay: 1, then linear over the last steps.
double stableThenDecay(const SchedulePoint &at) {
  double left = std::max(0.0, at.last - at.step);
  return left >= at.decay ? 1 : at.between(left / at.decay);
}

constexpr ScheduleRow kRows[] = {
    // name, falls, ends, has a decay
    {"constant", false, false, false, constant}, {"linear", true, true, false, linear},
    {"cosine", true, true, false, cosine},       {"inverse-sqrt", true, false, false, inverseSqrt},
    {"wsd", true, true, true, stableThenDecay},
};

/// The names of the rows for which `holds`: `a, b or c`.
template <typename Holds> std::string namesWhere(Holds holds) {
  std::vector<std::string> names;
  for (const ScheduleRow &row : kRows)
    if (holds(row))
      names.emplace_back(row.name);
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

/// A finite number that is not negative, and nothing behind it.
std::optional<double> amountIn(const std::string &text) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  bool isWhole = !text.empty() && std::isspace(static_cast<unsigned char>(text[0])) == 0 && *end == '\0';
  return isWhole && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

/// `12%` as 0.12.
std::optional<double> percentIn(const std::string &text) {
  if (text.empty() || text.back() != '%')
    return std::nullopt;
  std::optional<double> value = amountIn(text.substr(0, text.size() - 1));
  return value && *value <= 100 ? std::optional(*value / 100) : std::nullopt;
}

/// `N` or `P%` of the run, rounded to the nearest step.
Expected<uint64_t> stepsIn(const char *flag, const std::string &text, uint64_t steps) {
  if (std::optional<double> percent = percentIn(text))
    return static_cast<uint64_t>(std::llround(*percent * static_cast<double>(steps)));
  std::optional<double> count = amountIn(text);
  if (!count || *count != std::floor(*count) || *count > 1e15)
    return usage(std::string(flag) + " is `" + text +
                 "`, expected a number of steps or a percentage like 2%");
  return static_cast<uint64_t>(*count);
}

/// As a part of the peak.
Expected<double> floorIn(const std::string &text, double peak) {
  if (std::optional<double> percent = percentIn(text))
    return *percent;
  std::optional<double> rate = amountIn(text);
  if (!rate)
    return usage("--lr-floor is `" + text + "`, expected a learning rate or a percentage of --lr like 10%");
  if (*rate > peak)
    return usage("--lr-floor is " + text + ", above --lr");
  return peak > 0 ? *rate / peak : 0;
}

} // namespace

std::span<const ScheduleRow> scheduleRows() { return kRows; }

const ScheduleRow *findSchedule(const std::string &name) {
  auto row = std::ranges::find(kRows, name, [](const ScheduleRow &each) { return std::string(each.name); });
  return row == std::end(kRows) ? nullptr : row;
}

std::string scheduleChoices() {
  std::string text;
  for (const ScheduleRow &row : kRows)
    text += std::string(row.name) + ", ";
  return text + "or a file of lines `step,factor`";
}

Expected<std::vector<Schedule::Point>> Schedule::readPoints(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    return Error{kExitFile,
                 "--schedule " + path + ": cannot be read: " + std::strerror(errno),
                 "missing-file",
                 {scheduleChoices()}};
  std::vector<Point> points;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    if (line.empty() || line[0] == '#')
      continue;
    auto malformed = [&](const std::string &what) {
      return Error{kExitFile,
                   path + ":" + std::to_string(number) + ": " + what,
                   "malformed-schedule",
                   {"lines are `step,factor`, steps from 0 in ascending order: 0,0.1 then 1000,1"}};
    };
    size_t comma = line.find(',');
    std::optional<double> step = amountIn(line.substr(0, comma)),
                          factor =
                              comma == std::string::npos ? std::nullopt : amountIn(line.substr(comma + 1));
    if (!step || !factor || *step != std::floor(*step))
      return malformed("`" + line.substr(0, 60) + "` is not `step,factor`");
    if (!points.empty() && *step <= points.back().step)
      return malformed("step " + line.substr(0, comma) + " does not come after the line before it");
    points.push_back({*step, *factor});
  }
  if (points.empty())
    return Error{kExitFile, path + ": holds no line `step,factor`", "malformed-schedule"};
  return points;
}

Expected<Schedule> Schedule::make(const ScheduleOptions &options, uint64_t steps, double peak) {
  Schedule schedule;
  schedule.steps = steps;
  const ScheduleRow *row = schedule.row = findSchedule(options.schedule);
  if (!options.lrFloor.empty() && !(row && row->falls))
    return usage("--lr-floor belongs to a schedule that falls: " +
                 namesWhere([](const ScheduleRow &each) { return each.falls; }));
  if (!options.decaySteps.empty() && !(row && row->hasDecay))
    return usage("--decay-steps belongs to --schedule " +
                 namesWhere([](const ScheduleRow &each) { return each.hasDecay; }));
  if (!row) {
    if (!options.warmup.empty())
      return usage("--warmup and the steps of --schedule " + options.schedule + " are both given");
    auto points = readPoints(options.schedule);
    if (!points)
      return points.error();
    schedule.points = std::move(*points);
    return schedule;
  }
  auto warmup = stepsIn("--warmup", options.warmup.empty() ? "0" : options.warmup, steps);
  auto floor = floorIn(options.lrFloor.empty() ? "0" : options.lrFloor, peak);
  auto decay = stepsIn("--decay-steps", options.decaySteps.empty() ? "10%" : options.decaySteps, steps);
  if (!warmup)
    return warmup.error();
  if (!floor)
    return floor.error();
  if (!decay)
    return decay.error();
  schedule.warmup = *warmup;
  schedule.floor = *floor;
  schedule.decay = row->hasDecay ? *decay : 0;
  if (uint64_t taken = *warmup + schedule.decay; steps > 0 && taken > 0 && taken >= steps)
    return usage("a warm-up of " + std::to_string(*warmup) + " steps" +
                     (schedule.decay > 0 ? " and a decay of " + std::to_string(schedule.decay) + " leave"
                                         : " leaves") +
                     " nothing of a run of " + std::to_string(steps),
                 {"--warmup and --decay-steps count optimizer steps, not micro-steps"});
  return schedule;
}

double Schedule::between(double step) const {
  auto above = std::ranges::upper_bound(points, step, {}, &Point::step);
  if (above == points.begin())
    return points.front().factor;
  if (above == points.end())
    return points.back().factor;
  const Point &low = above[-1], &high = *above;
  return low.factor + (high.factor - low.factor) * (step - low.step) / (high.step - low.step);
}

double Schedule::factor(uint64_t step) const {
  auto s = static_cast<double>(step), w = static_cast<double>(warmup);
  if (!row)
    return points.empty() ? 1 : between(s);
  if (step < warmup)
    return (s + 1) / w;
  double last = static_cast<double>(steps) - 1;
  double part = step >= steps ? 1 : last > w ? (s - w) / (last - w) : 0;
  return row->factor({s, last, w, part, floor, static_cast<double>(decay)});
}

} // namespace accum::runtime
