// SPDX-License-Identifier: Apache-2.0
// Text that every program.cpp starts with.
#include "compiler/Emit/CppHelpers.h"
#include "compiler/Emit/CppNames.h"
#include "llvm/Support/FormatVariadic.h"

using namespace accum::device;
using llvm::StringRef;

namespace accum::emit {
namespace {

constexpr StringRef kGemmHelper =
    R"(// A matrix: its first element, elements from row to row and from column to column.
struct Matrix {
  uint8_t *data;
  int64_t row, col;
};

// A dimension of many products: how many, elements from one matrix to the next.
struct Batch {
  int64_t extent, c, a, b;
};

// c = a * b + beta * c; c has m rows and n columns, each element k terms. With a bias, which has n elements, and
// beta = 0: c = a * b + bias, for every row.
int gemm(accum_ctx *ctx, int32_t c_dtype, Matrix c, int32_t dtype, Matrix a, Matrix b, int64_t m, int64_t n,
         int64_t k, float beta, std::initializer_list<Batch> batch = {}, const uint8_t *bias = nullptr) {
  accum_gemm product = {};
  product.a = a.data;
  product.b = b.data;
  product.c = c.data;
  product.bias = bias;
  product.dtype = dtype;
  product.c_dtype = c_dtype;
  product.m = m;
  product.n = n;
  product.k = k;
  product.a_row = a.row;
  product.a_col = a.col;
  product.b_row = b.row;
  product.b_col = b.col;
  product.c_row = c.row;
  for (const Batch &each : batch) {
    int32_t i = product.batch_dims++;
    product.batch[i] = each.extent;
    product.a_batch[i] = each.a;
    product.b_batch[i] = each.b;
    product.c_batch[i] = each.c;
  }
  return ctx->rt->gemm(ctx, &product, beta);
}

)";

constexpr StringRef kAttentionHelper =
    R"(// Operands: first element, then elements from one batch entry, head, row and column to the next.
int attention(accum_ctx *ctx, const accum_attention &call) { return ctx->rt->attention(ctx, &call); }

)";

constexpr StringRef kLaunchHelper =
    R"(// Runs a kernel: device pointers to operands, results and, where it accumulates, the flag.
template <typename... Buffer> int launch(accum_ctx *ctx, Kernel kernel, const Buffer *...buffers) {
  void *arguments[] = {const_cast<Buffer *>(buffers)...};
  return ctx->rt->launch(ctx, static_cast<uint32_t>(kernel), arguments);
}

)";

template <typename Op> bool uses(ProgramOp program) {
  return program.walk([](Op) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
}

} // namespace

void printCppHead(ProgramOp program, StringRef title, llvm::raw_ostream &out) {
  out << llvm::formatv("// {0}: one optimizer step, {1} samples per micro-step, {2} device(s).\n",
                       cppComment(title), program.getM(), program.getDevices());
  out << "// Written to be read; program.so does the same, bit for bit. To build it:\n"
         "//   c++ -std=c++20 -O1 -fPIC -shared -I INCLUDE program.cpp -o program.so\n"
         "// INCLUDE is the folder that `accum-run --include-dir` prints. An executable has it as\n"
         "// accum_open_options::program, and -laccum_runtime. Buffers are called after the ONNX nodes that "
         "make\n"
         "// them; `d x` comes from the derivative of node x.\n"
         "#include \"accum_program.h\"\n";
  if (uses<GemmOp>(program))
    out << "#include <initializer_list>\n";
}

void printCppHelpers(ProgramOp program, llvm::raw_ostream &out) {
  if (uses<LaunchOp>(program))
    out << kLaunchHelper;
  if (uses<GemmOp>(program))
    out << kGemmHelper;
  if (uses<AttentionOp>(program))
    out << kAttentionHelper;
}

} // namespace accum::emit
