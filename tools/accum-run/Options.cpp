// SPDX-License-Identifier: Apache-2.0
// One CLI11 declaration per option, and the rules between options.
#include "tools/accum-run/Options.h"
#include "runtime/ThreadPool.h"
#include "tools/accum-run/NotBuilt.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace accum::run {

using runtime::Error;
using runtime::Expected;
using runtime::Status;

namespace {

Error usage(std::string message) {
  message[0] = char(std::tolower(message[0])); // CLI11 starts some of its sentences with a capital
  return {runtime::kExitUsage, message, "usage", {"accum-run --help"}};
}

/// A whole number from `least` on, or to `most`; CLI11 itself would wrap -1 around.
CLI::Validator wholeNumber(int64_t least, int64_t most = INT64_MAX) {
  auto check = [least, most](std::string &text) -> std::string {
    bool digits = !text.empty() && text.size() < 19 && std::all_of(text.begin(), text.end(), isdigit);
    if (digits && std::stoll(text) >= least && std::stoll(text) <= most)
      return "";
    return "`" + text + "` is not a whole number from " + std::to_string(least) +
           (most == INT64_MAX ? " on" : " to " + std::to_string(most));
  };
  return CLI::Validator(check, "N");
}

void addData(CLI::App &app, Options &options) {
  app.add_option("--data", options.data,
                 ".safetensors, .npz or NAME=FILE.npy: one array per model input, samples "
                 "leading")
      ->type_name("PATH...");
  app.add_flag("--synthetic", options.synthetic, "random inputs from the artifact's signature");
  app.add_option("--steps", options.steps, "optimizer steps")->check(wholeNumber(0));
  app.add_option("--epochs", options.epochs, "passes over the data")->check(wholeNumber(0));
  app.add_flag("--shuffle,!--no-shuffle", options.shuffle, "another order in every epoch (default)");
  app.add_option("--seed", options.seed, "of the shuffle, of dropout and of synthetic data (default 0)")
      ->check(wholeNumber(0));
  app.add_flag("--drop-last", options.dropLast, "leave out the last incomplete window of an epoch");
}

/// Behind the C interface NaN means "not given".
std::string number(const std::string &text) {
  char *end = nullptr;
  bool isNumber = !text.empty() && !std::isnan(std::strtod(text.c_str(), &end)) && *end == '\0';
  return isNumber ? "" : "`" + text + "` is not a number";
}

void addOptimizer(CLI::App &app, Options &options) {
  runtime::HyperOptions &hyper = options.hyper;
  app.add_option("--lr", hyper.lr, "learning rate (default 0.001)")->check(number);
  app.add_option("--weight-decay", hyper.weightDecay, "default 0")->check(number);
  app.add_option("--decay", hyper.decay,
                 "what decays: matrices (default), all, or a glob over parameter names");
  app.add_option("--beta1", hyper.beta1, "adam, adamw: default 0.9")->check(number);
  app.add_option("--beta2", hyper.beta2, "adam, adamw: default 0.999")->check(number);
  app.add_option("--eps", hyper.eps, "adam, adamw: default 1e-8")->check(number);
  app.add_option("--momentum", hyper.momentum, "sgd-momentum: default 0.9")->check(number);
  app.add_option("--clip-norm", hyper.clipNorm, "the global norm of the gradients is at most this")
      ->check(number);
  app.add_option(
         "--skip-spikes", hyper.skipSpikes,
         "leave out a step whose loss or gradient norm is so many standard deviations above the last 128")
      ->check(number);
}

void addSchedule(CLI::App &app, Options &options) {
  runtime::ScheduleOptions &schedule = options.schedule;
  app.add_option(
      "--schedule", schedule.kind,
      "of the learning rate, by optimizer step: constant (default), linear, cosine, inverse-sqrt, wsd, "
      "or a file of lines `step,factor`");
  app.add_option("--warmup", schedule.warmup, "steps up to the full rate, or a percentage of the run")
      ->type_name("N|P%");
  app.add_option("--lr-floor", schedule.floor, "where the schedule ends: a rate, or a percentage of --lr")
      ->type_name("X|P%");
  app.add_option("--decay-steps", schedule.decaySteps, "of wsd: its last steps, which fall (default 10%)")
      ->type_name("N|P%");
}

/// `11h30m`, `90m`, `45s`, `2d`, or seconds; nothing where it is none of these.
std::optional<double> secondsIn(const std::string &text) {
  double sum = 0;
  const char *at = text.c_str();
  while (*at != '\0') {
    char *end = nullptr;
    double value = std::isdigit(static_cast<unsigned char>(*at)) != 0 ? std::strtod(at, &end) : NAN;
    if (!std::isfinite(value))
      return std::nullopt;
    constexpr std::pair<char, double> kUnits[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}, {'\0', 1}};
    auto unit = std::ranges::find(kUnits, *end, &std::pair<char, double>::first);
    if (unit == std::end(kUnits))
      return std::nullopt;
    sum += value * unit->second;
    at = *end == '\0' ? end : end + 1;
  }
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

/// What an unset variable of a script leaves.
std::string notEmpty(const std::string &text) { return text.empty() ? "nothing names no file" : ""; }

/// `500` steps, or `10min`.
std::string readInterval(const std::string &text, Options &options) {
  options.checkpointSteps = 0;
  options.checkpointSeconds = 0;
  if (text.ends_with("min"))
    options.checkpointSeconds = secondsIn(text.substr(0, text.size() - 2)).value_or(0);
  else if (!text.empty() && text.size() < 19 && std::all_of(text.begin(), text.end(), isdigit))
    options.checkpointSteps = std::stoull(text);
  return options.checkpointSteps > 0 || options.checkpointSeconds > 0
             ? ""
             : "`" + text + "` is neither a number of steps nor a time like 10min";
}

void addCheckpoints(CLI::App &app, Options &options) {
  app.add_option("--checkpoint", options.checkpoint,
                 "folder of checkpoints: one at the end, on a signal, and where --checkpoint-every says")
      ->check(notEmpty)
      ->type_name("DIR");
  app.add_option("--checkpoint-every")
      ->each([](const std::string &) {})
      ->check([&](const std::string &text) { return readInterval(text, options); })
      ->description("steps, or minutes as in 10min")
      ->type_name("N|Nmin");
  app.add_option("--checkpoint-keep", options.checkpointKeep, "only the newest so many (default: all)")
      ->check(wholeNumber(1));
  app.add_option("--resume", options.resume,
                 "a checkpoint, a folder of them, or auto: the newest of --checkpoint, if there is one")
      ->check(notEmpty)
      ->type_name("DIR|auto");
  app.add_flag("--resume-weights-only", options.resumeWeightsOnly,
               "take the weights of --resume and begin a new run");
}

void addEnds(CLI::App &app, Options &options) {
  app.add_option_function<std::string>(
         "--max-time", [&](const std::string &text) { options.maxSeconds = secondsIn(text).value_or(0); },
         "end behind the first step after so long, as at a signal (exit 5)")
      ->check([](const std::string &text) {
        return secondsIn(text) ? "" : "`" + text + "` is not a time like 11h30m, 90m or 45s";
      })
      ->type_name("TIME");
  app.add_option("--stop-at-loss", options.stopAtLoss,
                 "end behind the first step with such a loss or a lower one (exit 5)")
      ->check(number);
}

void addOutput(CLI::App &app, Options &options) {
  app.add_option("--save", options.save,
                 "trained weights (default MODEL.trained.safetensors beside the artifact)")
      ->check(notEmpty);
  app.add_option("--names", options.names, "names and layouts in saved files: onnx (default) or framework")
      ->check(CLI::IsMember({"onnx", "framework"}));
  app.add_option("--dump-gradients", options.dumpGradients, "gradients of the last step")
      ->check(notEmpty)
      ->type_name("FILE");
  app.add_option("--print-param", options.printParam, "first values of a parameter after every micro-step")
      ->type_name("NAME[:COUNT]");
  app.add_option("--log", options.log, "one JSON line per step; - is stdout")
      ->check(notEmpty)
      ->type_name("FILE");
  app.add_option(
         "--profile", options.profile,
         "when each call began and how long it took, for Perfetto; on GPUs with ACCUM_CUDA_STEPWISE=1")
      ->type_name("FILE.json");
}

void addRun(CLI::App &app, Options &options, std::string &onNan, std::string &progress) {
  app.add_option("--on-nan", onNan, "a step that is not finite: stop (default) or skip")
      ->check(CLI::IsMember({"stop", "skip"}));
  app.add_option("--progress", progress, "auto (default): a line on a terminal; none")
      ->check(CLI::IsMember({"auto", "none"}));
  app.add_option("--random-params", options.randomParams, "fresh weights instead of the file's")
      ->check(wholeNumber(0));
  app.add_option("--threads", options.threads,
                 "per process (default: OMP_NUM_THREADS, or processors / processes)")
      ->check(wholeNumber(1, runtime::kMostThreads));
  app.add_flag("--verify", options.verify,
               "the step against the same samples cut in other ways, and its gradient against differences of "
               "the loss; "
               "on synthetic data, or the first samples of --data; trains nothing");
  app.add_option("--verify-seconds", options.verifySeconds,
                 "how long tensors are looked at one by one (default 60); 0: the cuts alone")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--target", options.target,
                 "sim: the kernels of a CUDA artifact on the processor, each access checked")
      ->check(CLI::IsMember({"sim"}));
  app.add_option("--launcher", options.launcher,
                 "who started the ranks: auto (default), mpi, slurm, or env (RANK, WORLD_SIZE, LOCAL_RANK, "
                 "MASTER_ADDR, MASTER_PORT)")
      ->check(CLI::IsMember({"auto", "mpi", "slurm", "env"}));
  app.add_flag("--describe", options.describe, "what is in the artifact; runs nothing");
}

