// SPDX-License-Identifier: Apache-2.0
// Small random problems and rectangles from a seed.
#include "test/compiler/Planner/RandomProblem.h"
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

} // namespace

Problem randomProblem(Random &random, int commands) {
  Problem problem;
  problem.name = "random";
  problem.allReduceBytes = draw(random, 0, 100000);
  problem.fixed = {{FixedKind::State, "weights", {draw(random, 0, 5000), 0, {}}},
                   {FixedKind::Inputs, "inputs", {0, draw(random, 0, 100), {}}},
                   {FixedKind::Library, "library", {draw(random, 0, 100), 0, {}}}};
  std::vector<int64_t> regions(commands);
  for (int64_t &region : regions)
    region = std::min<int64_t>(draw(random, 0, 6), 4) == 4 ? 2 : draw(random, 0, 3);
  std::sort(regions.begin(), regions.end());
  for (int index = 0; index < commands; ++index) {
    Command command{.id = 10 + index, .region = static_cast<Region>(regions[index])};
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
