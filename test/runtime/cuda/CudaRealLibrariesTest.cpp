// SPDX-License-Identifier: Apache-2.0
// The real cuBLASLt and NCCL, as far as they work without a card: descriptions of products are made by our
// own calls and read back by the library's.
#include "runtime/cuda/MatmulDescription.h"
#include "runtime/cuda/NcclApi.h"
#include <cublasLt.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string>

using namespace accum::runtime::cuda;

namespace {

/// A function of the library, of the header's own type.
#define REAL(handle, name) reinterpret_cast<decltype(&::name)>(dlsym(handle, #name))

class RealCublasLt : public testing::Test {
protected:
  void SetUp() override {
    library = dlopen(CUBLASLT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library) << dlerror();
#define LOAD(result, name, arguments)                                                                        \
  ASSERT_TRUE(api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #name)));
    ACCUM_CUBLASLT_FUNCTIONS(LOAD)
#undef LOAD
  }
  void TearDown() override { release(api, made); }

  void describeCall(const accum_gemm &call, float beta, bool tf32) {
    MatmulLoops loops;
    auto found = shapeOf(call, beta, tf32, loops);
    ASSERT_TRUE(found) << format(found.error());
    shape = *found;
    BlasCall last = describe(api, shape, call.bias, made);
    ASSERT_EQ(last.code, kSuccess) << last.name;
  }

  /// What the library holds. It gives the size that it has for the attribute; ours is the same.
  template <typename T> T held(cublasLtMatmulDescAttributes_t attribute) {
    return read<T>(REAL(library, cublasLtMatmulDescGetAttribute), cublasLtMatmulDesc_t(made.desc), attribute);
  }
  template <typename T> T held(MatrixLayout layout, cublasLtMatrixLayoutAttribute_t attribute) {
    return read<T>(REAL(library, cublasLtMatrixLayoutGetAttribute), cublasLtMatrixLayout_t(layout),
                   attribute);
  }
  template <typename T> T held(MatmulPreference preference, cublasLtMatmulPreferenceAttributes_t attribute) {
    return read<T>(REAL(library, cublasLtMatmulPreferenceGetAttribute),
                   cublasLtMatmulPreference_t(preference), attribute);
  }
  template <typename T, typename Get, typename Of, typename Which> T read(Get get, Of of, Which which) {
    size_t bytes = 0;
    T value{};
    EXPECT_EQ(get(of, which, nullptr, 0, &bytes), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(bytes, sizeof value) << "attribute " << int(which);
    EXPECT_EQ(get(of, which, &value, sizeof value, &bytes), CUBLAS_STATUS_SUCCESS);
    return value;
  }
  void expectLayout(MatrixLayout layout, int type, int64_t rows, int64_t columns, int64_t leading,
                    int64_t stride) {
    EXPECT_EQ(held<uint32_t>(layout, CUBLASLT_MATRIX_LAYOUT_TYPE), uint32_t(type));
    EXPECT_EQ(held<int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_ORDER), CUBLASLT_ORDER_COL);
    EXPECT_EQ(held<uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_ROWS), uint64_t(rows));
    EXPECT_EQ(held<uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_COLS), uint64_t(columns));
    EXPECT_EQ(held<int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_LD), leading);
    EXPECT_EQ(held<int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT), int32_t(shape.points));
    EXPECT_EQ(held<int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET), stride);
  }

  void *library = nullptr;
  CublasLtApi api;
  MatmulShape shape{};
  MatmulDescription made;
};

/// [batch][m, k] x [batch][n, k]^T, one after the other.
accum_gemm product(int32_t dtype, int32_t resultType, int64_t batch) {
  accum_gemm call = {};
  call.dtype = dtype;
  call.c_dtype = resultType;
  call.m = 48;
  call.n = 64;
  call.k = 32;
  call.a_row = call.b_col = call.k;
  call.a_col = call.b_row = 1;
  call.c_row = call.n;
  call.batch_dims = 1;
  call.batch[0] = batch;
  call.a_batch[0] = call.m * call.k;
  call.b_batch[0] = call.n * call.k;
  call.c_batch[0] = call.m * call.n;
  return call;
}

