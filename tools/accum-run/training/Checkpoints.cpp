// SPDX-License-Identifier: Apache-2.0
// By steps, by minutes, and at the end.
#include "tools/accum-run/training/Checkpoints.h"
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

namespace accum::run {

/// By rank 0's clock, where that decides.
int Checkpoints::writeIfDue(uint64_t done, bool isLast) {
  int64_t isDue = isLast || (options.checkpointEvery.steps > 0 && done % options.checkpointEvery.steps == 0);
  if (options.checkpointEvery.seconds > 0) {
    bool isTime = isFirst && runtime::now() - latest >= options.checkpointEvery.seconds;
    if (int code = accum_maximum(session, isDue || isTime, &isDue))
      return code;
  }
  finish(/*wait=*/isDue != 0);
  if (isDue) {
    latest = runtime::now();
    latestStep = done;
    isLatestLast = isLast;
    failed = accum_checkpoint(session, options.checkpoint.c_str(), done, options.checkpointKeep);
    sayFailed();
    if (isLast)
      finish(/*wait=*/true);
  }
  return 0;
}

int Checkpoints::lock() const { return isFirst ? accum_lock_checkpoints(options.checkpoint.c_str()) : 0; }

int Checkpoints::share() { return accum_share_checkpoints(session, options.checkpoint.c_str()); }

int Checkpoints::takeMemory() {
  return options.checkpointBackground ? accum_checkpoint_background(session) : 0;
}

int Checkpoints::checkBegin(uint64_t from) const {
  bool goesOn = options.resume == "auto" && !options.resumeWeightsOnly; // with the newest, or it is damaged
  uint64_t newest = 0;
  accum_newest_checkpoint(options.checkpoint.c_str(), &newest);
  if (goesOn || newest <= from)
    return 0;
  runtime::Error error{runtime::kExitUsage,
                       options.checkpoint + ": holds checkpoints up to step " + std::to_string(newest) +
                           ", and this run begins at step " + std::to_string(from),
                       "other-checkpoint",
                       {"--resume auto goes on with the newest", "give this run a folder of its own"}};
  std::fputs(format(error).c_str(), stderr);
  return error.exitCode;
}

/// The one that a thread writes.
void Checkpoints::finish(bool wait) {
  if (int code = accum_finish_checkpoint(session, wait)) {
    failed = code;
    sayFailed();
  }
}

void Checkpoints::sayFailed() {
  if (!failed)
    return;
  std::fputs(accum_last_error(), stderr);
  if (!isLatestLast && isFirst)
    std::fprintf(stderr, "note: step %llu has no checkpoint; training goes on\n",
                 static_cast<unsigned long long>(latestStep));
}

void Checkpoints::sayHowToGoOn() const {
  if (failed)
    return;
  std::string command = "accum-run";
  bool resumes = false;
  for (const std::string &word : options.words) {
    bool isPlain = !word.empty() && std::ranges::all_of(word, [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("-_./=,:%+@", c) != nullptr;
    });
    command += isPlain ? " " + word : " '" + word + "'";
    resumes |= word == "--resume" || word.starts_with("--resume=");
  }
  std::fprintf(stderr, "note: this goes on: %s%s\n", command.c_str(), resumes ? "" : " --resume auto");
}

int sayResumed(const Options &options, bool found, uint64_t step) {
  bool isAuto = options.resume == "auto";
  const std::string &path = isAuto ? options.checkpoint : options.resume;
  if (!found && !isAuto) {
    runtime::Error error{runtime::kExitFile,
                         path + ": holds no checkpoint",
                         "missing-file",
                         {"--resume auto starts afresh where there is none"}};
    std::fputs(format(error).c_str(), stderr);
    return error.exitCode;
  }
  if (found)
    std::printf("resumed  %s%s at step %llu\n",
                options.resumeWeightsOnly || options.evalOnly ? "the weights of " : "", path.c_str(),
                static_cast<unsigned long long>(step));
  else
    std::fprintf(stderr, "note: %s holds no checkpoint: a fresh start\n", path.c_str());
  return 0;
}

} // namespace accum::run
