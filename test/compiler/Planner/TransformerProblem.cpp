// SPDX-License-Identifier: Apache-2.0
// Builds the command list of a transformer's step, one layer after the other and back.
#include "test/compiler/Planner/TransformerProblem.h"
#include <fmt/format.h>

namespace accum::planner {

namespace {

class StepBuilder {
public:
  explicit StepBuilder(const TransformerShape &shape) : shape(shape), width(shape.mixedPrecision ? 2 : 4) {}

  Problem build();

private:
  struct Layer {
    int input, norm1, stats1, qkv, context, stats, residual, norm2, stats2, hidden, act;
  };

  int64_t tokens() const { return shape.sequence; }
  int64_t row() const { return shape.hidden * tokens() * width; }

  int command(const std::string &kernel, const std::string &node, CommandKind kind, int64_t flops,
              int64_t fixedBytes, int64_t bytesPerSample) {
    Command command{.id = static_cast<int64_t>(problem.commands.size()) + 1, .phase = phase, .kind = kind};
    command.kernel = kernel;
    command.node = node;
    command.dtype = shape.mixedPrecision && kind != CommandKind::Kernel ? "bf16" : "f32";
    command.backward = isBackward && phase == usual::kMicro;
    command.variants = {Variant{"default", {0, flops, {}}, {fixedBytes, bytesPerSample, {}}, {}}};
    problem.commands.push_back(command);
    results = 0;
    return static_cast<int>(problem.commands.size()) - 1;
  }

  int result(const std::string &label, int64_t bytesPerSample, BufferKind kind = BufferKind::Activation,
             std::vector<int> mayAlias = {}) {
    int producer = static_cast<int>(problem.commands.size()) - 1;
    Buffer buffer{
        .id = fmt::format("{}:{}", problem.commands.back().id, results++), .label = label, .kind = kind};
    buffer.bytes = {0, bytesPerSample, {}};
    buffer.producer = producer;
    buffer.mayAlias = std::move(mayAlias);
    problem.buffers.push_back(buffer);
    return static_cast<int>(problem.buffers.size()) - 1;
  }

  void use(std::initializer_list<int> buffers) {
    for (int buffer : buffers)
      problem.buffers[buffer].users.push_back(static_cast<int>(problem.commands.size()) - 1);
  }

  /// y = x * W, K x N weights.
  int gemm(const std::string &node, int x, int64_t k, int64_t n, const std::string &label,
           BufferKind kind = BufferKind::Activation) {
    command("gemm_nn", node, CommandKind::Gemm, 2 * tokens() * k * n, k * n * width,
            tokens() * (k + n) * width);
    use({x});
    return result(label, tokens() * n * width, kind);
  }

  /// Gradients of a gemm: dW += x^T dy into its accumulator, dx = dy W^T.
  int gemmBackward(const std::string &node, int x, int dy, int64_t k, int64_t n) {
    command("gemm_tn", node, CommandKind::Gemm, 2 * tokens() * k * n, 8 * k * n, tokens() * (k + n) * width);
    use({x, dy});
    command("gemm_nt", node, CommandKind::Gemm, 2 * tokens() * k * n, k * n * width,
            tokens() * (k + n) * width);
    use({dy});
    return result(fmt::format("d({})", node), tokens() * k * width, BufferKind::Gradient);
  }

  /// An elementwise command in place.
  int elementwise(const std::string &node, int x, BufferKind kind) {
    int64_t bytes = problem.buffers[x].bytes.perSample;
    command("elementwise", node, CommandKind::Kernel, bytes / width, 0, 2 * bytes);
    use({x});
    return result(node, bytes, kind, {x});
  }

  int norm(const std::string &node, int x, int &stats) {
    command("ln_fwd", node, CommandKind::Kernel, 8 * tokens() * shape.hidden, 0, 2 * row());
    use({x});
    stats = result(node + ".rstd", tokens() * 8);
    return result(node, row());
  }

  int normBackward(const std::string &node, int x, int stats, int dy, int skip) {
    command("ln_bwd", node, CommandKind::Kernel, 16 * tokens() * shape.hidden, 0, 4 * row());
    use({x, stats, dy, skip});
    return result(fmt::format("d({})", node), row(), BufferKind::Gradient, {skip, dy});
  }

  void copyWeights();
  Layer forward(int index, int x);
  int backward(int index, const Layer &layer, int dy);
  void update();
  void fixedMemory();

