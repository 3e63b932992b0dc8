// SPDX-License-Identifier: Apache-2.0
// Which tensors, in which order, how long, and the rounding of the loss.
#include "runtime/verify/GradientCheck.h"
#include "runtime/system/Clock.h"
#include "runtime/verify/GradientReport.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <utility>

namespace accum::runtime::verify {
namespace {

using Limits = GradientReport::Limits;

constexpr const char *kTogether = "all together";
/// Of what is off, the worst are looked at again.
constexpr size_t kSuspects = 4;
/// Evaluations without which nothing is said: the rounding's, and those along the whole gradient.
constexpr int kFewest = 12;
/// No exit code: --verify-seconds have passed.
constexpr int kOutOfTime = -1;

/// What a precision allows.
struct Precision {
  double unit;     ///< half of its last digit
  double shake;    ///< a relative change of the parameters that shows the rounding and nothing else
  double forward;  ///< relative difference of a loss by evaluation that is still that of the step; 0: none is
  double steps[2]; ///< changes of the loss, in deviations of its rounding, by Along
  std::array<Limits, 2> limits; ///< by Along
};
constexpr Precision kDouble{0x1p-53, 0x1p-44, 1e-12, {1e5, 1e5}, {{{1e-4, 1e-1}, {1e-4, 1e-1}}}};
constexpr Precision kSingle{0x1p-24, 0x1p-18, 1e-6, {4000, 1000}, {{{3e-3, 1e-1}, {2e-2, 2e-1}}}};
/// Rounding moves the gradient too, that of a network of ReLUs by a tenth and more, tensors by four tenths.
constexpr Precision kBf16{0x1p-9, 0x1p-9, 0, {100, 50}, {{{5e-1, 5e-1}, {5e-1, 5e-1}}}};
constexpr Precision kShortProducts{0x1p-12, 0x1p-12, 0, {200, 100}, {{{2e-2, 2e-1}, {5e-2, 3e-1}}}};

const Precision &precisionOf(const Manifest &manifest) {
  if (manifest.gradients.dtype == ACCUM_F64)
    return kDouble;
  if (manifest.precision == "bf16")
    return kBf16;
  return manifest.precision == "tf32" ? kShortProducts : kSingle;
}

/// 0, n/2, n/4, 3n/4, ...: any number of the first ones is spread evenly.
std::vector<size_t> spread(size_t n) {
  std::vector<size_t> order;
  int bits = std::bit_width(n - 1);
  for (size_t i = 0; i < size_t(1) << bits; ++i) {
    size_t reversed = 0;
    for (int bit = 0; bit < bits; ++bit)
      reversed |= (i >> bit & 1) << (bits - 1 - bit);
    if (reversed < n)
      order.push_back(reversed);
  }
  return order;
}

class GradientCheck {
public:
  explicit GradientCheck(Trial &trial) : trial(trial), precision(precisionOf(trial.manifest)) {}
  int run();

private:
  int takeGradient();
  int chooseProgram();
  int measureRounding();
  int shake(int round, double &residual);
  int evaluate(Direction &direction, double distance, Sample &sample);
  int judge(const std::vector<size_t> &tensors, Along along, Slope &slope);
  int checkTogether();
  int checkTensor(size_t tensor);
  int checkTensors();
  int hasTime(double seconds, bool &has);
  int lookAgain();
  int lookBeside(uint64_t look);
  void print() const;
  void announce() const;
  int conclude();
  Error wrongGradient() const;

