// SPDX-License-Identifier: Apache-2.0
// device.gemm -> accum_gemm.
#include "compiler/Emit/Program.h"
#include "passes/Schedule/StateLayout.h"

namespace accum::emit {

static int32_t dtypeOfBuffer(mlir::Value buffer) {
  return dtypeOf(device::definition(buffer).getTensor().getElementType()).value();
}

accum_gemm describeGemm(device::GemmOp gemm) {
  accum_gemm words = {};
  words.dtype = dtypeOfBuffer(gemm.getA());
  if (words.dtype == ACCUM_BF16 && dtypeOfBuffer(gemm.getB()) == ACCUM_F32)
    words.dtype |= ACCUM_GEMM_WIDE_B;
  words.c_dtype = dtypeOfBuffer(gemm.getC());
  words.m = gemm.getSizes()[0];
  words.n = gemm.getSizes()[1];
  words.k = gemm.getSizes()[2];
  words.a_row = gemm.getAStrides()[0];
  words.a_col = gemm.getAStrides()[1];
  words.b_row = gemm.getBStrides()[0];
  words.b_col = gemm.getBStrides()[1];
  words.c_row = static_cast<int64_t>(gemm.getCRow());
  words.batch_dims = static_cast<int32_t>(gemm.getBatch().size());
  llvm::copy(gemm.getBatch(), words.batch);
  llvm::copy(gemm.getABatch(), words.a_batch);
  llvm::copy(gemm.getBBatch(), words.b_batch);
  llvm::copy(gemm.getCBatch(), words.c_batch);
  return words;
}

} // namespace accum::emit
