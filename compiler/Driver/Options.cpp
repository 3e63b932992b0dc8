// SPDX-License-Identifier: Apache-2.0
// accumc's command line.
#include "compiler/Driver/Options.h"
#include "compiler/Driver/LengthOptions.h"
#include "compiler/Driver/UnknownArguments.h"
#include "compiler/Planner/Problem/Options.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include "runtime/artifact/Optimizers.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accum::driver {

namespace {

/// What CLI11 fills before it is checked as a whole.
struct Raw {
  std::vector<std::string> dims;
  std::string memory, accumulationSteps;
  std::string batch, devices, lengthsCount;
};

/// Options that the surface has and that are not built.
std::string notBuilt(const std::string &flag) { return fmt::format("{} is not built yet [not-built]", flag); }

/// What an unset variable of a script leaves: none of these is meant by it.
std::string notEmpty(const std::string &text) { return text.empty() ? "nothing is given" : ""; }

/// One word of a few; which, where another one is given.
CLI::Validator oneOf(const std::vector<std::string> &words) {
  auto check = [words](const std::string &text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end())
      return "";
    std::string meant = nearest(text, words);
    return fmt::format("{} is none of {} [usage]{}", text.empty() ? "nothing" : "`" + text + "`",
                       fmt::join(words, ", "), meant.empty() ? "" : "\nnote: nearest: " + meant);
  };
  return CLI::Validator(check, "");
}

void addModelOptions(CLI::App &app, Options &options, Raw &raw) {
  app.option_defaults()->group("What is trained");
  app.add_option("MODEL", options.model, "ONNX file, or a dump (.mlir) to resume from");
  app.add_option(
         "--loss", options.loss,
         "auto, an output's name, or cross-entropy|causal-lm|next-token|mse|bce[:OUTPUT] (default: auto)")
      ->check(notEmpty);
  app.add_option(
      "--dim", raw.dims,
      "size of a symbolic dimension other than the batch: NAME=SIZE, or A,B=SIZE; several sizes of a "
      "dimension that is padded: NAME=16,32,64, or NAME=auto:LONGEST");
  app.add_option(
         "--lengths", options.lengths.file,
         "how long samples are: a data file, or lines of `length count`; what auto:LONGEST chooses sizes for")
      ->check(notEmpty);
  app.add_option("--lengths-count", raw.lengthsCount, "at most so many sizes are chosen (default: 6)")
      ->check(planner::countComplaint);
  app.add_option(
         "--batch-dim", options.batchDim,
         "which symbolic dimension is the batch: NAME, or A,B where inputs have names of their own for it")
      ->check(notEmpty);
  app.add_option("--trainable", options.trainable,
                 "train only parameters that match (glob on module or initializer names)");
  app.add_option("--freeze", options.freeze, "do not train parameters that match");
  app.add_flag("--untie", options.untie, "do not tie initializers that are equal in the file");
  app.add_option("--tie", options.ties, "treat two initializers as one parameter: A=B");
  app.add_option(
      "--trust-backward", options.trustBackward,
      "torch.autograd.Functions whose own backward is the derivative of their forward (glob on names)");
}

/// One of a few words, which the help shows.
template <typename Value>
void addChoice(CLI::App &app, const std::string &flag, Value &value, const std::string &help,
               const std::vector<std::string> &words, const std::vector<std::string> &hidden = {}) {
  std::vector<std::string> taken = words;
  taken.insert(taken.end(), hidden.begin(), hidden.end());
  app.add_option(flag, value, help)->check(oneOf(taken))->type_name(fmt::format("{}", fmt::join(words, "|")));
}

