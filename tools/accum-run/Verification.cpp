// SPDX-License-Identifier: Apache-2.0
// The plan's step against the same samples in other cuts, and against one undivided micro-step.
#include "tools/accum-run/Verification.h"
#include "runtime/Convert.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

namespace accum::run {
namespace {

constexpr size_t kShown = 8;
constexpr int64_t kMostPieces = 16; ///< micro-steps of a finer cut, about

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Loss and gradients of one step, in double.
struct Outcome {
  double loss = 0;
  std::vector<std::vector<double>> gradients; ///< in the order of the trained parameters
};

/// The largest difference of each tensor from a reference, relative as described above.
struct Difference {
  double loss = 0;
  std::vector<double> tensors;
  double worst() const {
    double most = loss;
    for (double value : tensors)
      most = std::isnan(value) ? INFINITY : std::max(most, value);
    return std::isnan(most) ? INFINITY : most;
  }
};

double largest(const std::vector<double> &values) {
  double most = 0;
  for (double value : values)
    most = std::isnan(value) ? INFINITY : std::max(most, std::fabs(value));
  return most;
}

double length(const std::vector<double> &values) {
  double squares = 0;
  for (double value : values)
    squares += value * value;
  return std::isnan(squares) ? INFINITY : std::sqrt(squares);
}

/// How gradients are compared.
struct Measure {
  /// Of a difference, relative to that of the tensor.
  double (*sizeOf)(const std::vector<double> &);
  /// What is zero in exact arithmetic (a bias in front of a softmax) is noise: tensors count as no smaller
  /// than this part of the largest one.
  double floor;
  /// Rounding in another order stays far below; a lost, doubled or leaked sample, or a mean of means, far
  /// above.
  double tolerance;
};
constexpr Measure kSingle{largest, 1e-3, 1e-4}, kDouble{largest, 1e-3, 1e-9};
/// Products of other numbers of rows may sum in another order, and what lies beside the middle of two numbers
/// of bf16 is then rounded to the other one, as is what follows from it.
constexpr Measure kBrain{length, 0.1, 5e-2};

Difference compare(const Outcome &got, const Outcome &reference, const Measure &measure) {
  Difference difference;
  difference.loss = std::fabs(got.loss - reference.loss) / std::max(std::fabs(reference.loss), 1e-30);
  double most = 0;
  for (const auto &gradient : reference.gradients)
    most = std::max(most, measure.sizeOf(gradient));
  for (size_t index = 0; index < reference.gradients.size(); ++index) {
    const std::vector<double> &expected = reference.gradients[index];
    double scale = std::max({measure.sizeOf(expected), measure.floor * most, 1e-30});
    std::vector<double> apart = got.gradients[index];
    for (size_t at = 0; at < expected.size(); ++at)
      apart[at] -= expected[at];
    difference.tensors.push_back(measure.sizeOf(apart) / scale);
  }
  return difference;
}

class Verification {
public:
  Verification(const Options &options, const runtime::Manifest &manifest, accum_session *session)
      : options(options), session(session) {
    accum_get_info(session, &info);
    for (const runtime::ParameterSpec &param : manifest.params)
      if (param.trained)
        trained.push_back(&param);
    same = manifest.gradients.dtype == ACCUM_F64 ? kDouble : kSingle;
    other = manifest.precision == "bf16" ? kBrain : same;
  }

  int run();

private:
  int bind(int64_t count);
  int step(int64_t rows, int64_t only, Outcome &outcome);
  int stepAlone(Outcome &sum);
  int checkPlanned();
  int checkUndivided();
  void report(const std::string &what, const Outcome &got, const Outcome &reference, const Measure &measure);
  int64_t block() const { return ceilDiv(samples, info.devices); }

