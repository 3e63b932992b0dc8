// SPDX-License-Identifier: Apache-2.0
// Descriptions are made by the first call of a shape; later calls only pass pointers, so that they can be
// captured.
#include "runtime/cuda/Matmul.h"
#include "runtime/cuda/AlignedParts.h"
#include "runtime/cuda/Library.h"
#include "runtime/files/DType.h"

namespace accum::runtime::cuda {

// How many algorithms are asked for. The first one is taken but for a rare refusal.
constexpr int kChoices = 8;

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
    release(api, entry.objects);
  if (handle)
    api.cublasLtDestroy(handle);
}

std::string Matmul::version() const {
  if (!handle)
    return "";
  size_t number = api.cublasLtGetVersion(); // 130001: 13.0.1
  return "cuBLASLt " + std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

Status Matmul::prepare(const MatmulShape &shape, const void *bias, Entry &entry) {
  BlasCall call = describe(api, shape, bias, entry.objects);
  Status status = check(call.code, call.name);
  return status ? choose(shape, entry) : status;
}

/// The best algorithms by the library's own estimate, within the workspace and for the alignment at hand.
Status Matmul::choose(const MatmulShape &shape, Entry &entry) {
  MatmulPreference preference = nullptr;
  BlasCall call = prefer(api, shape, kWorkspaceBytes, preference);
  const MatmulDescription &of = entry.objects;
  std::vector<HeuristicResult> results(kChoices);
  int found = 0;
  if (call.code == kSuccess)
    call = {api.cublasLtMatmulAlgoGetHeuristic(handle, of.desc, of.first, of.second, of.result, of.result,
                                               preference, kChoices, results.data(), &found),
            "cublasLtMatmulAlgoGetHeuristic"};
  if (preference)
    api.cublasLtMatmulPreferenceDestroy(preference);
  if (Status status = check(call.code, call.name); !status)
    return status;
  results.resize(size_t(found));
  std::erase_if(results, [](const HeuristicResult &result) {
    return result.state != kSuccess || result.workspaceBytes > kWorkspaceBytes;
  });
  if (results.empty())
    return Error{kExitRunFailed, "cuBLASLt has no algorithm for this product", "cublaslt"};
  entry.choices = std::move(results);
  return {};
}

/// The library's estimate is no promise that an algorithm runs. One that it refuses is passed over the first
/// time, which is never within a capture.
Status Matmul::multiply(const MatmulShape &shape, Entry &entry, const accum_gemm &call, const int64_t *at) {
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
  const MatmulDescription &of = entry.objects;
  while (true) {
    const HeuristicResult &choice = entry.choices[entry.chosen];
    Result code = api.cublasLtMatmul(handle, of.desc, one, b, of.first, a, of.second, beta, c, of.result, c,
                                     of.result, &choice.algo, scratch, choice.workspaceBytes, compute.stream);
    bool isRefused = code == kBlasNotSupported || code == kBlasInvalidValue || code == kBlasArchMismatch;
    if (!isRefused || entry.hasRun || entry.chosen + 1 == entry.choices.size()) {
      entry.hasRun = entry.hasRun || code == kSuccess;
      return check(code, "cublasLtMatmul");
    }
    ++entry.chosen;
  }
}

Status Matmul::run(const accum_gemm &call, float beta) {
  for (const GemmPart &part : alignedParts(call, beta))
    if (Status status = runPart(part.call, part.beta); !status)
      return status;
  return {};
}

Status Matmul::runPart(const accum_gemm &call, float beta) {
  MatmulLoops loops;
  auto shape = shapeOf(call, beta, tf32, loops);
  if (!shape)
    return shape.error();
  auto [found, isNew] = entries.try_emplace(*shape);
  Entry &entry = found->second;
  if (isNew)
    if (Status status = prepare(*shape, call.bias, entry); !status) {
      release(api, entry.objects);
      entries.erase(found);
      return status;
    }
  if (call.bias) {
    BlasCall set = setBias(api, entry.objects, call.bias);
    if (Status status = check(set.code, set.name); !status)
      return status;
  }
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