void addStepOptions(CLI::App &app, Options &options, Raw &raw) {
  app.option_defaults()->group("The step");
  app.add_option("--batch", raw.batch, "global batch: samples per optimizer step over all devices")
      ->check(planner::countComplaint);
  app.add_option("--devices", raw.devices, "data-parallel processes, one device each (default: 1)")
      ->check(planner::countComplaint);
  std::vector<std::string> optimizers;
  for (const runtime::OptimizerSpec &spec : runtime::optimizers())
    optimizers.emplace_back(spec.name);
  addChoice(app, "--optimizer", options.optimizer, "decides the optimizer state in memory (default: adamw)",
            optimizers);
  addChoice(app, "--precision", options.precision, "tf32 on GPUs, f64 with --target reference (default: f32)",
            {"f32", "bf16", "tf32", "f64"}, {"f16"});
  addChoice(app, "--metric", options.metric,
            "evaluation counts the targets whose largest logit is their label's", {"accuracy"});
  addChoice(
      app, "--on-cross-batch", options.onCrossBatch,
      "a model that relates samples to each other: refused; split where they meet, the rest at once; or "
      "trained without accumulation (default: reject)",
      {"reject", "split", "disable"});
}

void addPlanOptions(CLI::App &app, Options &options, Raw &raw) {
  app.option_defaults()->group("The plan");
  app.add_option("--memory", raw.memory,
                 "memory budget per device, e.g. 16GiB; on a GPU including the CUDA context")
      ->check(notEmpty);
  app.add_option("--micro-batch", options.microBatch,
                 "auto, N, none, MIN..MAX, or explore[:MIN..MAX]: times the best few here (default: auto)");
  app.add_option("--accumulation-steps", raw.accumulationSteps, "micro-steps per optimizer step")
      ->check(planner::countComplaint);
  app.add_flag("--require-divisible", options.requireDivisible, "refuse a ragged last micro-step");
  addChoice(app, "--recompute", options.recompute, "activation checkpointing (default: auto)",
            {"auto", "none", "all"});
  addChoice(app, "--prefer", options.prefer,
            "among plans that fit: balanced (least memory within 1 % of the fastest), speed, or memory "
            "(least memory) (default: balanced)",
            {"balanced", "speed", "memory"});
  addChoice(app, "--shard", options.shard,
            "shard optimizer state over the devices (zero1), gradients too (zero2), parameters too (zero3); "
            "auto: the fastest, or the least sharded within 1 % of it (default: none)",
            {"auto", "none", "zero1", "zero2", "zero3"});
  app.add_option("--offload", options.offload,
                 "keep optimizer state, or parameters too, off the device: in host memory for a GPU, on disk "
                 "for a host; auto: the fastest, or the least offloaded within 1 % of it; none (default)")
      ->check(planner::offloadComplaint);
  app.add_option("--plan", options.planFile, "use this plan.json instead of a search")->check(notEmpty);
}

void addTargetOptions(CLI::App &app, Options &options) {
  app.option_defaults()->group("The machine");
  app.add_option("--target", options.target,
                 "device profile: host, h100, ... (--list-targets), reference, or FILE.json (default: host)");
  app.add_flag("--list-targets", options.listTargets, "the built-in device profiles");
  addChoice(app, "--cpu", options.cpu, "instruction set of the host (default: native)",
            {"native", "x86-64-v3", "x86-64-v4"});
  app.add_flag("--with-sim", options.withSim,
               "also compile the kernels of a GPU for the simulator (accum-run --target sim)");
}

void addOutputOptions(CLI::App &app, Options &options) {
  app.option_defaults()->group("What comes out");
  app.add_option("-o,--output", options.output, "artifact to write (default: MODEL.accum)")
      ->check([](const std::string &path) { return path.empty() ? "nothing is no folder" : ""; });
  app.add_flag("--plan-only", options.planOnly, "stop after the plan; needs no weights");
  app.add_flag("--explain", options.explain, "show the search: every candidate and why it lost");
  app.add_option("--report", options.report, "the plan as one self-contained page: FILE.html")
      ->check(notEmpty);
  app.add_flag("--json", options.json, "one JSON object on stdout");
  app.add_option("--dump-phases", options.dumpPhases, "write the IR after each phase into this folder")
      ->check(notEmpty);
  addChoice(app, "--to", options.toPhase, "stop after a phase and print its IR",
            {"import", "check", "differentiate", "fuse", "plan", "schedule"});
  app.add_flag("--timing", options.timing, "time of each phase");
  app.add_flag("--verbose", options.verbose, "say more");
  app.option_defaults()->group("Options");
}

