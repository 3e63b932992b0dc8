// SPDX-License-Identifier: Apache-2.0
// Saving over the C interface of the runtime.
#include "tools/accum-run/training/RunResults.h"
#include "runtime/files/File.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
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
  for (const std::string &path :
       {options.save, options.best, options.dumpGradients, options.profile, options.report}) {
    if (path.empty())
      continue;
    if (auto writer = runtime::FileWriter::create(path); !writer) {
      std::fputs(format(writer.error()).c_str(), stderr);
      return writer.error().exitCode;
    }
  }
  return 0;
}

int RunResults::checkWeights() const {
  int code = writeWeights(options, session, {options.save, /*keepOld=*/true, /*checkOnly=*/true});
  if (code != 0 || options.best.empty())
    return code;
  return writeWeights(options, session, {options.best, /*keepOld=*/false, /*checkOnly=*/true});
}

/// Beside the path where the path itself asks for what cannot be: a value that a short float has not, a model
/// file that is gone. In the folder for temporary files where the disk is full, or gone.
std::vector<std::string> RunResults::otherPlaces() const {
  std::error_code unknown;
  std::filesystem::path path = options.save, folder = std::filesystem::temp_directory_path(unknown);
  bool isPlain = path.extension() == ".safetensors" && options.exportDtype.empty();
  std::vector<std::string> places;
  if (!isPlain)
    places.push_back(path.parent_path() / (path.stem().string() + ".trained.safetensors"));
  if (!unknown)
    places.push_back(folder / (std::to_string(getpid()) + "." + path.stem().string() + ".safetensors"));
  return places;
}

/// What is said where no place has taken the weights.
void RunResults::sayLost(const std::vector<std::string> &tried) const {
  uint64_t newest = 0;
  if (!options.checkpoint.empty())
    accum_newest_checkpoint(options.checkpoint.c_str(), &newest);
  std::string places;
  for (const std::string &place : tried)
    places += (places.empty() ? ", and neither did " : ", nor ") + place;
  std::fprintf(stderr, "note: the weights are lost: %s did not take them%s\n", options.save.c_str(),
               places.c_str());
  if (newest > 0)
    std::fprintf(
        stderr,
        "note: those after step %llu are in the checkpoint: --resume %s --steps %llu --save FILE writes "
        "them elsewhere\n",
        static_cast<unsigned long long>(newest), options.checkpoint.c_str(),
        static_cast<unsigned long long>(newest));
  else
    std::fprintf(stderr,
                 "note: TMPDIR names a folder on another disk, and --checkpoint DIR keeps weights while "
                 "a run goes on\n");
}

/// Where that failed, they are kept as they were trained: a run's hours are worth more than its place. The
/// exit code tells of the path.
int RunResults::saveWeights() const {
  int code = say(writeWeights(options, session, {options.save, /*keepOld=*/true}));
  if (code == 0) {
    std::printf("wrote    %s\n", options.save.c_str());
    return 0;
  }
  std::vector<std::string> places = otherPlaces();
  const char *kind = options.weights == "trained" ? "parameter" : options.weights.c_str();
  for (const std::string &instead : places)
    if (accum_save(session, kind, options.names.c_str(), instead.c_str(), 1) == 0) {
      std::fprintf(stderr, "note: the weights are in %s instead\n", instead.c_str());
      return code;
    }
  sayLost(places);
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

int writeWeights(const Options &options, accum_session *session, const WeightsFile &file) {
  auto given = [](const std::string &text) { return text.empty() ? nullptr : text.c_str(); };
  accum_save_options save = {sizeof(accum_save_options), options.names.c_str(), given(options.exportDtype),
                             given(options.model),       file.keepOld,          file.checkOnly};
  return accum_save_weights(session, file.path.c_str(), &save);
}

int finishOutput(int code) {
  errno = 0;
  bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!failed || errno == EPIPE)
    return code;
  runtime::Error error{runtime::kExitFile,
                       std::string("standard output: cannot be written: ") + std::strerror(errno),
                       "unwritable"};
  std::fputs(format(error).c_str(), stderr);
  return code == 0 || code == runtime::kExitStopped ? error.exitCode : code;
}

} // namespace accum::run