  const TransformerShape &shape;
  int64_t width;
  int phase = usual::kMicro;
  bool isBackward = false;
  Problem problem = {};
  int results = 0;
};

/// A copy of each layer's matrices; everything else is read as it is.
void StepBuilder::copyWeights() {
  phase = usual::kPrologue;
  int64_t elements = 12 * shape.hidden * shape.hidden;
  for (int index = 0; index < shape.layers; ++index) {
    command("round", fmt::format("h.{}", index), CommandKind::Kernel, 0, elements * 6, 0);
    int copy = result(fmt::format("h.{} bf16", index), 0, BufferKind::Constant);
    problem.buffers[copy].bytes = {elements * 2, 0, {}};
    problem.buffers[copy].wholeStep = true;
    problem.buffers[copy].role = StateRole::Parameters;
    problem.weightReads += elements * 2;
  }
  problem.weightReads += (shape.vocabulary + shape.sequence) * shape.hidden * 4;
  phase = usual::kMicro;
}

StepBuilder::Layer StepBuilder::forward(int index, int x) {
  Layer layer{};
  std::string h = fmt::format("h.{}.", index);
  int64_t d = shape.hidden;
  layer.input = x;
  layer.norm1 = norm(h + "ln_1", x, layer.stats1);
  layer.qkv = gemm(h + "attn.c_attn", layer.norm1, d, 3 * d, h + "attn.c_attn");
  command("attention_fwd", h + "attn", CommandKind::Attention, 4 * tokens() * tokens() * d, 0, 4 * row());
  use({layer.qkv});
  layer.context = result(h + "attn.context", row());
  layer.stats = result(h + "attn.lse", tokens() * shape.heads * 4);
  int projected = gemm(h + "attn.c_proj", layer.context, d, d, h + "attn.c_proj");
  for (int extra = 0; extra < shape.extraCommands; ++extra)
    projected = elementwise(h + "attn.drop", projected, BufferKind::Activation);
  command("add", h + "add_1", CommandKind::Kernel, tokens() * d, 0, 3 * row());
  use({x, projected});
  layer.residual = result(h + "residual", row(), BufferKind::Activation, {projected});
  layer.norm2 = norm(h + "ln_2", layer.residual, layer.stats2);
  layer.hidden = gemm(h + "mlp.c_fc", layer.norm2, d, 4 * d, h + "mlp.c_fc");
  command("gelu_fwd", h + "mlp.act", CommandKind::Kernel, 40 * tokens() * d, 0, 8 * row());
  use({layer.hidden});
  layer.act = result(h + "mlp.act", 4 * row());
  return layer;
}

int StepBuilder::backward(int index, const Layer &layer, int dy) {
  std::string h = fmt::format("h.{}.", index);
  int64_t d = shape.hidden;
  int dact = gemmBackward(h + "mlp.c_proj", layer.act, dy, 4 * d, d);
  command("gelu_bwd", h + "mlp.act", CommandKind::Kernel, 60 * tokens() * d, 0, 12 * row());
  use({layer.hidden, dact});
  int dhidden = result(h + "d(mlp.act)", 4 * row(), BufferKind::Gradient, {dact});
  int dnorm2 = gemmBackward(h + "mlp.c_fc", layer.norm2, dhidden, d, 4 * d);
  int dresidual = normBackward(h + "ln_2", layer.residual, layer.stats2, dnorm2, dy);
  int dprojected = dresidual;
  int dcontext = gemmBackward(h + "attn.c_proj", layer.context, dprojected, d, d);
  for (int extra = 0; extra < shape.extraCommands; ++extra)
    dcontext = elementwise(h + "d(attn.drop)", dcontext, BufferKind::Gradient);
  command("attention_bwd", h + "attn", CommandKind::Attention, 10 * tokens() * tokens() * d, 0, 8 * row());
  problem.commands.back().variants[0].workspace = {0, tokens() * shape.heads * 4, {}};
  use({layer.qkv, layer.context, layer.stats, dcontext});
  int dqkv = result(h + "d(attn.qkv)", 3 * row(), BufferKind::Gradient);
  int dnorm1 = gemmBackward(h + "attn.c_attn", layer.norm1, dqkv, d, 3 * d);
  return normBackward(h + "ln_1", layer.input, layer.stats1, dnorm1, dresidual);
}

void StepBuilder::update() {
  phase = usual::kUpdate;
  int64_t d = shape.hidden;
  auto parameter = [&](const std::string &name, int64_t elements) {
    command("adamw", name, CommandKind::Update, 0, elements * (16 + 12 + (shape.mixedPrecision ? 2 : 0)), 0);
  };
  parameter("wte", shape.vocabulary * d);
  parameter("wpe", shape.sequence * d);
  for (int index = 0; index < shape.layers; ++index)
    for (auto [name, elements] : {std::pair{"ln_1.weight", d},
                                  {"ln_1.bias", d},
                                  {"attn.c_attn.weight", 3 * d * d},
                                  {"attn.c_attn.bias", 3 * d},
                                  {"attn.c_proj.weight", d * d},
                                  {"attn.c_proj.bias", d},
                                  {"ln_2.weight", d},
                                  {"ln_2.bias", d},
                                  {"mlp.c_fc.weight", 4 * d * d},
                                  {"mlp.c_fc.bias", 4 * d},
                                  {"mlp.c_proj.weight", 4 * d * d},
                                  {"mlp.c_proj.bias", d}})
      parameter(fmt::format("h.{}.{}", index, name), elements);
}

void StepBuilder::fixedMemory() {
  int64_t d = shape.hidden;
  int64_t parameters = (shape.vocabulary + shape.sequence) * d + shape.layers * (12 * d * d + 13 * d) + 2 * d;
  bool both = shape.mixedPrecision && !shape.copies;
  problem.fixed = {{FixedKind::State,
                    both ? "weights bf16 + f32 master" : "weights f32",
                    {parameters * (both ? 6 : 4), 0, {}},
                    StateRole::Parameters},
                   {FixedKind::State, "gradients f32", {parameters * 4, 0, {}}, StateRole::Gradients},
                   {FixedKind::State, "AdamW m, v", {parameters * 8, 0, {}}, StateRole::Optimizer},
                   {FixedKind::Inputs, "inputs", {0, tokens() * 8, {}}}};
  problem.allReduceBytes = parameters * 4;
  problem.largestParameter = shape.vocabulary * d * 4;
  problem.tokensPerSample = tokens();
}

Problem StepBuilder::build() {
  problem.name = fmt::format("transformer-{}x{}", shape.layers, shape.hidden);
  int64_t d = shape.hidden;
  if (shape.copies)
    copyWeights();
  command("embedding_fwd", "wte", CommandKind::Gather, 0, 0, 2 * row());
  int x = result("embedding", row());
  std::vector<Layer> layers;
  for (int index = 0; index < shape.layers; ++index) {
    layers.push_back(forward(index, x));
    std::string h = fmt::format("h.{}.", index);
    int projected = gemm(h + "mlp.c_proj", layers.back().act, 4 * d, d, h + "mlp.c_proj");
    command("add", h + "add_2", CommandKind::Kernel, tokens() * d, 0, 3 * row());
    use({layers.back().residual, projected});
    x = result(h + "out", row(), BufferKind::Activation, {projected});
  }
  int stats = 0, last = norm("ln_f", x, stats);
  command("linear_cross_entropy_fwd", "lm_head", CommandKind::Loss, 2 * tokens() * d * shape.vocabulary,
          shape.vocabulary * d * width, tokens() * (d + 3 * shape.vocabulary) * width);
  use({last});
  problem.commands.back().once = true; // adds to the loss
  int logits = result("logits", tokens() * shape.vocabulary * width, BufferKind::Logits);
  isBackward = true;
  command("linear_cross_entropy_bwd", "lm_head", CommandKind::Loss, 4 * tokens() * d * shape.vocabulary,
          shape.vocabulary * d * (width + 8), tokens() * (2 * d + 3 * shape.vocabulary) * width);
  use({last, logits});
  int dlast = result("d(ln_f)", row(), BufferKind::Gradient);
  int dx = normBackward("ln_f", x, stats, dlast, dlast);
  for (int index = shape.layers - 1; index >= 0; --index)
    dx = backward(index, layers[index], dx);
  command("embedding_bwd", "wte", CommandKind::Gather, 0, 0, 3 * row());
  use({dx});
  update();
  fixedMemory();
  return std::move(problem);
}

} // namespace

Problem transformerProblem(const TransformerShape &shape) { return StepBuilder(shape).build(); }

} // namespace accum::planner
