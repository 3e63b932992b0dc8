// SPDX-License-Identifier: Apache-2.0
// Each frame of a trace is a call of a `forward`. Those of modules are as many as the node has scopes; one
// more is a function's.
#include "compiler/Import/lost/CustomBackward.h"
#include "compiler/Import/lost/SourceTrace.h"
#include "compiler/Import/lost/TracedCall.h"
#include "compiler/Import/parameters/Parameters.h"
#include "compiler/Import/parameters/Signature.h"
#include <algorithm>
#include <fmt/format.h>
#include <regex>

namespace accum::import {
namespace {

/// Functions of libraries whose backward is the derivative of their forward, written out.
struct KnownFunction {
  std::string_view file, name;
};
constexpr KnownFunction kKnownFunctions[] = {{"transformers/models/bloom/modeling_bloom.py", "GeLUFunction"}};

/// The class in `h = Reverse.apply(x)`, or "". `self.apply(f)` walks over a module's children.
std::string appliedIn(std::string_view code) {
  static const std::regex apply(R"(([A-Za-z_][A-Za-z_0-9]*)\.apply\()");
  std::match_results<std::string_view::const_iterator> match;
  bool isFound = std::regex_search(code.begin(), code.end(), match, apply);
  std::string name = isFound ? match[1].str() : "";
  return name == "self" || name == "super" ? "" : name;
}

bool isIn(std::string_view file, std::string_view part) { return file.find(part) != std::string_view::npos; }

/// Frames that are no module's: modules that no other holds are made where they are called, as losses and
/// activations are, and a `forward` that calls another one by name is in no scope either.
std::vector<size_t> framesWithoutModule(const std::vector<SourceFrame> &frames, size_t scopes) {
  auto callsByName = [](const SourceFrame &frame) { return isIn(frame.code, ".forward("); };
  size_t calledByName = static_cast<size_t>(std::count_if(frames.begin(), frames.end(), callsByName));
  std::vector<size_t> found;
  for (size_t i = std::max<size_t>(scopes + calledByName, 1); i < frames.size(); ++i)
    if (!isIn(frames[i].file, "torch/nn/") && !isIn(frames[i].file, "transformers/activations.py"))
      found.push_back(i);
  return found;
}

/// One call of such a `forward`, by the line that calls it.
struct Call {
  std::string name; ///< the function, or where its code stands
  std::string_view file;
  bool isModule = false; ///< some line of it speaks of `self`
  std::vector<const Node *> nodes;
};

std::map<std::string, Call> callsOf(const Graph &graph) {
  std::map<std::string, Call> calls;
  for (const Node &node : graph.nodes) {
    size_t scopes = moduleScopes(node).size();
    std::vector<SourceFrame> frames = scopes == 0 ? std::vector<SourceFrame>() : sourceFrames(node);
    for (size_t i : framesWithoutModule(frames, scopes)) {
      const SourceFrame &caller = frames[i - 1], &own = frames[i];
      Call &call = calls[fmt::format("{}:{} {}", caller.file, caller.line, own.file)];
      if (call.nodes.empty()) {
        std::string name = appliedIn(caller.code);
        call.name =
            !name.empty() ? name : fmt::format("{}:{}", own.file.substr(own.file.rfind('/') + 1), own.line);
        call.file = own.file;
      }
      call.isModule |= isIn(own.code, "self.");
      call.nodes.push_back(&node);
    }
  }
  return calls;
}

/// The trace ends in the file of the module's class, `torch/nn/modules/rnn.py` of `torch.nn.modules.rnn.GRU`:
/// that of a layer that was decomposed begins there.
bool isInOwnForward(const Node &node) {
  auto entry = node.metadata.find("pkg.torch.onnx.class_hierarchy");
  std::vector<std::string> classes =
      entry == node.metadata.end() ? std::vector<std::string>() : quotedStrings(entry->second);
  std::vector<SourceFrame> frames = sourceFrames(node);
  if (classes.size() < 2 || frames.empty())
    return false;
  std::string file = classes[classes.size() - 2]; // the last is the node itself
  file = file.substr(0, file.rfind('.'));
  std::replace(file.begin(), file.end(), '.', '/');
  return frames.back().file.ends_with(file + ".py");
}

/// The module whose call, but not whose `forward`, made the node: by `view_as` a full backward hook takes
/// hold of what goes in and comes out. "" for all others, and for weights that a hook of the framework
/// computes.
std::string hookedModule(const Node &node) {
  std::vector<std::string> scopes = moduleScopes(node);
  std::optional<TracedCall> call = TracedCall::of(node);
  bool isView = call && call->operation() == "view" && !call->argument(0, "self").starts_with("%p_");
  bool isBetween = isView && !scopes.empty() && countFrames(node) > 0 && countFrames(node) < scopes.size();
  return isBetween && !isInOwnForward(node) ? scopes.back() : "";
}

Refusal refusalOfHook(const std::string &module) {
  return {
      "lost-in-export",
      fmt::format("was made by a full backward hook of `{}` (register_full_backward_hook): what it does to "
                  "the gradient is not in the file",
                  module),
      {fmt::format("if it only looks at the gradient: --trust-backward '{}'", module),
       "or remove the hook before the export"}};
}

Refusal refusalBy(const std::string &name) {
  return {
      "lost-in-export",
      fmt::format("comes from `{}`, a torch.autograd.Function: its backward pass is not in the file, and the "
                  "derivative of its forward may be another gradient",
                  name),
      {fmt::format("if its backward is the derivative of its forward: --trust-backward '{}'", name),
       "or write in forward what the gradient shall be, such as x + (f(x) - x).detach(), and export with "
       "optimize=False"}};
}
} // namespace

CustomBackward::CustomBackward(const Graph &graph, std::vector<std::string> trusted)
    : trusted(std::move(trusted)) {
  for (const auto &[place, call] : callsOf(graph))
    if (!call.isModule && !isTrusted(call.name, call.file))
      for (const Node *node : call.nodes)
        functions.emplace(node, call.name);
}

bool CustomBackward::isTrusted(const std::string &name, std::string_view file) const {
  return std::any_of(trusted.begin(), trusted.end(),
                     [&](const std::string &pattern) { return matchesGlob(pattern, name); }) ||
         std::any_of(std::begin(kKnownFunctions), std::end(kKnownFunctions), [&](const KnownFunction &known) {
           return known.name == name && isIn(file, known.file);
         });
}

std::optional<Refusal> CustomBackward::refusal(const Node &node) const {
  if (std::string module = hookedModule(node); !module.empty() && !isTrusted(module, ""))
    return refusalOfHook(module);
  auto entry = functions.find(&node);
  return entry == functions.end() ? std::nullopt : std::optional(refusalBy(entry->second));
}

std::optional<Refusal> CustomBackward::refusalOfLine(const Node &node) const {
  for (const SourceFrame &frame : sourceFrames(node))
    if (std::string name = appliedIn(frame.code); !name.empty() && !isTrusted(name, frame.file))
      return refusalBy(name);
  return std::nullopt;
}

std::optional<Refusal> CustomBackward::refusalOfBlock(const Node &node) const {
  for (const SourceFrame &frame : sourceFrames(node)) {
    if (!frame.file.starts_with("<eval_with_key>") || isTrusted(std::string(frame.file), frame.file))
      continue;
    return Refusal{
        "lost-in-export",
        fmt::format(
            "comes from `{}`, a block that torch.export traced apart, as it does under torch.no_grad(), "
            "which "
            "stops the gradient, and under torch.autocast, which only changes types: the file does not say "
            "which of them it was",
            frame.file),
        {fmt::format("under torch.autocast, with enabled=False too, and in a reentrant checkpoint the "
                     "gradient is the graph's: --trust-backward '{}'",
                     frame.file),
         "under torch.no_grad(): write x.detach() in its place, and export with optimize=False, which keeps "
         "it"}};
  }
  return std::nullopt;
}

bool CustomBackward::trustsLineOf(const Node &node) const {
  std::vector<SourceFrame> frames = sourceFrames(node);
  return std::any_of(frames.begin(), frames.end(), [&](const SourceFrame &frame) {
    std::string name = appliedIn(frame.code);
    return !name.empty() && isTrusted(name, frame.file);
  });
}

} // namespace accum::import
