// SPDX-License-Identifier: Apache-2.0
// accum-calibrate: how long this machine takes for what programs are made of, as a device profile.
#include "runtime/files/File.h"
#include "runtime/host/Gemm.h"
#include "runtime/system/SignalStack.h"
#include "runtime/system/ThreadPool.h"
#include "tools/accum-calibrate/AllReduce.h"
#include "tools/accum-calibrate/Calibration.h"
#include <CLI/CLI.hpp>
#include <cmath>
#include <csignal>
#include <fmt/format.h>
#include <unistd.h>

using namespace accum;
using runtime::Error;
using runtime::Status;

namespace {

struct Options {
  std::string output, target = "host";
  bool quick = false, allReduce = false, reference = false;
};

volatile std::sig_atomic_t requested = 0;
bool stopRequested() { return requested != 0; }

int fail(const Error &error) {
  std::fputs(format(error).c_str(), stderr);
  return error.exitCode;
}

/// On a terminal a line that moves; else a line for each table, since logs are read later.
void showProgress(const std::string &what, size_t done, size_t all, std::optional<double> left) {
  std::string rest = left ? fmt::format(", about {:.0f} s left", std::ceil(*left)) : "";
  if (isatty(STDERR_FILENO) != 0 && (done % 10 == 0 || done == all))
    fmt::print(stderr, "\r{:<28} {:>5}/{}{}\033[K{}", what, done, all, rest, done == all ? "\n" : "");
  else if (isatty(STDERR_FILENO) == 0 && done == all)
    fmt::print(stderr, "{:<28} {:>5}/{}{}\n", what, done, all, rest);
}

Status writeProfile(const std::string &path, const std::string &text) {
  auto file = runtime::FileWriter::create(path);
  if (!file)
    return file.error();
  if (Status status = (*file)->write(text.data(), text.size()); !status)
    return status;
  return (*file)->commit(/*keepOld=*/false);
}

int measureHost(const Options &options) {
  planner::HostFacts host = planner::detectHost();
  auto base = planner::loadProfile("host", host);
  if (!base)
    return fail({runtime::kExitInternal, base.error().message, base.error().slug});
  // An output that cannot be written is an error before the minutes, not behind them.
  if (auto writer = runtime::FileWriter::create(options.output); !writer)
    return fail(writer.error());
  int threads = runtime::setThreads(host.cores);
  if (Status status = runtime::loadGemmLibrary(); !status)
    return fail(status.error());
  std::string source = fmt::format("accum-calibrate {}, {}, {} threads{}", ACCUM_VERSION,
                                   runtime::gemmLibraryVersion(), threads, options.quick ? ", --quick" : "");
  auto results = calibrate::Results::open(options.output + ".partial", source + "; " + host.cpu);
  if (!results)
    return fail(results.error());
  if (results->found() > 0)
    fmt::print("continue {} samples are there already ({}.partial)\n", results->found(), options.output);
  calibrate::Calibration calibration(*base, threads, options.quick, *results, showProgress);
  if (Status status = calibration.run(stopRequested); !status)
    return fail(status.error());
  std::string text = planner::toJson(calibration.result(), host, source);
  if (Status status = writeProfile(options.output, text); !status)
    return fail(status.error());
  results->remove();
  for (const std::string &line : calibration.summary())
    fmt::print("         {}\n", line);
  fmt::print("wrote    {}\nnext     accumc MODEL.onnx --target {}\n", options.output, options.output);
  return 0;
}

/// For benchmarks that say how fast the machine was meanwhile: for each line read, the reference's seconds.
int answerReference() {
  runtime::setThreads(planner::detectHost().cores);
  auto calls = calibrate::LibraryCalls::open();
  if (!calls)
    return fail(calls.error());
  for (int character; (character = std::getchar()) != EOF;)
    if (character == '\n') {
      fmt::print("{:.9f}\n", calls->reference());
      std::fflush(stdout);
    }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Measures this machine and writes a device profile for accumc --target FILE.json.",
               "accum-calibrate");
  app.add_option("-o,--output", options.output, "the profile to write; ends in .json")
      ->type_name("FILE.json");
  app.add_option("--target", options.target, "what to measure: host");
  app.add_flag("--quick", options.quick, "a coarse grid, in seconds instead of minutes");
  app.add_flag("--all-reduce", options.allReduce)->group(""); // this program, started again by mpirun
  app.add_flag("--reference", options.reference)->group("");  // asked by bench/time-model
  app.set_version_flag("--version", "accum-calibrate " ACCUM_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::CallForVersion &) {
    fmt::print("accum-calibrate {}\n", ACCUM_VERSION);
    return 0;
  } catch (const CLI::ParseError &error) {
    return fail({runtime::kExitUsage, error.what(), "usage", {"accum-calibrate --help"}});
  }
  if (options.allReduce)
    return calibrate::runAllReduce();
  if (options.reference)
    return answerReference();
  if (options.target != "host")
    return fail({runtime::kExitUsage,
                 fmt::format("--target {} is not built yet: only the host is measured", options.target),
                 "not-built"});
  if (!options.output.ends_with(".json"))
    return fail({runtime::kExitUsage,
                 "-o FILE.json says where the profile goes, and accumc knows files by `.json`", "usage"});
  for (int number : {SIGINT, SIGTERM})
    runtime::handleOnOwnStack(number, [](int) { requested = 1; });
  return measureHost(options);
}
