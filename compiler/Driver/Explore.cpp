// SPDX-License-Identifier: Apache-2.0
// accum-run, which stands beside accumc, times each program in a process of its own.
#include "compiler/Driver/Explore.h"
#include "compiler/Driver/ExploreRounds.h"
#include "compiler/Emit/RemoveOnSignal.h"
#include "compiler/Planner/Problem/Options.h"
#include "compiler/Planner/Time/DeviceProfile.h"
#include "compiler/Report/ExplainText.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace accum::driver {

namespace fs = std::filesystem;

namespace {

constexpr size_t kTimed = 4; // sizes

/// A new folder below TMPDIR; its path is empty where there can be none.
std::string makeFolder() {
  llvm::SmallString<128> name;
  return llvm::sys::fs::createUniqueDirectory("accumc-explore", name) ? "" : name.str().str();
}

/// Removed with everything in it, also where a signal ends the process.
struct TemporaryFolder {
  TemporaryFolder() : path(makeFolder()), interrupted(path) {}
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  std::string path;
  emit::RemoveOnSignal interrupted;
};

int fail(const Options &options, const std::string &message, const std::string &slug, int code,
         const std::vector<std::string> &notes = {}) {
  options.sink->message({Severity::Error, "", fmt::format("{} [{}]", message, slug), notes});
  return code;
}

/// Why programs cannot be timed for these options; empty where they can.
std::string refusal(const Options &options) {
  if (options.planOnly || options.checkOnly || !options.toPhase.empty())
    return "--micro-batch explore compiles and times programs: leave --plan-only and --to out";
  auto range = planner::parseMicroBatch(*exploredRange(options.microBatchText));
  if (!range || (range->kind != planner::MicroBatch::Range && options.microBatchText != "explore"))
    return fmt::format("--micro-batch is `{}`, expected explore or explore:MIN..MAX", options.microBatchText);
  auto profile = planner::loadProfile(options.target);
  if (!profile)
    return {}; // said by the search
  if (profile->isCuda() || !profile->notices.empty())
    return fmt::format("--micro-batch explore times programs on this machine, and target {} is another one",
                       options.target);
  return {};
}

/// Of each size the fastest way that may be chosen, the fastest size first.
std::vector<planner::Candidate> worthTiming(const planner::Search &search) {
  std::vector<planner::Candidate> sizes;
  for (const planner::Candidate &candidate : search.candidates)
    if (candidate.verdict != planner::Verdict::DoesNotFit &&
        candidate.verdict != planner::Verdict::NotDivisible)
      sizes.push_back(candidate);
  std::ranges::sort(sizes, {},
                    [](const planner::Candidate &each) { return std::pair(each.seconds, each.cut.m); });
  std::vector<planner::Candidate> distinct;
  for (const planner::Candidate &each : sizes)
    if (distinct.size() < kTimed && std::ranges::none_of(distinct, [&](const planner::Candidate &other) {
          return other.cut.m == each.cut.m;
        }))
      distinct.push_back(each);
  return distinct;
}

/// Seconds of the steps that a log tells of, but of the first one, which warms up.
std::vector<double> stepsOf(const std::string &log) {
  std::vector<double> seconds;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);)
    if (auto json = nlohmann::json::parse(line, nullptr, false); json.is_object() && json.contains("ms"))
      seconds.push_back(json["ms"].get<double>() / 1e3);
  if (!seconds.empty())
    seconds.erase(seconds.begin());
  return seconds;
}

/// In a child that is ended when this process ends, however that ends. Only what is safe behind fork.
[[noreturn]] void become(const std::vector<char *> &argv, const char *output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) // it ended before this was said
    _exit(127);
  int nothing = open("/dev/null", O_RDONLY), written = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(nothing, STDIN_FILENO);
  dup2(written, STDOUT_FILENO);
  dup2(written, STDERR_FILENO);
  execv(argv[0], argv.data());
  _exit(127);
}

