// SPDX-License-Identifier: Apache-2.0
// Attributes have the sizes that the library's reference gives: 32 bits, but for strides, workspaces and
// pointers.
#include "runtime/cuda/MatmulDescription.h"
#include <vector>

namespace accum::runtime::cuda {
namespace {

struct Attribute {
  int which;
  int32_t value;
};

BlasCall layOut(const CublasLtApi &api, MatrixLayout &layout, int type, int64_t rows, int64_t columns,
                int64_t leading, int64_t points, int64_t stride) {
  BlasCall call = {api.cublasLtMatrixLayoutCreate(&layout, type, uint64_t(rows), uint64_t(columns), leading),
                   "cublasLtMatrixLayoutCreate"};
  if (call.code != kSuccess || points == 1)
    return call;
  auto count = int32_t(points);
  call = {api.cublasLtMatrixLayoutSetAttribute(layout, kLayoutBatchCount, &count, sizeof count),
          "cublasLtMatrixLayoutSetAttribute"};
  if (call.code == kSuccess)
    call.code = api.cublasLtMatrixLayoutSetAttribute(layout, kLayoutBatchStride, &stride, sizeof stride);
  return call;
}

BlasCall setAttributes(const CublasLtApi &api, MatmulDesc desc, const std::vector<Attribute> &attributes) {
  BlasCall call = {kSuccess, "cublasLtMatmulDescSetAttribute"};
  for (const Attribute &attribute : attributes)
    if (call.code == kSuccess)
      call.code =
          api.cublasLtMatmulDescSetAttribute(desc, attribute.which, &attribute.value, sizeof attribute.value);
  return call;
}

} // namespace

BlasCall setBias(const CublasLtApi &api, const MatmulDescription &made, const void *bias) {
  return {api.cublasLtMatmulDescSetAttribute(made.desc, kDescBiasPointer, &bias, sizeof bias),
          "cublasLtMatmulDescSetAttribute"};
}

BlasCall describe(const CublasLtApi &api, const MatmulShape &s, const void *bias, MatmulDescription &made) {
  BlasCall call = {api.cublasLtMatmulDescCreate(&made.desc, s.computeType, s.scaleType),
                   "cublasLtMatmulDescCreate"};
  std::vector<Attribute> attributes = {{kDescTransposeA, s.firstOp}, {kDescTransposeB, s.secondOp}};
  if (s.biasAlign)
    attributes.insert(attributes.end(), {{kDescEpilogue, kEpilogueBias}, {kDescBiasType, s.resultType}});
  if (call.code == kSuccess)
    call = setAttributes(api, made.desc, attributes);
  if (call.code == kSuccess && s.biasAlign)
    call = setBias(api, made, bias);
  bool plainFirst = s.firstOp == kOpNone, plainSecond = s.secondOp == kOpNone;
  if (call.code == kSuccess)
    call = layOut(api, made.first, s.operandType, plainFirst ? s.rows : s.depth,
                  plainFirst ? s.depth : s.rows, s.firstLeading, s.points, s.firstStride);
  if (call.code == kSuccess)
    call = layOut(api, made.second, s.operandType, plainSecond ? s.depth : s.columns,
                  plainSecond ? s.columns : s.depth, s.secondLeading, s.points, s.secondStride);
  if (call.code == kSuccess)
    call =
        layOut(api, made.result, s.resultType, s.rows, s.columns, s.resultLeading, s.points, s.resultStride);
  return call;
}

void release(const CublasLtApi &api, MatmulDescription &made) {
  for (MatrixLayout layout : {made.first, made.second, made.result})
    if (layout)
      api.cublasLtMatrixLayoutDestroy(layout);
  if (made.desc)
    api.cublasLtMatmulDescDestroy(made.desc);
  made = {};
}

BlasCall prefer(const CublasLtApi &api, const MatmulShape &shape, uint64_t workspaceBytes,
                MatmulPreference &made) {
  BlasCall call = {api.cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate"};
  if (call.code != kSuccess)
    return call;
  call = {api.cublasLtMatmulPreferenceSetAttribute(made, kPreferenceWorkspace, &workspaceBytes,
                                                   sizeof workspaceBytes),
          "cublasLtMatmulPreferenceSetAttribute"};
  int which = kPreferenceAlignment; // A, B, C, D
  for (int64_t align : {shape.firstAlign, shape.secondAlign, shape.resultAlign, shape.resultAlign}) {
    auto bytes = uint32_t(align);
    if (call.code == kSuccess)
      call.code = api.cublasLtMatmulPreferenceSetAttribute(made, which++, &bytes, sizeof bytes);
  }
  return call;
}

} // namespace accum::runtime::cuda
