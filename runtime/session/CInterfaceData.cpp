// SPDX-License-Identifier: Apache-2.0
// The part of accum_runtime.h that takes samples.
#include "runtime/accum_outputs.h"
#include "runtime/session/CInterface.h"
#include "runtime/session/Prediction.h"
#include <algorithm>
#include <cstring>

using namespace accum::runtime;

namespace accum::runtime {

accum_data_options known(const accum_data_options *options) {
  accum_data_options all = {};
  if (options)
    std::memcpy(&all, options, std::min<size_t>(options->size, sizeof all));
  return all;
}

Expected<Dataset> datasetOf(const Manifest &manifest, const std::vector<std::string> &paths,
                            const accum_data_options &options, bool predicts) {
  auto text = [](const char *value) { return std::string(value ? value : ""); };
  TokenOptions tokens{text(options.token_type), text(options.document_separator), text(options.token_labels)};
  auto files = readData(paths, tokens.type);
  if (!files)
    return files.error();
  return Dataset::fromFiles(manifest, std::move(*files), tokens, options.truncate != 0, predicts);
}

Expected<Dataset> datasetOf(const Manifest &manifest, const accum_array *arrays, size_t count, bool truncates,
                            bool predicts) {
  std::vector<Array> all(count);
  for (size_t i = 0; i < count; ++i) {
    if (arrays[i].dtype < 0 || arrays[i].dtype > ACCUM_U64)
      return Error{kExitUsage, std::string("array `") + arrays[i].name + "` has no known dtype", "usage"};
    all[i].name = arrays[i].name;
    all[i].path = "memory";
    all[i].dtype = DType(arrays[i].dtype);
    all[i].shape.assign(arrays[i].shape, arrays[i].shape + arrays[i].rank);
    all[i].data = static_cast<const uint8_t *>(arrays[i].data);
  }
  return Dataset::fromArrays(manifest, std::move(all), truncates, predicts);
}

} // namespace accum::runtime

namespace {

/// What data is bound for.
enum class Purpose { Train, Evaluate, Predict };

int bindTo(Session &session, Expected<Dataset> data, const accum_data_options &options, Purpose purpose) {
  if (!data)
    return report(data.error());
  if (purpose == Purpose::Evaluate)
    return report(session.evaluation.bind(std::move(*data)));
  if (purpose == Purpose::Predict)
    return report(session.predictions.bind(std::move(*data)));
  auto rest = data->splitOff(options.val_split ? options.val_split : "");
  if (!rest)
    return report(rest.error());
  Status status = session.samples.requireBatch(*data);
  if (status)
    status = session.samples.bind(std::move(*data), options);
  if (status && *rest)
    status = session.evaluation.bind(std::move(**rest));
  return report(status);
}

int bindFiles(accum_session *session, const char *const *paths, size_t count,
              const accum_data_options &options, Purpose purpose) {
  Session &own = *session->session;
  bool predicts = purpose == Purpose::Predict;
  // Before data is asked for that no output depends on.
  if (auto all = Prediction::of(own.manifest(), {}); predicts && !all)
    return report(all.error());
  return bindTo(own, datasetOf(own.manifest(), {paths, paths + count}, options, predicts), options, purpose);
}

} // namespace

extern "C" {

int accum_bind_files(accum_session *session, const char *const *paths, size_t count,
                     const accum_data_options *options) {
  return guarded([&] { return bindFiles(session, paths, count, known(options), Purpose::Train); });
}

int accum_bind_arrays(accum_session *session, const accum_array *arrays, size_t count,
                      const accum_data_options *options) {
  return guarded([&] {
    Session &own = *session->session;
    accum_data_options asked = known(options);
    return bindTo(own, datasetOf(own.manifest(), arrays, count, asked.truncate != 0), asked, Purpose::Train);
  });
}

int accum_bind_evaluation_files(accum_session *session, const char *const *paths, size_t count,
                                const accum_data_options *options) {
  return guarded([&] { return bindFiles(session, paths, count, known(options), Purpose::Evaluate); });
}

int accum_bind_evaluation_arrays(accum_session *session, const accum_array *arrays, size_t count) {
  return guarded(session, ACCUM_EVALUATES, [&](Session &own) {
    return report(own.evaluation.give(datasetOf(own.manifest(), arrays, count)));
  });
}

int accum_bind_prediction_files(accum_session *session, const char *const *paths, size_t count,
                                const accum_data_options *options) {
  return guarded([&] { return bindFiles(session, paths, count, known(options), Purpose::Predict); });
}

int accum_bind_prediction_arrays(accum_session *session, const accum_array *arrays, size_t count) {
  return guarded(session, ACCUM_PREDICTS, [&](Session &own) {
    auto all = Prediction::of(own.manifest(), {});
    return report(all ? own.predictions.give(datasetOf(own.manifest(), arrays, count, false, true))
                      : all.error());
  });
}

int accum_bind_synthetic(accum_session *session, const accum_data_options *options) {
  return guarded([&] {
    const Manifest &manifest = session->session->manifest();
    int64_t samples = options->samples > 0 ? options->samples : session->session->samples.largestBatch();
    if (manifest.wholeBatch && samples < manifest.batch)
      return report(Error{kExitUsage, "a batch whose samples are related to each other is not cut", "usage"});
    return report(
        session->session->samples.bind(Dataset::synthetic(manifest, samples, options->seed), *options));
  });
}

int accum_accumulate_arrays(accum_session *session, uint64_t step, const accum_array *arrays, size_t count,
                            uint64_t seed, accum_step_result *result) {
  return guardedStep(session, ACCUM_ACCUMULATES, step, result, [&](Session &own) {
    return own.accumulateOver(datasetOf(own.manifest(), arrays, count), step, seed);
  });
}

int accum_step_arrays(accum_session *session, uint64_t step, const accum_array *arrays, size_t count,
                      uint64_t seed, accum_step_result *result) {
  return guardedStep(session, ACCUM_STEPS, step, result, [&](Session &own) {
    return own.stepOver(datasetOf(own.manifest(), arrays, count), step, seed);
  });
}

} // extern "C"
