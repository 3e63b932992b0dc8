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

/// Runs a body that may throw only for lack of memory.
template <typename Body> int guarded(Body &&body) {
  try {
    return body();
  } catch (const std::exception &exception) {
    return report(Error{kExitRunFailed, std::string("the runtime ran out of something: ") + exception.what(),
                        "memory"});
  }
}

} // namespace accum::runtime
#endif
