// SPDX-License-Identifier: Apache-2.0
// When checkpoints are written, and what is said of them.
#ifndef ACCUM_RUN_TRAINING_CHECKPOINTS_H
#define ACCUM_RUN_TRAINING_CHECKPOINTS_H

#include "runtime/accum_runtime.h"
#include "runtime/system/Clock.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

/// Of one run. Every rank has one, and all make the same calls but those that are rank 0's.
class Checkpoints {
public:
  Checkpoints(const Options &options, accum_session *session, bool isFirst)
      : options(options), session(session), isFirst(isFirst) {}

  /// Rank 0 keeps other runs out of the folder. An exit code.
  int lock() const;
  /// Whether all ranks see that folder. An exit code, on all ranks alike.
  int share();
  /// Of what is written in the background, when all is known that a checkpoint holds. An exit code, on all
  /// ranks alike.
  int takeMemory();
  /// Of rank 0, before step `from` is made. An exit code, with the sentence said: newer checkpoints of
  /// another run would be taken for this one's.
  int checkBegin(uint64_t from) const;
  /// One that cannot be written ends no run: the one before it is still there. An exit code where ranks
  /// cannot be reached.
  int writeIfDue(uint64_t done, bool isLast);
  /// Of the latest one: its exit code, 0 where it was written.
  int failure() const { return failed; }
  /// Of rank 0: the command, as a shell takes it, where there is something to go on from.
  void sayHowToGoOn() const;

private:
  const Options &options;
  accum_session *session;
  bool isFirst;
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
