// SPDX-License-Identifier: Apache-2.0
// Small random problems and rectangles from a seed.
#include "test/compiler/Planner/RandomProblem.h"
#include "compiler/Planner/Problem/Recompute.h"
#include <algorithm>
#include <ctime>
#include <fmt/format.h>

namespace accum::planner {

int64_t draw(Random &random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

double cpuSeconds() { return static_cast<double>(clock()) / CLOCKS_PER_SEC; }

namespace {

Amount randomAmount(Random &random, int64_t largest) {
  switch (draw(random, 0, 5)) {
  case 0:
    return {draw(random, 0, largest), 0, {}};
  case 1:
    return {
        0, 0, {{1, draw(random, 0, largest)}, {3, draw(random, 0, largest)}, {8, draw(random, 0, largest)}}};
  case 2:
    return {draw(random, 0, largest), draw(random, 0, largest), {}};
  default:
    return {0, 64 * draw(random, 1, largest / 64), {}};
  }
}

std::vector<int> laterCommands(Random &random, int producer, int commands) {
  std::vector<int> users;
  for (int64_t count = draw(random, 0, 3); count > 0 && producer + 1 < commands; --count)
    users.push_back(static_cast<int>(draw(random, producer + 1, std::min(commands - 1, producer + 6))));
  if (producer + 1 < commands && draw(random, 0, 7) == 0)
    users.push_back(static_cast<int>(draw(random, producer + 1, commands - 1)));
  return users;
}

void addResult(Random &random, Problem &problem, int producer) {
  int commands = static_cast<int>(problem.commands.size());
  Buffer buffer{.id = fmt::format("b{}", problem.buffers.size()), .label = fmt::format("value {}", producer)};
  buffer.kind = static_cast<BufferKind>(draw(random, 0, 6));
  buffer.bytes = randomAmount(random, 1024);
  buffer.producer = producer;
  buffer.users = laterCommands(random, producer, commands);
  buffer.wholeStep = draw(random, 0, 30) == 0;
  for (size_t other = 0; other < problem.buffers.size(); ++other) {
    const auto &users = problem.buffers[other].users;
    if (std::find(users.begin(), users.end(), producer) == users.end() || draw(random, 0, 1) == 0)
      continue;
    buffer.mayAlias.push_back(static_cast<int>(other));
    if (draw(random, 0, 1) == 0 && problem.buffers[other].aliasOf == kNoIndex)
      buffer.bytes = problem.buffers[other].bytes;
  }
  problem.buffers.push_back(buffer);
  if (draw(random, 0, 4) == 0) {
    Buffer view{.id = fmt::format("b{}", problem.buffers.size()), .bytes = buffer.bytes};
    view.users = laterCommands(random, producer, commands);
    view.aliasOf = static_cast<int>(problem.buffers.size()) - 1;
    problem.buffers.push_back(view);
  }
}

/// Some variants for some commands, the backward part, commands with effects.
void addChoices(Random &random, Problem &problem) {
  bool backward = false;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    Command &command = problem.commands[index];
    backward = problem.isMain(command) && (backward || draw(random, 0, 5) == 0);
    command.backward = backward;
    command.once = draw(random, 0, 9) == 0;
    const Command *before = index == 0 ? nullptr : &problem.commands[index - 1];
    command.tail = problem.isMain(command) && !backward && before && !before->tail &&
                   before->phase == command.phase && draw(random, 0, 3) == 0;
    if (command.tail || draw(random, 0, 5) != 0)
      continue;
    Variant variant{.name = "small"};
    variant.flops = {draw(random, 0, 1000000000), draw(random, 0, 1000000000), {}};
    variant.workspace = randomAmount(random, 512);
    variant.slice = draw(random, 0, 3);
    variant.pieces = variant.slice == 0 ? 1 : draw(random, 1, 3);
    command.variants.push_back(variant);
    for (size_t leader = 0; leader < index && draw(random, 0, 1) == 0; ++leader)
      if (problem.commands[leader].variants.size() > 1 && problem.commands[leader].follows == kNoIndex)
        command.follows = static_cast<int>(leader);
  }
  for (size_t index = 0; index < problem.buffers.size(); ++index) {
    int producer = problem.buffers[index].producer, buffer = static_cast<int>(index);
    bool isView = problem.buffers[index].aliasOf != kNoIndex;
    for (const Buffer &other : problem.buffers)
      isView |= other.aliasOf == buffer;
    if (!isView && producer != kNoIndex && problem.commands[producer].variants.size() > 1)
      problem.commands[producer].variants[1].results.emplace_back(buffer, randomAmount(random, 512));
  }
}

/// Another list of phases, and the commands that were in the usual ones spread over it.
void spreadPhases(Random random, Problem &problem, std::vector<int64_t> &phases) {
  if (draw(random, 0, 1) == 0)
    return;
  problem.phases = {{"counts", PhaseKind::Loop},  {"weights", PhaseKind::Once}, {"moments", PhaseKind::Loop},
                    {"encode", PhaseKind::Loop},  {"whole", PhaseKind::Once},   {"micro", PhaseKind::Main},
                    {"update", PhaseKind::Update}};
  for (int64_t &phase : phases)
    phase = phase == usual::kPrePass    ? draw(random, 0, 2)
            : phase == usual::kPrologue ? draw(random, 3, 4)
                                        : phase + 3;
}

} // namespace

Problem randomProblem(Random &random, int commands) {
  Problem problem;
  problem.name = "random";
  problem.allReduceBytes = draw(random, 0, 100000);
  problem.fixed = {{FixedKind::State, "weights", {draw(random, 0, 5000), 0, {}}},
                   {FixedKind::Inputs, "inputs", {0, draw(random, 0, 100), {}}},
                   {FixedKind::Library, "library", {draw(random, 0, 100), 0, {}}}};
  std::vector<int64_t> phases(commands);
  for (int64_t &phase : phases)
    phase = std::min<int64_t>(draw(random, 0, 6), 4) == 4 ? usual::kMicro : draw(random, 0, 3);
  spreadPhases(random, problem, phases);
  std::sort(phases.begin(), phases.end());
  for (int index = 0; index < commands; ++index) {
    Command command{.id = 10 + index, .phase = static_cast<int>(phases[index])};
    command.kind = static_cast<CommandKind>(draw(random, 0, 7));
    command.kernel = "k";
    command.node = fmt::format("/node {}", index);
    command.variants[0].flops = {draw(random, 0, 1000000000), draw(random, 0, 1000000000), {}};
    command.variants[0].bytes = randomAmount(random, 100000000);
    if (draw(random, 0, 3) == 0)
      command.variants[0].workspace = randomAmount(random, 512);
    problem.commands.push_back(command);
  }
  if (commands > 2) // an input without a producer
    problem.buffers.push_back(Buffer{
        .id = "input", .bytes = {0, 128, {}}, .users = {static_cast<int>(draw(random, 1, commands - 1))}});
  for (int producer = 0; producer < commands; ++producer)
    for (int64_t results = draw(random, 0, 2); results > 0; --results)
      addResult(random, problem, producer);
  addChoices(random, problem);
  if (commands > 0 && draw(random, 0, 2) == 0) { // a copy of the weights, which are spread
    problem.fixed[0].role = StateRole::Parameters;
    problem.weightReads = draw(random, 0, 5000);
    problem.buffers.push_back(Buffer{.id = "copy", .bytes = {draw(random, 1, 2500), 0, {}}});
    problem.buffers.back().users = {static_cast<int>(draw(random, 0, commands - 1))};
    problem.buffers.back().wholeStep = true;
    problem.buffers.back().role = StateRole::Parameters;
  }
  return problem;
}

Problem randomStep(Random &random, int commands, int layers, int variants) {
  Problem problem;
  problem.name = "step";
  uint64_t seed = random();
  Random layer(seed);
  auto add = [&](bool backward, const std::vector<int> &operands, const std::string &kernel) {
    int index = static_cast<int>(problem.commands.size());
    Command command{.id = index, .kind = CommandKind::Gemm, .kernel = kernel, .backward = backward};
    command.variants[0].flops = {0, draw(layer, 1, 100) * 1'000'000'000, {}};
    command.once = draw(layer, 0, 12) == 0 && !backward;
    problem.commands.push_back(command);
    for (int operand : operands)
      problem.buffers[operand].users.push_back(index);
    Buffer buffer{
        .id = fmt::format("{}:0", index), .bytes = {0, 256 * draw(layer, 1, 40), {}}, .producer = index};
    if (draw(layer, 0, 3) == 0 && !operands.empty()) {
      buffer.mayAlias.push_back(operands.front());
      buffer.bytes = problem.buffers[operands.front()].bytes;
    }
    problem.buffers.push_back(buffer);
    return index;
  };
  int forward = commands * layers;
  std::vector<std::vector<int>> operands;
  for (int index = 0; index < forward; ++index) {
    if (index % commands == 0)
      layer.seed(seed);
    std::vector<int> reads;
    if (index > 0)
      reads.push_back(index - 1);
    if (int64_t back = draw(layer, 2, 6); back <= 3 && index >= back)
      reads.push_back(index - static_cast<int>(back));
    operands.push_back(reads);
    add(false, reads, fmt::format("k{}", index % commands));
  }
  int gradient = forward - 1;
  for (int index = forward - 1; index >= 0; --index) {
    if (index % commands == commands - 1)
      layer.seed(seed + 1);
    std::vector<int> reads = {gradient};
    for (int operand : operands[index])
      if (draw(layer, 0, 3) != 0 && operand != gradient)
        reads.push_back(operand);
    if (draw(layer, 0, 1) == 0 && index != gradient)
      reads.push_back(index);
    gradient = add(true, reads, fmt::format("d{}", index % commands));
  }
  for (int count = 0; count < variants; ++count) {
    Variant variant{.name = "other", .flops = {0, draw(random, 1, 100) * 1'000'000'000, {}}};
    variant.workspace = {0, 256 * draw(random, 0, 20), {}};
    Amount size{0, 256 * draw(random, 1, 40), {}};
    auto first = static_cast<int>(draw(random, 0, commands - 1));
    for (int at = first; at < forward && problem.commands[at].variants.size() == 1; at += commands) {
      problem.commands[at].variants.push_back(variant);
      problem.commands[at].variants[1].results = {{at, size}};
    }
  }
  return problem;
}

std::vector<Rectangle> randomRectangles(Random &random, int count, int horizon, int64_t largest) {
  std::vector<Rectangle> rectangles;
  for (int index = 0; index < count; ++index) {
    int start = static_cast<int>(draw(random, 0, horizon - 1));
    rectangles.push_back(
        {start, static_cast<int>(draw(random, start + 1, horizon)), draw(random, 1, largest)});
  }
  return rectangles;
}

bool isPacking(const std::vector<Rectangle> &rectangles, const Packing &packing) {
  if (packing.offsets.size() != rectangles.size())
    return false;
  for (size_t i = 0; i < rectangles.size(); ++i) {
    const Rectangle &a = rectangles[i];
    if (packing.offsets[i] < 0 || packing.offsets[i] + a.size > packing.height)
      return false;
    for (size_t j = 0; j < i; ++j) {
      const Rectangle &b = rectangles[j];
      bool together = a.start < b.end && b.start < a.end;
      if (together && packing.offsets[i] < packing.offsets[j] + b.size &&
          packing.offsets[j] < packing.offsets[i] + a.size)
        return false;
    }
  }
  return true;
}

} // namespace accum::planner
