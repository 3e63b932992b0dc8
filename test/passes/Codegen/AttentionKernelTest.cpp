// SPDX-License-Identifier: Apache-2.0
// Attention in tiles, simulated with all of the simulator's checks, against plain loops in double.
#include "compiler/Emit/Cuda/PtxTarget.h"
#include "compiler/Emit/Cuda/SimModule.h"
#include "compiler/Emit/Objects.h"
#include "dialects/Registration.h"
#include "mlir/Parser/Parser.h"
#include "runtime/sim/SimKernels.h"
#include "test/runtime/AttentionProblem.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace mlir;

namespace accum::test {
namespace {

using Case = AttentionCase;
using Mask = AttentionMask;
using Problem = AttentionProblem<float>;

MLIRContext &sharedContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerDialects(registry);
    auto *made = new MLIRContext(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

std::string tensor(std::initializer_list<int64_t> shape, const char *element = "f32") {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

/// The kernel of a problem as text, views of its buffers included.
class Text {
public:
  explicit Text(const Problem &problem, bool backward) : p(problem), s(problem.shape), backward(backward) {}

  std::string write() {
    packed = tensor({s.batch, s.queries, width()});
    q = tensor({s.batch, s.heads, s.queries, s.features}),
    k = tensor({s.batch, s.groups, s.keys, s.features});
    v = tensor({s.batch, s.groups, s.keys, s.valueFeatures});
    y = tensor({s.batch, s.heads, s.queries, s.valueFeatures});
    ys = tensor({s.batch, s.queries, s.heads, s.valueFeatures}), lse = tensor({s.batch, s.heads, s.queries});
    readOperands();
    std::string rules = llvm::formatv("<{0}>{1} {{scale = {2:E17} : f64}", names[s.hidden],
                                      s.causal ? " causal" : "", p.call.scale);
    std::string masked = mask.empty() ? "" : " mask %mask", maskType = mask.empty() ? "" : ", " + mask;
    std::string results;
    if (backward) {
      arguments += ", %ys: " + ys + ", %lse: " + lse + ", %dy: " + y;
      body += "  %y = nn.transpose %ys [0, 2, 1, 3] : " + ys + " -> " + y + "\n";
      body += "  %d:3 = nn.attention_bwd(%q, %k, %v, %y, %lse, %dy" + masked + ") " + rules + " : (" + q +
              ", " + k + ", " + v + ", " + y + ", " + lse + ", " + y + maskType + ") -> (" + q + ", " + k +
              ", " + v + ")\n";
      results = writeCotangents();
    } else {
      body += "  %a, %lse = nn.attention(%q, %k, %v" + masked + ") " + rules + " : (" + q + ", " + k + ", " +
              v + maskType + ") -> (" + y + ", " + lse + ")\n";
      body += "  %ys = nn.transpose %a [0, 2, 1, 3] : " + y + " -> " + ys + "\n";
      body += "  return %ys, %lse : " + ys + ", " + lse + "\n";
      results = ys + ", " + lse;
    }
    return "func.func private @attention(" + arguments + ") -> (" + results +
           ") attributes {accum.kernel = 0 : i64} {\n" + body + "}\n";
  }

private:
  static constexpr const char *names[] = {"excluded", "infinite", "lowered", "replaced"};

  int64_t width() const { return (s.heads + s.groups) * s.features + s.groups * s.valueFeatures; }

  /// Heads of `features` from column `first` of the packed rows on.
  void unpack(const std::string &name, const std::string &type, int64_t first, int64_t heads,
              int64_t features) {
    std::string flat = tensor({s.batch, s.queries, heads * features}),
                rows = tensor({s.batch, s.queries, heads, features});
    body += llvm::formatv("  %{0}0 = nn.slice %x at [0, 0, {1}] by [1, 1, 1] : {2} -> {3}\n", name, first,
                          packed, flat);
    body += "  %" + name + "1 = nn.reshape %" + name + "0 : " + flat + " -> " + rows + "\n";
    body += "  %" + name + " = nn.transpose %" + name + "1 [0, 2, 1, 3] : " + rows + " -> " + type + "\n";
  }

  void readOperands() {
    if (s.packed) {
      arguments = "%x: " + packed;
      unpack("q", q, 0, s.heads, s.features);
      unpack("k", k, s.heads * s.features, s.groups, s.features);
      unpack("v", v, (s.heads + s.groups) * s.features, s.groups, s.valueFeatures);
    } else {
      arguments = "%q: " + q + ", %k: " + k + ", %v: " + v;
    }
    bool wide = s.mask == Mask::Some || s.mask == Mask::All, full = s.mask == Mask::Added;
    if (s.mask == Mask::None)
      return;
    const char *element = p.call.mask_dtype == ACCUM_BOOL ? "i1" : "f32";
    mask = wide ? tensor({1, s.heads, s.queries, s.keys}, element)
                : tensor({s.batch, 1, full ? s.queries : 1, s.keys}, element);
    if (!wide) {
      arguments += ", %mask: " + mask;
      return;
    }
    std::string twice = tensor({1, s.heads, s.queries, 2 * s.keys}, element);
    arguments += ", %masks: " + twice;
    body += "  %mask = nn.slice %masks at [0, 0, 0, 0] by [1, 1, 1, 2] : " + twice + " -> " + mask + "\n";
  }

  std::string writeCotangents() {
    if (!s.packed) {
      body += "  return %d#0, %d#1, %d#2 : " + q + ", " + k + ", " + v + "\n";
      return q + ", " + k + ", " + v;
    }
    std::string flats[3];
    const std::tuple<std::string, int64_t, int64_t> each[] = {
        {q, s.heads, s.features}, {k, s.groups, s.features}, {v, s.groups, s.valueFeatures}};
    for (int i = 0; i < 3; ++i) {
      auto [type, heads, features] = each[i];
      std::string rows = tensor({s.batch, s.queries, heads, features});
      flats[i] = tensor({s.batch, s.queries, heads * features});
      body += llvm::formatv("  %t{0} = nn.transpose %d#{0} [0, 2, 1, 3] : {1} -> {2}\n", i, type, rows);
      body += llvm::formatv("  %f{0} = nn.reshape %t{0} : {1} -> {2}\n", i, rows, flats[i]);
    }
    body += "  %all = nn.concat(%f0, %f1, %f2) {axis = 2 : i64} : (" + flats[0] + ", " + flats[1] + ", " +
            flats[2] + ") -> " + packed + "\n  return %all : " + packed + "\n";
    return packed;
  }

  const Problem &p;
  const Case &s;
  bool backward;
  std::string packed, q, k, v, y, ys, lse, mask, arguments, body;
};

/// Compiles a kernel and runs it in the simulator; what went wrong, or nothing.
std::string simulate(const std::string &text, std::vector<void *> args) {
  static int number = 0;
  auto module = parseSourceString<ModuleOp>(text, &sharedContext());
  if (!module)
    return "does not parse: " + text;
  auto kernels = emit::compileCudaKernels(*module);
  if (failed(kernels) || kernels->kernels[0].spec.args != args.size())
    return "does not compile: " + text;
  auto code = emit::simModule(*kernels);
  if (!code)
    return llvm::toString(code.takeError());
  // The loader knows libraries by name, and the simulator's stay loaded.
  std::string path =
      testing::TempDir() + llvm::formatv("accum-attention-{0}-{1}.sim.so", getpid(), number++).str();
  auto cpu = llvm::cantFail(emit::targetCpuNamed("x86-64-v3"));
  if (auto error = emit::writeSharedObject(**code, cpu, emit::Optimize::Less, path))
    return llvm::toString(std::move(error));
  auto device = runtime::sim::SimKernels::load(path);
  std::filesystem::remove(path);
  if (!device)
    return device.error().message;
  runtime::Status status = (*device)->launch(0, args.data());
  return status ? "" : status.error().message;
}

void run(Problem &problem) {
  accum_attention &c = problem.call;
  std::vector<void *> inputs = {c.q.data}, cotangents = {c.dq.data};
  if (!problem.shape.packed) {
    inputs.insert(inputs.end(), {c.k.data, c.v.data});
    cotangents.insert(cotangents.end(), {c.dk.data, c.dv.data});
  }
  if (c.mask.data)
    inputs.push_back(c.mask.data);
  std::vector<void *> args = inputs;
  args.insert(args.end(), {c.y.data, c.lse.data});
  ASSERT_EQ(simulate(Text(problem, false).write(), args), "");
  args.push_back(c.dy.data);
  args.insert(args.end(), cotangents.begin(), cotangents.end());
  ASSERT_EQ(simulate(Text(problem, true).write(), args), "");
}

void check(const Case &shape) {
  SCOPED_TRACE(testing::Message() << shape.batch << " samples, " << shape.heads << "/" << shape.groups
                                  << " heads, " << shape.queries << "x" << shape.keys << ", "
                                  << shape.features << " and " << shape.valueFeatures << " features, mask "
                                  << int(shape.mask) << " hidden " << int(shape.hidden)
                                  << (shape.causal ? " causal" : ""));
  Problem problem(shape);
  run(problem);
  double tolerance = 4e-6 * std::max(1.0, shape.size);
  expectNear(problem.y, problem.expectedY(), tolerance);
  expectNear(problem.dqkv, problem.expectedGradients(), tolerance);
}

TEST(AttentionKernel, Shapes) {
  for (Case shape : {Case{1, 1, 1, 1, 1, 1, 1}, Case{2, 3, 3, 7, 7, 5, 5}, Case{1, 2, 2, 64, 96, 16, 16},
                     Case{1, 1, 1, 65, 70, 8, 8}, Case{2, 2, 2, 5, 40, 9, 4}, Case{1, 2, 1, 70, 3, 4, 12},
                     Case{3, 1, 1, 1, 33, 16, 16}})
    check(shape);
}

TEST(AttentionKernel, WidthsOfHeads) {
  for (int64_t width : {2, 31, 40, 64, 65, 96, 127, 128})
    check({1, 2, 1, 35, 35, width, width, true});
  check({1, 1, 1, 20, 20, 64, 128});
  check({1, 1, 1, 20, 20, 100, 24, true});
}

TEST(AttentionKernel, GroupedHeads) {
  for (Case shape :
       {Case{2, 4, 2, 9, 9, 8, 8}, Case{1, 6, 1, 70, 20, 8, 3}, Case{2, 6, 3, 17, 17, 4, 4, true}})
    check(shape);
}

TEST(AttentionKernel, CausalAlsoWhereSizesDiffer) {
  for (Case shape : {Case{2, 2, 2, 130, 130, 8, 8, true}, Case{1, 2, 2, 90, 40, 8, 8, true},
                     Case{1, 1, 1, 3, 150, 8, 8, true}, Case{1, 1, 1, 1, 1, 4, 4, true}})
    check(shape);
}

TEST(AttentionKernel, OperandsInOneBuffer) {
  for (int64_t width : {8, 6})
    for (bool causal : {false, true}) {
      Case shape{2, 4, 2, 45, 45, width, width, causal};
      shape.packed = true;
      check(shape);
    }
}

TEST(AttentionKernel, MasksAndRowsThatSeeNothing) {
  for (Mask mask : {Mask::Keys, Mask::Some, Mask::All, Mask::Added, Mask::LowKeys, Mask::InfiniteKeys})
    for (accum_hidden hidden :
         {ACCUM_HIDDEN_EXCLUDED, ACCUM_HIDDEN_INFINITE, ACCUM_HIDDEN_LOWERED, ACCUM_HIDDEN_REPLACED})
      for (bool causal : {false, true}) {
        int64_t length = causal ? 70 : 19; // what is behind the diagonal takes a tile
        check({2, 2, 1, length, length, 4, 3, causal, mask, hidden});
      }
}

TEST(AttentionKernel, HugeScores) {
  for (bool causal : {false, true})
    check({1, 2, 2, 80, 80, 16, 16, causal, Mask::None, ACCUM_HIDDEN_EXCLUDED, 300});
}

/// Every shape of tiles, with the most that masks ask for. Registers and shared memory are printed.
TEST(AttentionKernel, SpillsNothing) {
  auto ptxas = emit::findPtxas();
  if (!ptxas)
    GTEST_SKIP() << "needs ptxas";
  std::string stem = testing::TempDir() + llvm::formatv("accum-attention-{0}", getpid()).str();
  for (int64_t width : {32, 64, 128})
    for (Mask mask : {Mask::None, Mask::Keys, Mask::Added})
      for (bool backward : {false, true}) {
        Problem problem({1, 4, 2, 256, 256, width, width, true, mask, ACCUM_HIDDEN_LOWERED});
        auto module = parseSourceString<ModuleOp>(Text(problem, backward).write(), &sharedContext());
        auto kernels = emit::compileCudaKernels(*module);
        ASSERT_TRUE(succeeded(kernels));
        std::ofstream(stem + ".ptx") << kernels->ptx;
        for (const char *architecture : {"sm_80", "sm_90", "sm_100", "sm_120"}) {
          auto said = emit::assemblePtx(*ptxas, architecture, stem + ".ptx", stem + ".cubin");
          ASSERT_TRUE(bool(said)) << llvm::toString(said.takeError());
          EXPECT_EQ(said->spillBytes, 0) << architecture << "\n" << said->text;
          llvm::StringRef used = llvm::StringRef(said->text).split("Used ").second.split('\n').first;
          std::cout << width << (backward ? " backward" : " forward") << ", mask " << int(mask) << ", "
                    << architecture << ": " << used.str() << "\n";
        }
      }
  std::filesystem::remove(stem + ".ptx");
  std::filesystem::remove(stem + ".cubin");
}

TEST(AttentionKernel, ANaNIsNotLost) {
  for (accum_hidden hidden : {ACCUM_HIDDEN_EXCLUDED, ACCUM_HIDDEN_LOWERED}) {
    Problem problem({1, 1, 1, 6, 6, 4, 4, true, Mask::None, hidden});
    problem.qkv[0] = NAN; // of the first query, which sees one key
    run(problem);
    EXPECT_TRUE(std::isnan(problem.y[0]));
    EXPECT_TRUE(std::isfinite(problem.y[4]));
  }
}

} // namespace
} // namespace accum::test
