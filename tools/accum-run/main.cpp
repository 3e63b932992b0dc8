// SPDX-License-Identifier: Apache-2.0
// accum-run: artifact in, trained weights out.
#include "runtime/accum_runtime.h"
#include "runtime/artifact/Artifact.h"
#include "tools/accum-run/training/Launcher.h"
#include "tools/accum-run/training/StopSignal.h"
#include "tools/accum-run/training/Training.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/resource.h>

using namespace accum;

static int fail(const runtime::Error &error) {
  std::fputs(format(error).c_str(), stderr);
  return error.exitCode;
}

/// A reader of half a text must not take it for the whole.
static int print(const std::string &text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0)
    return 0;
  return fail({runtime::kExitFile, std::string("standard output: cannot be written: ") + std::strerror(errno),
               "unwritable"});
}

static int describe(const std::string &artifact) {
  char *text = nullptr;
  if (int code = accum_describe(artifact.c_str(), &text)) {
    std::fputs(accum_last_error(), stderr);
    return code;
  }
  int code = print(text);
  accum_free(text);
  return code;
}

/// A set of data may be in more files than a process has by default.
static void allowManyFiles() {
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0)
    return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv) {
  run::listenForStop(nullptr, 0); // loading takes its time too
  auto options = run::parseOptions(argc, argv);
  if (!options)
    return fail(options.error());
  if (options->answer)
    return print(*options->answer);
  if (options->describe)
    return describe(options->artifact);
  std::signal(SIGPIPE, SIG_IGN); // who reads a log may leave, and training goes on
  int32_t processes = 0;
  if (int code = accum_launched(options->launcher.c_str(), &processes)) {
    std::fputs(accum_last_error(), stderr);
    return code;
  }
  bool speaks = run::launchedRank() == 0;
  auto artifact = runtime::readArtifact(options->artifact);
  if (!artifact)
    return speaks ? fail(artifact.error()) : artifact.error().exitCode;
  int64_t devices = options->devices ? *options->devices
                    : processes > 0  ? processes
                                     : artifact->manifest.devices;
  if (auto other = runtime::otherDevices(artifact->manifest, devices))
    return speaks ? fail(*other) : other->exitCode;
  if (!processes && devices > 1)
    return run::launchLocally(*options, int(devices));
  if (auto status = run::checkLaunched(*options, processes > 0 ? processes : 1, devices); !status)
    return speaks ? fail(status.error()) : status.error().exitCode;
  options->devices = int(devices);
  allowManyFiles();
  run::RankBoard board;
  return run::train(*options, board);
}
