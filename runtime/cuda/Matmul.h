// SPDX-License-Identifier: Apache-2.0
// The GEMM of accum_program.h by cuBLASLt: one description and algorithm per shape, made when the shape is
// first seen and kept.
#ifndef ACCUM_RUNTIME_CUDA_MATMUL_H
#define ACCUM_RUNTIME_CUDA_MATMUL_H

#include "runtime/accum_program.h"
#include "runtime/cuda/ComputeStream.h"
#include "runtime/cuda/CublasLtApi.h"
#include <map>
#include <vector>

namespace accum::runtime::cuda {

/// A product as cuBLASLt sees it. Its matrices are column-major, so it computes the transpose of what is
/// asked: C^T [n, m] = B^T [n, k] A^T [k, m], where a row-major matrix is its own transpose. The call's B is
/// therefore the library's first operand.
struct MatmulShape {
  int64_t rows, columns, depth; ///< of the product as the library sees it: n, m, k
  int operandType, resultType, computeType, scaleType;
  int32_t firstOp, secondOp;
  int64_t firstLeading, secondLeading, resultLeading;
  int64_t points; ///< of the strided batch
  int64_t firstStride, secondStride, resultStride;
  int64_t firstAlign, secondAlign, resultAlign; ///< bytes, a power of two up to 256, for every point
  int64_t beta, bias;                           ///< 0 or 1

  auto operator<=>(const MatmulShape &) const = default;
};

/// What is left of the batch dimensions beside the strided one: loops around the call.
struct MatmulLoops {
  int count = 0;
  int64_t extent[ACCUM_GEMM_MAX_BATCH_DIMS];
  int64_t a[ACCUM_GEMM_MAX_BATCH_DIMS], b[ACCUM_GEMM_MAX_BATCH_DIMS], c[ACCUM_GEMM_MAX_BATCH_DIMS];
};

/// The call with batch dimensions merged where they follow each other in all three operands; the longest of
/// what is left becomes the strided batch. Refuses dtypes and strides that cuBLASLt cannot take.
Expected<MatmulShape> shapeOf(const accum_gemm &call, float beta, bool tf32, MatmulLoops &loops);

class Matmul {
public:
  /// Reserved in the arena; NVIDIA's advice for Hopper, and enough for every other card.
  static constexpr uint64_t kWorkspaceBytes = 32 << 20;

  explicit Matmul(ComputeStream &compute) : compute(compute) {}
  ~Matmul();
  Matmul(const Matmul &) = delete;
  Matmul &operator=(const Matmul &) = delete;

  /// Loads cuBLASLt: libcublasLt.so.13, or .12 under a driver of CUDA 12. Exit 4 where it is missing.
  Status load();
  bool isLoaded() const { return handle; }
  void setWorkspace(Address at) { workspace = at; }
  void allowTf32(bool allow) { tf32 = allow; }
  /// f32, bf16 (accumulated in f32) and f64.
  Status run(const accum_gemm &call, float beta);
  std::string version() const;

private:
  struct Entry {
    MatmulDesc desc = nullptr;
    MatrixLayout first = nullptr, second = nullptr, result = nullptr;
    MatmulAlgo algo{};
    uint64_t workspaceBytes = 0;
  };
  Status check(Result code, const char *call) const;
  Status describe(const MatmulShape &shape, Entry &entry);
  Status layOut(MatrixLayout &layout, int type, int64_t rows, int64_t columns, int64_t leading,
                int64_t points, int64_t stride);
  Status choose(const MatmulShape &shape, Entry &entry);
  Status multiply(const MatmulShape &shape, const Entry &entry, const accum_gemm &call, const int64_t *at);
  void release(Entry &entry);

  ComputeStream &compute;
  CublasLtApi api;
  BlasHandle handle = nullptr;
  Address workspace = 0;
  bool tf32 = false;
  std::map<MatmulShape, Entry> entries;
};

} // namespace accum::runtime::cuda
#endif