/// Beside this program after an installation, in the source tree before.
std::string includeFolder() {
  char link[4096];
  ssize_t length = readlink("/proc/self/exe", link, sizeof link);
  std::string self(link, length > 0 ? length : 0);
  std::string folder = self.substr(0, self.rfind('/')) + "/../include/accum";
  struct stat info;
  return stat((folder + "/accum_program.h").c_str(), &info) == 0 ? folder : ACCUM_HEADER_DIR;
}

/// Nothing that is asked for is passed over.
Status checkVerify(const CLI::App &app) {
  for (const char *flag : {"--steps",
                           "--epochs",
                           "--shuffle",
                           "--drop-last",
                           "--lr",
                           "--weight-decay",
                           "--decay",
                           "--beta1",
                           "--beta2",
                           "--eps",
                           "--momentum",
                           "--save",
                           "--names",
                           "--dump-gradients",
                           "--print-param",
                           "--log",
                           "--profile",
                           "--on-nan",
                           "--clip-norm",
                           "--skip-spikes",
                           "--schedule",
                           "--warmup",
                           "--lr-floor",
                           "--decay-steps",
                           "--max-time",
                           "--stop-at-loss",
                           "--checkpoint",
                           "--checkpoint-every",
                           "--checkpoint-keep",
                           "--resume",
                           "--resume-weights-only"})
    if (app.count(flag) > 0)
      return usage(std::string("--verify trains nothing and writes nothing: leave ") + flag + " out");
  return {};
}

