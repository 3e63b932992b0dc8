// SPDX-License-Identifier: Apache-2.0
// Outputs of the model for the samples of --predict, into a file.
#ifndef ACCUM_RUN_PREDICTOR_H
#define ACCUM_RUN_PREDICTOR_H

#include "runtime/files/ArrayWriter.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

/// Of one run. Every rank has one, and all predict together; the first one writes.
class Predictor {
public:
  Predictor(const Options &options, accum_session *session) : options(options), session(session) {}

  /// Opens and checks the data. An exit code; the runtime's last error says more.
  int bind();
  /// All samples, a global batch at a time. An exit code, of which it has said why; kExitStopped where the
  /// run is asked to stop meanwhile; then nothing is written.
  int run();

private:
  int predictFrom(int64_t first, int64_t samples);
  int write();
  int say(const runtime::Error &error) const;

  const Options &options;
  accum_session *session;
  std::vector<std::string> names;
  std::optional<runtime::ArrayWriter> writer; ///< on the first rank
};

} // namespace accum::run
#endif
