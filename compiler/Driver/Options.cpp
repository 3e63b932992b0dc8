// SPDX-License-Identifier: Apache-2.0
// accumc's command line.
#include "compiler/Driver/Options.h"
#include "base/NearestNames.h"
#include "compiler/Driver/LengthOptions.h"
#include "compiler/Driver/UnknownArguments.h"
#include "compiler/Planner/Problem/Options.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include "runtime/artifact/Optimizers.h"
#include "runtime/options/CommandLine.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accum::driver {

namespace {

/// Options that the surface has and that are not built.
std::string notBuilt(const std::string &flag) { return fmt::format("{} is not built yet [not-built]", flag); }

/// What an unset variable of a script leaves: none of these is meant by it.
std::string notEmpty(const std::string &text) { return text.empty() ? "nothing is given" : ""; }

std::string namesFolder(const std::string &path) { return path.empty() ? "nothing is no folder" : ""; }

/// One of a few words, which the help shows.
runtime::OptionFacts oneOf(std::vector<const char *> words) {
  return {.shown = fmt::format("{}", fmt::join(words, "|")), .choices = std::move(words)};
}

std::vector<const char *> optimizerChoices() {
  std::vector<const char *> names;
  for (const runtime::OptimizerSpec &spec : runtime::optimizers())
    names.push_back(spec.name.c_str());
  return names;
}

const std::vector<runtime::OptionRow<Options>> &optionRows() {
  static const auto table = [] {
    using O = Options;
    const runtime::OptionFacts count = {.check = planner::countComplaint};
    runtime::OptionTable<Options> add;
#define GROUP(name) add.group = name;
#define OPTION(...) add(__VA_ARGS__);
#include "compiler/Driver/Options.def"
    return add.rows;
  }();
  return table;
}

/// Of a few words, which one was meant.
std::string complaintOf(const runtime::OptionRow<Options> &row, const std::string &text) {
  std::vector<std::string> words(row.choices.begin(), row.choices.end());
  if (words.empty() || std::ranges::count(words, text) > 0)
    return row.check ? row.check(text) : "";
  std::string meant = nearestName(llvm::StringRef(text).lower(), words);
  return fmt::format("{} is none of {} [usage]{}", text.empty() ? "nothing" : "`" + text + "`",
                     fmt::join(words, ", "), meant.empty() ? "" : "\nnote: nearest: " + meant);
}

constexpr const char *kExamples =
    "Examples:\n"
    "  accumc check gpt2.onnx                                    can it be cut? what is trained?\n"
    "  accumc gpt2.onnx --batch 1024 --memory 8GiB               compiles into gpt2.accum\n"
    "  accumc gpt2.onnx --batch 1024 --devices 4 --shard auto    for four processes, with sharded state\n"
    "  accumc gpt2.onnx --batch 1024 --target h100 --plan-only --explain   every candidate and why it lost\n"
    "  accum-run gpt2.accum --data tokens.bin --epochs 1 --lr 6e-4         trains what was compiled";

/// Checks what CLI11 cannot; a message where something is wrong.
std::string complete(Options &options) {
  if (std::string message = readDims(options); !message.empty())
    return message;
  if (!options.memoryText.empty()) {
    auto bytes = planner::parseBytes(options.memoryText);
    if (!bytes)
      return fmt::format("--memory {}: expected a size such as 16GiB or 512MiB [usage]", options.memoryText);
    options.memory = *bytes;
  }
  if (!options.microBatchText.starts_with("explore"))
    if (auto size = planner::parseMicroBatch(options.microBatchText); !size)
      return fmt::format("{} [{}]", size.error().message, size.error().slug);
  if (options.accumulationSteps && options.microBatchText != "auto")
    return "--micro-batch and --accumulation-steps decide the same thing: give one of them [usage]";
  bool decided = options.accumulationSteps || options.microBatchText != "auto";
  if (!options.planFile.empty() && decided)
    return "--plan brings its micro-batch: leave --micro-batch and --accumulation-steps out [usage]";
  if (!options.planFile.empty() && options.recompute != "auto")
    return "--plan brings what is recomputed: leave --recompute out [usage]";
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
  std::string meant = nearestName(llvm::StringRef("--" + key).lower(), options);
  return fmt::format("`{}` is no option [usage]{}", key,
                     meant.empty() ? "" : "\nnote: nearest: " + meant.substr(2));
}

void addOptions(CLI::App &app, Options &options) {
  app.set_version_flag("--version", std::string("accumc ") + ACCUM_VERSION);
  for (const runtime::OptionRow<Options> &row : optionRows())
    runtime::declare(app, row, options, row.shown.empty() ? "TEXT" : row.shown, complaintOf);
  app.option_defaults()->group("Options");
  app.set_config("--config", "", "any of these options from a file: TOML, names without the dashes");
  app.allow_config_extras(CLI::config_extras_mode::error);
}

} // namespace

std::string Options::outputsAsked() const {
  return outputs.empty() ? "auto" : fmt::format("{}", fmt::join(outputs, ","));
}

std::string Options::updateName() const { return ema ? runtime::withAverage(optimizer) : optimizer; }

std::vector<std::string> optionNames() {
  std::vector<std::string> names = {"--help", "--version"};
  for (const runtime::OptionRow<Options> &row : optionRows())
    if (!row.isPositional)
      names.push_back(row.flag());
  names.emplace_back("--config");
  return names;
}

ParsedOptions parseOptions(int argc, char **argv) {
  Options options;
  std::vector<char *> words(argv, argv + argc);
  std::string_view command = argc > 1 ? argv[1] : "";
  options.checkOnly = command == "check";
  if (options.checkOnly)
    words.erase(words.begin() + 1);
  CLI::App app("Compiles a transformer's ONNX file into a training program that accumulates gradients over "
               "micro-batches, and picks their size.",
               "accumc");
  app.footer(kExamples);
  addOptions(app, options);
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
    return {std::nullopt, fmt::format("error: --config: {}\n", configComplaint(error.what(), optionNames())),
            2};
  } catch (const CLI::ExtrasError &) {
    std::vector<std::string> given(argv, argv + argc);
    return {std::nullopt,
            "error: " + explainUnknown(given, app.remaining(), optionNames(), options.model) + "\n", 2};
  } catch (const CLI::ParseError &error) {
    std::string message = valueComplaint(error.what());
    bool tagged = message.find(" [usage]") != std::string::npos;
    return {std::nullopt, "error: " + message + (tagged ? "\n" : " [usage]\n"), 2};
  }
  if (std::string message = complete(options); !message.empty())
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
