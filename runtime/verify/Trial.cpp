// SPDX-License-Identifier: Apache-2.0
// The steps that a verification makes.
#include "runtime/verify/Trial.h"
#include "runtime/files/Convert.h"
#include "runtime/session/NotFinite.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace accum::runtime::verify {
namespace {

bool isFinite(const std::vector<uint8_t> &bytes, DType dtype) {
  for (size_t at = 0, n = bytes.size() / bytesOf(dtype); at < n; ++at)
    if (!std::isfinite(asDouble(bytes.data(), dtype, int64_t(at))))
      return false;
  return true;
}

} // namespace

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t mostPerDevice(int64_t m) { return 2 * m + ceilDiv(m, 3); }

Trial::Trial(const TrialOptions &options, Session &session, int64_t samples)
    : options(options), manifest(session.manifest()), devices(manifest.devices), session(session),
      batch(std::min(samples, manifest.batch)) {
  for (const ParameterSpec &param : manifest.params)
    if (param.trained)
      trained.push_back(&param);
}

int Trial::check(const Status &status) { return status ? 0 : fail(status.error()); }

int Trial::fail(const Error &error) {
  failure = error;
  return error.exitCode;
}

void Trial::note(const std::string &name, double measured, double allowed, bool ok) const {
  accum_check seen = {name.c_str(), measured, allowed, ok};
  if (options.check)
    options.check(options.user, &seen);
}

std::string Trial::nameOf(size_t tensor) const {
  const ParameterSpec &param = *trained[tensor];
  return param.framework.empty() ? param.onnxName : param.framework.front().name;
}

int64_t Trial::samplesOf(int64_t perDevice) const {
  return manifest.wholeBatch ? batch : std::min(batch, devices * perDevice);
}

int Trial::runStep(uint8_t fill, accum_step_result &result) {
  if (int code = check(session.opened.fill(fill)))
    return code;
  auto tried = session.tryStep(/*forwardOnly=*/false);
  if (!tried)
    return fail(tried.error());
  result = *tried;
  return 0;
}

int Trial::step(const StepCut &cut, double &loss, uint8_t fill) {
  accum_step_result result;
  if (int code = check(session.samples.microSteps.setCut(cut)))
    return code;
  if (int code = runStep(fill, result))
    return code;
  loss = result.loss;
  microSteps = result.micro_steps;
  return result.skipped || !std::isfinite(result.loss) ? explainNotFinite(fill, loss) : 0;
}

/// Over zeros, what is not finite is the model's own; else it came from memory that nobody had written.
int Trial::explainNotFinite(uint8_t fill, double loss) {
  std::string where = "the loss";
  std::vector<uint8_t> gradient;
  for (size_t tensor = trained.size(); tensor-- > 0;) {
    if (int code = read("gradient", tensor, gradient))
      return code;
    if (!isFinite(gradient, trained[tensor]->dtype))
      where = "the gradient of `" + nameOf(tensor) + "`";
  }
  accum_step_result again{};
  if (int code = fill == 0 ? 0 : runStep(0, again))
    return code;
  if (fill == 0 || again.skipped || !std::isfinite(again.loss))
    return failNotFinite((std::isfinite(loss) ? where : "the loss") + " is not finite");
  note(where + " over memory of NaN", NAN, 0, false);
  return fail(
      {kExitRunFailed,
       "the step reads memory that it has not written: " + where + " is not finite where that holds NaN",
       "not-the-same-step",
       {"this is a bug of accumc; please report it with `accum-run --describe`"}});
}

int Trial::failNotFinite(const std::string &what) {
  auto valueOf = [&](const ScalarSpec &scalar) -> Expected<double> {
    auto value = session.weights.read("scalar", scalar.name);
    if (!value)
      return value.error();
    return asDouble(static_cast<const uint8_t *>(value->data), scalar.dtype, 0);
  };
  Error error = notFinite(what, manifest, valueOf);
  error.notes.push_back(
      "there is nothing to compare: the weights are those of the run, the samples " +
      std::string(options.isSynthetic ? "synthetic; --seed draws others" : "the data's first"));
  return fail(error);
}

int Trial::loss(bool byStep, double &value) {
  auto result = session.tryStep(/*forwardOnly=*/!byStep);
  if (!result)
    return fail(result.error());
  value = std::isfinite(result->loss) ? result->loss : NAN;
  return agree(value);
}

int Trial::agree(double &value) {
  auto bits = session.ranks().rank() == 0 ? std::bit_cast<int64_t>(value) : INT64_MIN;
  auto said = session.ranks().maximum(bits);
  if (!said)
    return fail(said.error());
  value = std::bit_cast<double>(*said);
  return 0;
}

int Trial::agree(bool &any) {
  auto most = session.ranks().maximum(any);
  if (!most)
    return fail(most.error());
  any = *most != 0;
  return 0;
}

int Trial::read(const char *kind, size_t tensor, std::vector<uint8_t> &bytes) {
  auto values = session.weights.read(kind, trained[tensor]->onnxName);
  if (!values)
    return fail(values.error());
  const auto *data = static_cast<const uint8_t *>(values->data);
  bytes.assign(data, data + trained[tensor]->bytes());
  return 0;
}

int Trial::write(size_t tensor, const std::vector<uint8_t> &bytes) {
  return check(session.weights.write("parameter", trained[tensor]->onnxName, bytes.data(), bytes.size()));
}

} // namespace accum::runtime::verify
