// SPDX-License-Identifier: Apache-2.0
// Text of a module -> shared object -> called function; processors by name.
#include "compiler/Emit/Objects.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include <cmath>
#include <dlfcn.h>
#include <filesystem>
#include <gmock/gmock.h>

using namespace accum::emit;
using testing::Contains;
using testing::HasSubstr;

namespace {

std::string messageOf(llvm::Error error) { return llvm::toString(std::move(error)); }

struct ObjectsTest : testing::Test {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "accum-objects";
  llvm::LLVMContext context;

  ObjectsTest() { std::filesystem::create_directories(folder); }
  ~ObjectsTest() override { std::filesystem::remove_all(folder); }
  std::string path(const char *name) { return (folder / name).string(); }

  std::unique_ptr<llvm::Module> parse(const char *text) {
    llvm::SMDiagnostic diagnostic;
    auto module = llvm::parseAssemblyString(text, diagnostic, context);
    EXPECT_TRUE(module) << diagnostic.getMessage().str();
    return module;
  }
};

TEST_F(ObjectsTest, ExportsWhatIsVisible) {
  auto module = parse(R"(
    define i64 @twice(i64 %x) { %y = call i64 @inner(i64 %x)
      ret i64 %y }
    define hidden i64 @inner(i64 %x) noinline { %y = shl i64 %x, 1
      ret i64 %y })");
  auto cpu = targetCpuNamed("native");
  ASSERT_TRUE(bool(cpu));
  ASSERT_EQ(messageOf(writeSharedObject(*module, *cpu, llvm::CodeGenOptLevel::None, path("twice.so"))), "");
  void *library = dlopen(path("twice.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto twice = reinterpret_cast<int64_t (*)(int64_t)>(dlsym(library, "twice"));
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice(21), 42);
  EXPECT_EQ(dlsym(library, "inner"), nullptr);
  dlclose(library);
  EXPECT_FALSE(std::filesystem::exists(path("twice.so.o")));
}

TEST_F(ObjectsTest, FindsTheMathLibrary) {
  auto module = parse(R"(declare double @cbrt(double)
    define double @root(double %x) { %y = call double @cbrt(double %x)
      ret double %y })");
  auto cpu = targetCpuNamed("x86-64-v2");
  ASSERT_TRUE(bool(cpu));
  ASSERT_EQ(messageOf(writeSharedObject(*module, *cpu, llvm::CodeGenOptLevel::Default, path("root.so"))), "");
  void *library = dlopen(path("root.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto root = reinterpret_cast<double (*)(double)>(dlsym(library, "root"));
  ASSERT_TRUE(root);
  EXPECT_DOUBLE_EQ(root(27.0), 3.0);
  dlclose(library);
}

TEST_F(ObjectsTest, FolderThatDoesNotExist) {
  auto module = parse("define void @f() { ret void }");
  auto cpu = targetCpuNamed("x86-64");
  ASSERT_TRUE(bool(cpu));
  EXPECT_THAT(
      messageOf(writeSharedObject(*module, *cpu, llvm::CodeGenOptLevel::Default, path("no/where.so"))),
      HasSubstr("cannot be written"));
}

TEST(TargetCpu, LevelsCarryTheirFeatures) {
  auto v4 = targetCpuNamed("x86-64-v4");
  ASSERT_TRUE(bool(v4));
  EXPECT_EQ(v4->vectorBytes, 64u);
  EXPECT_THAT(v4->features, testing::IsSupersetOf({"sse4_2", "avx2", "avx512vl"}));
  auto v3 = targetCpuNamed("x86-64-v3");
  ASSERT_TRUE(bool(v3));
  EXPECT_EQ(v3->vectorBytes, 32u);
  EXPECT_THAT(v3->features, Contains("fma"));
  EXPECT_THAT(v3->features, testing::Not(Contains("avx512f")));
}

TEST(TargetCpu, UnknownName) {
  auto cpu = targetCpuNamed("pentium");
  ASSERT_FALSE(bool(cpu));
  EXPECT_EQ(messageOf(cpu.takeError()),
            "cpu 'pentium' is unknown, expected native, x86-64, x86-64-v2, x86-64-v3 or x86-64-v4");
}

} // namespace