constexpr const char *kExamples =
    "Examples:\n"
    "  accumc check gpt2.onnx                                    can it be cut? what is trained?\n"
    "  accumc gpt2.onnx --batch 1024 --memory 8GiB               compiles into gpt2.accum\n"
    "  accumc gpt2.onnx --batch 1024 --devices 4 --shard auto    for four processes, with sharded state\n"
    "  accumc gpt2.onnx --batch 1024 --target h100 --plan-only --explain   every candidate and why it lost\n"
    "  accum-run gpt2.accum --data tokens.bin --epochs 1 --lr 6e-4         trains what was compiled";

/// Checks what CLI11 cannot; a message where something is wrong.
std::string complete(Options &options, const Raw &raw) {
  if (std::string message = readDims(options, raw.dims, raw.lengthsCount); !message.empty())
    return message;
  if (!raw.memory.empty()) {
    auto bytes = planner::parseBytes(raw.memory);
    if (!bytes)
      return fmt::format("--memory {}: expected a size such as 16GiB or 512MiB [usage]", raw.memory);
    options.memory = *bytes;
  }
  if (!raw.accumulationSteps.empty())
    options.accumulationSteps = std::stoll(raw.accumulationSteps);
  if (!options.microBatch.starts_with("explore"))
    if (auto size = planner::parseMicroBatch(options.microBatch); !size)
      return fmt::format("{} [{}]", size.error().message, size.error().slug);
  if (options.accumulationSteps && options.microBatch != "auto")
    return "--micro-batch and --accumulation-steps decide the same thing: give one of them [usage]";
  bool decided = options.accumulationSteps || options.microBatch != "auto";
  if (!options.planFile.empty() && decided)
    return "--plan brings its micro-batch: leave --micro-batch and --accumulation-steps out [usage]";
  if (!options.planFile.empty() && options.recompute != "auto")
    return "--plan brings what is recomputed: leave --recompute out [usage]";
  options.batch = raw.batch.empty() ? 0 : std::stoll(raw.batch);
  options.devices = raw.devices.empty() ? 1 : std::stoll(raw.devices);
  if (options.listTargets)
    return {};
  if (options.model.empty())
    return "no model given: accumc MODEL.onnx --batch N, or accumc check MODEL.onnx [usage]";
  bool planned = !options.checkOnly &&
                 (options.toPhase.empty() || options.toPhase == "plan" || options.toPhase == "schedule");
  if (options.batch == 0 && planned)
    return "--batch N is missing: the samples of one optimizer step over all devices [usage]";
  options.reference = options.target == "reference";
  if (options.reference)
    options.target = "host";
  if (options.precision == "f64" && !options.reference)
    return "--precision f64 runs on --target reference only [usage]";
  if (options.precision == "f16")
    return notBuilt("--precision f16");
  return {};
}

/// What the library says of a value that is missing, in our words.
std::string valueComplaint(const std::string &message) {
  size_t at = message.rfind(": 1 required ");
  return at == std::string::npos || !message.ends_with(" missing")
             ? message
             : message.substr(0, at) + ": its value is missing";
}

std::vector<std::string> optionNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

/// The library's own line of usage knows neither what is required nor `check`.
std::string helpOf(const CLI::App &app) {
  static const std::string usage = "Usage:\n"
                                   "  accumc MODEL.onnx --batch N [OPTIONS]   compiles\n"
                                   "  accumc check MODEL.onnx [OPTIONS]       the verdict alone: parameters, "
                                   "loss, batch axis, what is refused and why\n"
                                   "  accumc --list-targets";
  std::string text = app.help();
  size_t begin = text.find("Usage:"), end = text.find('\n', begin);
  return begin == std::string::npos ? text : text.replace(begin, end - begin, usage);
}

