// SPDX-License-Identifier: Apache-2.0
// Reads a case's files and writes the graph around its node.
#include "test/passes/Differentiate/NodeProblem.h"
#include "compiler/Import/onnx-ir.pb.h"
#include "test/FileBytes.h"
#include "llvm/ADT/APFloat.h"
#include <algorithm>
#include <random>

namespace accum::test {
namespace {
namespace fs = std::filesystem;

constexpr int32_t kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9, kHalf = 10, kDouble = 11;
constexpr uint32_t kRawData = 9 << 3 | 2; ///< a field that our schema of ONNX leaves to the wire scan

bool isFloat(const onnx::TensorProto &tensor) {
  return tensor.data_type() == kFloat || tensor.data_type() == kHalf || tensor.data_type() == kDouble;
}

std::string_view rawData(const onnx::TensorProto &tensor) {
  std::string_view bytes = tensor.unknown_fields();
  if (bytes.empty() || static_cast<unsigned char>(bytes[0]) != kRawData)
    return {};
  uint64_t length = 0;
  size_t at = 1;
  for (int shift = 0;; shift += 7) {
    auto byte = static_cast<unsigned char>(bytes[at++]);
    length |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80)
      break;
  }
  return bytes.substr(at, length);
}

std::vector<double> halves(std::string_view bytes) {
  std::vector<double> values = numbers<uint16_t>(bytes);
  for (double &value : values)
    value = llvm::APFloat(llvm::APFloat::IEEEhalf(), llvm::APInt(16, static_cast<uint64_t>(value)))
                .convertToDouble();
  return values;
}

/// Nothing for types other than those that graphs compute in.
std::optional<Array> arrayOf(const onnx::TensorProto &tensor) {
  Array array = Array::zeros(llvm::SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end()));
  size_t count = array.data.size();
  std::string_view raw = rawData(tensor);
  switch (tensor.data_type()) {
  case kFloat:
    array.data = numbers<float>(raw);
    break;
  case kDouble:
    array.data = numbers<double>(raw);
    break;
  case kInt32:
    array.data = numbers<int32_t>(raw);
    break;
  case kInt64:
    array.data = numbers<int64_t>(raw);
    break;
  case kBool:
    array.data = numbers<uint8_t>(raw);
    break;
  case kHalf:
    array.data = halves(raw);
    break;
  default:
    return std::nullopt;
  }
  return array.data.size() == count ? std::optional(array) : std::nullopt;
}

/// The folder's files input_0.pb, input_1.pb, ..., named as the graph does.
template <class Values>
bool readTensors(const fs::path &folder, const std::string &kind, const Values &values,
                 std::vector<onnx::TensorProto> &tensors) {
  for (int i = 0; i < values.size(); ++i) {
    if (!values[i].type().has_tensor_type())
      return false;
    onnx::TensorProto tensor;
    if (!tensor.ParseFromString(
            contentOf(folder / "test_data_set_0" / (kind + "_" + std::to_string(i) + ".pb"))) ||
        !arrayOf(tensor))
      return false;
    tensor.set_name(values[i].name());
    tensors.push_back(tensor);
  }
  return true;
}

class ProblemGraph {
public:
  explicit ProblemGraph(const onnx::ModelProto &source) { model = source; }

  std::string node(const std::string &op, const std::vector<std::string> &inputs) {
    onnx::NodeProto &node = *graph().add_node();
    std::string output = "value_" + std::to_string(graph().node_size());
    node.set_op_type(op);
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output);
    return output;
  }
  /// Over all axes, to a scalar; or to f32.
  std::string reduced(const std::string &op, const std::string &x) {
    return with(node(op, {x}), "keepdims", 0);
  }
  std::string floats(const std::string &x) { return with(node("Cast", {x}), "to", kFloat); }

  std::string constant(const Array &array) {
    std::string name = node("Constant", {});
    onnx::AttributeProto &value = *graph().mutable_node()->rbegin()->add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    fill(*value.mutable_t(), array);
    return name;
  }
  void parameter(const std::string &name, const Array &array) {
    onnx::TensorProto &tensor = *graph().add_initializer();
    tensor.set_name(name);
    fill(tensor, array);
  }
  void input(const std::string &name, int32_t type, llvm::ArrayRef<int64_t> slab) {
    onnx::ValueInfoProto &value = *graph().add_input();
    value.set_name(name);
    auto &tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape()->add_dim()->set_dim_param("batch");
    for (int64_t extent : slab)
      tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  }
  onnx::GraphProto &graph() { return *model.mutable_graph(); }

  onnx::ModelProto model;

private:
  std::string with(const std::string &output, const char *key, int64_t value) {
    onnx::AttributeProto &attribute = *graph().mutable_node()->rbegin()->add_attribute();
    attribute.set_name(key);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
    return output;
  }
  static void fill(onnx::TensorProto &tensor, const Array &array) {
    tensor.set_data_type(kFloat);
    for (int64_t extent : array.shape)
      tensor.add_dims(extent);
    for (double x : array.data)
      tensor.add_float_data(static_cast<float>(x));
  }
};

class Builder {
public:
  Builder(const onnx::ModelProto &source, Roles roles, const std::string &name)
      : roles(roles), graph(source), random(std::hash<std::string>()(name)) {}

