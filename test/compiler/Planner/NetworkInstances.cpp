// SPDX-License-Identifier: Apache-2.0
// Executes networks, one operator a moment, and records what lives when.
#include "test/compiler/Planner/NetworkInstances.h"
#include <algorithm>

namespace accum::planner {

namespace {

constexpr int64_t kKiB = 1024;

class Executor {
public:
  Executor(Random &random, int buffers) : random(random), buffers(buffers) {}

  std::vector<Rectangle> run(NetworkKind kind) {
    using Part = void (Executor::*)();
    constexpr Part parts[] = {&Executor::residual,  &Executor::encoder, &Executor::dense, &Executor::tiles,
                              &Executor::fusedRows, &Executor::decoder, &Executor::cores};
    while (static_cast<int>(made.size()) < buffers)
      (this->*parts[static_cast<size_t>(kind)])();
    shuffle(random, made);
    return std::move(made);
  }

private:
  int between(int64_t low, int64_t high) { return static_cast<int>(draw(random, low, high)); }

  /// A buffer that is written now, or so many operators ahead.
  int make(int64_t size, int ahead = 0) {
    made.push_back({std::max(0, now - ahead), now + 1, size});
    return static_cast<int>(made.size()) - 1;
  }
  void use(int buffer) { made[buffer].end = std::max(made[buffer].end, now + 1); }

  /// One operator with weights; its result.
  int apply(int operand, int64_t weights, int64_t result, int ahead = 1) {
    ++now;
    use(operand);
    make(weights, ahead);
    return make(result);
  }

  void residual() {
    int64_t size = 4 * kKiB * between(4, 40);
    int value = make(size);
    for (int block = between(2, 4); block > 0; --block) {
      int skip = value;
      for (int layer = between(2, 3); layer > 0; --layer)
        value = apply(value, kKiB * between(2, 60), layer == 2 ? size / 4 : size, between(1, 3));
      ++now;
      use(skip);
      use(value);
      value = make(size);
    }
  }

  void encoder() {
    int64_t size = 4 * kKiB * between(16, 60);
    int value = make(size);
    std::vector<std::pair<int, int64_t>> levels;
    for (int level = between(3, 5); level > 0; --level, size /= 2) {
      value = apply(value, kKiB * between(1, 32), size);
      levels.emplace_back(value, size);
      value = apply(value, kKiB, size / 2);
    }
    for (; !levels.empty(); levels.pop_back()) {
      auto [kept, whole] = levels.back();
      int larger = apply(value, kKiB, whole);
      ++now;
      use(larger);
      use(kept);
      value = apply(make(2 * whole), kKiB * between(1, 32), whole);
    }
  }

  void dense() {
    int64_t pixels = int64_t{64} * between(1, 12);
    std::vector<int> features = {make(pixels * 64)};
    for (int layer = 0, layers = between(4, 14); layer < layers; ++layer) {
      ++now;
      for (int feature : features)
        use(feature);
      int narrow = apply(make(pixels * (64 + 32 * layer)), kKiB * (8 + 4 * layer), pixels * 128);
      features.push_back(apply(narrow, 36 * kKiB, pixels * 32));
    }
  }

  void tiles() {
    int64_t in = kKiB * between(2, 40), sum = kKiB * between(4, 48), out = sum >> between(0, 2);
    int weights = make(kKiB * between(4, 64)), inner = between(1, 4);
    for (int tile = between(3, 14); tile > 0; --tile) {
      int total = make(sum);
      for (int step = 0; step < inner; ++step) {
        make(in, 2);
        ++now;
        use(total);
      }
      int result = make(out);
      ++now;
      use(result);
      use(weights);
    }
  }

  void fusedRows() {
    int depth = between(2, 5), rows = between(3, 10);
    std::vector<int64_t> lines;
    std::vector<int> weights;
    for (int layer = 0; layer < depth; ++layer) {
      lines.push_back(int64_t{64} * between(20, 400));
      weights.push_back(make(int64_t{64} * between(100, 1200), between(0, 3)));
    }
    int result = make(lines.back() * rows);
    for (int step = 0; step < rows * depth; ++step) {
      ++now;
      int line = make(lines[step % depth]);
      made[line].end = now + depth + between(0, 2);
      use(weights[step % depth]);
      use(result);
    }
  }

  void decoder() {
    int64_t width = kKiB * between(2, 8);
    int value = make(width), layers = between(4, 8);
    std::vector<int> kept;
    for (int step = 0; step < 3 * layers; ++step) {
      ++now;
      use(value);
      int query = make(width);
      kept.push_back(make(width / 2));
      for (int each : kept)
        use(each);
      int scores = apply(query, 3 * width, width * (1 + step / layers), 2);
      int wide = apply(scores, 4 * width, 4 * width, 2);
      use(value);
      value = apply(wide, 4 * width, width, 2);
    }
  }

  void cores() {
    std::vector<int> values;
    for (int core = between(2, 4); core > 0; --core)
      values.push_back(make(16 * kKiB));
    for (int step = 0; step < 20; ++step) {
      ++now;
      for (size_t core = 0; core < values.size(); ++core) {
        use(values[core]);
        if (between(0, 9) < 4)
          continue;
        make(2 * kKiB * between(1, 30), between(0, 4));
        if (between(0, 4) == 0)
          use(values[(core + 1) % values.size()]);
        values[core] = make(4 * kKiB * between(1, 16));
      }
    }
  }

  Random &random;
  int buffers;
  int now = 0;
  std::vector<Rectangle> made;
};

} // namespace

std::vector<Rectangle> networkInstance(Random &random, NetworkKind kind, int buffers) {
  return Executor(random, buffers).run(kind);
}

} // namespace accum::planner
