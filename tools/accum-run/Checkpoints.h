// SPDX-License-Identifier: Apache-2.0
// When checkpoints are written, and what is said of them.
#ifndef ACCUM_RUN_CHECKPOINTS_H
#define ACCUM_RUN_CHECKPOINTS_H

#include "runtime/accum_runtime.h"
#include "runtime/system/Clock.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

/// Of one run, on the rank that writes them.
class Checkpoints {
public:
  Checkpoints(const Options &options, accum_session *session) : options(options), session(session) {}

  /// Keeps other runs out of the folder. An exit code.
  int lock();
  /// Before step `from` is made. An exit code, with the sentence said: newer checkpoints of another run would
  /// be taken for this one's.
  int checkBegin(uint64_t from) const;
  /// One that cannot be written ends no run: the one before it is still there.
  void writeIfDue(uint64_t done, bool isLast);
  /// Of the latest one: its exit code, 0 where it was written.
  int failure() const { return failed; }
  /// The command, as a shell takes it, where there is something to go on from.
  void sayHowToGoOn() const;

private:
  const Options &options;
  accum_session *session;
  void finish(bool wait);
  void sayFailed();

  double latest = runtime::now();
  uint64_t latestStep = 0;
  bool isLatestLast = false;
  int failed = 0;
};

/// Says where a run goes on, or that it begins afresh. An exit code: who names a folder without a checkpoint
/// meant one.
int sayResumed(const Options &options, bool found, uint64_t step);

} // namespace accum::run
#endif
