// SPDX-License-Identifier: Apache-2.0
// The calls behind --verify.
#include "tools/accum-run/Trial.h"
#include "runtime/files/Convert.h"
#include "runtime/session/NotFinite.h"
#include "tools/accum-run/RunData.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace accum::run {
namespace {

/// Two micro-steps and a part of a third: what the comparison of cuts takes.
int64_t mostPerDevice(int64_t m) { return 2 * m + ceilDiv(m, 3); }

bool isFinite(const std::vector<uint8_t> &bytes, runtime::DType dtype) {
  for (size_t at = 0, n = bytes.size() / runtime::bytesOf(dtype); at < n; ++at)
    if (!std::isfinite(runtime::asDouble(bytes.data(), dtype, int64_t(at))))
      return false;
  return true;
}

} // namespace

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

Trial::Trial(const Options &options, const runtime::Manifest &manifest, accum_session *session)
    : options(options), manifest(manifest), session(session) {
  accum_get_info(session, &info);
  for (const runtime::ParameterSpec &param : manifest.params)
    if (param.trained)
      trained.push_back(&param);
}

int Trial::check(int code) {
  if (code != 0)
    complaint = accum_last_error();
  return code;
}

int Trial::fail(const runtime::Error &error) {
  complaint = format(error);
  return error.exitCode;
}

std::string Trial::nameOf(size_t tensor) const {
  const runtime::ParameterSpec &param = *trained[tensor];
  return param.framework.empty() ? param.onnxName : param.framework.front().name;
}

int64_t Trial::samplesOf(int64_t perDevice) const {
  return manifest.wholeBatch ? info.batch : std::min(info.batch, info.devices * perDevice);
}

int Trial::bind() {
  accum_data_options data = dataOptions(options);
  data.shuffle = data.drop_last = 0;
  data.samples = samplesOf(mostPerDevice(info.m));
  std::vector<const char *> paths = pathsOf(options.data);
  int code = paths.empty() ? accum_bind_synthetic(session, &data)
                           : accum_bind_files(session, paths.data(), paths.size(), &data);
  if (code != 0)
    return check(code);
  accum_hyper_options hyper;
  accum_hyper_defaults(&hyper);
  hyper.lr = 0;
  return check(accum_set_hyper(session, &hyper));
}

int Trial::setCut(const accum_cut &cut) { return check(accum_set_cut(session, &cut)); }

int Trial::runStep(uint8_t fill, accum_step_result &result) {
  if (int code = check(accum_fill_memory(session, fill)))
    return code;
  return check(accum_step(session, 0, &result));
}

int Trial::step(const accum_cut &cut, double &loss, uint8_t fill) {
  accum_step_result result;
  if (int code = setCut(cut))
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
  return fail(
      {runtime::kExitRunFailed,
       "the step reads memory that it has not written: " + where + " is not finite where that holds NaN",
       "not-the-same-step",
       {"this is a bug of accumc; please report it with `accum-run --describe`"}});
}

int Trial::failNotFinite(const std::string &what) {
  auto valueOf = [&](const runtime::ScalarSpec &scalar) -> runtime::Expected<double> {
    accum_tensor value;
    if (accum_read(session, "scalar", scalar.name.c_str(), &value))
      return runtime::Error{runtime::kExitInternal, accum_last_error(), "program"};
    return runtime::asDouble(static_cast<const uint8_t *>(value.data), scalar.dtype, 0);
  };
  runtime::Error error = runtime::notFinite(what, manifest, valueOf);
  error.notes.push_back(
      "there is nothing to compare: the weights are the file's, the samples " +
      std::string(options.data.empty() ? "synthetic; --seed draws others" : "the data's first"));
  return fail(error);
}

int Trial::loss(bool byStep, double &value) {
  accum_step_result result{};
  int code = byStep ? accum_step(session, 0, &result) : accum_eval(session, 0, &result);
  if (code != 0)
    return check(code);
  value = std::isfinite(result.loss) ? result.loss : NAN;
  return agree(value);
}

int Trial::agree(double &value) {
  auto bits = speaks() ? std::bit_cast<int64_t>(value) : INT64_MIN;
  int64_t said = 0;
  if (int code = check(accum_maximum(session, bits, &said)))
    return code;
  value = std::bit_cast<double>(said);
  return 0;
}

int Trial::agree(bool &any) {
  int64_t most = 0;
  int code = check(accum_maximum(session, any, &most));
  any = most != 0;
  return code;
}

int Trial::read(const char *kind, size_t tensor, std::vector<uint8_t> &bytes) {
  accum_tensor values;
  if (int code = check(accum_read(session, kind, trained[tensor]->onnxName.c_str(), &values)))
    return code;
  const auto *data = static_cast<const uint8_t *>(values.data);
  bytes.assign(data, data + trained[tensor]->bytes());
  return 0;
}

int Trial::write(size_t tensor, const std::vector<uint8_t> &bytes) {
  return check(accum_write(session, trained[tensor]->onnxName.c_str(), bytes.data(), bytes.size()));
}

} // namespace accum::run
