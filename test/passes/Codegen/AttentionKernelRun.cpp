// SPDX-License-Identifier: Apache-2.0
// Text -> kernel -> simulator, or ptxas.
#include "test/passes/Codegen/AttentionKernelRun.h"
#include "compiler/Emit/Cuda/PtxTarget.h"
#include "compiler/Emit/Cuda/SimModule.h"
#include "compiler/Emit/Objects.h"
#include "mlir/Parser/Parser.h"
#include "runtime/sim/SimKernels.h"
#include "test/passes/Codegen/SharedContext.h"
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

std::string tensor(std::initializer_list<int64_t> shape, const char *element) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

/// The kernel of a problem as text, views of its buffers included.
class Text {
public:
  Text(const Problem &problem, bool backward, const char *element)
      : p(problem), s(problem.shape), backward(backward), element(element) {}

  std::string write() {
    packed = tensor({s.batch, s.queries, width()}, element);
    q = tensor({s.batch, s.heads, s.queries, s.features}, element),
    k = tensor({s.batch, s.groups, s.keys, s.features}, element);
    v = tensor({s.batch, s.groups, s.keys, s.valueFeatures}, element);
    y = tensor({s.batch, s.heads, s.queries, s.valueFeatures}, element);
    ys = tensor({s.batch, s.queries, s.heads, s.valueFeatures}, element),
    lse = tensor({s.batch, s.heads, s.queries}, "f32");
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
    std::string flat = tensor({s.batch, s.queries, heads * features}, element),
                rows = tensor({s.batch, s.queries, heads, features}, element);
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
    const char *type = p.call.mask_dtype == ACCUM_BOOL ? "i1" : "f32";
    mask = wide ? tensor({1, s.heads, s.queries, s.keys}, type)
                : tensor({s.batch, 1, full ? s.queries : 1, s.keys}, type);
    if (!wide) {
      arguments += ", %mask: " + mask;
      return;
    }
    std::string twice = tensor({1, s.heads, s.queries, 2 * s.keys}, type);
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
      std::string rows = tensor({s.batch, s.queries, heads, features}, element);
      flats[i] = tensor({s.batch, s.queries, heads * features}, element);
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
  const char *element;
  std::string packed, q, k, v, y, ys, lse, mask, arguments, body;
};

} // namespace

std::string attentionKernel(const Problem &problem, bool backward, const char *element) {
  if (element != std::string("tf32"))
    return Text(problem, backward, element).write();
  return "module attributes {accum.precision = \"tf32\"} {\n" + Text(problem, backward, "f32").write() +
         "}\n";
}

OwningOpRef<ModuleOp> parseKernel(const std::string &text) {
  return parseSourceString<ModuleOp>(text, &sharedContext());
}

std::string simulate(const std::string &text, std::vector<void *> args) {
  static int number = 0;
  auto module = parseKernel(text);
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
  if (auto error = emit::writeSharedObject(**code, cpu, llvm::CodeGenOptLevel::Less, path))
    return llvm::toString(std::move(error));
  auto device = runtime::sim::SimKernels::load(path);
  std::filesystem::remove(path);
  if (!device)
    return device.error().message;
  runtime::Status status = (*device)->launch(0, args.data());
  return status ? "" : status.error().message;
}

void expectNoSpills(const std::string &text, const std::string &title) {
  auto ptxas = emit::findPtxas();
  if (!ptxas)
    GTEST_SKIP() << "needs ptxas";
  std::string stem = testing::TempDir() + llvm::formatv("accum-attention-{0}", getpid()).str();
  auto module = parseKernel(text);
  auto kernels = emit::compileCudaKernels(*module);
  ASSERT_TRUE(succeeded(kernels));
  std::ofstream(stem + ".ptx") << kernels->ptx;
  for (const char *architecture : {"sm_80", "sm_90", "sm_100", "sm_120"}) {
    auto said = emit::assemblePtx(*ptxas, architecture, stem + ".ptx", stem + ".cubin");
    ASSERT_TRUE(bool(said)) << llvm::toString(said.takeError());
    EXPECT_EQ(said->spillBytes, 0) << architecture << "\n" << said->text;
    llvm::StringRef used = llvm::StringRef(said->text).split("Used ").second.split('\n').first;
    std::cout << title << ", " << architecture << ": " << used.str() << "\n";
  }
  std::filesystem::remove(stem + ".ptx");
  std::filesystem::remove(stem + ".cubin");
}

} // namespace accum::test
