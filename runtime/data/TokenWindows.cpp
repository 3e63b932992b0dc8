// SPDX-License-Identifier: Apache-2.0
// Which inputs tokens go to, and how the line is cut.
#include "runtime/data/TokenWindows.h"
#include <algorithm>
#include <charconv>

namespace accum::runtime {
namespace {

/// One number per token: all axes but one have one element.
bool isLine(const InputSpec &spec) {
  return !isFloat(spec.dtype) && spec.shape.size() == 2 &&
         *std::ranges::max_element(spec.shape) == spec.slabElements();
}

bool isNamedLabels(const InputSpec &spec) { return spec.name == "labels" || spec.name == "targets"; }

/// The input that an embedding reads: by its name, or because there is no other.
Expected<const InputSpec *> findTokenInput(const Manifest &manifest) {
  std::vector<const InputSpec *> found;
  for (const InputSpec &spec : manifest.inputs) {
    if (spec.isRuntimeMade || spec.synthesize != Synthesize::None || isNamedLabels(spec) || !isLine(spec))
      continue;
    if (spec.name == "input_ids")
      return &spec;
    found.push_back(&spec);
  }
  if (found.size() == 1)
    return found.front();
  return badData(found.empty()
                     ? "the data holds tokens, and no input of the model takes a sequence of them"
                     : "the data holds tokens, and more than one input of the model could take them: `" +
                           found[0]->name + "`, `" + found[1]->name + "`");
}

} // namespace

std::string TokenWindows::identity() const {
  std::string text = std::to_string(length) + "\n";
  for (const TokenFile &file : files)
    text += nameAndSize(file.tokens);
  return text;
}

TokenWindows::Role TokenWindows::roleOf(const InputSpec &spec) const {
  if (&spec == tokenInput)
    return Role::Tokens;
  if (&spec == labelInput)
    return Role::Labels;
  return &spec == positionInput ? Role::Positions : Role::None;
}

Status TokenWindows::findInputs(const Manifest &manifest) {
  auto input = findTokenInput(manifest);
  if (!input)
    return input.error();
  tokenInput = *input;
  length = tokenInput->slabElements();
  for (const InputSpec &spec : manifest.inputs) {
    if (spec.isRuntimeMade || spec.synthesize != Synthesize::None || &spec == tokenInput)
      continue;
    if (!isNamedLabels(spec) || !isLine(spec) || spec.slabElements() != length)
      return badData("the data holds tokens alone, and the model's input `" + spec.name + "` is neither `" +
                     tokenInput->name + "` nor labels of as many tokens");
    labelInput = &spec;
  }
  bound = tokenInput->bound.value_or(INT64_MAX);
  if (labelInput)
    bound = std::min(bound, labelInput->bound.value_or(INT64_MAX));
  return {};
}

/// Labels that the loss shifts are the tokens themselves.
Status TokenWindows::chooseLabels(const Manifest &manifest, const std::string &asked) {
  if (!labelInput)
    return asked.empty()
               ? Status()
               : usage("--token-labels " + asked + ": the artifact's loss takes no labels from data");
  readsNext = manifest.labels == "cross-entropy";
  bool isKnown = readsNext || manifest.labels == "causal-lm";
  if (!isKnown)
    readsNext = labelInput->name == "targets";
  if (!asked.empty() && isKnown && readsNext != (asked == "next"))
    return usage("--token-labels " + asked + ": the artifact's loss is " + manifest.labels +
                 ", which takes the " + (readsNext ? "next tokens" : "same tokens"));
  if (!asked.empty())
    readsNext = asked == "next";
  else if (!isKnown)
    decisions.push_back("`" + labelInput->name + "`: " +
                        (readsNext
                             ? "the next tokens (--token-labels same, where the model shifts them itself)"
                             : "the same tokens, which the model shifts itself, as those of Hugging Face do "
                               "(--token-labels next, where it does not)"));
  return {};
}

Status TokenWindows::chooseSeparator(const Manifest &manifest, const std::string &text) {
  if (text.empty())
    return {};
  if (!labelInput)
    return Error{kExitUsage,
                 "--document-separator: the artifact's loss takes its targets from `" + tokenInput->name +
                     "`, and has no label that could be ignored",
                 "usage",
                 {"compile with --loss causal-lm"}};
  if (!labelInput->ignoreIndex)
    return usage("--document-separator: `" + labelInput->name + "` has no value that the loss ignores");
  ignored = *labelInput->ignoreIndex;
  hasDocuments = true;
  if (text == "index") {
    for (const TokenFile &file : files)
      if (!file.index)
        return usage("--document-separator index: " + file.tokens.path + " has no .idx file beside it");
  } else {
    int64_t id = -1;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (failure != std::errc() || *end != 0 || id < 0 || id >= bound)
      return usage("--document-separator " + text + ": expected `index`, or an id" +
                   (bound < INT64_MAX ? " below " + std::to_string(bound) : ""));
    separator = id;
  }
  for (const InputSpec &spec : manifest.inputs)
    if (spec.synthesize == Synthesize::Iota && spec.slabElements() == length)
      positionInput = &spec;
  std::string positions = positionInput ? "`" + positionInput->name + "` restarts in each document; " : "";
  decisions.push_back("labels do not cross documents; " + positions +
                      "attention does: no mask of one row per sample keeps them apart");
  return {};
}

/// Whole windows of each file.
Status TokenWindows::cut() {
  starts = {0};
  uint64_t left = 0, total = 0;
  for (const TokenFile &file : files) {
    int64_t count = file.tokens.elements(),
            windows = std::max<int64_t>(count - (readsNext ? 1 : 0), 0) / length;
    left += uint64_t(count - windows * length);
    total += uint64_t(count);
    starts.push_back(starts.back() + windows);
  }
  if (samples() == 0)
    return badData(files.front().tokens.path + (files.size() > 1 ? " and others hold " : ": holds ") +
                   std::to_string(total) + " tokens, expected at least one sample of " +
                   std::to_string(length) + (readsNext ? " and the token behind it" : ""));
  std::string rest = left > 0 ? "; " + std::to_string(left) + " left over" : "";
  decisions.push_back(std::to_string(total) + " tokens of " +
                      std::string(nameOf(files.front().tokens.dtype)) +
                      (files.size() > 1 ? " in " + std::to_string(files.size()) + " files" : "") + ": " +
                      std::to_string(samples()) + " samples of " + std::to_string(length) + rest);
  if (files.front().isGuessed)
    decisions.push_back(files.front().tokens.path +
                        ": has no header and is read as u16 (--token-type u32 for wider tokens)");
  return {};
}

Expected<TokenWindows> TokenWindows::make(const Manifest &manifest, std::vector<TokenFile> files,
                                          const TokenOptions &options) {
  TokenWindows windows;
  windows.files = std::move(files);
  Status status = windows.findInputs(manifest);
  if (status)
    status = windows.chooseLabels(manifest, options.labels);
  if (status)
    status = windows.chooseSeparator(manifest, options.separator);
  if (status)
    status = windows.cut();
  if (!status)
    return status.error();
  size_t reads = size_t(windows.length) + (windows.readsNext ? 1 : 0);
  windows.bytes.resize(reads * bytesOf(windows.files.front().tokens.dtype));
  windows.tokens.resize(reads);
  windows.isLast.resize(reads);
  windows.made.resize(size_t(windows.length));
  return windows;
}

} // namespace accum::runtime