/// The library's message names the key behind a fixed sentence, and marks sections.
std::string configComplaint(const std::string &message, const std::vector<std::string> &options) {
  static const std::string prefix = "INI was not able to parse ";
  if (message.rfind(prefix, 0) != 0)
    return message + " [usage]";
  std::string key = message.substr(prefix.size());
  if (key.size() > 3 && key.substr(key.size() - 3) == ".++")
    return fmt::format("[{}] is a section, and there are none [usage]", key.substr(0, key.size() - 3));
  std::string meant = nearest("--" + key, options);
  return fmt::format("`{}` is no option [usage]{}", key,
                     meant.empty() ? "" : "\nnote: nearest: " + meant.substr(2));
}

void addOptions(CLI::App &app, Options &options, Raw &raw) {
  app.set_version_flag("--version", std::string("accumc ") + ACCUM_VERSION);
  addModelOptions(app, options, raw);
  addStepOptions(app, options, raw);
  addPlanOptions(app, options, raw);
  addTargetOptions(app, options);
  addOutputOptions(app, options);
  app.set_config("--config", "", "any of these options from a file: TOML, names without the dashes");
  app.allow_config_extras(CLI::config_extras_mode::error);
}

} // namespace

std::vector<std::string> optionNames() {
  Options options;
  Raw raw;
  CLI::App app;
  addOptions(app, options, raw);
  return optionNames(app);
}

ParsedOptions parseOptions(int argc, char **argv) {
  Options options;
  Raw raw;
  std::vector<char *> words(argv, argv + argc);
  std::string_view command = argc > 1 ? argv[1] : "";
  options.checkOnly = command == "check";
  if (options.checkOnly)
    words.erase(words.begin() + 1);
  CLI::App app("Compiles a transformer's ONNX file into a training program that accumulates gradients over "
               "micro-batches, and picks their size.",
               "accumc");
  app.footer(kExamples);
  addOptions(app, options, raw);
  if (command == "help" && argc == 2)
    return {std::nullopt, helpOf(app), 0};
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success &success) {
    std::string text = success.get_name() == "CallForHelp" ? helpOf(app) : std::string(success.what()) + "\n";
    return {std::nullopt, text, 0};
  } catch (const CLI::FileError &error) {
    return {std::nullopt, fmt::format("error: --config: {} [file-unreadable]\n", error.what()), 3};
  } catch (const CLI::ConfigError &error) {
    return {std::nullopt,
            fmt::format("error: --config: {}\n", configComplaint(error.what(), optionNames(app))), 2};
  } catch (const CLI::ExtrasError &) {
    std::vector<std::string> given(argv, argv + argc);
    return {std::nullopt,
            "error: " + explainUnknown(given, app.remaining(), optionNames(app), options.model) + "\n", 2};
  } catch (const CLI::ParseError &error) {
    std::string message = valueComplaint(error.what());
    bool tagged = message.find(" [usage]") != std::string::npos;
    return {std::nullopt, "error: " + message + (tagged ? "\n" : " [usage]\n"), 2};
  }
  if (std::string message = complete(options, raw); !message.empty())
    return {std::nullopt, "error: " + message + "\n", 2};
  options.argv.assign(argv, argv + argc);
  return {std::move(options), "", 0};
}

std::string settlePrecision(Options &options, bool isDouble) {
  if (!isDouble || options.precision == "f64")
    return "";
  if (options.precision != "f32")
    return fmt::format("--precision {}: the model's parameters are f64, and are computed with in f64 [usage]",
                       options.precision);
  options.precision = "f64";
  return "";
}

} // namespace accum::driver
