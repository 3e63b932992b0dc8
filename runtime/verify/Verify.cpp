// SPDX-License-Identifier: Apache-2.0
// accum_verify: cuts, then the gradient.
#include "runtime/accum_verify.h"
#include "runtime/session/CInterface.h"
#include "runtime/verify/CutCheck.h"
#include "runtime/verify/GradientCheck.h"
#include <algorithm>
#include <cstring>

using namespace accum::runtime;

namespace {

/// What the caller gives, or what is drawn: no more of it than a comparison takes.
Expected<Dataset> samplesOf(const Session &session, const accum_verify_options &options,
                            const accum_data_options &data) {
  const Manifest &manifest = session.manifest();
  if (options.array_count > 0)
    return datasetOf(manifest, options.arrays, options.array_count, data.truncate != 0);
  if (options.path_count == 0) {
    int64_t most = manifest.devices * verify::mostPerDevice(manifest.m);
    return Dataset::synthetic(manifest, manifest.wholeBatch ? manifest.batch : std::min(most, manifest.batch),
                              data.seed);
  }
  auto files = datasetOf(manifest, {options.paths, options.paths + options.path_count}, data);
  Status enough = files ? session.samples.requireBatch(*files) : files.error();
  return enough ? std::move(files) : enough.error();
}

int check(Session &session, const verify::TrialOptions &options, int64_t samples) {
  verify::Trial trial(options, session, samples);
  int code = verify::checkCuts(trial);
  if (code == 0 && options.seconds > 0)
    code = verify::checkGradient(trial);
  return code ? report(trial.failure) : 0;
}

int verifySession(Session &session, const accum_verify_options &options) {
  accum_data_options data = known(options.data);
  auto samples = samplesOf(session, options, data);
  int64_t count = samples ? samples->samples() : 0;
  if (Status status = session.beginTrial(std::move(samples), data.seed); !status)
    return report(status);
  bool isSynthetic = options.array_count == 0 && options.path_count == 0;
  int code = check(
      session, {options.seconds, data.seed, isSynthetic, options.line, options.check, options.user}, count);
  Status ended = session.endTrial();
  return code ? code : report(ended);
}

} // namespace

extern "C" int accum_verify(accum_session *session, const accum_verify_options *options) {
  return guarded(session, ACCUM_COMPARES, [&](Session &own) {
    accum_verify_options known = {};
    std::memcpy(&known, options, std::min<size_t>(options->size, sizeof known));
    return verifySession(own, known);
  });
}
