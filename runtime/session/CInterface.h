// SPDX-License-Identifier: Apache-2.0
// What the parts of accum_runtime.h share: the handle, and errors as codes and text.
#ifndef ACCUM_RUNTIME_SESSION_CINTERFACE_H
#define ACCUM_RUNTIME_SESSION_CINTERFACE_H

#include "runtime/session/Session.h"
#include <memory>

struct accum_session {
  std::unique_ptr<accum::runtime::Session> session;
};

namespace accum::runtime {

/// Keeps the message for accum_last_error; the exit code.
int report(const Error &error);
/// 0 for success.
int report(const Status &status);

/// Stores it where the caller wants it; 0, or the exit code.
int storeResult(const Expected<accum_step_result> &outcome, accum_step_result *result);
/// The same; where the step failed since it was not finite, the result says so.
int storeStep(const Session &session, const Expected<accum_step_result> &outcome, accum_step_result *result);

/// A caller of an older header has fewer.
accum_data_options known(const accum_data_options *options);
/// Arrays in memory, matched to the inputs; `predicts`: to those that a prediction reads.
Expected<Dataset> datasetOf(const Manifest &manifest, const accum_array *arrays, size_t count,
                            bool truncates = false, bool predicts = false);
/// The same of files.
Expected<Dataset> datasetOf(const Manifest &manifest, const std::vector<std::string> &paths,
                            const accum_data_options &options, bool predicts = false);

/// Slug `forked` (exit 2) in a forked child, which has none of the threads that a session counts on.
Status requireThreads();

/// Runs a body that may throw only for lack of memory.
template <typename Body> int guarded(Body &&body) {
  try {
    return body();
  } catch (const std::exception &exception) {
    return report(Error{kExitRunFailed, std::string("the runtime ran out of something: ") + exception.what(),
                        "memory"});
  }
}

/// The same for what all ranks do alike, in or after this step.
template <typename Body>
int guarded(const accum_session *session, accum_rank_action action, uint64_t step, Body &&body) {
  return guarded([&] {
    if (Status status = requireThreads(); !status)
      return report(status);
    Collectives::Doing doing(session->session->ranks(), action, step);
    return body(*session->session);
  });
}

/// After the steps that were made.
template <typename Body> int guarded(const accum_session *session, accum_rank_action action, Body &&body) {
  return guarded(session, action, session->session->training.reached, std::forward<Body>(body));
}

/// The same of a step, which counts behind it.
template <typename Body>
int guardedStep(const accum_session *session, accum_rank_action action, uint64_t step,
                accum_step_result *result, Body &&body) {
  return guarded(session, action, step, [&](Session &own) {
    int code = storeStep(own, body(own), result);
    if (code == 0)
      own.ranks().countSteps(own.training.reached);
    return code;
  });
}

} // namespace accum::runtime
#endif
