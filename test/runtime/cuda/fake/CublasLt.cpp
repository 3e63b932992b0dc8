// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's product as its reference defines it: column-major matrices, op(A) op(B), strided batches, and a
// bias with one entry per row of the result. Refuses what the library refuses.
#include "runtime/cuda/CublasLtApi.h"
#include "test/runtime/cuda/fake/Machine.h"
#include <algorithm>
#include <bit>
#include <cstring>

using namespace accum::runtime::cuda;
using accum::fake::Machine;

namespace {

constexpr Result kInvalid = kBlasInvalidValue;

struct Desc {
  int compute, scale;
  int32_t opA = kOpNone, opB = kOpNone, epilogue = kEpilogueDefault, biasType = -1;
  const void *bias = nullptr;
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t points = 1;
  int64_t stride = 0;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

Desc *own(MatmulDesc desc) { return reinterpret_cast<Desc *>(desc); }
Layout *own(MatrixLayout layout) { return reinterpret_cast<Layout *>(layout); }
Preference *own(MatmulPreference preference) { return reinterpret_cast<Preference *>(preference); }

int64_t sizeOf(int type) { return type == kReal64 ? 8 : type == kReal32 ? 4 : 2; }

double load(const void *base, int type, int64_t index) {
  const char *at = static_cast<const char *>(base) + index * sizeOf(type);
  if (type == kReal64)
    return *reinterpret_cast<const double *>(at);
  if (type == kReal32)
    return *reinterpret_cast<const float *>(at);
  return std::bit_cast<float>(uint32_t(*reinterpret_cast<const uint16_t *>(at)) << 16);
}

void store(void *base, int type, int64_t index, double value) {
  char *at = static_cast<char *>(base) + index * sizeOf(type);
  if (type == kReal64)
    *reinterpret_cast<double *>(at) = value;
  else if (type == kReal32)
    *reinterpret_cast<float *>(at) = float(value);
  else { // to nearest, ties to even
    auto bits = std::bit_cast<uint32_t>(float(value));
    *reinterpret_cast<uint16_t *>(at) = uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

/// op of a stored matrix has these rows and columns.
bool fits(const Layout &layout, int32_t op, uint64_t rows, uint64_t columns) {
  bool shape = op == kOpNone ? layout.rows == rows && layout.columns == columns
                             : layout.rows == columns && layout.columns == rows;
  return shape && layout.leading >= int64_t(layout.rows);
}

bool isWhole(const void *base, const Layout &layout) {
  int64_t last = (layout.points - 1) * layout.stride + int64_t(layout.columns - 1) * layout.leading +
                 int64_t(layout.rows);
  return Machine::get().isDevice(uint64_t(base), uint64_t(last * sizeOf(layout.type)));
}

struct Product {
  Desc desc;
  Layout a, b, d;
  uint64_t depth;
  const void *first, *second;
  void *result;
  double alpha, beta;

  bool isLegal() const {
    return fits(a, desc.opA, d.rows, depth) && fits(b, desc.opB, depth, d.columns) &&
           d.leading >= int64_t(d.rows) && a.points == d.points && b.points == d.points && a.type == b.type &&
           (desc.scale == kReal64) == (a.type == kReal64) &&
           (desc.epilogue == kEpilogueDefault || (desc.epilogue == kEpilogueBias && desc.biasType == d.type));
  }

  void run() const {
    for (int64_t p = 0; p < d.points; ++p)
      for (uint64_t j = 0; j < d.columns; ++j)
        for (uint64_t i = 0; i < d.rows; ++i) {
          double sum = desc.epilogue == kEpilogueBias ? load(desc.bias, d.type, int64_t(i)) : 0;
          for (uint64_t l = 0; l < depth; ++l) {
            uint64_t atA = desc.opA == kOpNone ? i + l * a.leading : l + i * a.leading;
            uint64_t atB = desc.opB == kOpNone ? l + j * b.leading : j + l * b.leading;
            sum += alpha * load(first, a.type, p * a.stride + int64_t(atA)) *
                   load(second, b.type, p * b.stride + int64_t(atB));
          }
          int64_t at = p * d.stride + int64_t(i + j * d.leading);
          if (beta != 0)
            sum += beta * load(result, d.type, at);
          store(result, d.type, at, sum);
        }
  }
};

Result fill(Product &product, MatmulDesc desc, MatrixLayout a, MatrixLayout b, MatrixLayout d) {
  product.desc = *own(desc);
  product.a = *own(a);
  product.b = *own(b);
  product.d = *own(d);
  product.depth = product.desc.opA == kOpNone ? product.a.columns : product.a.rows;
  return product.isLegal() ? 0 : kInvalid;
}

} // namespace

extern "C" {

Result cublasLtCreate(BlasHandle *handle) {
  *handle = reinterpret_cast<BlasHandle>(uintptr_t(32));
  return Machine::hasContext ? Machine::get().enter(__func__) : 1; // CUBLAS_STATUS_NOT_INITIALIZED
}
Result cublasLtDestroy(BlasHandle) { return Machine::get().enter(__func__); }
size_t cublasLtGetVersion() { return 130001; }
const char *cublasLtGetStatusString(Result code) {
  return code == kInvalid ? "CUBLAS_STATUS_INVALID_VALUE" : "FAKE";
}

Result cublasLtMatmulDescCreate(MatmulDesc *desc, int compute, int scale) {
  *desc = reinterpret_cast<MatmulDesc>(new Desc{compute, scale});
  return Machine::get().enter(__func__);
}
Result cublasLtMatmulDescDestroy(MatmulDesc desc) {
  delete own(desc);
  return Machine::get().enter(__func__);
}
Result cublasLtMatmulDescSetAttribute(MatmulDesc desc, int attribute, const void *value, size_t bytes) {
  Desc &d = *own(desc);
  if (attribute == kDescBiasPointer) {
    if (bytes != sizeof(void *))
      return kInvalid;
    std::memcpy(&d.bias, value, bytes);
    return Machine::get().enter(__func__);
  }
  int32_t *place = attribute == kDescTransposeA   ? &d.opA
                   : attribute == kDescTransposeB ? &d.opB
                   : attribute == kDescEpilogue   ? &d.epilogue
                   : attribute == kDescBiasType   ? &d.biasType
                                                  : nullptr;
  if (!place || bytes != sizeof *place)
    return kInvalid;
  std::memcpy(place, value, bytes);
  return Machine::get().enter(__func__);
}

Result cublasLtMatrixLayoutCreate(MatrixLayout *layout, int type, uint64_t rows, uint64_t columns,
                                  int64_t leading) {
  *layout = reinterpret_cast<MatrixLayout>(new Layout{type, rows, columns, leading});
  return Machine::get().enter(__func__);
}
Result cublasLtMatrixLayoutDestroy(MatrixLayout layout) {
  delete own(layout);
  return Machine::get().enter(__func__);
}
Result cublasLtMatrixLayoutSetAttribute(MatrixLayout layout, int attribute, const void *value, size_t bytes) {
  if (attribute == kLayoutBatchCount && bytes == sizeof(int32_t))
    std::memcpy(&own(layout)->points, value, bytes);
  else if (attribute == kLayoutBatchStride && bytes == sizeof(int64_t))
    std::memcpy(&own(layout)->stride, value, bytes);
  else
    return kInvalid;
  return Machine::get().enter(__func__);
}

Result cublasLtMatmulPreferenceCreate(MatmulPreference *preference) {
  *preference = reinterpret_cast<MatmulPreference>(new Preference);
  return Machine::get().enter(__func__);
}
Result cublasLtMatmulPreferenceDestroy(MatmulPreference preference) {
  delete own(preference);
  return Machine::get().enter(__func__);
}
Result cublasLtMatmulPreferenceSetAttribute(MatmulPreference preference, int attribute, const void *value,
                                            size_t bytes) {
  if (attribute == kPreferenceWorkspace && bytes == sizeof(uint64_t))
    std::memcpy(&own(preference)->workspace, value, bytes);
  else if (attribute >= kPreferenceAlignment && attribute < kPreferenceAlignment + 4 &&
           bytes == sizeof(uint32_t))
    std::memcpy(&own(preference)->alignment[attribute - kPreferenceAlignment], value, bytes);
  else
    return kInvalid;
  return Machine::get().enter(__func__);
}

/// Three algorithms, the first of which cannot do it. Each remembers the alignment that it was chosen for,
/// and wants all of the workspace; property `refused` says how many of the others will not run when called.
Result cublasLtMatmulAlgoGetHeuristic(BlasHandle, MatmulDesc desc, MatrixLayout a, MatrixLayout b,
                                      MatrixLayout, MatrixLayout d, MatmulPreference preference,
                                      int requested, HeuristicResult *results, int *returned) {
  Product product;
  if (Result code = fill(product, desc, a, b, d))
    return code;
  *returned = std::min(requested, 3);
  for (int result = 0; result < *returned; ++result) {
    results[result] = {};
    results[result].state = result == 0 ? Result(kBlasNotSupported) : Result(kSuccess);
    for (int i = 0; i < 4; ++i)
      results[result].algo.data[i] = own(preference)->alignment[i];
    results[result].algo.data[4] = uint64_t(result);
    // The value of a bias says its alignment: a null pointer any.
    uint64_t bias = uint64_t(product.desc.bias) | 256;
    results[result].algo.data[5] = bias & (~bias + 1);
    results[result].workspaceBytes = own(preference)->workspace;
  }
  return Machine::get().enter(__func__);
}

Result cublasLtMatmul(BlasHandle, MatmulDesc desc, const void *alpha, const void *a, MatrixLayout aLayout,
                      const void *b, MatrixLayout bLayout, const void *beta, const void *c, MatrixLayout,
                      void *d, MatrixLayout dLayout, const MatmulAlgo *algo, void *workspace,
                      size_t workspaceBytes, Stream stream) {
  Product product;
  if (Result code = fill(product, desc, aLayout, bLayout, dLayout))
    return code;
  product.alpha = load(alpha, product.desc.scale, 0);
  product.beta = load(beta, product.desc.scale, 0);
  product.first = a;
  product.second = b;
  product.result = d;
  bool aligned = uint64_t(a) % algo->data[0] == 0 && uint64_t(b) % algo->data[1] == 0 &&
                 uint64_t(d) % algo->data[3] == 0 && uint64_t(product.desc.bias) % algo->data[5] == 0;
  bool hasBias = product.desc.epilogue != kEpilogueDefault;
  bool whole = (!hasBias || Machine::get().isDevice(uint64_t(product.desc.bias),
                                                    product.d.rows * uint64_t(sizeOf(product.d.type)))) &&
               isWhole(a, product.a) && isWhole(b, product.b) && isWhole(d, product.d) && c == d &&
               Machine::get().isDevice(uint64_t(workspace), workspaceBytes);
  if (!aligned || !whole)
    return kInvalid;
  if (Result code = Machine::get().enter(__func__))
    return code;
  if (long(algo->data[4]) <= Machine::get().property("refused", 0))
    return kBlasNotSupported;
  return Machine::get().enqueue(reinterpret_cast<accum::fake::Stream *>(stream), {.run = [=] {
                                  std::memset(workspace, 0xff, workspaceBytes);
                                  product.run();
                                  return 0;
                                }});
}

} // extern "C"
