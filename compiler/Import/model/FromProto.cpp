// SPDX-License-Identifier: Apache-2.0
// Graphs, nodes, attributes and types.
#include "compiler/Import/model/FromProto.h"
#include "base/Utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accum::import {
namespace {
/// As for tensors: no size of a training step is near this.
constexpr int64_t maxSize = int64_t(1) << 48;

TypeInfo otherType(std::string kind) {
  TypeInfo type;
  type.otherKind = std::move(kind);
  return type;
}

Dim dimFromProto(const onnx::TensorShapeProto::Dimension &proto) {
  Dim dim;
  bool isUnknown = proto.has_dim_value() && proto.dim_value() == -1; // as Paddle's exporter writes it
  if (proto.has_dim_value() && !isUnknown)
    dim.size = proto.dim_value();
  else if (!isUnknown)
    dim.symbol = proto.dim_param();
  return dim;
}

TypeInfo tensorType(const onnx::TypeProto::Tensor &proto, const std::string &name, Conversion &conversion) {
  TypeInfo type;
  auto dtype = dtypeFromNumber(proto.elem_type());
  if (!dtype && proto.elem_type() != 0)
    conversion.fail(backquoted(name),
                    fmt::format("has element type {}, which ONNX does not define", proto.elem_type()));
  type.dtype = dtype.value_or(DType::Undefined);
  if (!proto.has_shape())
    return type;
  type.shape.emplace();
  int64_t count = 1;
  for (const auto &dimension : proto.shape().dim()) {
    Dim dim = dimFromProto(dimension);
    bool impossible = dim.size < -1 || (dim.size > 0 && count > maxSize / dim.size);
    if (impossible)
      conversion.fail(backquoted(name), fmt::format("has the impossible size {}", dim.size));
    if (dim.isStatic() && !impossible)
      count *= std::max<int64_t>(dim.size, 1);
    type.shape->push_back(std::move(dim));
  }
  return type;
}

TypeInfo typeFromProto(const onnx::TypeProto &proto, const std::string &name, Conversion &conversion) {
  switch (proto.value_case()) {
  case onnx::TypeProto::kTensorType:
    return tensorType(proto.tensor_type(), name, conversion);
  case onnx::TypeProto::kSequenceType:
    return otherType("sequence");
  case onnx::TypeProto::kMapType:
    return otherType("map");
  case onnx::TypeProto::kOpaqueType:
    return otherType("opaque");
  case onnx::TypeProto::kSparseTensorType:
    return otherType("sparse tensor");
  case onnx::TypeProto::kOptionalType:
    return otherType("optional");
  case onnx::TypeProto::VALUE_NOT_SET:
    return {};
  }
  return {};
}

ValueInfo valueFromProto(const onnx::ValueInfoProto &proto, Conversion &conversion) {
  return {proto.name(), typeFromProto(proto.type(), proto.name(), conversion),
          metadataFromProto(proto.metadata_props())};
}

template <class Out, class In> std::vector<Out> listOf(const In &values) {
  return std::vector<Out>(values.begin(), values.end());
}

std::shared_ptr<Graph> subgraph(const onnx::GraphProto &proto, Conversion &conversion) {
  return std::make_shared<Graph>(graphFromProto(proto, conversion));
}

AttributeValue attributeFromProto(const onnx::AttributeProto &proto, Conversion &conversion) {
  using Proto = onnx::AttributeProto;
  switch (proto.type()) {
  case Proto::FLOAT:
    return proto.f();
  case Proto::INT:
    return static_cast<int64_t>(proto.i());
  case Proto::STRING:
    return proto.s();
  case Proto::TENSOR:
    return tensorFromProto(proto.t(), conversion);
  case Proto::GRAPH:
    return subgraph(proto.g(), conversion);
  case Proto::FLOATS:
    return listOf<float>(proto.floats());
  case Proto::INTS:
    return listOf<int64_t>(proto.ints());
  case Proto::STRINGS:
    return listOf<std::string>(proto.strings());
  case Proto::TENSORS: {
    std::vector<Tensor> tensors;
    for (const auto &tensor : proto.tensors())
      tensors.push_back(tensorFromProto(tensor, conversion));
    return tensors;
  }
  case Proto::GRAPHS: {
    std::vector<std::shared_ptr<Graph>> graphs;
    for (const auto &graph : proto.graphs())
      graphs.push_back(subgraph(graph, conversion));
    return graphs;
  }
  case Proto::SPARSE_TENSOR:
  case Proto::SPARSE_TENSORS:
    return UnsupportedAttribute{"sparse tensor"};
  case Proto::TYPE_PROTO:
  case Proto::TYPE_PROTOS:
    return UnsupportedAttribute{"type"};
  case Proto::UNDEFINED:
    break;
  }
  return UnsupportedAttribute{"undefined"};
}

/// Absent and repeated names are legal in ONNX; everything here wants to point at one node.
std::string uniqueNodeName(const onnx::NodeProto &proto, size_t index, Conversion &conversion) {
  std::string wanted = proto.name().empty() ? fmt::format("{}_{}", proto.op_type(), index) : proto.name();
  std::string name = wanted;
  auto [known, isNew] = conversion.nodeNames.emplace(wanted, 1);
  for (int &copies = known->second; !isNew; isNew = conversion.nodeNames.emplace(name, 1).second)
    name = fmt::format("{}_{}", wanted, ++copies);
  return name;
}

Node nodeFromProto(const onnx::NodeProto &proto, size_t index, Conversion &conversion) {
  Node node;
  node.name = uniqueNodeName(proto, index, conversion);
  node.opType = proto.op_type();
  node.domain = domainFromProto(proto.domain());
  auto version = conversion.opsets.find(node.domain);
  if (proto.has_opset())
    node.opset = proto.opset();
  else if (version != conversion.opsets.end())
    node.opset = version->second;
  node.inputs = listOf<std::string>(proto.input());
  node.outputs = listOf<std::string>(proto.output());
  node.metadata = metadataFromProto(proto.metadata_props());
  if (node.opType.empty())
    conversion.fail(backquoted(node.name), "has no operator");
  for (const auto &attribute : proto.attribute())
    if (!node.attributes.emplace(attribute.name(), attributeFromProto(attribute, conversion)).second)
      conversion.fail(backquoted(node.name), fmt::format("has attribute `{}` twice", attribute.name()));
  return node;
}

void readInitializers(const onnx::GraphProto &proto, Graph &graph, Conversion &conversion) {
  for (const auto &initializer : proto.initializer()) {
    Tensor tensor = tensorFromProto(initializer, conversion);
    if (tensor.name.empty())
      conversion.fail("an initializer", "has no name");
    else if (tensor.name == "__metadata__")
      conversion.fail(backquoted(tensor.name),
                      "is an initializer with the name that files of weights have for their own record",
                      {"call the parameter otherwise in the module"});
    else if (graph.initializer(tensor.name))
      conversion.fail(backquoted(tensor.name), "is defined twice, both times as an initializer");
    else
      graph.addInitializer(std::move(tensor));
  }
  for (const auto &sparse : proto.sparse_initializer())
    conversion.failures.push_back(
        {"unsupported", backquoted(sparse.values().name()), "is a sparse initializer", {}});
}
/// Whether the tensor may be a value of that type.
bool fits(const Tensor &tensor, const TypeInfo &type) {
  if (type.dtype != DType::Undefined && type.dtype != tensor.dtype)
    return false;
  return !type.shape ||
         std::equal(tensor.shape.begin(), tensor.shape.end(), type.shape->begin(), type.shape->end(),
                    [](int64_t size, const Dim &dim) { return !dim.isStatic() || dim.size == size; });
}

/// The export's own record has an argument and a parameter of that name.
bool isArgumentToo(const Graph &graph, const std::string &name) {
  auto signature = graph.metadata.find("pkg.torch.export.ExportedProgram.graph_signature");
  if (signature == graph.metadata.end())
    return false;
  auto says = [&](const std::string &line) { return signature->second.find(line) != std::string::npos; };
  return says("\n" + name + ": USER_INPUT") && says(": PARAMETER target='" + name + "'");
}

/// Up to IR version 3 every initializer is an input as well, and later ones may be: a default value. Where
/// the two cannot be one tensor, the exporter gave a parameter the name of an argument.
void addInput(ValueInfo value, Graph &graph, Conversion &conversion) {
  const Tensor *initializer = graph.initializer(value.name);
  if (!initializer)
    return graph.inputs.push_back(std::move(value));
  if (!fits(*initializer, value.type) || isArgumentToo(graph, value.name))
    conversion.fail(
        backquoted(value.name),
        "is an input of the file and an initializer: the exporter gave a parameter of the model and "
        "an argument of forward one name",
        {"call one of the two otherwise in the model, and export again"});
  graph.valueInfo.emplace(value.name, std::move(value));
}

/// A placeholder that also stands on another axis than the first is no name of the batch: each place has a
/// size of its own then.
void forgetPlaceholders(std::vector<ValueInfo> &inputs) {
  std::set<std::string> unknown;
  for (const ValueInfo &input : inputs)
    for (size_t axis = 1; input.type.shape && axis < input.type.shape->size(); ++axis)
      if (const std::string &symbol = (*input.type.shape)[axis].symbol; isPlaceholder(symbol))
        unknown.insert(symbol);
  for (ValueInfo &input : inputs)
    if (input.type.shape)
      for (Dim &dim : *input.type.shape)
        if (unknown.count(dim.symbol))
          dim.symbol.clear();
}
} // namespace

Metadata metadataFromProto(const google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto> &entries) {
  Metadata metadata;
  for (const auto &entry : entries)
    if (isUtf8(entry.key()) && isUtf8(entry.value()))
      metadata.emplace(entry.key(), entry.value());
  return metadata;
}

std::string domainFromProto(const std::string &domain) { return domain == "ai.onnx" ? "" : domain; }

Graph graphFromProto(const onnx::GraphProto &proto, Conversion &conversion) {
  Graph graph;
  graph.name = proto.name();
  graph.metadata = metadataFromProto(proto.metadata_props());
  readInitializers(proto, graph, conversion);
  for (const auto &input : proto.input())
    addInput(valueFromProto(input, conversion), graph, conversion);
  forgetPlaceholders(graph.inputs);
  for (const auto &output : proto.output())
    graph.outputs.push_back(valueFromProto(output, conversion));
  for (const auto &info : proto.value_info())
    graph.valueInfo.emplace(info.name(), valueFromProto(info, conversion));
  graph.nodes.reserve(static_cast<size_t>(proto.node_size()));
  for (const auto &node : proto.node())
    graph.nodes.push_back(nodeFromProto(node, graph.nodes.size(), conversion));
  return graph;
}

} // namespace accum::import