  const Options &options;
  accum_session *session;
  accum_info info{};
  std::vector<const runtime::ParameterSpec *> trained;
  Measure same = kSingle, other = kSingle; ///< of cuts with micro-steps of the same size, and of other ones
  int64_t samples = 0;
  std::map<std::string, double> worstOf; ///< by parameter, over all comparisons
  bool differs = false;
};

int Verification::bind(int64_t count) {
  samples = count;
  accum_data_options data = {sizeof(accum_data_options), 0, 0, options.seed, samples};
  if (int code = accum_bind_synthetic(session, &data))
    return code;
  accum_hyper_options hyper; // the update leaves the parameters as they are
  accum_hyper_defaults(&hyper);
  hyper.lr = 0;
  return accum_set_hyper(session, &hyper);
}

/// One step over all bound samples, `rows` in a micro-step, added to `outcome`.
int Verification::step(int64_t rows, int64_t only, Outcome &outcome) {
  if (int code = accum_set_cut(session, rows, only))
    return code;
  accum_step_result result;
  if (int code = accum_step(session, 0, &result))
    return code;
  outcome.loss += result.loss;
  outcome.gradients.resize(trained.size());
  for (size_t index = 0; index < trained.size(); ++index) {
    accum_tensor tensor;
    if (int code = accum_read(session, "gradient", trained[index]->onnxName.c_str(), &tensor))
      return code;
    std::vector<double> &values = outcome.gradients[index];
    values.resize(size_t(trained[index]->elements()));
    for (size_t at = 0; at < values.size(); ++at)
      values[at] += runtime::asDouble(static_cast<const uint8_t *>(tensor.data), runtime::DType(tensor.dtype),
                                      int64_t(at));
  }
  return 0;
}

/// Each micro-step of the plan by itself, summed here. Terms that belong to no sample come with each of them,
/// and are taken off again but once.
int Verification::stepAlone(Outcome &sum) {
  int64_t steps = ceilDiv(block(), info.m);
  for (int64_t k = 0; k < steps; ++k)
    if (int code = step(info.m, k, sum))
      return code;
  Outcome none;
  if (int code = step(info.m, steps, none))
    return code;
  auto extra = double(steps - 1);
  sum.loss -= extra * none.loss;
  for (size_t index = 0; index < sum.gradients.size(); ++index)
    for (size_t at = 0; at < sum.gradients[index].size(); ++at)
      sum.gradients[index][at] -= extra * none.gradients[index][at];
  return 0;
}

/// Two full micro-steps and a ragged one, where the batch has as many samples.
int Verification::checkPlanned() {
  int64_t perDevice = 2 * info.m + ceilDiv(info.m, 3);
  if (int code = bind(std::min(info.batch, info.devices * perDevice)))
    return code;
  int64_t steps = ceilDiv(block(), info.m), rows = std::max<int64_t>(1, ceilDiv(block(), kMostPieces));
  if (info.rank == 0)
    std::printf("verify   %lld synthetic samples (seed %llu) on %lld device%s: %lld micro-step%s of %lld, "
                "as planned\n",
                (long long)samples, (unsigned long long)options.seed, (long long)info.devices,
                info.devices == 1 ? "" : "s", (long long)steps, steps == 1 ? "" : "s", (long long)info.m);
  Outcome planned, finer, alone;
  if (int code = step(info.m, -1, planned))
    return code;
  if (rows < info.m) {
    if (int code = step(rows, -1, finer))
      return code;
    report("in " + std::to_string(ceilDiv(block(), rows)) + " micro-steps of " + std::to_string(rows),
           planned, finer, other);
  }
  if (steps > 1) {
    if (int code = stepAlone(alone))
      return code;
    report("each micro-step alone, summed in f64", planned, alone, same);
  }
  return 0;
}

/// As many samples as one micro-step holds: undivided, against the same ones cut.
int Verification::checkUndivided() {
  int64_t rows = ceilDiv(info.m, 3);
  if (info.m < 2)
    return 0;
  if (int code = bind(std::min(info.batch, info.m * info.devices)))
    return code;
  Outcome undivided, divided;
  if (int code = step(info.m, -1, undivided))
    return code;
  if (int code = step(rows, -1, divided))
    return code;
  report(std::to_string(ceilDiv(block(), rows)) + " micro-steps of " + std::to_string(rows) +
             " against one undivided of " + std::to_string(block()),
         divided, undivided, other);
  return 0;
}

void Verification::report(const std::string &what, const Outcome &got, const Outcome &reference,
                          const Measure &measure) {
  Difference difference = compare(got, reference, measure);
  differs |= difference.worst() > measure.tolerance;
  for (size_t index = 0; index < trained.size(); ++index) {
    double &most = worstOf[trained[index]->onnxName];
    most = std::max(most, difference.tensors[index]);
  }
  if (info.rank == 0)
    std::printf("         %-48s loss %.1e, gradients %.1e\n", what.c_str(), difference.loss,
                *std::max_element(difference.tensors.begin(), difference.tensors.end()));
}

int Verification::run() {
  int code = checkPlanned();
  if (code == 0)
    code = checkUndivided();
  if (code != 0) {
    std::fputs(accum_last_error(), stderr);
    return code;
  }
  int64_t failed = 0;
  if ((code = accum_maximum(session, differs, &failed)))
    return code;
  if (info.rank != 0)
    return failed ? runtime::kExitRunFailed : 0;
  std::vector<std::pair<double, std::string>> order;
  for (const auto &[name, value] : worstOf)
    order.emplace_back(-value, name);
  std::sort(order.begin(), order.end());
  std::printf("         largest differences, of each tensor's %s (tolerance %.0e):\n",
              other.sizeOf == length ? "norm" : "largest gradient", other.tolerance);
  for (size_t index = 0; index < std::min(kShown, order.size()); ++index)
    std::printf("         %.1e  %s\n", -order[index].first, order[index].second.c_str());
  if (!failed) {
    std::printf("verified the step does not depend on how the batch is cut\n");
    return 0;
  }
  std::fflush(stdout);
  runtime::Error error{
      runtime::kExitRunFailed,
      "the step depends on how the batch is cut: " + order.front().second + " differs most",
      "not-the-same-step",
      {"this is a bug of accumc or of this machine; please report it with `accum-run --describe`"}};
  std::fputs(format(error).c_str(), stderr);
  return error.exitCode;
}

} // namespace

int verifyPlan(const Options &options, const runtime::Manifest &manifest, accum_session *session) {
  if (manifest.wholeBatch) {
    runtime::Error error{runtime::kExitUsage,
                         "--verify compares cuts of the batch, and this program computes it whole: its "
                         "samples are related to each other",
                         "usage"};
    std::fputs(format(error).c_str(), stderr);
    return error.exitCode;
  }
  return Verification(options, manifest, session).run();
}

} // namespace accum::run
