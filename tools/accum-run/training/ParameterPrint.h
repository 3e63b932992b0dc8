// SPDX-License-Identifier: Apache-2.0
// --print-param NAME[:COUNT]: first values of a parameter after every micro-step.
#ifndef ACCUM_RUN_TRAINING_PARAMETERPRINT_H
#define ACCUM_RUN_TRAINING_PARAMETERPRINT_H

#include "runtime/accum_runtime.h"
#include "runtime/system/Status.h"

namespace accum::run {

class ParameterPrint {
public:
  /// Refuses (exit 2) a name that the artifact does not have. NAME may contain colons: only a number behind
  /// the last one is a count (default 8).
  static runtime::Expected<ParameterPrint> parse(const std::string &text, const accum_session *session);

  /// Observer of a session; `user` is a ParameterPrint. Step counts from 1.
  static void print(void *user, const accum_session *session, uint32_t k, uint32_t steps);
  /// The same on the other ranks, which may have parts of the parameter.
  static void read(void *user, const accum_session *session, uint32_t k, uint32_t steps);
  void startStep(uint64_t number) { step = number; }

private:
  std::string name;
  int64_t count = 8;
  uint64_t step = 0;
};

} // namespace accum::run
#endif
