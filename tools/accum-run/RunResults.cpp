// SPDX-License-Identifier: Apache-2.0
// Saving over the C interface of the runtime.
#include "tools/accum-run/RunResults.h"
#include "runtime/files/File.h"
#include <cstdio>
#include <filesystem>
#include <unistd.h>

namespace accum::run {
namespace {

/// The last error of the runtime on stderr.
int say(int code) {
  if (code != 0)
    std::fputs(accum_last_error(), stderr);
  return code;
}

} // namespace

int RunResults::check() const {
  for (const std::string &path : {options.save, options.best, options.dumpGradients, options.profile}) {
    if (path.empty())
      continue;
    if (auto writer = runtime::FileWriter::create(path); !writer) {
      std::fputs(format(writer.error()).c_str(), stderr);
      return writer.error().exitCode;
    }
  }
  return 0;
}

/// Where the path failed (a full disk, a mount that is gone), the folder for temporary files: a run's hours
/// are worth more than its place. The exit code tells of the path.
int RunResults::saveWeights() const {
  auto saveAt = [&](const std::string &path) {
    return accum_save(session, "parameter", options.names.c_str(), path.c_str(), 1);
  };
  int code = say(saveAt(options.save));
  if (code == 0) {
    std::printf("wrote    %s\n", options.save.c_str());
    return 0;
  }
  std::error_code unknown;
  std::filesystem::path folder = std::filesystem::temp_directory_path(unknown);
  std::string name = std::filesystem::path(options.save).filename();
  std::string instead = folder / (std::to_string(getpid()) + "." + name);
  if (!unknown && saveAt(instead) == 0)
    std::fprintf(stderr, "note: the weights are in %s instead\n", instead.c_str());
  return code;
}

int RunResults::save(bool hasGradients) const {
  int code = saveWeights();
  if (!options.dumpGradients.empty() && hasGradients) {
    const char *path = options.dumpGradients.c_str();
    int failed = say(accum_save(session, "gradient", options.names.c_str(), path, 0));
    code = code ? code : failed;
  }
  if (!options.profile.empty()) {
    int failed = say(accum_save_profile(session, options.profile.c_str()));
    code = code ? code : failed;
  }
  return code;
}

} // namespace accum::run
