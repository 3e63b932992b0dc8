// SPDX-License-Identifier: Apache-2.0
// Works on the messages: attribute references exist only there.
#include "compiler/Import/model/InlineFunctions.h"
#include "compiler/Import/model/FromProto.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <unordered_map>

namespace accum::import {
namespace {
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Twenty functions that call each other twice are a million nodes: what all bodies may take together.
constexpr size_t maxInlinedBytes = size_t(64) << 20;
/// Functions that call each other.
constexpr size_t maxCallDepth = 64;
/// Of one node beside its message.
constexpr size_t nodeOverhead = 256;

using FunctionKey = std::tuple<std::string, std::string, std::string>;

template <class Proto> FunctionKey keyOf(const Proto &proto, const std::string &name) {
  return {domainFromProto(proto.domain()), name, proto.overload()};
}

/// Without those left out at the end.
int named(const google::protobuf::RepeatedPtrField<std::string> &values) {
  int count = values.size();
  while (count > 0 && values[count - 1].empty())
    --count;
  return count;
}

/// Attributes that the body may refer to, by name.
using Arguments = std::unordered_map<std::string, const onnx::AttributeProto *>;

/// One call being replaced.
class Instance {
public:
  Instance(const onnx::FunctionProto &function, const onnx::NodeProto &call, std::string prefix,
           std::unordered_map<std::string, int> &taken)
      : function(function), call(call), prefix(std::move(prefix)), taken(taken) {
    bindNames();
    for (const auto &attribute : function.attribute_proto())
      arguments[attribute.name()] = &attribute;
    for (const auto &attribute : call.attribute())
      arguments[attribute.name()] = &attribute;
  }

  onnx::NodeProto instantiate(const onnx::NodeProto &body) {
    onnx::NodeProto node = body;
    rename(node);
    for (const auto &import : function.opset_import())
      if (domainFromProto(import.domain()) == domainFromProto(node.domain()) && !node.has_opset())
        node.set_opset(import.version());
    if (node.metadata_props().empty())
      *node.mutable_metadata_props() = call.metadata_props();
    return node;
  }

  /// Formal outputs that are formal inputs as well: (value, output of the call).
  std::vector<std::pair<std::string, std::string>> passedThrough;

private:
  void bindNames() {
    for (int i = 0; i < function.input_size(); ++i)
      names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    for (int i = 0; i < function.output_size() && i < call.output_size(); ++i) {
      if (call.output(i).empty())
        continue;
      auto [bound, isNew] = names.emplace(function.output(i), call.output(i));
      if (!isNew)
        passedThrough.emplace_back(bound->second, call.output(i));
    }
  }

  std::string unique(const std::string &name) {
    std::string wanted = prefix + "/" + name, result = wanted;
    auto [known, isNew] = taken.emplace(wanted, 1);
    for (int &copies = known->second; !isNew; isNew = taken.emplace(result, 1).second)
      result = fmt::format("{}_{}", wanted, ++copies);
    return result;
  }

  void renameValue(std::string &name) {
    if (name.empty())
      return;
    auto known = names.find(name);
    if (known == names.end())
      known = names.emplace(name, unique(name)).first;
    name = known->second;
  }

  void rename(onnx::NodeProto &node) {
    for (std::string &input : *node.mutable_input())
      renameValue(input);
    for (std::string &output : *node.mutable_output())
      renameValue(output);
    node.set_name(prefix + "/" + (node.name().empty() ? node.op_type() : node.name()));
    bindAttributes(node);
    for (auto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        rename(*attribute.mutable_g());
      for (auto &graph : *attribute.mutable_graphs())
        rename(graph);
    }
  }

  void rename(onnx::GraphProto &graph) {
    for (auto *values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
      for (auto &value : *values)
        renameValue(*value.mutable_name());
    for (auto &initializer : *graph.mutable_initializer())
      renameValue(*initializer.mutable_name());
    for (auto &node : *graph.mutable_node())
      rename(node);
  }

  void bindAttributes(onnx::NodeProto &node) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> bound;
    for (auto &attribute : *node.mutable_attribute()) {
      if (attribute.ref_attr_name().empty()) {
        bound.Add(std::move(attribute));
        continue;
      }
      auto argument = arguments.find(attribute.ref_attr_name());
      if (argument == arguments.end())
        continue;
      onnx::AttributeProto value = *argument->second;
      value.set_name(attribute.name());
      bound.Add(std::move(value));
    }
    node.mutable_attribute()->Swap(&bound);
  }