Status checkTogether(const Options &options) {
  if (options.artifact.empty())
    return usage("no artifact given");
  if (options.describe)
    return {};
  if (options.verify && !options.data.empty() && options.synthetic)
    return usage("--data and --synthetic exclude each other");
  if (options.verify)
    return {};
  if (!options.steps && !options.epochs)
    return usage("one of --steps and --epochs is required");
  if (!options.data.empty() && options.synthetic)
    return usage("--data and --synthetic exclude each other");
  bool isTimed = options.checkpointSteps > 0 || options.checkpointSeconds > 0 || options.checkpointKeep > 0;
  if (isTimed && options.checkpoint.empty())
    return usage("--checkpoint-every and --checkpoint-keep need --checkpoint DIR");
  if (options.resume == "auto" && options.checkpoint.empty())
    return usage("--resume auto needs --checkpoint DIR");
  if (options.resumeWeightsOnly && options.resume.empty())
    return usage("--resume-weights-only needs --resume");
  bool any = options.steps.value_or(1) > 0 && options.epochs.value_or(1) > 0;
  if (any && options.data.empty() && !options.synthetic)
    return usage("one of --data and --synthetic is required");
  if (!any && !options.dumpGradients.empty())
    return usage("--dump-gradients needs at least one step");
  return {};
}

