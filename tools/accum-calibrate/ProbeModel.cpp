// SPDX-License-Identifier: Apache-2.0
// Blocks of a transformer as nn ops on one sample.
#include "tools/accum-calibrate/ProbeModel.h"
#include <fmt/format.h>
#include <vector>

namespace accum::calibrate {

namespace {

/// A value and its type.
struct Value {
  std::string name, type;
};

std::string tensor(const std::vector<int64_t> &shape, const std::string &element = "f32",
                   bool batched = false) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + (batched ? ", #nn.extent<0>>" : ">");
}

class Writer {
public:
  Writer(const ProbeSize &size, std::string weights)
      : size(size), weights(std::move(weights)), row(tensor({1, size.length, size.hidden}, "f32", true)) {}

  ProbeModel write(const std::string &folder);

private:
  Value parameter(const std::vector<int64_t> &shape);
  Value op(const std::string &text, const std::vector<Value> &operands, const std::string &type);
  Value product(const Value &x, int64_t rows, int64_t columns);
  Value unary(const std::string &function, const Value &x) {
    return op(fmt::format("nn.elementwise <{}> ({{}})", function), {x}, x.type);
  }
  Value binary(const std::string &function, const Value &a, const Value &b) {
    return op(fmt::format("nn.elementwise <{}> ({{}}, {{}})", function), {a, b}, a.type);
  }
  Value biased(const Value &x, int64_t columns) { return binary("add", x, parameter({columns})); }
  Value layerNorm(const Value &x);
  Value rmsNorm(const Value &x);
  Value heads(const Value &x);
  Value rotated(const Value &x);
  Value attention(const Value &x);
  Value gated(const Value &x);
  Value widened(const Value &x, const std::string &function);
  Value softmax(const Value &x);
  Value moved(const Value &x, const std::string &order, const std::vector<int64_t> &shape);
  Value turned(const Value &x);
  Value inFours(const Value &x);
  Value loss(const Value &x, const Value &table);
  std::string line(const std::string &results, const std::string &text, const std::vector<Value> &operands,
                   const std::string &types);
  std::string name() { return fmt::format("%v{}", next++); }