  std::optional<NodeProblem> build(const std::vector<onnx::TensorProto> &inputs,
                                   const std::vector<onnx::TensorProto> &outputs);

private:
  bool isData(size_t i, const onnx::TensorProto &tensor) const {
    bool leads = tensor.dims_size() > 0 && tensor.dims(0) == problem.data.samples;
    return leads && (roles == Roles::LeadingAxes || (roles == Roles::FirstInput && i == 0));
  }
  Array drawn(llvm::ArrayRef<int64_t> shape) {
    Array array = Array::zeros(shape);
    for (double &x : array.data)
      x = static_cast<float>(std::uniform_real_distribution(-1.0, 1.0)(random));
    return array;
  }
  void addInput(size_t i, const onnx::TensorProto &tensor);
  void rename(const std::string &from, const std::string &to);
  std::string weighted(const onnx::TensorProto &output);

  Roles roles;
  ProblemGraph graph;
  std::mt19937_64 random;
  NodeProblem problem;
};
} // namespace

void Builder::rename(const std::string &from, const std::string &to) {
  for (std::string &input : *graph.graph().mutable_node(0)->mutable_input())
    input = input == from ? to : input;
}

void Builder::addInput(size_t i, const onnx::TensorProto &tensor) {
  problem.hasFloats |= isFloat(tensor);
  Array array = *arrayOf(tensor);
  if (!isData(i, tensor)) {
    *graph.graph().add_initializer() = tensor;
    if (isFloat(tensor))
      problem.data.parameters[tensor.name()] = array;
    return;
  }
  graph.input(tensor.name(), tensor.data_type(), llvm::ArrayRef(array.shape).drop_front());
  problem.data.inputs[tensor.name()] = array;
  if (tensor.data_type() != kFloat)
    return;
  llvm::SmallVector<int64_t> slab(array.shape);
  slab[0] = 1;
  std::string shift = tensor.name() + "_shift";
  graph.parameter(shift, drawn(slab));
  problem.data.parameters[shift] = Array::zeros(slab);
  rename(tensor.name(), graph.node("Add", {tensor.name(), shift}));
}

/// sum(output * weights).
std::string Builder::weighted(const onnx::TensorProto &output) {
  Array expected = *arrayOf(output), weights = drawn(expected.shape);
  for (auto [x, w] : llvm::zip_equal(expected.data, weights.data)) {
    problem.loss += x * w;
    problem.magnitude += std::abs(x * w);
  }
  std::string name = output.name() + "_weights";
  if (roles != Roles::Parameters && output.dims_size() > 0 && output.dims(0) == problem.data.samples) {
    graph.input(name, kFloat, llvm::ArrayRef(expected.shape).drop_front());
    problem.data.inputs[name] = weights;
  } else {
    name = graph.constant(weights);
  }
  std::string value = output.data_type() == kFloat ? output.name() : graph.floats(output.name());
  return graph.reduced("ReduceSum", graph.node("Mul", {value, name}));
}

std::optional<NodeProblem> Builder::build(const std::vector<onnx::TensorProto> &inputs,
                                          const std::vector<onnx::TensorProto> &outputs) {
  constexpr double factor = 0.75;
  bool hasLead = !inputs.empty() && inputs[0].dims_size() > 0 && inputs[0].dims(0) > 0;
  if (outputs.empty() || (roles != Roles::Parameters && !hasLead))
    return std::nullopt;
  problem.data.samples = roles == Roles::Parameters ? 3 : inputs[0].dims(0);
  graph.graph().clear_input();
  graph.graph().clear_output();
  graph.graph().clear_value_info();
  graph.graph().mutable_node(0)->set_name("tested");
  for (auto [i, tensor] : llvm::enumerate(inputs))
    addInput(i, tensor);
  std::string loss;
  for (const onnx::TensorProto &output : outputs)
    loss = loss.empty() ? weighted(output) : graph.node("Add", {loss, weighted(output)});
  // In Parameters the outputs are the same for all samples: times the mean of `x`, which is one.
  graph.input("the_samples", kFloat, {});
  problem.data.inputs["the_samples"] = {{problem.data.samples}, std::vector<double>(problem.data.samples, 1)};
  if (problem.data.samples == 3)
    problem.data.inputs["the_samples"].data = {0.5, 1, 1.5};
  graph.parameter("the_factor", {{1}, {factor}});
  problem.data.parameters["the_factor"] = {{1}, {factor}};
  if (roles == Roles::Parameters)
    loss = graph.node("Mul", {loss, graph.reduced("ReduceMean", "the_samples")});
  loss = graph.node("Add",
                    {loss, graph.reduced("ReduceMean", graph.node("Mul", {"the_samples", "the_factor"}))});
  graph.graph().add_output()->set_name(loss);
  graph.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(kFloat);
  graph.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  problem.loss += factor;
  problem.magnitude += factor;
  problem.model = graph.model.SerializeAsString();
  return problem;
}

std::vector<fs::path> nodeCases() {
  const char *given = std::getenv("ACCUM_NODE_CASES");
  fs::path root = given ? given : "/usr/share/libonnx-testdata/data/node";
  std::vector<fs::path> folders;
  if (fs::is_directory(root))
    for (const auto &entry : fs::directory_iterator(root))
      folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::optional<NodeProblem> makeNodeProblem(const fs::path &folder, Roles roles) {
  onnx::ModelProto model;
  std::vector<onnx::TensorProto> inputs, outputs;
  if (!model.ParseFromString(contentOf(folder / "model.onnx")) || model.graph().node_size() != 1 ||
      model.graph().initializer_size() > 0 || model.functions_size() > 0 ||
      !readTensors(folder, "input", model.graph().input(), inputs) ||
      !readTensors(folder, "output", model.graph().output(), outputs))
    return std::nullopt;
  return Builder(model, roles, folder.filename().string()).build(inputs, outputs);
}

} // namespace accum::test
