// SPDX-License-Identifier: Apache-2.0
// Cuts of the batch: finer, in reverse, each micro-step alone, undivided; as many as there is time for.
#include "runtime/verify/CutCheck.h"
#include "runtime/files/Convert.h"
#include "runtime/system/Clock.h"
#include "runtime/verify/Difference.h"
#include "runtime/verify/Direction.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace accum::runtime::verify {
namespace {

constexpr size_t kShown = 8;
constexpr int64_t kMostPieces = 16; ///< micro-steps of a finer cut, about
constexpr int kShakes = 3;
class CutCheck {
public:
  explicit CutCheck(Trial &trial) : trial(trial), m(trial.manifest.m) {
    same = trial.manifest.gradients.dtype == ACCUM_F64 ? Measure::ofDouble() : Measure::ofSingle();
    other = trial.manifest.precision == "bf16" ? Measure::ofBf16() : same;
  }
  int run();

private:
  /// As planned where `rows` are those of the plan: sizes have micro-batches of their own.
  StepCut cutOf(int64_t rows) const { return {.rows = rows == m ? 0 : rows, .samples = samples}; }
  int add(const StepCut &cut, Outcome &sum, uint8_t fill = 0xff);
  int affords(const std::string &what, int64_t microSteps, bool &isAfforded);
  int addAlone(Outcome &sum);
  int measureNoise(const StepCut &cut, const Measure &measure, Difference &noise);
  int checkPlanned();
  int checkLengths(const Outcome &planned);
  int checkOthers(const Outcome &planned);
  int checkFiner(const Outcome &planned);
  int checkAlone(const Outcome &planned);
  int compareStep(const Outcome &got, const StepCut &cut, const std::string &what, const Measure &measure,
                  uint8_t fill = 0xff);
  std::string cutsOf(int64_t rows) const;
  int checkUndivided();
  void announce(int64_t steps) const;
  int report(const std::string &what, const Outcome &got, const Outcome &reference, const Measure &measure);
  int note(const std::string &what, const Difference &difference, double tolerance, const Difference &noise);
  int conclude();
  void print(const std::vector<std::pair<double, std::string>> &worst) const;
  int64_t block() const { return ceilDiv(samples, trial.devices); }

