// SPDX-License-Identifier: Apache-2.0
// Both printers of one program, run side by side, against sums over all samples at once.
#include "compiler/Emit/Program.h"
#include "compiler/Emit/Objects.h"
#include "test/compiler/Emit/LinearRegression.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <cmath>
#include <dlfcn.h>
#include <filesystem>
#include <gmock/gmock.h>

using namespace accum;
using namespace accum::test;
using testing::HasSubstr;

namespace {

/// A shared object that stays loaded.
const accum_program_v1 *loadProgram(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(library) << dlerror();
  auto entry =
      library ? reinterpret_cast<decltype(&accum_program)>(dlsym(library, "accum_program")) : nullptr;
  return entry ? entry() : nullptr;
}

struct Scheduled {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  device::ProgramOp program;
  std::filesystem::path folder;

  explicit Scheduled(int64_t m) : module(scheduleLinearRegression(context, m)) {
    program = *module->getOps<device::ProgramOp>().begin();
    folder = std::filesystem::path(testing::TempDir()) / ("accum-program-" + std::to_string(m));
    std::filesystem::create_directories(folder);
  }

  const accum_program_v1 *native() {
    llvm::LLVMContext llvm;
    auto code = emit::programModule(program, llvm);
    auto cpu = emit::targetCpuNamed("x86-64");
    std::string path = folder / "program.so";
    EXPECT_EQ(llvm::toString(emit::writeSharedObject(*code, *cpu, llvm::CodeGenOptLevel::None, path)), "");
    return loadProgram(path);
  }

  std::string text() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    emit::printProgram(program, "linear.accum", stream);
    return text;
  }

  const accum_program_v1 *compiled() {
    std::error_code error;
    std::string source = folder / "program.cpp", path = folder / "printed.so";
    llvm::raw_fd_ostream(source, error) << text();
    std::string command = "c++ -std=c++20 -Wall -Wextra -Werror -O1 -fPIC -shared -I " ACCUM_SOURCE_DIR
                          "/runtime " +
                          source + " -o " + path;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return loadProgram(path);
  }
};

struct Reference {
  double loss = 0, gradW[6] = {}, gradB[2] = {};
};

/// All samples at once, in double precision.
Reference wholeBatch(const Samples &samples, const float *w, const float *b) {
  Reference sums;
  double weight = 1 / (2.0 * static_cast<double>(samples.x.size()));
  for (size_t i = 0; i < samples.x.size(); ++i)
    for (size_t n = 0; n < 2; ++n) {
      double r = static_cast<double>(b[n]) - static_cast<double>(samples.t[i][n]);
      for (size_t k = 0; k < 3; ++k)
        r += static_cast<double>(samples.x[i][k]) * static_cast<double>(w[2 * k + n]);
      sums.loss += r * r * weight;
      sums.gradB[n] += 2 * r * weight;
      for (size_t k = 0; k < 3; ++k)
        sums.gradW[2 * k + n] += 2 * r * weight * static_cast<double>(samples.x[i][k]);
    }
  return sums;
}

void expectWholeBatch(ToyRuntime &run, const Reference &expected) {
  EXPECT_NEAR(*run.state<double>(kLoss), expected.loss, 1e-6);
  for (int i = 0; i < 6; ++i)
    EXPECT_NEAR(run.state<float>(kGradW)[i], expected.gradW[i], 1e-6);
  for (int i = 0; i < 2; ++i)
    EXPECT_NEAR(run.state<float>(kGradB)[i], expected.gradB[i], 1e-6);
}

struct ProgramTest : testing::TestWithParam<int64_t> {};

TEST_P(ProgramTest, BothPrintersTrainAsOneBigBatch) {
  Scheduled scheduled(GetParam());
  Samples samples = makeSamples(11); // ragged for every m but 1 and 11
  const accum_program_v1 *native = scheduled.native(), *printed = scheduled.compiled();
  ASSERT_TRUE(native && printed);
  ToyRuntime a(*scheduled.module, GetParam(), samples), b(*scheduled.module, GetParam(), samples);
  for (uint64_t step = 0; step < 3; ++step) {
    Reference expected = wholeBatch(samples, a.state<float>(kW), a.state<float>(kB));
    ASSERT_EQ(a.eval(*native), 0);
    EXPECT_NEAR(*a.state<double>(kLoss), expected.loss, 1e-6);
    ASSERT_EQ(a.step(*native, step), 0);
    EXPECT_EQ(*a.state<int64_t>(kTargets), 11);
    expectWholeBatch(a, expected);
    ASSERT_EQ(b.eval(*printed), 0);
    ASSERT_EQ(b.step(*printed, step), 0);
    EXPECT_EQ(a.stateBytes, b.stateBytes);
  }
  EXPECT_EQ(a.log, b.log);
}

INSTANTIATE_TEST_SUITE_P(MicroBatches, ProgramTest, testing::Values(1, 2, 3, 4, 11));

TEST(Program, Table) {
  Scheduled scheduled(2);
  for (const accum_program_v1 *program : {scheduled.native(), scheduled.compiled()}) {
    ASSERT_TRUE(program);
    EXPECT_EQ(program->abi, ACCUM_ABI_VERSION);
    EXPECT_EQ(program->size, sizeof(accum_program_v1));
    EXPECT_EQ(program->state_bytes, uint64_t(kStateBytes));
    EXPECT_EQ(program->scratch_bytes, 768u);
    EXPECT_EQ(std::tuple(program->m, program->devices), std::tuple(2u, 1u));
  }
}

TEST(Program, CallsInOrder) {
  Scheduled scheduled(2);
  ToyRuntime run(*scheduled.module, 2, makeSamples(3));
  ASSERT_EQ(run.step(*scheduled.native(), 0), 0);
  EXPECT_EQ(run.log, "begin0 count end0 begin0 count end0 sum@1792x1:4 weight "
                     "begin2 gemm residual gemm columns end2 begin2 gemm residual gemm columns "
                     "sum@1536x1:8 sum@512x128:7 look@512x128:last update end2 ");
}

TEST(Program, FailuresNameTheCommand) {
  Scheduled scheduled(2);
  for (const accum_program_v1 *program : {scheduled.native(), scheduled.compiled()})
    for (auto [call, result] : {std::pair("count", 1),
                                {"gemm", 3},
                                {"residual", 4},
                                {"update", 7},
                                {"begin2", 77},
                                {"end0", 77},
                                {"all_reduce", 77},
                                {"inspect_gradients", 77}}) {
      ToyRuntime run(*scheduled.module, 2, makeSamples(3));
      run.failAt = call;
      EXPECT_EQ(run.step(*program, 0), result) << call;
    }
}

TEST(Program, ReadsAsAProgram) {
  std::string text = Scheduled(2).text();
  EXPECT_THAT(text, HasSubstr("// linear.accum: one optimizer step, 2 samples per micro-step, 1 device(s)."));
  EXPECT_THAT(text, HasSubstr("uint8_t *const gradient_of_w = ctx->state + 512; // gradient of w: 3x2xf32"));
  EXPECT_THAT(text, HasSubstr("  for (uint32_t k = 0; k < k_steps; ++k) {\n"));
  EXPECT_THAT(text, HasSubstr("return 4; // /loss/Sub\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("memset")));
}

} // namespace
