// SPDX-License-Identifier: Apache-2.0
// Descriptions are made by the first call of a shape; later calls only pass pointers, so that they can be
// captured.
#include "runtime/cuda/Matmul.h"
#include "runtime/DType.h"
#include "runtime/cuda/Library.h"

namespace accum::runtime::cuda {

Status Matmul::check(Result code, const char *call) const {
  if (code == kSuccess)
    return {};
  const char *text = api.cublasLtGetStatusString(code);
  return Error{kExitRunFailed,
               std::string(call) + " failed: " + (text ? text : "status " + std::to_string(code)),
               "cublaslt"};
}

Status Matmul::load() {
#define ACCUM_SYMBOL(result, name, arguments) {#name, reinterpret_cast<void **>(&api.name)},
  std::initializer_list<Symbol> symbols = {ACCUM_CUBLASLT_FUNCTIONS(ACCUM_SYMBOL)};
#undef ACCUM_SYMBOL
  bool newer = compute.driver.version() >= 13000;
  std::string why = newer ? loadLibrary({"libcublasLt.so.13", "libcublasLt.so.12"}, symbols)
                          : loadLibrary({"libcublasLt.so.12"}, symbols);
  if (!why.empty())
    return Error{kExitRunFailed,
                 "the program multiplies matrices, and cuBLASLt cannot be loaded: " + why,
                 "no-cublaslt",
                 {newer ? "install CUDA's libcublas, or name its folder in LD_LIBRARY_PATH"
                        : "this driver is of CUDA 12: install libcublas of CUDA 12, or a driver of CUDA 13"}};
  return check(api.cublasLtCreate(&handle), "cublasLtCreate");
}

Matmul::~Matmul() {
  for (auto &[shape, entry] : entries)
    release(entry);
  if (handle)
    api.cublasLtDestroy(handle);
}

void Matmul::release(Entry &entry) {
  for (MatrixLayout layout : {entry.first, entry.second, entry.result})
    if (layout)
      api.cublasLtMatrixLayoutDestroy(layout);
  if (entry.desc)
    api.cublasLtMatmulDescDestroy(entry.desc);
  entry = {};
}

std::string Matmul::version() const {
  if (!handle)
    return "";
  size_t number = api.cublasLtGetVersion(); // 130001: 13.0.1
  return "cuBLASLt " + std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

Status Matmul::layOut(MatrixLayout &layout, int type, int64_t rows, int64_t columns, int64_t leading,
                      int64_t points, int64_t stride) {
  if (Status status = check(api.cublasLtMatrixLayoutCreate(&layout, type, rows, columns, leading),
                            "cublasLtMatrixLayoutCreate");
      !status || points == 1)
    return status;
  int32_t count = int32_t(points);
  Result code = api.cublasLtMatrixLayoutSetAttribute(layout, kLayoutBatchCount, &count, sizeof count);
  if (code == kSuccess)
    code = api.cublasLtMatrixLayoutSetAttribute(layout, kLayoutBatchStride, &stride, sizeof stride);
  return check(code, "cublasLtMatrixLayoutSetAttribute");
}

Status Matmul::describe(const MatmulShape &s, Entry &entry) {
  if (Status status = check(api.cublasLtMatmulDescCreate(&entry.desc, s.computeType, s.scaleType),
                            "cublasLtMatmulDescCreate");
      !status)
    return status;
  struct Attribute {
    int which;
    int32_t value;
  };
  std::vector<Attribute> attributes = {{kDescTransposeA, s.firstOp}, {kDescTransposeB, s.secondOp}};
  if (s.bias)
    attributes.insert(attributes.end(), {{kDescEpilogue, kEpilogueBias}, {kDescBiasType, s.resultType}});
  for (const Attribute &attribute : attributes)
    if (Status status = check(api.cublasLtMatmulDescSetAttribute(entry.desc, attribute.which,
                                                                 &attribute.value, sizeof attribute.value),
                              "cublasLtMatmulDescSetAttribute");
        !status)
      return status;
  bool plainFirst = s.firstOp == kOpNone, plainSecond = s.secondOp == kOpNone;
  Status status = layOut(entry.first, s.operandType, plainFirst ? s.rows : s.depth,
                         plainFirst ? s.depth : s.rows, s.firstLeading, s.points, s.firstStride);
  if (status)
    status = layOut(entry.second, s.operandType, plainSecond ? s.depth : s.columns,
                    plainSecond ? s.columns : s.depth, s.secondLeading, s.points, s.secondStride);
  if (status)
    status = layOut(entry.result, s.resultType, s.rows, s.columns, s.resultLeading, s.points, s.resultStride);
  return status ? choose(s, entry) : status;
}

/// The best algorithm by the library's own estimate, within the workspace and for the alignment at hand.
Status Matmul::choose(const MatmulShape &shape, Entry &entry) {
  MatmulPreference preference = nullptr;
  if (Status status =
          check(api.cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
      !status)
    return status;
  uint64_t most = kWorkspaceBytes;
  Result code =
      api.cublasLtMatmulPreferenceSetAttribute(preference, kPreferenceWorkspace, &most, sizeof most);
  int which = kPreferenceAlignment;
  for (int64_t align : {shape.firstAlign, shape.secondAlign, shape.resultAlign, shape.resultAlign}) {
    auto bytes = uint32_t(align);
    if (code == kSuccess)
      code = api.cublasLtMatmulPreferenceSetAttribute(preference, which++, &bytes, sizeof bytes);
  }
  HeuristicResult result{};
  int found = 0;
  if (code == kSuccess)
    code = api.cublasLtMatmulAlgoGetHeuristic(handle, entry.desc, entry.first, entry.second, entry.result,
                                              entry.result, preference, 1, &result, &found);
  api.cublasLtMatmulPreferenceDestroy(preference);
  if (Status status = check(code, "cublasLtMatmulAlgoGetHeuristic"); !status)
    return status;
  if (found == 0 || result.state != kSuccess)
    return Error{kExitRunFailed, "cuBLASLt has no algorithm for this product", "cublaslt"};
  entry.algo = result.algo;
  entry.workspaceBytes = result.workspaceBytes;
  return {};
}

Status Matmul::multiply(const MatmulShape &shape, const Entry &entry, const accum_gemm &call,
                        const int64_t *at) {
  int64_t size = int64_t(bytesOf(DType(call.dtype))), resultSize = int64_t(bytesOf(DType(call.c_dtype)));
  const char *a = static_cast<const char *>(call.a) + at[0] * size;
  const char *b = static_cast<const char *>(call.b) + at[1] * size;
  char *c = static_cast<char *>(call.c) + at[2] * resultSize;
  double wide[2] = {1, double(shape.beta)};
  float narrow[2] = {1, float(shape.beta)};
  bool isWide = shape.scaleType == kReal64;
  const void *one = isWide ? static_cast<void *>(&wide[0]) : &narrow[0];
  const void *beta = isWide ? static_cast<void *>(&wide[1]) : &narrow[1];
  // The driver's allocations are integers, cuBLASLt takes them as pointers:
  void *scratch = reinterpret_cast<void *>(workspace);
  return check(api.cublasLtMatmul(handle, entry.desc, one, b, entry.first, a, entry.second, beta, c,
                                  entry.result, c, entry.result, &entry.algo, scratch, entry.workspaceBytes,
                                  compute.stream),
               "cublasLtMatmul");
}

Status Matmul::run(const accum_gemm &call, float beta) {
  MatmulLoops loops;
  auto shape = shapeOf(call, beta, tf32, loops);
  if (!shape)
    return shape.error();
  auto [found, isNew] = entries.try_emplace(*shape);
  Entry &entry = found->second;
  if (isNew)
    if (Status status = describe(*shape, entry); !status) {
      release(entry);
      entries.erase(found);
      return status;
    }
  if (shape->bias)
    if (Status status = check(
            api.cublasLtMatmulDescSetAttribute(entry.desc, kDescBiasPointer, &call.bias, sizeof call.bias),
            "cublasLtMatmulDescSetAttribute");
        !status)
      return status;
  int64_t points = 1;
  for (int i = 0; i < loops.count; ++i)
    points *= loops.extent[i];
  for (int64_t point = 0; point < points; ++point) {
    int64_t at[3] = {}, rest = point;
    for (int i = 0; i < loops.count; ++i) {
      int64_t index = rest % loops.extent[i];
      rest /= loops.extent[i];
      at[0] += index * loops.a[i];
      at[1] += index * loops.b[i];
      at[2] += index * loops.c[i];
    }
    if (Status status = multiply(*shape, entry, call, at); !status)
      return status;
  }
  return {};
}

} // namespace accum::runtime::cuda
