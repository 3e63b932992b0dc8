// SPDX-License-Identifier: Apache-2.0
// What a command line may have meant by a word that is no option.
#include "compiler/Driver/UnknownArguments.h"
#include "base/NearestNames.h"
#include "runtime/options/RunOptions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::driver {

/// Options of accum-run alone, which people give to the compiler.
static std::vector<std::string> flagsOfTheRun(const std::vector<std::string> &ours) {
  std::vector<std::string> flags;
  for (const runtime::RunOption &row : runtime::runOptions())
    if (!row.isPositional && !row.help.empty()) {
      flags.push_back(row.flag());
      if (row.isNegatable)
        flags.push_back(fmt::format("--no-{}", row.name));
    }
  std::erase_if(flags, [&](const std::string &flag) { return llvm::is_contained(ours, flag); });
  return flags;
}

/// What other programs call ours, without dashes.
static constexpr std::pair<llvm::StringRef, llvm::StringRef> kElsewhere[] = {
    {"batch-size", "--batch"},
    {"global-batch-size", "--batch"},
    {"train-batch-size", "--batch"},
    {"gradient-accumulation-steps", "--accumulation-steps"},
    {"grad-accum", "--accumulation-steps"},
    {"micro-batch-size", "--micro-batch"},
    {"num-devices", "--devices"},
    {"gpus", "--devices"},
    {"dtype", "--precision"},
    {"gradient-checkpointing", "--recompute"},
    {"train-micro-batch-size-per-gpu", "--micro-batch"},
    {"accumulate-grad-batches", "--accumulation-steps"},
    {"world-size", "--devices"},
    {"num-processes", "--devices"},
    {"optim", "--optimizer"},
    {"ema-decay", "--ema"},
    {"use-ema", "--ema"},
    {"model-ema", "--ema"},
    {"mixed-precision", "--precision"},
    {"max-memory", "--memory"},
    {"loss-fn", "--loss"},
    {"criterion", "--loss"},
    {"learning-rate", "--lr"},
    {"wd", "--weight-decay"},
    {"wdecay", "--weight-decay"},
    {"adam-epsilon", "--eps"},
    {"epsilon", "--eps"},
    {"lr-scheduler", "--schedule"},
    {"lr-scheduler-type", "--schedule"},
    {"scheduler", "--schedule"},
    {"warmup-steps", "--warmup"},
    {"warmup-ratio", "--warmup"},
    {"num-warmup-steps", "--warmup"},
    {"min-lr", "--lr-floor"},
    {"max-steps", "--steps"},
    {"total-steps", "--steps"},
    {"num-training-steps", "--steps"},
    {"num-train-epochs", "--epochs"},
    {"max-grad-norm", "--clip-norm"},
    {"max-norm", "--clip-norm"},
    {"grad-clip", "--clip-norm"},
    {"gradient-clip", "--clip-norm"},
    {"gradient-clipping", "--clip-norm"},
    {"gradient-clip-val", "--clip-norm"},
    {"clip-grad-norm", "--clip-norm"},
    {"random-seed", "--seed"},
    {"num-threads", "--threads"},
    {"output-dir", "--output"},
    {"out", "--output"}};

static std::string ofTheRun(llvm::StringRef flag, llvm::StringRef given) {
  std::string is = flag == given ? "" : fmt::format(" (here {})", flag.str());
  return fmt::format("{}{} belongs to the run [usage]\nnote: compile first; then accum-run MODEL.accum "
                     "--data FILE --steps N "
                     "{} ...",
                     given.str(), is, flag.str());
}

std::string meantBy(const std::string &word, const std::vector<std::string> &known) {
  std::string flag = "--" + llvm::StringRef(word).ltrim('-').lower();
  std::replace(flag.begin(), flag.end(), '_', '-');
  if (llvm::is_contained(known, flag))
    return flag;
  std::vector<std::string> names = known;
  for (auto [other, ours] : kElsewhere)
    if (llvm::is_contained(known, ours))
      names.push_back("--" + other.str());
  std::string found = nearestName(flag, names);
  const auto *other = llvm::find_if(kElsewhere, [&](auto pair) { return "--" + pair.first.str() == found; });
  return other == std::end(kElsewhere) || llvm::is_contained(known, found) ? found : other->second.str();
}

static std::string explainFlag(llvm::StringRef given, const std::vector<std::string> &options) {
  std::string shown = given.take_until([](char c) { return c == '='; }).str();
  if (shown == "--check")
    return fmt::format("{} is no option [usage]\nnote: accumc check MODEL.onnx", shown);
  std::vector<std::string> known = options, ofRun = flagsOfTheRun(options);
  llvm::append_range(known, ofRun);
  std::string meant = meantBy(shown, known);
  if (llvm::is_contained(ofRun, meant))
    return ofTheRun(meant, shown);
  return fmt::format("{} is no option [usage]\nnote: {}", shown,
                     meant.empty() ? "accumc --help lists them" : "nearest: " + meant);
}

static std::string explainWord(const std::string &word, const std::string &model) {
  if (word == "check")
    return "check stands in front [usage]\nnote: accumc check MODEL.onnx";
  if (!nearestName(llvm::StringRef(model).lower(), {"check", "compile"}).empty())
    return fmt::format(
        "`{}` is no command [usage]\nnote: accumc MODEL.onnx --batch N compiles, accumc check MODEL.onnx "
        "gives the verdict alone",
        model);
  return fmt::format(
      "`{}` is one word too many, after `{}` [usage]\nnote: one model at a time: accumc MODEL.onnx --batch N",
      word, model);
}

std::string explainUnknown(const std::vector<std::string> &words, const std::vector<std::string> &left,
                           const std::vector<std::string> &options, const std::string &model) {
  for (const std::string &word : words)
    if (word.size() > 1 && word[0] == '-' && llvm::is_contained(left, word))
      return explainFlag(word, options);
  auto ema = llvm::find(words, "--ema");
  if (ema != words.end() && std::next(ema) != words.end() && llvm::is_contained(left, *std::next(ema)))
    return fmt::format(
        "--ema takes no value: the decay is a number of the run [usage]\nnote: accumc --ema keeps "
        "the average, accum-run --ema {} sets its decay",
        *std::next(ema));
  return explainWord(left.empty() ? "" : left.front(), model);
}

} // namespace accum::driver
