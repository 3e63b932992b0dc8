// SPDX-License-Identifier: Apache-2.0
// An ONNX model as plain structs: what the file says, checked, with weights left where they lie.
#pragma once
#include "base/DType.h"
#include "compiler/Import/model/Failure.h"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace accum::import {

/// Of an operator, a call or a parameter.
inline bool isOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class MappedFile;
struct Graph;

/// metadata_props: exporters leave module names, source lines and the training signature here.
using Metadata = std::map<std::string, std::string, std::less<>>;

/// One dimension: a size, a symbol (possibly an expression such as "24*batch"), or unknown.
struct Dim {
  int64_t size = -1;  ///< >= 0, or -1 when symbolic or unknown
  std::string symbol; ///< dim_param; empty when static or unknown
  bool isStatic() const { return size >= 0; }
};

/// What the file says about a value's type; exporters may say nothing at all.
struct TypeInfo {
  DType dtype = DType::Undefined;
  std::optional<std::vector<Dim>> shape; ///< nothing: unknown rank
  std::string otherKind;                 ///< "sequence", "map", "optional", "sparse tensor": not a tensor
};

/// `?` and `None`: symbols that tools write for a size that they do not know.
bool isPlaceholder(std::string_view symbol);

struct ValueInfo {
  std::string name;
  TypeInfo type;
  Metadata metadata;
};

/// Bytes of a tensor in row-major little-endian order. Weights are a piece of a mapped file; values that
/// the file spells out number by number are owned. Copies share the bytes.
struct TensorData {
  std::shared_ptr<const MappedFile> file;              ///< set when the bytes lie in a file
  std::shared_ptr<const std::vector<std::byte>> owned; ///< set when they do not
  uint64_t offset = 0;                                 ///< in `file`, in bytes
  uint64_t length = 0;                                 ///< in bytes

  bool isPresent() const { return file || owned; }
  /// Touches no page by itself. Empty when the data are absent.
  std::span<const std::byte> bytes() const;
};

/// An initializer, or the value of an attribute.
struct Tensor {
  std::string name;
  DType dtype = DType::Undefined;
  std::vector<int64_t> shape; ///< every size >= 0; the product fits int64_t
  TensorData data;            ///< absent only when read with missing weights allowed
  /// Where the weights belong even when the file is missing; empty for bytes inside the model file.
  std::string externalLocation;
  Metadata metadata;

  int64_t elementCount() const;
  uint64_t byteSize() const; ///< of elementCount() elements as stored
};

/// A kind of attribute that no supported operator has (sparse tensors, types); its name is in `kind`.
struct UnsupportedAttribute {
  std::string kind;
};

/// Graphs are shared because Node must be copyable; nobody but the owner of the model changes them.
using AttributeValue =
    std::variant<float, int64_t, std::string, Tensor, std::shared_ptr<Graph>, std::vector<float>,
                 std::vector<int64_t>, std::vector<std::string>, std::vector<Tensor>,
                 std::vector<std::shared_ptr<Graph>>, UnsupportedAttribute>;

struct Node {
  std::string opType;
  std::string domain; ///< "" is ai.onnx
  std::string name;   ///< never empty and unique in the model: an absent one becomes `<OpType>_<index>`
  int64_t opset = 0;  ///< version of `domain` that this node speaks
  std::vector<std::string> inputs;  ///< "" is an absent optional input
  std::vector<std::string> outputs; ///< "" is an output that nobody reads
  std::map<std::string, AttributeValue, std::less<>> attributes;
  Metadata metadata;

  /// The attribute of that name and type, or null when it is absent or of another type.
  template <class T> const T *attribute(std::string_view key) const {
    auto it = attributes.find(key);
    return it == attributes.end() ? nullptr : std::get_if<T>(&it->second);
  }
};

/// Nodes are in topological order; every name read is defined here or, in a subgraph, in an outer graph;
/// every name is defined once.
struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<ValueInfo> inputs; ///< without those that an initializer gives
  std::vector<ValueInfo> outputs;
  std::vector<Tensor> initializers;                         ///< in file order
  std::unordered_map<std::string, size_t> initializerIndex; ///< name -> position in `initializers`
  std::unordered_map<std::string, ValueInfo> valueInfo;     ///< of intermediate values and initializers
  Metadata metadata;

  /// Null when there is none of that name.
  const Tensor *initializer(std::string_view name) const;
  Tensor *initializer(std::string_view name);
  /// Type and metadata of an intermediate value or initializer, where the exporter wrote them.
  const ValueInfo *info(std::string_view name) const;
  void addInitializer(Tensor tensor);
};

struct Model {
  std::filesystem::path path;
  int64_t irVersion = 0;
  std::string producer;                               ///< "pytorch 2.15.0"
  std::map<std::string, int64_t, std::less<>> opsets; ///< domain -> version; "" is ai.onnx
  Graph graph;                                        ///< local functions are already inlined
  Metadata metadata;

  /// Version of ai.onnx.
  int64_t opset() const;
};

/// A node's place in the exporting framework's source, `modeling_gpt2.py:312`, or "" when not recorded.
std::string sourceLine(const Node &node);
/// What that line says, `output = output * (1.0 + self.weight.float())`, or "" when not recorded.
std::string sourceCode(const Node &node);
/// The module that a node came from, `transformer.h.0.attn`, or "" when it cannot be told.
std::string modulePath(const Node &node);

struct ReadOptions {
  bool allowMissingWeights = false; ///< plan only: external files need not exist
};

/// Reads, checks and inlines. Weights are mapped and not touched. Every failure's exit code is 3, except
/// `unsupported` (1).
Result<Model> readModel(const std::filesystem::path &path, const ReadOptions &options = {});

} // namespace accum::import