  const onnx::FunctionProto &function;
  const onnx::NodeProto &call;
  std::string prefix;
  std::unordered_map<std::string, int> &taken;
  std::unordered_map<std::string, std::string> names; ///< of the body -> of the graph
  Arguments arguments;
};

class Inliner {
public:
  explicit Inliner(const onnx::ModelProto &model) {
    for (const auto &function : model.functions())
      functions.emplace(keyOf(function, function.name()), &function);
    collectNames(model.graph());
  }

  /// False with `problem` set when the model cannot be inlined.
  bool expand(Nodes &nodes) {
    Nodes expanded;
    for (auto &node : nodes)
      if (!append(std::move(node), expanded))
        return false;
    nodes.Swap(&expanded);
    return true;
  }

  Failure problem;

private:
  void collectNames(const onnx::GraphProto &graph) {
    for (const auto &initializer : graph.initializer())
      taken.emplace(initializer.name(), 1);
    for (const auto &input : graph.input())
      taken.emplace(input.name(), 1);
    for (const auto &node : graph.node()) {
      for (const std::string &output : node.output())
        taken.emplace(output, 1);
      for (const auto &attribute : node.attribute()) {
        collectNames(attribute.g());
        for (const auto &inner : attribute.graphs())
          collectNames(inner);
      }
    }
  }

  bool append(onnx::NodeProto node, Nodes &out) {
    auto function = functions.find(keyOf(node, node.op_type()));
    if (function != functions.end())
      return call(*function->second, node, out);
    for (auto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g() && !expand(*attribute.mutable_g()->mutable_node()))
        return false;
      for (auto &graph : *attribute.mutable_graphs())
        if (!expand(*graph.mutable_node()))
          return false;
    }
    out.Add(std::move(node));
    return true;
  }

  bool call(const onnx::FunctionProto &function, const onnx::NodeProto &node, Nodes &out) {
    std::string prefix = node.name().empty() ? fmt::format("{}_{}", node.op_type(), calls) : node.name();
    ++calls;
    if (std::find(active.begin(), active.end(), &function) != active.end())
      return fail(prefix, fmt::format("calls the function `{}`, which calls itself", function.name()));
    if (active.size() >= maxCallDepth)
      return fail(prefix, "calls functions that are nested too deeply");
    int inputs = named(node.input()), outputs = named(node.output());
    if (inputs > function.input_size() || outputs > function.output_size())
      return fail(prefix,
                  fmt::format("calls the function `{}`, which has {} inputs and {} outputs, with {} and {}",
                              function.name(), function.input_size(), function.output_size(), inputs,
                              outputs));
    active.push_back(&function);
    Instance instance(function, node, prefix, taken);
    for (const auto &body : function.node()) {
      onnx::NodeProto copy = instance.instantiate(body);
      inlinedBytes += copy.ByteSizeLong() + nodeOverhead;
      if (inlinedBytes > maxInlinedBytes)
        return fail(prefix,
                    fmt::format("calls functions that inline to more than {} MiB", maxInlinedBytes >> 20));
      if (!append(std::move(copy), out))
        return false;
    }
    for (const auto &[value, output] : instance.passedThrough)
      addIdentity(value, output, prefix, out);
    active.pop_back();
    return true;
  }

  static void addIdentity(const std::string &value, const std::string &output, const std::string &prefix,
                          Nodes &out) {
    onnx::NodeProto &identity = *out.Add();
    identity.set_op_type("Identity");
    identity.set_name(prefix + "/Identity");
    identity.add_input(value);
    identity.add_output(output);
  }

  bool fail(const std::string &call, std::string message) {
    problem = {"malformed-model", backquoted(call), std::move(message), {}};
    return false;
  }

  std::map<FunctionKey, const onnx::FunctionProto *> functions;
  std::unordered_map<std::string, int>
      taken; ///< names of values over all graphs -> copies that were numbered
  std::vector<const onnx::FunctionProto *> active;
  size_t inlinedBytes = 0, calls = 0;
};
} // namespace

Result<Done> inlineFunctions(onnx::ModelProto &model) {
  if (model.functions().empty())
    return Done{};
  Inliner inliner(model);
  if (!inliner.expand(*model.mutable_graph()->mutable_node()))
    return inliner.problem;
  model.clear_functions();
  return Done{};
}

} // namespace accum::import