  Trial &trial;
  const Precision &precision;
  Tensors values, gradient; ///< of each trained tensor, before the first change
  double loss = 0, rounding = 0;
  bool byStep = true;
  double started = 0, evaluation = 0; ///< seconds; of one evaluation, with all parameters moved
  int64_t samples = 0;
  size_t checked = 0;
  GradientReport report;
  std::vector<AlongReport::Worst> wrong; ///< beside two sets of weights
};

int GradientCheck::takeGradient() {
  int64_t m = trial.manifest.m;
  samples = trial.samplesOf(m + ceilDiv(m, 3));
  if (int code = trial.step({.samples = samples}, loss))
    return code;
  if (int code = trial.agree(loss))
    return code;
  values.resize(trial.trained.size());
  gradient.resize(trial.trained.size());
  for (size_t tensor = 0; tensor < trial.trained.size(); ++tensor) {
    if (int code = trial.read("parameter", tensor, values[tensor]))
      return code;
    if (int code = trial.read("gradient", tensor, gradient[tensor]))
      return code;
  }
  return 0;
}

/// The forward part takes a third of a step's time; with dropout its loss is another one.
int GradientCheck::chooseProgram() {
  double forward = NAN;
  byStep = false;
  if (precision.forward > 0)
    if (int code = trial.loss(byStep, forward))
      return code;
  byStep = !(std::fabs(forward - loss) <= precision.forward * std::fabs(loss));
  return trial.loss(byStep, loss);
}

/// All parameters change a little at random; what the loss does beside what the gradient says is rounding.
int GradientCheck::shake(int round, double &residual) {
  double predicted = 0, value = 0;
  uint64_t seed = trial.options.seed + uint64_t(round) + 1;
  if (int code = writeShaken(trial, values, gradient, precision.shake, seed, predicted))
    return code;
  if (int code = trial.loss(byStep, value))
    return code;
  residual = value - loss - predicted;
  return writeAll(trial, values);
}

/// Unless the first of its evaluations shows that there is no time for all.
int GradientCheck::measureRounding() {
  constexpr int kRounds = 5;
  double residuals[kRounds], mean = 0, squares = 0;
  for (int round = 0; round < kRounds; ++round) {
    double before = now();
    if (int code = shake(round, residuals[round]))
      return code;
    mean += residuals[round] / kRounds;
    evaluation = std::max(evaluation, now() - before);
    bool has = true;
    if (int code = round > 0 ? 0 : hasTime((kFewest - 1) * evaluation, has))
      return code;
    if (!has)
      return kOutOfTime;
  }
  for (double residual : residuals)
    squares += (residual - mean) * (residual - mean) / (kRounds - 1);
  // A deviation from five values may be half of what it is.
  rounding = std::max({1.5 * std::sqrt(squares), precision.unit * std::fabs(loss) / 2, 1e-300});
  return 0;
}

int GradientCheck::evaluate(Direction &direction, double distance, Sample &sample) {
  bool has = true;
  if (int code = hasTime(0, has))
    return code;
  if (!has)
    return kOutOfTime;
  if (distance == 0) {
    sample = {loss, 0};
    return 0;
  }
  if (int code = direction.move(distance, sample.predicted))
    return code;
  return trial.loss(byStep, sample.value);
}

int GradientCheck::judge(const std::vector<size_t> &tensors, Along along, Slope &slope) {
  Direction direction(trial, values, gradient, tensors, along);
  const Limits &limits = precision.limits[size_t(along)];
  double change = std::max(precision.steps[size_t(along)] * rounding, 1e-6 * std::fabs(loss));
  SlopeTask task{direction.scale(), rounding, change, direction.reach(), limits.tolerance, limits.coarse};
  if (!std::isfinite(direction.reach())) { // no element has a direction
    slope = {SlopeVerdict::TooSmall, 0, 0};
    return 0;
  }
  auto at = [&](double distance, Sample &sample) { return evaluate(direction, distance, sample); };
  int code = judgeSlope(task, at, slope);
  int left = direction.leave();
  return code ? code : left;
}

int GradientCheck::hasTime(double seconds, bool &has) {
  double answer = now() - started + seconds <= trial.options.seconds;
  int code = trial.agree(answer);
  has = answer != 0;
  return code;
}

/// The whole gradient at once says something where there is no time for each tensor.
int GradientCheck::checkTogether() {
  std::vector<size_t> all;
  for (size_t tensor = 0; tensor < values.size(); ++tensor)
    if (!trial.trained[tensor]->detached)
      all.push_back(tensor);
  if (all.empty())
    return 0;
  Slope slope;
  if (int code = judge(all, Along::Gradient, slope))
    return code;
  report.add(Along::Gradient, kAllTensors, kTogether, slope, precision.limits[0], false);
  return 0;
}

int GradientCheck::checkTensor(size_t tensor) {
  for (Along along : {Along::Gradient, Along::Signs}) {
    Slope slope;
    if (int code = judge({tensor}, along, slope))
      return code;
    report.add(along, tensor, trial.nameOf(tensor), slope, precision.limits[size_t(along)],
               trial.trained[tensor]->detached);
  }
  return 0;
}

int GradientCheck::checkTensors() {
  for (size_t tensor : spread(values.size())) {
    if (int code = checkTensor(tensor))
      return code == kOutOfTime ? 0 : code;
    ++checked;
  }
  return 0;
}

void GradientCheck::announce() const {
  trial.say("gradient against central differences of the loss over {} samples: {:.6g}, rounded to {:.0e}, {}",
            samples, loss, rounding, byStep ? "by whole steps" : "by forward passes");
}

int GradientCheck::run() {
  if (int code = takeGradient())
    return code;
  if (int code = chooseProgram())
    return code;
  started = now();
  int code = measureRounding();
  if (code == kOutOfTime)
    trial.say("gradient not checked: a loss takes {:.1f} s, and --verify-seconds gives {:g} for {} or more",
              evaluation, trial.options.seconds, kFewest);
  if (code)
    return code == kOutOfTime ? 0 : code;
  announce();
  code = checkTogether();
  if (code == 0)
    code = checkTensors();
  return code && code != kOutOfTime ? code : conclude();
}

/// At other weights, what was off before; it takes the time that it takes.
int GradientCheck::lookBeside(uint64_t look) {
  started = INFINITY;
  report = {};
  if (int code = writeDisplaced(trial, values, look))
    return code;
  if (int code = trial.loss(byStep, loss))
    return code;
  std::vector<AlongReport::Worst> suspects = std::exchange(wrong, {});
  if (!std::isfinite(loss))
    return 0;
  int code = takeGradient();
  if (code == 0)
    code = trial.loss(byStep, loss);
  if (code == 0)
    code = measureRounding();
  for (const AlongReport::Worst &suspect : suspects)
    if (code == 0)
      code = suspect.tensor == kAllTensors ? checkTogether() : checkTensor(suspect.tensor);
  wrong = report.wrong();
  return code;
}

/// What is off at the given weights must be off beside them too. Where many kinks meet, as of ReLUs behind a
/// layer that starts at zero, the differences have another slope than the gradient.
int GradientCheck::lookAgain() {
  constexpr uint64_t kLooks = 4;
  wrong = report.wrong();
  std::sort(wrong.begin(), wrong.end(), [](const auto &a, const auto &b) { return a.error > b.error; });
  wrong.resize(std::min(wrong.size(), kSuspects));
  if (wrong.empty())
    return 0;
  std::string first = wrong.front().name;
  const Tensors given = values; // each look goes on from the one before
  size_t count = report.wrong().size();
  int code = 0;
  for (uint64_t look = 0; look < kLooks && !wrong.empty() && code == 0; ++look)
    code = lookBeside(look);
  if (int left = writeAll(trial, given); code || left)
    return code ? code : left;
  if (wrong.empty())
    trial.say("           {} off at these weights and fine beside them, as where many kinks meet: {}{}",
              count, first, count > 1 ? ", ..." : "");
  return 0;
}

void GradientCheck::print() const {
  report.say(trial, precision.limits);
  if (checked < values.size())
    trial.say(
        "         {} of {} trained tensors, spread over the model: --verify-seconds gives time for more",
        checked, values.size());
  if (&precision == &kBf16)
    trial.say("         bf16 rounds too much to say more: compile with --precision f32 to check to {:.0e}",
              kSingle.limits[0].tolerance);
}

int GradientCheck::conclude() {
  print();
  if (int code = lookAgain())
    return code;
  for (const AlongReport::Worst &one : wrong)
    trial.note("gradient of " + one.name, one.error, precision.limits[0].tolerance, false);
  if (!wrong.empty())
    return trial.fail(wrongGradient());
  trial.say("verified the gradient is that of the loss");
  return 0;
}

/// By the tensors, unless only all of them together are off.
Error GradientCheck::wrongGradient() const {
  std::vector<AlongReport::Worst> named = wrong;
  if (named.size() > 1)
    std::erase_if(named, [](const AlongReport::Worst &one) { return one.tensor == kAllTensors; });
  char error[32];
  std::snprintf(error, sizeof error, "%.2g %%", 100 * named.front().error);
  std::string others;
  for (size_t i = 1; i < named.size(); ++i)
    others += (i > 1 ? ", `" : "`") + named[i].name + "`";
  Error refusal{kExitRunFailed,
                "the gradient of `" + named.front().name +
                    "` is not the derivative of the loss: differences of the loss are " + error + " off it",
                "wrong-gradient",
                {}};
  if (!others.empty())
    refusal.notes.push_back("nor are those of " + others);
  refusal.notes.emplace_back(
      "this is a bug of accumc or of this machine; please report it with `accum-run --describe`");
  return refusal;
}

} // namespace

int checkGradient(Trial &trial) { return GradientCheck(trial).run(); }

} // namespace accum::runtime::verify
