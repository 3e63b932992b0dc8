// SPDX-License-Identifier: Apache-2.0
// Operands walk through rings: a small one for activations, and one for weights that a cache holds or does
// not.
#include "tools/accum-calibrate/LibraryCalls.h"
#include "runtime/files/ShortFloats.h"
#include "runtime/host/Attention.h"
#include "runtime/host/Gemm.h"
#include "runtime/host/GradientNorm.h"
#include "runtime/system/Clock.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>
#include <vector>

namespace accum::calibrate {

using runtime::Error;
using runtime::Expected;
using runtime::Status;

namespace {

// Elements. Activations are at most those of the largest attention, or both operands of a weight gradient.
constexpr int64_t kActivations = 44 << 20, kWeights = 48 << 20, kResults = 32 << 20;
constexpr std::array<int64_t, 3> kReference = {512, 768, 768}; // a product of some 4 MiB
constexpr int64_t kReferenceOperands = kReference[0] * kReference[2] + kReference[2] * kReference[1];
constexpr int64_t kReferenceSize = kReferenceOperands + kReference[0] * kReference[1];
constexpr int64_t kPool = kActivations + kWeights + kResults + kReferenceSize;
constexpr int64_t kPoolBytes = kPool * int64_t(sizeof(float));
// What a few commands write and read again, larger than the cache of one core; and weights of a small model,
// which are more than that.
constexpr int64_t kFewCommands = 2 << 20, kSmallModel = 6 << 20;
constexpr int kTurns = 5;
constexpr std::array<int64_t, 3> kManyRows = {512, 1024, 384}, kManySummed = {384, 1024, 512};

/// The strides of a row-major [batch, length, heads, features], as projections leave it.
accum_strided stridesOf(const float *data, int64_t length, int64_t heads, int64_t features) {
  return {const_cast<float *>(data), length * heads * features, features, heads * features, 1};
}

} // namespace

void LibraryCalls::Unmap::operator()(float *data) const { munmap(data, kPoolBytes); }

Expected<LibraryCalls> LibraryCalls::open() {
  if (Status status = runtime::loadGemmLibrary(); !status)
    return status.error();
  void *memory = mmap(nullptr, kPoolBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Error{runtime::kExitRunFailed, "500 MiB for operands could not be allocated", "memory"};
  LibraryCalls calls;
  calls.pool.reset(static_cast<float *>(memory));
  // No denormals, no zeros that multiply faster; both halves of a float are numbers of bf16 like it.
  for (int64_t i = 0; i < kPool; ++i) {
    uint32_t bf16 = runtime::toBf16(float((i * 7919) % 1021 - 510) * 1e-3f);
    calls.pool.get()[i] = std::bit_cast<float>(bf16 << 16 | bf16);
  }
  return calls;
}

float *LibraryCalls::Ring::take(int64_t elements) {
  elements = (elements + 63) / 64 * 64;
  int64_t at = next + elements > size ? 0 : next;
  next = at + elements;
  return begin + at;
}

float *LibraryCalls::Ring::take(int64_t elements, int32_t dtype) {
  return take(dtype == ACCUM_BF16 ? (elements + 1) / 2 : elements);
}

LibraryCalls::Ring LibraryCalls::activations(int64_t elements) const {
  return {pool.get(), std::clamp(elements, kFewCommands, kActivations)};
}

LibraryCalls::Ring LibraryCalls::weights(int64_t elements) const {
  return {pool.get() + kActivations, std::min(elements, kWeights)};
}

LibraryCalls::Ring LibraryCalls::results(int64_t elements) const {
  return {pool.get() + kActivations + kWeights, std::clamp(elements, kFewCommands, kResults)};
}

int64_t LibraryCalls::nearBytes() { return kSmallModel * int64_t(sizeof(float)); }
int64_t LibraryCalls::farBytes() { return kWeights * int64_t(sizeof(float)); }

Expected<Sample> LibraryCalls::time(const std::string &call, const std::string &dtype,
                                    const std::array<int64_t, 3> &point, planner::Operands operands) {
  int32_t type = dtype == "bf16" ? ACCUM_BF16 : ACCUM_F32;
  if (call.rfind("gemm-", 0) == 0)
    return gemm(call[5], call[6], type, point, operands == planner::Operands::Far ? kWeights : kSmallModel,
                kFewCommands, kTurns);
  return attention(call.find("backward") != std::string::npos, call.find("causal") != std::string::npos, type,
                   point);
}

Expected<Sample> LibraryCalls::product(int64_t bytes) {
  constexpr int kMore = 15;
  return gemm('n', 'n', ACCUM_F32, {32, 1024, 256}, bytes / int64_t(sizeof(float)), kFewCommands, kMore);
}

Expected<Sample> LibraryCalls::manyRows(bool adds, int64_t bytes) {
  constexpr int kMore = 9;
  auto point = adds ? kManySummed : kManyRows;
  return gemm(adds ? 't' : 'n', 'n', ACCUM_F32, point, kSmallModel, bytes / int64_t(sizeof(float)), kMore);
}

int64_t LibraryCalls::manyRowsBytes(bool adds) {
  auto [m, n, k] = adds ? kManySummed : kManyRows;
  return (adds ? m * k + k * n : m * k + m * n) * int64_t(sizeof(float));
}

/// What a product is besides its operands' places; a 't' operand lies transposed.
static accum_gemm productOf(char a, char b, int32_t dtype, const std::array<int64_t, 3> &point) {
  auto [m, n, k] = point;
  accum_gemm call = {};
  call.dtype = dtype;
  call.c_dtype = a == 't' ? ACCUM_F32 : dtype;
  call.m = m;
  call.n = n;
  call.k = k;
  call.a_row = a == 'n' ? k : 1;
  call.a_col = a == 'n' ? 1 : m;
  call.b_row = b == 'n' ? n : 1;
  call.b_col = b == 'n' ? 1 : k;
  call.c_row = n;
  return call;
}

double LibraryCalls::reference() {
  constexpr int kRuns = 3;
  accum_gemm call = productOf('n', 'n', ACCUM_F32, kReference);
  float *place = pool.get() + kActivations + kWeights + kResults;
  call.a = place;
  call.b = place + call.m * call.k;
  call.c = place + kReferenceOperands;
  double begin = runtime::now();
  for (int run = 0; run < kRuns; ++run)
    (void)runtime::gemm(call, 0); // the library is there, or `open` had failed
  return (runtime::now() - begin) / kRuns;
}

Sample LibraryCalls::beside(const std::function<void()> &body, int turns) {
  return sampleBeside(body, [&] { return reference(); }, turns);
}

Expected<Sample> LibraryCalls::gemm(char a, char b, int32_t dtype, const std::array<int64_t, 3> &point,
                                    int64_t ring, int64_t away, int turns) {
  auto [m, n, k] = point;
  accum_gemm call = productOf(a, b, dtype, point);
  float beta = a == 't' ? 1 : 0; // weight gradients are added
  bool adds = a == 't';
  Ring moving = activations(std::max(away, adds ? m * k + k * n : m * k));
  Ring staying = adds ? results(std::max(ring, m * n)) : weights(std::max(ring, k * n));
  Ring written = results(std::max(away, m * n));
  staying.next = turned; // not at its beginning, which the call before this one left in a cache
  Status failed;
  auto run = [&, m = m, n = n, k = k] {
    call.a = moving.take(m * k, dtype);
    call.b = adds ? moving.take(k * n, dtype) : staying.take(k * n, dtype);
    call.c = adds ? staying.take(m * n) : written.take(m * n, dtype);
    if (Status status = runtime::gemm(call, beta); !status)
      failed = status;
  };
  constexpr int64_t kMostTurns = 256;
  int64_t each = adds ? m * n : k * n, once = adds ? m * k + k * n : m * k;
  for (int64_t turn = 0; turn < std::min(kMostTurns, std::max(staying.size / each, moving.size / once));
       ++turn)
    run(); // once round
  Sample taken = beside(run, turns);
  turned = staying.next;
  return failed ? Expected<Sample>(taken) : failed.error();
}

Expected<Sample> LibraryCalls::attention(bool backward, bool causal, int32_t dtype,
                                         const std::array<int64_t, 3> &point) {
  auto [all, length, features] = point;
  int64_t heads = all <= 4 ? all : 8, batch = all / heads, each = length * heads * features;
  accum_attention call = {};
  call.dtype = dtype;
  call.causal = causal;
  call.hidden = ACCUM_HIDDEN_LOWERED;
  call.batch = batch;
  call.heads = call.groups = heads;
  call.queries = call.keys = length;
  call.features = call.value_features = features;
  call.scale = 0.125;
  Ring read = activations(5 * batch * each), written = results(3 * batch * each);
  auto place = [&, length = length, features = features](bool writes) {
    return stridesOf((writes ? written : read).take(batch * each, dtype), length, heads, features);
  };
  std::vector<float> sums(size_t(batch * heads * length));
  call.lse = {sums.data(), heads * length, length, 1, 0};
  auto run = [&](bool backwards) {
    call.backward = backwards;
    for (accum_strided *operand : {&call.q, &call.k, &call.v})
      *operand = place(false);
    call.y = place(!backwards);
    if (backwards) {
      call.dy = place(false);
      for (accum_strided *operand : {&call.dq, &call.dk, &call.dv})
        *operand = place(true);
    }
    return runtime::attention(call);
  };
  Status status = run(false); // the backward pass reads the sums of the forward pass
  Sample taken = beside(
      [&] {
        if (Status one = run(backward); !one)
          status = one;
      },
      kTurns);
  return status ? Expected<Sample>(taken) : status.error();
}

Sample LibraryCalls::launch() {
  auto nothing = [](void *, int64_t, int64_t) {};
  int64_t pieces = runtime::threadCount();
  return beside([&] { runtime::parallelFor(nothing, nullptr, pieces, pieces); }, kTurns);
}

Sample LibraryCalls::norm(int64_t elements) {
  double sum = 0;
  Ring gradients = weights(kWeights);
  return beside(
      [&] { sum += runtime::squaredNormOf(gradients.take(elements), uint64_t(elements), ACCUM_F32); },
      kTurns);
}

Sample LibraryCalls::copy(int64_t bytes) {
  Ring from = weights(kWeights), to = results(kResults);
  return beside([&] { std::memcpy(to.take(bytes / 4), from.take(bytes / 4), size_t(bytes)); }, kTurns);
}

} // namespace accum::calibrate
