// SPDX-License-Identifier: Apache-2.0
// From strides to cuBLASLt's layouts: arithmetic only.
#include "runtime/cuda/MatmulShape.h"
#include "runtime/cuda/CublasLtApi.h"
#include "runtime/files/DType.h"
#include <algorithm>
#include <vector>

namespace accum::runtime::cuda {
namespace {

Error refuse(const std::string &why) { return {kExitRunFailed, "a GEMM was refused: " + why, "gemm"}; }

struct Dim {
  int64_t extent, a, b, c;
};

/// Dimensions of extent 1 go; an outer one that continues its inner neighbour in all operands joins it.
std::vector<Dim> mergeBatch(const accum_gemm &call) {
  std::vector<Dim> dims; // inner first
  for (int32_t d = call.batch_dims - 1; d >= 0; --d) {
    Dim dim = {call.batch[d], call.a_batch[d], call.b_batch[d], call.c_batch[d]};
    if (dim.extent == 1)
      continue;
    if (!dims.empty()) {
      Dim &inner = dims.back();
      if (dim.a == inner.a * inner.extent && dim.b == inner.b * inner.extent &&
          dim.c == inner.c * inner.extent) {
        inner.extent *= dim.extent;
        continue;
      }
    }
    dims.push_back(dim);
  }
  return dims;
}

struct Stored {
  int32_t op;
  int64_t leading;
};

/// A row-major rows x cols matrix as the library's column-major cols x rows, plain or transposed. An extent
/// of 1 makes its stride irrelevant.
std::optional<Stored> storedAs(int64_t rowStride, int64_t colStride, int64_t rows, int64_t cols) {
  if ((colStride == 1 || cols == 1) && (rowStride >= cols || rows == 1))
    return Stored{kOpNone, std::max(rowStride, cols)};
  if ((rowStride == 1 || rows == 1) && (colStride >= rows || cols == 1))
    return Stored{kOpTranspose, std::max(colStride, rows)};
  return {};
}

/// The largest power of two up to 256 that divides the address and every stride, all in bytes.
int64_t alignmentOf(const void *pointer, int64_t size, std::initializer_list<int64_t> strides,
                    const MatmulLoops &loops, const int64_t *loopStrides) {
  uint64_t bits = reinterpret_cast<uint64_t>(pointer) | 256;
  for (int64_t stride : strides)
    bits |= uint64_t(stride * size);
  for (int i = 0; i < loops.count; ++i)
    bits |= uint64_t(loopStrides[i] * size);
  return int64_t(bits & (~bits + 1));
}

std::optional<int> typeOf(int32_t dtype) {
  if (dtype == ACCUM_F32)
    return kReal32;
  if (dtype == ACCUM_BF16)
    return kRealBf16;
  return dtype == ACCUM_F64 ? std::optional<int>(kReal64) : std::nullopt;
}

Status checkCall(const accum_gemm &call, float beta) {
  bool wide = call.dtype == ACCUM_F64, known = typeOf(call.dtype) && typeOf(call.c_dtype);
  if (!known || wide != (call.c_dtype == ACCUM_F64) || (call.dtype == ACCUM_F32 && call.c_dtype != ACCUM_F32))
    return refuse("a GPU multiplies f32 to f32, bf16 to bf16 or f32, and f64 to f64");
  if (call.m <= 0 || call.n <= 0 || call.k <= 0 || call.batch_dims < 0 ||
      call.batch_dims > ACCUM_GEMM_MAX_BATCH_DIMS)
    return refuse("m, n and k must be positive");
  if (beta != 0 && beta != 1)
    return refuse("beta is neither 0 nor 1");
  if (call.bias && beta != 0)
    return refuse("a bias needs beta = 0");
  for (int32_t d = 0; d < call.batch_dims; ++d)
    if (call.batch[d] > 1 && call.c_batch[d] == 0)
      return refuse("two points of the batch write the same C");
  return {};
}

} // namespace

Expected<MatmulShape> shapeOf(const accum_gemm &call, float beta, bool tf32, MatmulLoops &loops) {
  if (Status status = checkCall(call, beta); !status)
    return status.error();
  auto first = storedAs(call.b_row, call.b_col, call.k, call.n);
  auto second = storedAs(call.a_row, call.a_col, call.m, call.k);
  if (!first || !second)
    return refuse("an operand has no unit stride");
  std::vector<Dim> dims = mergeBatch(call);
  auto longest = std::max_element(dims.begin(), dims.end(),
                                  [](const Dim &a, const Dim &b) { return a.extent < b.extent; });
  Dim strided = longest == dims.end() ? Dim{1, 0, 0, 0} : *longest;
  loops.count = 0;
  for (auto dim = dims.begin(); dim != dims.end(); ++dim) {
    if (dim == longest)
      continue;
    int i = loops.count++;
    loops.extent[i] = dim->extent;
    loops.a[i] = dim->a;
    loops.b[i] = dim->b;
    loops.c[i] = dim->c;
  }
  int64_t size = int64_t(bytesOf(DType(call.dtype))), resultSize = int64_t(bytesOf(DType(call.c_dtype)));
  int64_t resultLeading = std::max(call.c_row, call.n);
  bool wide = call.dtype == ACCUM_F64;
  return MatmulShape{.rows = call.n,
                     .columns = call.m,
                     .depth = call.k,
                     .operandType = *typeOf(call.dtype),
                     .resultType = *typeOf(call.c_dtype),
                     .computeType = wide                              ? kCompute64
                                    : tf32 && call.dtype == ACCUM_F32 ? kCompute32FastTf32
                                                                      : kCompute32,
                     .scaleType = wide ? kReal64 : kReal32,
                     .firstOp = first->op,
                     .secondOp = second->op,
                     .firstLeading = first->leading,
                     .secondLeading = second->leading,
                     .resultLeading = resultLeading,
                     .points = strided.extent,
                     .firstStride = strided.b,
                     .secondStride = strided.a,
                     .resultStride = strided.c,
                     .firstAlign = alignmentOf(call.b, size, {strided.b}, loops, loops.b),
                     .secondAlign = alignmentOf(call.a, size, {strided.a}, loops, loops.a),
                     .resultAlign = alignmentOf(call.c, resultSize, {strided.c}, loops, loops.c),
                     .beta = beta != 0,
                     .biasAlign = call.bias ? alignmentOf(call.bias, resultSize, {}, {}, nullptr) : 0};
}

} // namespace accum::runtime::cuda
