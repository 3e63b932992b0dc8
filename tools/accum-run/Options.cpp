// SPDX-License-Identifier: Apache-2.0
// One CLI11 declaration per option, and the rules between options.
#include "tools/accum-run/Options.h"
#include "runtime/system/ThreadPool.h"
#include "tools/accum-run/OptionText.h"
#include "tools/accum-run/UnknownOptions.h"
#include "tools/accum-run/training/SharedSettings.h"
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace accum::run {

using runtime::Error;
using runtime::Expected;
using runtime::Status;

namespace {

std::string readProgress(const std::string &text, Options &options) {
  options.progress = text != "none";
  if (text == "none" || text == "auto")
    return "";
  bool isCount = !text.empty() && text.size() < 19 && std::ranges::all_of(text, isdigit);
  options.progressSteps = isCount ? std::stoull(text) : 0;
  options.progressSeconds = isCount ? 0 : secondsIn(text).value_or(0);
  return options.progressSteps > 0 || options.progressSeconds > 0
             ? ""
             : "`" + text + "` is neither auto nor none, a number of steps, or a time like 30s";
}

void addRun(CLI::App &app, Options &options, std::string &onNan) {
  app.add_option("--on-nan", onNan, "if loss or gradients are not finite: stop (default) or skip the step")
      ->check(CLI::IsMember({"stop", "skip"}));
  app.add_option("--progress")
      ->each([](const std::string &) {})
      ->check([&](const std::string &text) { return readProgress(text, options); })
      ->description("auto (default): a progress line on a terminal, elsewhere a line a minute; none; a line "
                    "every N steps, or every 30s")
      ->type_name("auto|none|N|TIME");
  app.add_option(
         "--threads", options.threads,
         "threads per process (default: OMP_NUM_THREADS, or the processors that it may use by affinity and "
         "quota, divided by the processes on this machine)")
      ->check(wholeNumber(1, runtime::kMostThreads));
  app.add_flag("--verify", options.verify,
               "compare the step with the same samples cut in other ways, and its gradient with finite "
               "differences of the loss; on synthetic data, or the first samples of --data; trains nothing");
  app.add_option("--verify-seconds", options.verifySeconds,
                 "time limit for the cuts, and for the gradient (default 60); 0: all cuts, and no gradient")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--target", options.target,
                 "sim: run the kernels of a CUDA artifact on the CPU, and check each access")
      ->check(CLI::IsMember({"sim"}));
  app.add_option("--launcher", options.launcher,
                 "who started the ranks: auto (default), mpi, slurm, or env (RANK, WORLD_SIZE, LOCAL_RANK, "
                 "MASTER_ADDR, MASTER_PORT)")
      ->check(CLI::IsMember({"auto", "mpi", "slurm", "env"}));
  app.add_flag("--describe", options.describe,
               "print what is in the artifact, or in a checkpoint; runs nothing");
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
Status checkTaken(const CLI::App &app, const std::set<std::string> &taken, const std::string &why) {
  for (const CLI::Option *option : app.get_options())
    if (option->count() > 0 && !taken.contains(option->get_name()))
      return usage(why + ": leave " + option->get_name() + " out");
  return {};
}

Status checkAlone(const CLI::App &app, const Options &options) {
  if (options.describe)
    return checkTaken(app, {"artifact", "--describe"}, "--describe runs nothing");
  if (!options.verify)
    return {};
  return checkTaken(app,
                    {"artifact", "--token-type", "--document-separator", "--token-labels", "--data",
                     "--truncate", "--synthetic", "--seed", "--random-params", "--threads", "--verify",
                     "--verify-seconds", "--target", "--launcher", "--progress", "--devices"},
                    "--verify trains nothing and writes nothing");
}

Status checkTogether(const Options &options) {
  if (options.artifact.empty())
    return usage("no artifact given");
  if (options.describe)
    return {};
  if (options.verify && !options.data.empty() && options.synthetic)
    return usage("--data and --synthetic exclude each other");
  if (options.verify || options.evalOnly)
    return {};
  if (!options.steps && !options.epochs)
    return usage("one of --steps and --epochs is required");
  if (!options.data.empty() && options.synthetic)
    return usage("--data and --synthetic exclude each other");
  bool isTimed = options.checkpointSteps > 0 || options.checkpointSeconds > 0 || options.checkpointKeep > 0;
  if ((isTimed || options.checkpointBackground) && options.checkpoint.empty())
    return usage("--checkpoint-every, --checkpoint-keep and --checkpoint-background need --checkpoint DIR");
  if (options.resume == "auto" && options.checkpoint.empty())
    return usage("--resume auto needs --checkpoint DIR");
  bool hasTokens =
      !options.tokenType.empty() || !options.documentSeparator.empty() || !options.tokenLabels.empty();
  if (hasTokens && options.data.empty() && options.evalData.empty())
    return usage("--token-type, --document-separator and --token-labels need --data with tokens");
  if (options.truncate && options.data.empty() && options.evalData.empty())
    return usage("--truncate needs --data");
  if (options.resumeWeightsOnly && options.resume.empty())
    return usage("--resume-weights-only needs --resume");
  if (!options.init.empty() && !options.resume.empty() && options.resume != "auto")
    return usage("--init begins a run and --resume goes on with one: one of them (or --resume auto, which "
                 "begins with --init where there is no checkpoint)");
  bool any = options.steps.value_or(1) > 0 && options.epochs.value_or(1) > 0;
  if (any && options.data.empty() && !options.synthetic)
    return usage("one of --data and --synthetic is required");
  if (!any && !options.dumpGradients.empty())
    return usage("--dump-gradients needs at least one step");
  return {};
}

/// Each result has a file of its own.
Status checkOutputs(const Options &options) {
  if (!options.model.empty() && !options.save.ends_with(".onnx") && !options.best.ends_with(".onnx"))
    return usage("--model is for --save FILE.onnx");
  std::map<std::filesystem::path, std::string> known;
  for (const auto &[flag, path] : std::initializer_list<std::pair<std::string, std::string>>{
           {"--save", options.save},
           {"--best", options.best},
           {"--dump-gradients", options.dumpGradients},
           {"--log", options.log == "-" ? "" : options.log},
           {"--profile", options.profile},
           {"--report", options.report}}) {
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

constexpr const char *kExamples =
    "Examples:\n"
    "  accum-run gpt2.accum --synthetic --steps 3                  a first run, without data\n"
    "  accum-run gpt2.accum --data tokens.bin --epochs 1 --lr 6e-4 --schedule cosine --warmup 2% --clip-norm "
    "1\n"
    "  accum-run gpt2.accum --data tokens.bin --epochs 1 --checkpoint run --checkpoint-every 500 --resume "
    "auto\n"
    "  accum-run gpt2.accum --verify                               is the step right?\n"
    "  accum-run gpt2.accum --describe                             what is in it?";

} // namespace

Expected<Options> parseOptions(int argc, char **argv) {
  Options options;
  options.words.assign(argv + 1, argv + argc);
  std::string onNan = "stop";
  bool version = false, include = false;
  CLI::App app("Runs an artifact that accumc compiled: data in, trained weights out.", "accum-run");
  app.footer(kExamples);
  app.allow_extras(); // told by checkUnknown
  app.add_option("artifact", options.artifact, "DIR.accum");
  auto inGroup = [&](const char *group) { app.option_defaults()->group(group); };
  inGroup("Data and length");
  addData(app, options);
  addEnds(app, options);
  inGroup("Optimizer and schedule");
  addOptimizer(app, options);
  addSchedule(app, options);
  inGroup("Evaluation");
  addEvaluation(app, options);
  inGroup("Checkpoints");
  addCheckpoints(app, options);
  inGroup("Weights");
  addWeights(app, options);
  inGroup("What comes out");
  addOutput(app, options);
  inGroup("The run");
  addBatch(app, options);
  addRun(app, options, onNan);
  inGroup("Options");
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
  if (Status status = checkUnknown(app); !status)
    return status.error();
  if (version || include) {
    options.answer = version ? "accum-run " ACCUM_VERSION "\n" : includeFolder() + "\n";
    return options;
  }
  options.skipNan = onNan == "skip";
  if (Status status = checkAlone(app, options); !status)
    return status.error();
  if (Status status = checkEvaluation(app, options); !status)
    return status.error();
  if (Status status = checkTogether(options); !status)
    return status.error();
  options.settings = sharedSettings(app);
  if (options.save.empty())
    options.save = defaultSave(options.artifact);
  if (Status status = checkOutputs(options); !status)
    return status.error();
  return options;
}

} // namespace accum::run