TEST_F(RealCublasLt, KeepsABatchedProductAsItWasMeant) {
  describeCall(product(ACCUM_BF16, ACCUM_F32, 6), 1, false);
  EXPECT_EQ(held<int32_t>(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), CUBLAS_COMPUTE_32F);
  EXPECT_EQ(held<int32_t>(CUBLASLT_MATMUL_DESC_SCALE_TYPE), CUDA_R_32F);
  EXPECT_EQ(held<int32_t>(CUBLASLT_MATMUL_DESC_POINTER_MODE), CUBLASLT_POINTER_MODE_HOST);
  EXPECT_EQ(held<int32_t>(CUBLASLT_MATMUL_DESC_TRANSA), CUBLAS_OP_T);
  EXPECT_EQ(held<int32_t>(CUBLASLT_MATMUL_DESC_TRANSB), CUBLAS_OP_N);
  EXPECT_EQ(held<uint32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE), uint32_t(CUBLASLT_EPILOGUE_DEFAULT));
  expectLayout(made.first, CUDA_R_16BF, 32, 64, 32, 64 * 32);
  expectLayout(made.second, CUDA_R_16BF, 32, 48, 32, 48 * 32);
  expectLayout(made.result, CUDA_R_32F, 64, 48, 64, 48 * 64);
}

TEST_F(RealCublasLt, KeepsABias) {
  accum_gemm call = product(ACCUM_BF16, ACCUM_BF16, 1);
  call.bias = reinterpret_cast<const void *>(uintptr_t(0x1000));
  describeCall(call, 0, false);
  EXPECT_EQ(held<uint32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE), uint32_t(CUBLASLT_EPILOGUE_BIAS));
  EXPECT_EQ(held<int32_t>(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE), CUDA_R_16BF);
  EXPECT_EQ(held<int64_t>(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE), 0);
  EXPECT_EQ(held<const void *>(CUBLASLT_MATMUL_DESC_BIAS_POINTER), call.bias);
  expectLayout(made.result, CUDA_R_16BF, 64, 48, 64, 0);
}

TEST_F(RealCublasLt, KeepsOtherPrecisions) {
  describeCall(product(ACCUM_F32, ACCUM_F32, 1), 0, true);
  EXPECT_EQ(held<int32_t>(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), CUBLAS_COMPUTE_32F_FAST_TF32);
  release(api, made);
  describeCall(product(ACCUM_F64, ACCUM_F64, 1), 0, false);
  EXPECT_EQ(held<int32_t>(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), CUBLAS_COMPUTE_64F);
  EXPECT_EQ(held<int32_t>(CUBLASLT_MATMUL_DESC_SCALE_TYPE), CUDA_R_64F);
}

TEST_F(RealCublasLt, KeepsWhatAnAlgorithmMayRelyOn) {
  accum_gemm call = product(ACCUM_BF16, ACCUM_F32, 1);
  call.a = reinterpret_cast<const void *>(uintptr_t(0x1010));
  call.b = reinterpret_cast<const void *>(uintptr_t(0x1020));
  call.c = reinterpret_cast<void *>(uintptr_t(0x1004));
  describeCall(call, 0, false);
  MatmulPreference preference = nullptr;
  BlasCall last = prefer(api, shape, 32 << 20, preference);
  ASSERT_EQ(last.code, kSuccess) << last.name;
  EXPECT_EQ(held<uint64_t>(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES), 32u << 20);
  EXPECT_EQ(held<uint32_t>(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES), 32u);
  EXPECT_EQ(held<uint32_t>(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES), 16u);
  EXPECT_EQ(held<uint32_t>(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES), 4u);
  EXPECT_EQ(held<uint32_t>(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES), 4u);
  api.cublasLtMatmulPreferenceDestroy(preference);
}

TEST_F(RealCublasLt, SpeaksTheStatusesThatAreUnderstood) {
  EXPECT_NE(std::string(api.cublasLtGetStatusString(kBlasNotSupported)).find("not supported"),
            std::string::npos);
  EXPECT_GE(api.cublasLtGetVersion(), 120000u);
}

TEST(RealNccl, GivesAnIdWithoutACard) {
  void *library = dlopen(NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  NcclApi api;
#define LOAD(result, name, arguments)                                                                        \
  ASSERT_TRUE(api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #name)));
  ACCUM_NCCL_FUNCTIONS(LOAD)
#undef LOAD
  int version = 0;
  UniqueId ids[2] = {};
  EXPECT_EQ(api.ncclGetVersion(&version), kSuccess);
  EXPECT_GE(version, 21400);
  for (UniqueId &id : ids)
    EXPECT_EQ(api.ncclGetUniqueId(&id), kSuccess) << api.ncclGetLastError(nullptr);
  EXPECT_NE(std::string(ids[0].bytes, sizeof ids[0]), std::string(ids[1].bytes, sizeof ids[1]));
}

} // namespace