  Trial &trial;
  const int64_t m;
  int64_t plannedSteps = 0; ///< micro-steps, by the plan
  Measure same, other;      ///< of cuts with micro-steps of the same size, and of other ones
  int64_t samples = 0;
  std::map<std::string, double> worstOf; ///< by parameter, over all comparisons
  double started = now(), microStep = 0; ///< seconds; of the slowest micro-step so far
  std::vector<std::string> leftOut;      ///< comparisons for which there was no time
  bool differs = false;
};

/// One step, added to `sum`.
int CutCheck::add(const StepCut &cut, Outcome &sum, uint8_t fill) {
  double loss = 0, before = now();
  if (int code = trial.step(cut, loss, fill))
    return code;
  sum.loss += loss;
  sum.gradients.resize(trial.trained.size());
  std::vector<uint8_t> bytes;
  for (size_t index = 0; index < trial.trained.size(); ++index) {
    if (int code = trial.read("gradient", index, bytes))
      return code;
    std::vector<double> &values = sum.gradients[index];
    values.resize(size_t(trial.trained[index]->elements()));
    for (size_t at = 0; at < values.size(); ++at)
      values[at] += asDouble(bytes.data(), trial.trained[index]->dtype, int64_t(at));
  }
  microStep = std::max(microStep, (now() - before) / double(std::max<int64_t>(trial.microSteps, 1)));
  return 0;
}

/// Whether a comparison that takes so many micro-steps ends in time; one that does not is left out.
int CutCheck::affords(const std::string &what, int64_t microSteps, bool &isAfforded) {
  double seconds = trial.options.seconds;
  double answer = seconds == 0 || now() - started + double(microSteps) * microStep <= seconds;
  int code = trial.agree(answer);
  isAfforded = answer != 0;
  if (!isAfforded)
    leftOut.push_back(what);
  return code;
}

/// Each micro-step of the plan by itself, summed here. Terms that belong to no sample come with each of them,
/// and are taken off again but once.
int CutCheck::addAlone(Outcome &sum) {
  StepCut cut = cutOf(m);
  for (cut.only = 0; cut.only < plannedSteps; ++cut.only)
    if (int code = add(cut, sum))
      return code;
  Outcome none;
  if (int code = add(cut, none))
    return code;
  auto extra = double(plannedSteps - 1);
  sum.loss -= extra * none.loss;
  for (size_t index = 0; index < sum.gradients.size(); ++index)
    for (size_t at = 0; at < sum.gradients[index].size(); ++at)
      sum.gradients[index][at] -= extra * none.gradients[index][at];
  return 0;
}

void CutCheck::announce(int64_t steps) const {
  std::string what = trial.options.isSynthetic
                         ? fmt::format("synthetic samples (seed {})", trial.options.seed)
                         : "samples of the data";
  size_t lengths = trial.manifest.lengths.size();
  std::string how = lengths > 0 ? fmt::format("{} sizes", lengths)
                                : fmt::format("{} micro-step{} of {}", steps, steps == 1 ? "" : "s", m);
  trial.say("verify   {} {} on {} device{}: {}, as planned", samples, what, trial.devices,
            trial.devices == 1 ? "" : "s", how);
}

/// Two full micro-steps and a ragged one, where the batch has as many samples.
int CutCheck::checkPlanned() {
  samples = trial.samplesOf(mostPerDevice(m));
  int64_t steps = ceilDiv(block(), m);
  announce(steps);
  Outcome planned;
  if (int code = add(cutOf(m), planned))
    return code;
  plannedSteps = trial.microSteps;
  if (int code = checkLengths(planned))
    return code;
  const std::string zeros = "over memory of zeros instead of NaN";
  bool isAfforded = false;
  if (int code = affords(zeros, steps, isAfforded))
    return code;
  if (isAfforded)
    if (int code = compareStep(planned, cutOf(m), zeros, same, 0))
      return code;
  return trial.manifest.isCuttable() ? checkOthers(planned) : 0;
}

int CutCheck::compareStep(const Outcome &got, const StepCut &cut, const std::string &what,
                          const Measure &measure, uint8_t fill) {
  Outcome reference;
  if (int code = add(cut, reference, fill))
    return code;
  return report(what, got, reference, measure);
}

/// Of a program of several.
int CutCheck::checkLengths(const Outcome &planned) {
  const std::string what = "all samples at the largest size";
  bool isAfforded = false, hasSeveral = !trial.manifest.lengths.empty();
  if (int code = hasSeveral ? affords(what, 2 * plannedSteps, isAfforded) : 0)
    return code;
  StepCut cut = cutOf(m);
  cut.longest = true;
  return isAfforded ? compareStep(planned, cut, what, other) : 0;
}

int CutCheck::checkOthers(const Outcome &planned) {
  if (int code = checkFiner(planned); code || plannedSteps < 2)
    return code;
  const std::string reverse = "the micro-steps in reverse order";
  bool isAfforded = false;
  if (int code = affords(reverse, plannedSteps, isAfforded))
    return code;
  StepCut cut = cutOf(m);
  cut.reversed = true;
  if (isAfforded)
    if (int code = compareStep(planned, cut, reverse, same))
      return code;
  return trial.manifest.wholeBatch ? 0 : checkAlone(planned); // where samples meet, its loss is another one
}

int CutCheck::checkFiner(const Outcome &planned) {
  int64_t rows = std::max<int64_t>(1, ceilDiv(block(), kMostPieces));
  const std::string what = "in " + cutsOf(rows);
  bool isAfforded = false;
  if (rows < m)
    if (int code = affords(what, ceilDiv(block(), rows), isAfforded))
      return code;
  return isAfforded ? compareStep(planned, cutOf(rows), what, other) : 0;
}

int CutCheck::checkAlone(const Outcome &planned) {
  const std::string what = "each micro-step alone, summed in f64";
  bool isAfforded = false;
  if (int code = affords(what, plannedSteps * (plannedSteps + 1), isAfforded); code || !isAfforded)
    return code;
  Outcome alone;
  if (int code = addAlone(alone))
    return code;
  return report(what, planned, alone, same);
}

/// As many samples as one micro-step holds: undivided, against the same ones cut.
int CutCheck::checkUndivided() {
  int64_t rows = ceilDiv(m, 3);
  if (m < 2 || trial.manifest.wholeBatch)
    return 0;
  samples = trial.samplesOf(m);
  std::string what = cutsOf(rows) + " against one undivided of " + std::to_string(block());
  bool isAfforded = false;
  if (int code = affords(what, ceilDiv(block(), rows) + 1, isAfforded); code || !isAfforded)
    return code;
  Outcome divided;
  if (int code = add(cutOf(rows), divided))
    return code;
  return compareStep(divided, cutOf(m), what, other);
}

std::string CutCheck::cutsOf(int64_t rows) const {
  return std::to_string(ceilDiv(block(), rows)) + " micro-steps of " + std::to_string(rows);
}

int CutCheck::report(const std::string &what, const Outcome &got, const Outcome &reference,
                     const Measure &measure) {
  Difference difference = compare(got, reference, measure), noise;
  for (size_t index = 0; index < trial.trained.size(); ++index) {
    double &most = worstOf[trial.nameOf(index)];
    most = std::max(most, difference.tensors[index]);
  }
  trial.say("         {:<48} loss {:.1e}, gradients {:.1e}", what, difference.loss, difference.largest());
  bool isBeyond = !difference.isWithin(measure.tolerance, noise);
  if (int code = trial.agree(isBeyond))
    return code;
  if (isBeyond)
    if (int code = measureNoise(cutOf(m), measure, noise))
      return code;
  return note(what, difference, measure.tolerance, noise);
}

/// The loss, and the tensor that is closest to what is allowed, or farthest above it.
int CutCheck::note(const std::string &what, const Difference &difference, double tolerance,
                   const Difference &noise) {
  double measured = 0, allowed = tolerance;
  for (size_t i = 0; i < difference.tensors.size(); ++i) {
    double own = noise.allowed(tolerance, i);
    if (difference.tensors[i] * allowed >= measured * own) {
      measured = difference.tensors[i];
      allowed = own;
    }
  }
  double ofLoss = allowedOf(tolerance, noise.loss);
  bool differsHere = !difference.isWithin(tolerance, noise), lossDiffers = !(difference.loss <= ofLoss);
  if (int code = trial.agree(differsHere))
    return code;
  trial.note("loss, " + what, difference.loss, ofLoss, !lossDiffers);
  trial.note("gradients, " + what, measured, allowed, measured <= allowed);
  differs |= differsHere;
  return 0;
}

/// What is beyond the tolerance may be rounding all the same, where sums cancel or a choice hangs on a digit:
/// then the step moves as much when the parameters change in their last digits.
int CutCheck::measureNoise(const StepCut &cut, const Measure &measure, Difference &noise) {
  Tensors values(trial.trained.size()), none;
  for (size_t tensor = 0; tensor < values.size(); ++tensor) {
    none.emplace_back(size_t(trial.trained[tensor]->bytes()));
    if (int code = trial.read("parameter", tensor, values[tensor]))
      return code;
  }
  Outcome as;
  if (int code = add(cut, as))
    return code;
  for (uint64_t round = 0; round < kShakes; ++round) {
    double unused = 0;
    Outcome shaken;
    if (int code = writeShaken(trial, values, none, measure.lastDigits, trial.options.seed + round, unused))
      return code;
    if (int code = add(cut, shaken))
      return code;
    noise.take(compare(shaken, as, measure));
  }
  trial.say("           parameters that change in the last digits: loss {:.1e}, gradients {:.1e}", noise.loss,
            noise.largest());
  return writeAll(trial, values);
}

int CutCheck::run() {
  int code = checkPlanned();
  if (code == 0)
    code = checkUndivided();
  return code ? code : conclude();
}

int CutCheck::conclude() {
  std::vector<std::pair<double, std::string>> order;
  for (const auto &[name, value] : worstOf)
    order.emplace_back(-value, name);
  std::sort(order.begin(), order.end());
  print(order);
  if (!differs)
    return 0;
  return trial.fail(
      {kExitRunFailed,
       "the step depends on how the batch is cut: " + order.front().second + " differs most",
       "not-the-same-step",
       {"this is a bug of accumc or of this machine; please report it with `accum-run --describe`"}});
}

/// `worst` holds the negative difference of each tensor, ascending; nothing where nothing was compared.
void CutCheck::print(const std::vector<std::pair<double, std::string>> &worst) const {
  if (!worst.empty())
    trial.say("         largest differences, of each tensor's {} (tolerance {:.0e}):",
              other.isNorm ? "norm" : "largest gradient", other.tolerance);
  for (size_t index = 0; index < std::min(kShown, worst.size()); ++index)
    trial.say("         {:.1e}  {}", -worst[index].first, worst[index].second);
  for (const std::string &what : leftOut)
    trial.say("         left out: {}", what);
  if (!leftOut.empty())
    trial.say("         a micro-step takes {:.1f} s, and --verify-seconds gives {:g} for all cuts", microStep,
              trial.options.seconds);
  if (worst.empty())
    trial.say("cuts not checked");
  else if (!differs)
    trial.say("verified the step does not depend on how the batch is cut{}",
              leftOut.empty() ? "" : ", in the cuts that there was time for");
}

} // namespace

int checkCuts(Trial &trial) { return CutCheck(trial).run(); }

} // namespace accum::runtime::verify
