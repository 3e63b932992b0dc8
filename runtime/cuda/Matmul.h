// SPDX-License-Identifier: Apache-2.0
// The GEMM of accum_program.h by cuBLASLt: one description and algorithm per shape, made when the shape is
// first seen and kept.
#ifndef ACCUM_RUNTIME_CUDA_MATMUL_H
#define ACCUM_RUNTIME_CUDA_MATMUL_H

#include "runtime/cuda/ComputeStream.h"
#include "runtime/cuda/MatmulDescription.h"
#include <map>
#include <vector>

namespace accum::runtime::cuda {

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
    MatmulDescription objects;
    std::vector<HeuristicResult> choices; ///< the library's, best first
    size_t chosen = 0;
    bool hasRun = false; ///< from then on the choice stays: equal bits
  };
  Status check(Result code, const char *call) const;
  Status runPart(const accum_gemm &call, float beta);
  Status prepare(const MatmulShape &shape, const void *bias, Entry &entry);
  Status choose(const MatmulShape &shape, Entry &entry);
  Status multiply(const MatmulShape &shape, Entry &entry, const accum_gemm &call, const int64_t *at);

  ComputeStream &compute;
  CublasLtApi api;
  BlasHandle handle = nullptr;
  Address workspace = 0;
  bool tf32 = false;
  std::map<MatmulShape, Entry> entries;
};

} // namespace accum::runtime::cuda
#endif
