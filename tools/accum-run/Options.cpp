// SPDX-License-Identifier: Apache-2.0
// CLI11 declarations from the table, and the rules between options.
#include "tools/accum-run/Options.h"
#include "runtime/files/ArrayWriter.h"
#include "runtime/options/CommandLine.h"
#include "tools/accum-run/UnknownOptions.h"
#include <cctype>
#include <filesystem>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace accum::run {

using runtime::Error;
using runtime::Expected;
using runtime::Status;

namespace {

/// Rules that CLI11 words.
void relate(CLI::App &app) {
  CLI::Option *init = app.get_option("--init");
  app.get_option("--init-partial")->needs(init);
  app.get_option("--init-names")->needs(init);
  init->excludes(app.get_option("--random-params"));
}

/// What was given, a text each.
std::vector<runtime::Setting> givenSettings(const CLI::App &app) {
  std::vector<runtime::Setting> given;
  for (const runtime::RunOption &row : runtime::runOptions())
    for (const std::string &text : app.get_option(row.flag())->results())
      given.push_back({row.name, text});
  return given;
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

/// Nothing that is asked for is passed over: options that have no meaning in this mode.
Status checkTaken(const Options &options, runtime::RunMode mode, const std::string &why) {
  for (const runtime::Setting &setting : options.given)
    if (const auto *row = runtime::findRunOption(setting.name); (row->modes & mode) == 0)
      return usage(why + ": leave " + row->flag() + " out");
  return {};
}

Status checkAlone(const Options &options) {
  if (options.describe)
    return checkTaken(options, runtime::kDescribing, "--describe runs nothing");
  return options.verify
             ? checkTaken(options, runtime::kVerifying, "--verify trains nothing and writes nothing")
             : Status();
}

Status checkPrediction(const Options &options) {
  if (options.predict.empty())
    return options.output.empty() && options.outputs.empty()
               ? Status()
               : usage("--output and --outputs are for --predict PATH");
  if (options.output.empty())
    return usage("--predict needs --output FILE.npz or --output FILE.safetensors");
  if (auto writer = runtime::ArrayWriter::create(options.output); !writer)
    return writer.error();
  return checkTaken(options, runtime::kPredicting, "--predict trains nothing and saves no weights");
}

Status checkEvaluation(const Options &options) {
  if (Status status = checkPrediction(options); !status || !options.predict.empty())
    return status;
  bool hasData = !options.evalData.empty() || !options.valSplit.empty();
  if (options.evalEvery > 0 && !hasData)
    return usage("--eval-every needs --eval PATH");
  if (!options.best.empty() && !hasData)
    return usage("--best needs --eval PATH: the lowest loss is that of an evaluation");
  if (!options.evalData.empty() && !options.valSplit.empty())
    return usage("--eval and --val-split exclude each other");
  if (!options.valSplit.empty() && options.data.empty())
    return usage("--val-split needs --data");
  if (!options.evalOnly)
    return {};
  if (!hasData)
    return usage("--eval-only needs --eval PATH, or --data PATH and --val-split");
  if (!options.data.empty() && options.valSplit.empty())
    return usage("--eval-only trains nothing and saves nothing: leave --data out, or say --val-split");
  return checkTaken(options, runtime::kEvaluating, "--eval-only trains nothing and saves nothing");
}

Status checkTogether(const Options &options) {
  if (options.artifact.empty())
    return usage("no artifact given");
  if (options.describe)
    return {};
  if (options.verify && !options.data.empty() && options.synthetic)
    return usage("--data and --synthetic exclude each other");
  if (options.verify || options.evalOnly || !options.predict.empty())
    return {};
  if (!options.steps && !options.epochs)
    return usage("one of --steps and --epochs is required");
  if (!options.data.empty() && options.synthetic)
    return usage("--data and --synthetic exclude each other");
  const runtime::Interval &every = options.checkpointEvery;
  bool isTimed = every.steps > 0 || every.seconds > 0 || options.checkpointKeep > 0;
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
           {"--output", options.output},
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
    "  accum-run gpt2.accum --predict test.npz -o logits.npz --init trained.safetensors\n"
    "  accum-run gpt2.accum --verify                               is the step right?\n"
    "  accum-run gpt2.accum --describe                             what is in it?";

} // namespace

runtime::Error usage(std::string message) {
  message[0] = char(std::tolower(message[0])); // CLI11 starts some of its sentences with a capital
  return {runtime::kExitUsage, message, "usage", {"accum-run --help"}};
}

Expected<Options> parseOptions(int argc, char **argv) {
  Options options;
  options.words.assign(argv + 1, argv + argc);
  bool version = false, include = false;
  CLI::App app("Runs an artifact that accumc compiled: data in, trained weights out.", "accum-run");
  app.footer(kExamples);
  app.allow_extras(); // told by checkUnknown
  for (const runtime::RunOption &row : runtime::runOptions())
    runtime::declare<runtime::RunOptions>(app, row, options, shownType(row),
                                          runtime::complaint<runtime::RunOptions>);
  relate(app);
  app.option_defaults()->group("Options");
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
  options.given = givenSettings(app);
  if (Status status = checkAlone(options); !status)
    return status.error();
  if (Status status = checkEvaluation(options); !status)
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
