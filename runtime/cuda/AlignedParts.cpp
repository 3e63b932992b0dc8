// SPDX-License-Identifier: Apache-2.0
// Arithmetic only.
#include "runtime/cuda/AlignedParts.h"
#include "runtime/files/DType.h"

namespace accum::runtime::cuda {
namespace {

/// A range of an extent.
struct Range {
  int64_t begin, count;
};

double operationsOf(const accum_gemm &call) {
  double operations = 2.0 * double(call.m) * double(call.n) * double(call.k);
  for (int32_t i = 0; i < call.batch_dims; ++i)
    operations *= double(call.batch[i]);
  return operations;
}

/// The stride of an operand that is not 1: from one of its contiguous rows to the next.
int64_t leading(int64_t row, int64_t column) { return row == 1 ? column : row; }

bool hasAlignedRows(const accum_gemm &call, int64_t unit) {
  return leading(call.a_row, call.a_col) % unit == 0 && leading(call.b_row, call.b_col) % unit == 0 &&
         call.c_row % unit == 0;
}

/// The aligned part first.
std::vector<Range> cut(int64_t extent, int64_t unit, bool isContiguous) {
  int64_t rest = extent % unit;
  if (!isContiguous || rest == 0 || extent < 2 * unit)
    return {{0, extent}};
  return {{0, extent - rest}, {extent - rest, rest}};
}

void *moved(const void *data, int64_t elements, int32_t dtype) {
  // The call has pointers to void for what it reads; C's is written.
  return static_cast<char *>(const_cast<void *>(data)) + elements * int64_t(bytesOf(DType(dtype)));
}

accum_gemm partOf(const accum_gemm &call, Range m, Range n, Range k) {
  accum_gemm part = call;
  part.m = m.count;
  part.n = n.count;
  part.k = k.count;
  part.a = moved(call.a, m.begin * call.a_row + k.begin * call.a_col, call.dtype);
  part.b = moved(call.b, k.begin * call.b_row + n.begin * call.b_col, call.dtype);
  part.c = moved(call.c, m.begin * call.c_row + n.begin, call.c_dtype);
  if (call.bias)
    part.bias = moved(call.bias, n.begin, call.c_dtype);
  return part;
}

} // namespace

std::vector<GemmPart> alignedParts(const accum_gemm &call, float beta, double leastOperations) {
  int64_t unit = 16 / int64_t(bytesOf(DType(call.dtype)));
  if (call.dtype == ACCUM_F64 || operationsOf(call) < leastOperations || !hasAlignedRows(call, unit))
    return {{call, beta}};
  auto rows = cut(call.m, unit, call.a_row == 1), columns = cut(call.n, unit, true),
       depths = cut(call.k, unit, call.a_col == 1 || call.b_row == 1);
  std::vector<GemmPart> parts;
  // The remainder of k comes first: what is rounded once more is then the smaller sum.
  for (auto k = depths.rbegin(); k != depths.rend(); ++k)
    for (Range m : rows)
      for (Range n : columns) {
        bool isFirst = k == depths.rbegin();
        parts.push_back({partOf(call, m, n, *k), isFirst ? beta : 1});
        if (!isFirst)
          parts.back().call.bias = nullptr;
      }
  return parts;
}

} // namespace accum::runtime::cuda
