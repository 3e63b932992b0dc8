// SPDX-License-Identifier: Apache-2.0
// accum-run, which stands beside accumc, times each program in a process of its own.
#include "compiler/Driver/Explore.h"
#include "compiler/Planner/DeviceProfile.h"
#include "compiler/Planner/ExplainText.h"
#include "compiler/Planner/Options.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace accum::driver {

namespace fs = std::filesystem;

namespace {

constexpr size_t kTimed = 4; // sizes
constexpr int kSteps = 4;    // of each; the first one warms up

/// Removed with everything in it.
struct TemporaryFolder {
  TemporaryFolder() {
    llvm::SmallString<128> name;
    if (!llvm::sys::fs::createUniqueDirectory("accumc-explore", name))
      path = name.str().str();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  std::string path;
};

int fail(const std::string &message, const std::string &slug, int code, const std::string &note = {}) {
  fmt::print(stderr, "error: {} [{}]\n", message, slug);
  if (!note.empty())
    fmt::print(stderr, "note: {}\n", note);
  return code;
}

/// Why programs cannot be timed for these options; empty where they can.
std::string refusal(const Options &options) {
  if (options.planOnly || options.checkOnly || !options.toPhase.empty())
    return "--micro-batch explore compiles and times programs: leave --plan-only and --to out";
  auto range = planner::parseMicroBatch(*exploredRange(options.microBatch));
  if (!range || (range->kind != planner::MicroBatch::Range && options.microBatch != "explore"))
    return fmt::format("--micro-batch is `{}`, expected explore or explore:MIN..MAX", options.microBatch);
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

/// The median seconds of a step; 0 where the program does not run.
double timeStep(const std::string &folder) {
  fs::path self = fs::read_symlink("/proc/self/exe");
  std::string program = (self.parent_path() / "accum-run").string();
  std::string artifact = folder + "/program.accum", log = folder + "/log",
              saved = folder + "/trained.safetensors", steps = std::to_string(kSteps),
              output = folder + "/output";
  llvm::StringRef words[] = {program, artifact,     "--synthetic", "--steps", steps,
                             "--lr",  "0",          "--on-nan",    "skip",    "--log",
                             log,     "--progress", "none",        "--save",  saved};
  std::optional<llvm::StringRef> redirects[] = {"", output, output};
  if (llvm::sys::ExecuteAndWait(program, words, std::nullopt, redirects) != 0)
    return 0;
  std::vector<double> seconds;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);)
    if (auto json = nlohmann::json::parse(line, nullptr, false); json.is_object() && json.contains("ms"))
      seconds.push_back(json["ms"].get<double>() / 1e3);
  if (seconds.size() < 2)
    return 0;
  std::sort(seconds.begin() + 1, seconds.end());
  return seconds[1 + (seconds.size() - 1) / 2];
}

/// What accum-run said, for the error.
std::string said(const std::string &folder) {
  std::ifstream file(folder + "/output");
  std::string line;
  std::getline(file, line);
  return line;
}

} // namespace

std::optional<std::string> exploredRange(const std::string &microBatch) {
  if (microBatch == "explore")
    return "auto";
  if (microBatch.starts_with("explore:"))
    return microBatch.substr(8);
  return std::nullopt;
}

std::string describeExplored(const std::vector<ExploredSize> &sizes, int64_t compared) {
  std::string text = fmt::format("explore  {} of {} sizes timed here\n", sizes.size(), compared);
  for (const ExploredSize &size : sizes)
    text += fmt::format(
        "         micro-batch {:>5}: {:>9.1f} ms per step predicted, {:>9.1f} measured ({:+.1f} %){}\n",
        size.m, size.predicted * 1e3, size.measured * 1e3, 100 * (size.predicted / size.measured - 1),
        size.chosen ? "   chosen" : "");
  return text;
}

int explore(const Options &options, CompileOnce compile) {
  if (std::string why = refusal(options); !why.empty())
    return fail(why, "usage", 2);
  Options planned = options;
  planned.microBatch = *exploredRange(options.microBatch);
  planned.planOnly = planned.quiet = true;
  planned.report.clear();
  planner::Search search;
  if (int code = compile(planned, &search))
    return code;
  Options last = options;
  for (const planner::Candidate &candidate : worthTiming(search)) {
    TemporaryFolder folder;
    Options one = planned;
    one.planOnly = false;
    one.microBatch = std::to_string(candidate.cut.m);
    one.output = folder.path + "/program.accum";
    one.dumpPhases.clear();
    if (int code = compile(one, nullptr))
      return code;
    double seconds = timeStep(folder.path);
    if (seconds <= 0)
      return fail(
          fmt::format("--micro-batch explore: the program for micro-batch {} did not run", candidate.cut.m),
          "run-failed", 4, "accum-run: " + said(folder.path));
    last.explored.push_back({candidate.cut.m, candidate.seconds, seconds});
  }
  auto fastest = std::ranges::min_element(last.explored, {}, &ExploredSize::measured);
  fastest->chosen = true;
  last.exploredOf = static_cast<int64_t>(planner::sizeCount(search));
  last.microBatch = std::to_string(fastest->m);
  return compile(last, nullptr);
}

} // namespace accum::driver
