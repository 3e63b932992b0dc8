// SPDX-License-Identifier: Apache-2.0
// accum-run: artifact in, trained weights out.
#include "runtime/Artifact.h"
#include "runtime/accum_runtime.h"
#include "tools/accum-run/Launcher.h"
#include "tools/accum-run/Training.h"
#include <cstdio>

using namespace accum;

static int fail(const runtime::Error &error) {
  std::fputs(format(error).c_str(), stderr);
  return error.exitCode;
}

static int describe(const std::string &artifact) {
  char *text = nullptr;
  if (int code = accum_describe(artifact.c_str(), &text)) {
    std::fputs(accum_last_error(), stderr);
    return code;
  }
  std::fputs(text, stdout);
  accum_free(text);
  return 0;
}

int main(int argc, char **argv) {
  auto options = run::parseOptions(argc, argv);
  if (!options)
    return fail(options.error());
  if (options->answer) {
    std::fputs(options->answer->c_str(), stdout);
    return 0;
  }
  if (options->describe)
    return describe(options->artifact);
  auto launched = run::launchedProcesses(*options);
  if (!launched)
    return fail(launched.error());
  std::optional<int> processes = *launched;
  bool speaks = run::launchedRank() == 0;
  auto artifact = runtime::readArtifact(options->artifact);
  if (!artifact)
    return speaks ? fail(artifact.error()) : artifact.error().exitCode;
  int64_t devices = artifact->manifest.devices;
  if (!processes && devices > 1)
    return run::launchLocally(*options, int(devices));
  if (auto status = run::checkLaunched(*options, processes.value_or(1), devices); !status)
    return speaks ? fail(status.error()) : status.error().exitCode;
  run::RankBoard board;
  return run::train(*options, artifact->manifest, board);
}
