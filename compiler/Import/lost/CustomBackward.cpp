// SPDX-License-Identifier: Apache-2.0
// Each frame of a trace is a call of a `forward`. One inside a module that is no module's is a function's.
#include "compiler/Import/lost/CustomBackward.h"
#include "compiler/Import/lost/ModuleFrames.h"
#include "compiler/Import/lost/TracedCall.h"
#include "compiler/Import/parameters/Parameters.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::import {
namespace {

/// Functions of libraries whose backward is the derivative of their forward, written out.
struct KnownFunction {
  std::string_view file, name;
};
constexpr KnownFunction kKnownFunctions[] = {{"transformers/models/bloom/modeling_bloom.py", "GeLUFunction"}};

bool isIn(std::string_view file, std::string_view part) { return file.find(part) != std::string_view::npos; }

/// Modules that no other holds are made where they are called, as losses and activations are: they have no
/// scope.
bool isLibraryModule(std::string_view file) {
  return isIn(file, "torch/nn/") || isIn(file, "transformers/activations.py");
}

/// Their forward calls modules alone.
constexpr std::string_view kContainers = "torch/nn/modules/container.py";

/// Frames that may be a function's. Those before a module's are around it, and the function's only where the
/// line that calls them says so; those after all modules' are.
std::vector<size_t> suspectsOf(const AlignedTrace &trace) {
  size_t end = trace.endOfModules();
  bool hasMore = trace.frames.size() > trace.scopes.size();
  std::vector<size_t> found;
  for (size_t i = 1; i < trace.frames.size(); ++i) {
    bool isApplied = appliesClass(trace.frames[i - 1]);
    bool isExplained = isLibraryModule(trace.frames[i].file) || isIn(trace.frames[i - 1].file, kContainers);
    if (!trace.isModule(i) && (isApplied || (hasMore && i >= end)) && !isExplained)
      found.push_back(i);
  }
  return found;
}

/// One call of such a `forward`, by the line that calls it.
struct Call {
  std::string name; ///< the function, or where its code stands
  std::string_view file;
  bool isApplied = false; ///< the line that calls it says so
  bool isModule = false;  ///< some line of it speaks of `self`, or the line that calls it of a module
  std::vector<const Node *> nodes;
};

/// A function around a module, and that module: what is called in it is in no module's own forward.
using Wrappers = std::set<std::pair<std::string, std::string>>;

Wrappers wrappersOf(const Graph &graph, const ModuleFrames &modules) {
  Wrappers wrappers;
  for (const Node &node : graph.nodes) {
    AlignedTrace trace = modules.align(node);
    for (size_t i = 0, end = trace.endOfModules(); i < end; ++i)
      if (!trace.isModule(i)) {
        ptrdiff_t owner = *std::find_if(trace.owners.begin() + static_cast<ptrdiff_t>(i), trace.owners.end(),
                                        [](ptrdiff_t each) { return each >= 0; });
        wrappers.emplace(callPlace(trace.frames, i), trace.scopes[static_cast<size_t>(owner)]);
      }
  }
  return wrappers;
}

void collect(const Node &node, const AlignedTrace &trace, size_t frame, const ModuleFrames &modules,
             std::map<std::string, Call> &calls) {
  const SourceFrame &caller = trace.frames[frame - 1], &own = trace.frames[frame];
  Call &call = calls[callPlace(trace.frames, frame)];
  if (call.nodes.empty()) {
    std::string name = appliedIn(caller.code);
    call.isApplied = !name.empty();
    call.name =
        call.isApplied ? name : fmt::format("{}:{}", own.file.substr(own.file.rfind('/') + 1), own.line);
    call.file = own.file;
  }
  call.isModule |= !appliesClass(caller) && (modules.speaksOfSelf(own) || callsModule(caller));
  call.nodes.push_back(&node);
}

std::map<std::string, Call> callsOf(const Graph &graph, const ModuleFrames &modules) {
  Wrappers wrappers = wrappersOf(graph, modules);
  std::map<std::string, Call> calls;
  for (const Node &node : graph.nodes) {
    AlignedTrace trace = modules.align(node);
    for (size_t i : trace.scopes.empty() ? std::vector<size_t>() : suspectsOf(trace))
      if (wrappers.count({callPlace(trace.frames, i), trace.scopes.back()}) == 0 ||
          appliesClass(trace.frames[i - 1]))
        collect(node, trace, i, modules, calls);
  }
  return calls;
}

/// As far as the file tells.
bool hasSameShape(const Graph &graph, const Node &node) {
  const ValueInfo *from = graph.info(node.inputs.empty() ? "" : node.inputs[0]);
  const ValueInfo *to = graph.info(node.outputs.empty() ? "" : node.outputs[0]);
  if (!from || !to || !from->type.shape || !to->type.shape)
    return true;
  auto isEqual = [](const Dim &a, const Dim &b) {
    return a.size == b.size || !a.isStatic() || !b.isStatic();
  };
  return std::equal(from->type.shape->begin(), from->type.shape->end(), to->type.shape->begin(),
                    to->type.shape->end(), isEqual);
}

constexpr std::string_view kBlock = "<eval_with_key>";

/// Whether torch.export traced it apart, as it does under torch.no_grad().
bool isOfBlock(const Node &node) {
  std::vector<SourceFrame> frames = sourceFrames(node);
  return std::ranges::any_of(frames, [](const SourceFrame &frame) { return frame.file.starts_with(kBlock); });
}

/// The module whose call, but not whose `forward`, made the node: by `view_as` a full backward hook takes
/// hold of what goes in and comes out. "" for all others, for a layer that was decomposed, whose trace
/// begins in its own forward, for weights that a hook of the framework computes, and in a block that was
/// traced apart, whose frames are the graph's.
std::string hookedModule(const Graph &graph, const Node &node, const ModuleFrames &modules) {
  std::optional<TracedCall> call = TracedCall::of(node);
  bool isView = call && call->operation() == "view" && !call->argument(0, "self").starts_with("%p_");
  if (!isView || !hasSameShape(graph, node) || isOfBlock(node))
    return "";
  AlignedTrace trace = modules.align(node);
  size_t around = trace.frames.size() - trace.countModules(), frames = countFrames(node);
  bool isBetween = frames > 0 && frames < trace.scopes.size() + around;
  return isBetween && !trace.hasInnermost() ? trace.scopes.back() : "";
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

std::string wayOutByTrust(const std::string &name) {
  return fmt::format("if its backward is the derivative of its forward: --trust-backward '{}'", name);
}

constexpr const char *kWayOutByDetach =
    "or write in forward what the gradient shall be, such as x + (f(x) - x).detach(), and export with "
    "optimize=False";

Refusal refusalBy(const std::string &name) {
  return {
      "lost-in-export",
      fmt::format("comes from `{}`, a torch.autograd.Function: its backward pass is not in the file, and the "
                  "derivative of its forward may be another gradient",
                  name),
      {wayOutByTrust(name), kWayOutByDetach}};
}

Refusal refusalAt(const std::string &line) {
  return {
      "lost-in-export",
      fmt::format("comes from the `forward` of {}, which is no module's of the model, as that of a "
                  "torch.autograd.Function is: a backward pass of its own is not in the file",
                  line),
      {wayOutByTrust(line),
       "if it is a module's: make it an attribute of the model (self.loss = Loss()), and the file says so",
       kWayOutByDetach}};
}
} // namespace

CustomBackward::CustomBackward(const Graph &graph, std::vector<std::string> trusted)
    : graph(graph), trusted(std::move(trusted)) {
  ModuleFrames modules(graph);
  for (const auto &[place, call] : callsOf(graph, modules))
    if (!call.isModule && !isTrusted(call.name, call.file))
      for (const Node *node : call.nodes)
        refusals.emplace(node, call.isApplied ? refusalBy(call.name) : refusalAt(call.name));
  for (const Node &node : graph.nodes)
    if (std::string module = hookedModule(graph, node, modules); !module.empty() && !isTrusted(module, ""))
      refusals.insert_or_assign(&node, refusalOfHook(module));
}

bool CustomBackward::isTrusted(const std::string &name, std::string_view file) const {
  return std::any_of(trusted.begin(), trusted.end(),
                     [&](const std::string &pattern) { return matchesGlob(pattern, name); }) ||
         std::any_of(std::begin(kKnownFunctions), std::end(kKnownFunctions), [&](const KnownFunction &known) {
           return known.name == name && isIn(file, known.file);
         });
}

std::optional<Refusal> CustomBackward::refusal(const Node &node) const {
  auto entry = refusals.find(&node);
  return entry == refusals.end() ? std::nullopt : std::optional(entry->second);
}

std::optional<Refusal> CustomBackward::refusalOfLine(const Node &node) const {
  for (const SourceFrame &frame : sourceFrames(node))
    if (std::string name = appliedIn(frame.code); !name.empty() && !isTrusted(name, frame.file))
      return refusalBy(name);
  return std::nullopt;
}

std::optional<Refusal> CustomBackward::refusalOfBlock(const Node &node) const {
  for (const SourceFrame &frame : sourceFrames(node)) {
    if (!frame.file.starts_with(kBlock) || isTrusted(std::string(frame.file), frame.file))
      continue;
    std::vector<std::string> waysOut = {
        fmt::format("under torch.autocast, with enabled=False too, and in a reentrant checkpoint the "
                    "gradient is the graph's: --trust-backward '{}'",
                    frame.file),
        "under torch.no_grad(): write x.detach() in its place, and export with optimize=False, which keeps "
        "it; or export with accum.export, which does so itself"};
    for (const std::string &input : node.inputs)
      if (graph.initializer(input))
        waysOut.push_back(
            fmt::format("or, where torch.no_grad() keeps `{0}` from training: --freeze '{0}'", input));
    return Refusal{"lost-in-export",
                   fmt::format("comes from `{}`, a block that torch.export traced apart, as it does under "
                               "torch.no_grad(), which stops the gradient, and under torch.autocast, which "
                               "only changes types: the file does not say which of them it was",
                               frame.file),
                   std::move(waysOut)};
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