/// Whether a program ends with 0; what it says goes into a file.
bool succeeds(std::vector<std::string> words, const std::string &output) {
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t self = getpid(), child = fork();
  if (child == 0)
    become(argv, output.c_str(), self);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
    continue;
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A turn of the program in a folder.
std::vector<double> timeSteps(const std::string &folder, const ExploredSize &size) {
  fs::path self = fs::read_symlink("/proc/self/exe");
  std::string log = folder + "/log", saved = folder + "/trained.safetensors";
  std::error_code ignored;
  fs::remove(log, ignored);
  bool ran = succeeds({self.parent_path() / "accum-run", folder + "/program.accum", "--synthetic", "--steps",
                       std::to_string(turnSteps(size)), "--lr", "0", "--on-nan", "skip", "--log", log,
                       "--progress", "none", "--save", saved},
                      folder + "/output");
  fs::remove(saved, ignored);
  return ran ? stepsOf(log) : std::vector<double>();
}

/// Programs of all sizes hold the same weights: once on the disk is enough. Where that cannot be, they stay.
void shareWeights(const std::string &first, const std::string &other) {
  if (first == other)
    return;
  std::error_code failed;
  fs::path name = "program.accum/params.safetensors", own = fs::path(other) / name, link = other + "/link";
  fs::create_hard_link(fs::path(first) / name, link, failed);
  if (!failed && fs::file_size(link, failed) == fs::file_size(own, failed))
    fs::rename(link, own, failed);
}

/// What accum-run said, for the error.
std::string said(const std::string &folder) {
  std::ifstream file(folder + "/output");
  std::string line;
  std::getline(file, line);
  return line;
}

/// Of the search's options the program for one size, in a folder of its own.
int compileSize(const Options &planned, int64_t m, const std::string &folder, CompileOnce compile) {
  std::error_code ignored;
  fs::create_directory(folder, ignored);
  Options one = planned;
  one.planOnly = false;
  one.microBatchText = std::to_string(m);
  one.output = folder + "/program.accum";
  one.dumpPhases.clear();
  return compile(one, nullptr);
}

/// Compiles and times the sizes of a search that look best, in a folder that is gone behind it.
int timeSizes(const Options &planned, const planner::Search &search, CompileOnce compile,
              std::vector<ExploredSize> &sizes) {
  TemporaryFolder all;
  if (all.path.empty())
    return fail(planned, "--micro-batch explore: no temporary folder can be made", "output-failed", 3,
                {"TMPDIR says where"});
  auto folderOf = [&](int64_t m) { return fmt::format("{}/{}", all.path, m); };
  for (const planner::Candidate &candidate : worthTiming(search)) {
    int64_t m = candidate.cut.m;
    if (int code = compileSize(planned, m, folderOf(m), compile))
      return code;
    sizes.push_back({.m = m, .predicted = candidate.seconds});
    shareWeights(folderOf(sizes.front().m), folderOf(m));
  }
  const ExploredSize *failed =
      timeInTurns(sizes, [&](const ExploredSize &size) { return timeSteps(folderOf(size.m), size); });
  return !failed ? 0
                 : fail(planned,
                        fmt::format("--micro-batch explore: the program for micro-batch {} did not run",
                                    failed->m),
                        "run-failed", 4, {"accum-run: " + said(folderOf(failed->m))});
}

} // namespace

std::optional<std::string> exploredRange(const std::string &microBatch) {
  if (microBatch == "explore")
    return "auto";
  if (microBatch.starts_with("explore:"))
    return microBatch.substr(8);
  return std::nullopt;
}

int explore(const Options &options, CompileOnce compile) {
  if (std::string why = refusal(options); !why.empty())
    return fail(options, why, "usage", 2);
  Options planned = options;
  planned.microBatchText = *exploredRange(options.microBatchText);
  planned.planOnly = planned.quiet = true;
  planned.report.clear();
  planner::Search search;
  if (int code = compile(planned, &search))
    return code;
  Options last = options;
  if (int code = timeSizes(planned, search, compile, last.explored))
    return code;
  last.exploredOf = static_cast<int64_t>(planner::sizeCount(search));
  auto chosen = std::ranges::find(last.explored, true, &ExploredSize::chosen);
  last.microBatchText = std::to_string(chosen->m);
  return compile(last, nullptr);
}

} // namespace accum::driver