  const ProbeSize &size;
  std::string weights, row, parameters, body;
  int64_t offset = 0;
  int next = 0;
};

Value Writer::parameter(const std::vector<int64_t> &shape) {
  int64_t bytes = 4;
  for (int64_t extent : shape)
    bytes *= extent;
  Value value{name(), tensor(shape)};
  std::string symbol = "@p" + value.name.substr(2);
  parameters += fmt::format("  train.param {} : {} from <\"{}\", {}, {}, 0> trained\n", symbol, value.type,
                            weights, offset, bytes);
  body += fmt::format("    {} = train.load_param {} : {}\n", value.name, symbol, value.type);
  offset += bytes;
  return value;
}

/// Operands take the places `{}` of the text.
std::string Writer::line(const std::string &results, const std::string &text,
                         const std::vector<Value> &operands, const std::string &types) {
  std::string filled, given;
  size_t operand = 0;
  for (size_t at = 0; at < text.size(); ++at)
    if (text.compare(at, 2, "{}") == 0) {
      filled += operands[operand++].name;
      ++at;
    } else {
      filled += text[at];
    }
  for (const Value &value : operands)
    given += (given.empty() ? "" : ", ") + value.type;
  return fmt::format("    {} = {} : ({}) -> {}\n", results, filled, given, types);
}

Value Writer::op(const std::string &text, const std::vector<Value> &operands, const std::string &type) {
  Value value{name(), type};
  body += line(value.name, text, operands, type);
  return value;
}

Value Writer::product(const Value &x, int64_t rows, int64_t columns) {
  return op("nn.contract \"amk,kn->amn\" ({}, {})", {x, parameter({rows, columns})},
            tensor({1, size.length, columns}, "f32", true));
}

Value Writer::layerNorm(const Value &x) {
  std::string result = name(), mean = name(), deviation = name(),
              statistic = tensor({1, size.length}, "f32", true);
  body += line(fmt::format("{}, {}, {}", result, mean, deviation),
               "nn.layer_norm({} scale {} bias {}) {axis = 2 : i64, eps = 1.0E-5 : f64}",
               {x, parameter({size.hidden}), parameter({size.hidden})},
               fmt::format("({}, {}, {})", x.type, statistic, statistic));
  return {result, x.type};
}

Value Writer::rmsNorm(const Value &x) {
  std::string result = name(), deviation = name(), statistic = tensor({1, size.length}, "f32", true);
  body += line(fmt::format("{}, {}", result, deviation),
               "nn.rms_norm({} scale {}) {axis = 2 : i64, eps = 1.0E-6 : f64}", {x, parameter({size.hidden})},
               fmt::format("({}, {})", x.type, statistic));
  return {result, x.type};
}

/// [1, heads, length, features]
Value Writer::heads(const Value &x) {
  int64_t features = size.hidden / size.heads;
  Value split{name(), tensor({1, size.length, size.heads, features}, "f32", true)};
  Value turned{name(), tensor({1, size.heads, size.length, features}, "f32", true)};
  body += fmt::format("    {} = nn.reshape {} : {} -> {}\n", split.name, x.name, x.type, split.type);
  body += fmt::format("    {} = nn.transpose {} [0, 2, 1, 3] : {} -> {}\n", turned.name, split.name,
                      split.type, turned.type);
  return turned;
}

Value Writer::rotated(const Value &x) {
  int64_t features = size.hidden / size.heads;
  std::string half = tensor({1, size.heads, size.length, features / 2}, "f32", true);
  Value low{name(), half}, high{name(), half};
  body += fmt::format("    {} = nn.slice {} at [0, 0, 0, 0] by [1, 1, 1, 1] : {} -> {}\n", low.name, x.name,
                      x.type, half);
  body += fmt::format("    {} = nn.slice {} at [0, 0, 0, {}] by [1, 1, 1, 1] : {} -> {}\n", high.name, x.name,
                      features / 2, x.type, half);
  Value turned = op("nn.concat({}, {}) {axis = 3 : i64}", {unary("neg", high), low}, x.type);
  Value cosines = parameter({1, 1, size.length, features}), sines = parameter({1, 1, size.length, features});
  return binary("add", binary("mul", x, cosines), binary("mul", turned, sines));
}

Value Writer::attention(const Value &x) {
  Value normed = rmsNorm(x);
  Value query = rotated(heads(product(normed, size.hidden, size.hidden)));
  Value key = rotated(heads(product(normed, size.hidden, size.hidden)));
  Value value = heads(product(normed, size.hidden, size.hidden));
  std::string result = name(), sums = name();
  body += line(fmt::format("{}, {}", result, sums),
               "nn.attention({}, {}, {}) <lowered> causal {scale = 0.125 : f64}", {query, key, value},
               fmt::format("({}, {})", query.type, tensor({1, size.heads, size.length}, "f32", true)));
  std::string turned = name(), joined = name();
  body += fmt::format("    {} = nn.transpose {} [0, 2, 1, 3] : {} -> {}\n", turned, result, query.type,
                      tensor({1, size.length, size.heads, size.hidden / size.heads}, "f32", true));
  body += fmt::format("    {} = nn.reshape {} : {} -> {}\n", joined, turned,
                      tensor({1, size.length, size.heads, size.hidden / size.heads}, "f32", true), row);
  return binary("add", x, product({joined, row}, size.hidden, size.hidden));
}

Value Writer::gated(const Value &x) {
  Value normed = rmsNorm(x);
  Value gate = unary("silu", product(normed, size.hidden, size.inner));
  Value inner = binary("mul", gate, product(normed, size.hidden, size.inner));
  return binary("add", x, product(inner, size.inner, size.hidden));
}

Value Writer::widened(const Value &x, const std::string &function) {
  Value inner = biased(product(layerNorm(x), size.hidden, size.inner), size.inner);
  return binary("add", x, biased(product(unary(function, inner), size.inner, size.hidden), size.hidden));
}

Value Writer::softmax(const Value &x) {
  Value scores = product(x, size.hidden, size.hidden);
  Value shares = op("nn.softmax({}) {axis = 2 : i64}", {scores}, scores.type);
  return binary("add", x, product(shares, size.hidden, size.hidden));
}

Value Writer::moved(const Value &x, const std::string &order, const std::vector<int64_t> &shape) {
  Value value{name(), tensor(shape, "f32", true)};
  body += fmt::format("    {} = nn.{} {}{} : {} -> {}\n", value.name, order.empty() ? "reshape" : "transpose",
                      x.name, order, x.type, value.type);
  return value;
}

/// Behind a transpose of the last two axes, and back.
Value Writer::turned(const Value &x) {
  Value columns = moved(x, " [0, 2, 1]", {1, size.hidden, size.length});
  columns = binary("mul", columns, parameter({size.hidden, size.length}));
  return binary("add", x, moved(columns, " [0, 2, 1]", {1, size.length, size.hidden}));
}

/// The last axis in fours, as pictures have their colours.
Value Writer::inFours(const Value &x) {
  std::vector<int64_t> planes = {1, size.length, 4, size.hidden / 4},
                       fours = {1, size.length, size.hidden / 4, 4};
  Value mixed = moved(moved(x, "", planes), " [0, 1, 3, 2]", fours);
  mixed = binary("mul", mixed, parameter({size.length, size.hidden / 4, 4}));
  Value back = moved(moved(mixed, " [0, 1, 3, 2]", planes), "", {1, size.length, size.hidden});
  return binary("add", x, back);
}

Value Writer::loss(const Value &x, const Value &table) {
  Value logits = op("nn.contract \"amk,nk->amn\" ({}, {})", {x, table},
                    tensor({1, size.length, size.vocabulary}, "f32", true));
  if (size.hasBias)
    logits = biased(logits, size.vocabulary);
  std::string each = name(), sums = name(), type = tensor({1, size.length}, "f32", true);
  Value labels{"%arg1", tensor({1, size.length}, "i64", true)};
  body += line(fmt::format("{}, {}", each, sums), "nn.cross_entropy({}, {}) {ignore_index = -100 : i64}",
               {logits, labels}, fmt::format("({}, {})", type, type));
  Value sum = op("nn.reduce <sum> ({}) {axes = array<i64: 0, 1>}", {{each, type}}, "tensor<f32>");
  std::string samples = name(), count = name();
  body += fmt::format("    {} = nn.batch_size : tensor<i64>\n", samples);
  body += fmt::format("    {} = nn.cast {} : tensor<i64> -> tensor<f32>\n", count, samples);
  return binary("div", sum, {count, "tensor<f32>"});
}

ProbeModel Writer::write(const std::string &folder) {
  std::string ids = tensor({1, size.length}, "i64", true);
  Value table = parameter({size.vocabulary, size.hidden});
  Value x = op("nn.gather({}, {}) {axis = 0 : i64}", {table, {"%arg0", ids}}, row);
  x = binary("add", x, parameter({size.length, size.hidden}));
  x = gated(attention(widened(x, "gelu_tanh")));
  x = softmax(widened(x, "gelu"));
  for (const char *function : {"tanh", "sigmoid", "exp", "erf"})
    x = widened(x, function);
  x = inFours(turned(x));
  Value sum = loss(layerNorm(x), table);
  std::string inputs =
      fmt::format("%arg0: {} {{train.bound = {} : i64, train.name = \"input_ids\"}}, %arg1: {} "
                  "{{train.bound = {} : i64, train.ignore_index = -100 : i64, train.name = \"labels\"}}",
                  ids, size.vocabulary, ids, size.vocabulary);
  return {
      fmt::format("module attributes {{accum.model = \"{}/probe.onnx\", accum.phase = \"import\"}} {{\n{}  "
                  "func.func @forward({}) -> tensor<f32> {{\n{}    return {} : tensor<f32>\n  }}\n}}\n",
                  folder, parameters, inputs, body, sum.name),
      offset};
}

} // namespace

ProbeModel makeProbe(const ProbeSize &size, const std::string &folder, const std::string &weights) {
  return Writer(size, weights).write(folder);
}

} // namespace accum::calibrate