/// Each result has a file of its own; weights inside a model file are not built.
Status checkOutputs(const Options &options) {
  if (options.save.ends_with(".onnx"))
    return Error{runtime::kExitUsage,
                 "--save " + options.save +
                     ": a model file with new weights is not built yet in this version",
                 "not-built",
                 {"--save FILE.safetensors writes the weights"}};
  std::map<std::filesystem::path, std::string> known;
  for (const auto &[flag, path] : std::initializer_list<std::pair<std::string, std::string>>{
           {"--save", options.save},
           {"--dump-gradients", options.dumpGradients},
           {"--log", options.log == "-" ? "" : options.log},
           {"--profile", options.profile}}) {
    if (path.empty())
      continue;
    std::error_code ignored;
    std::filesystem::path file = std::filesystem::absolute(path, ignored);
    auto [first, isNew] = known.emplace(std::filesystem::weakly_canonical(file, ignored), flag);
    if (!isNew)
      return usage(first->second + " and " + flag + " name the same file");
  }
  return {};
}

/// gpt2.accum -> gpt2.trained.safetensors beside it.
std::string defaultSave(std::string artifact) {
  while (artifact.size() > 1 && artifact.back() == '/')
    artifact.pop_back();
  size_t end = artifact.rfind(".accum");
  if (end != std::string::npos && end + 6 == artifact.size())
    artifact.resize(end);
  return artifact + ".trained.safetensors";
}

} // namespace

Expected<Options> parseOptions(int argc, char **argv) {
  Options options;
  options.words.assign(argv + 1, argv + argc);
  if (Status status = refuseNotBuilt(options.words); !status)
    return status.error();
  std::string onNan = "stop", progress = "auto";
  bool version = false, include = false;
  CLI::App app("Runs an artifact that accumc compiled: data in, trained weights out.", "accum-run");
  app.add_option("artifact", options.artifact, "DIR.accum");
  addData(app, options);
  addOptimizer(app, options);
  addSchedule(app, options);
  addEnds(app, options);
  addCheckpoints(app, options);
  addOutput(app, options);
  addRun(app, options, onNan, progress);
  app.add_flag("--include-dir", include, "the folder of accum_program.h and accum_runtime.h");
  app.add_flag("--version", version, "print the version");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    options.answer = app.help();
    return options;
  } catch (const CLI::ParseError &error) {
    return usage(error.what());
  }
  if (version || include) {
    options.answer = version ? "accum-run " ACCUM_VERSION "\n" : includeFolder() + "\n";
    return options;
  }
  options.skipNan = onNan == "skip";
  options.progress = progress == "auto";
  if (Status status = options.verify && !options.describe ? checkVerify(app) : Status(); !status)
    return status.error();
  if (Status status = checkTogether(options); !status)
    return status.error();
  if (options.save.empty())
    options.save = defaultSave(options.artifact);
  if (Status status = checkOutputs(options); !status)
    return status.error();
  return options;
}

} // namespace accum::run
