// SPDX-License-Identifier: Apache-2.0
// accum_outputs.h, but for what takes samples.
#include "runtime/accum_outputs.h"
#include "runtime/session/CInterface.h"

using namespace accum::runtime;

extern "C" {

const char *accum_scalar_output(const accum_session *session, size_t index, double *value) {
  const auto &outputs = session->session->training.scalarOutputs();
  if (index >= outputs.size())
    return nullptr;
  *value = outputs[index].second;
  return outputs[index].first.c_str();
}

const char *accum_output(const accum_session *session, size_t index) {
  const std::vector<OutputSpec> &outputs = session->session->manifest().outputs;
  return index < outputs.size() ? outputs[index].name.c_str() : nullptr;
}

int64_t accum_prediction_samples(const accum_session *session) {
  return session->session->predictions.samplesBound();
}

int accum_predict(accum_session *session, const char *const *names, int64_t first, int64_t samples,
                  int64_t *predicted) {
  return guarded(session, ACCUM_PREDICTS, [&](Session &own) {
    std::vector<std::string> chosen;
    for (; names && *names; ++names)
      chosen.emplace_back(*names);
    auto outcome = own.predict(chosen, first, samples);
    if (outcome && predicted)
      *predicted = *outcome;
    return outcome ? 0 : report(outcome.error());
  });
}

int accum_predicted(const accum_session *session, const char *name, accum_tensor *tensor) {
  const Prediction *latest = session->session->predictions.latest();
  const Prediction::Column *column = latest ? latest->find(name) : nullptr;
  if (!column)
    return report(
        Error{kExitUsage, std::string("the latest prediction has no output `") + name + "`", "usage"});
  *tensor = {column->words.data(), int32_t(column->spec.given()), int32_t(column->shape.size()),
             column->shape.data()};
  return 0;
}

} // extern "C"
