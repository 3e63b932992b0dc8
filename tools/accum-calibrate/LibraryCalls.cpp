// SPDX-License-Identifier: Apache-2.0
// Operands walk through a pool larger than the caches next to a core, as buffers of a step do.
#include "tools/accum-calibrate/LibraryCalls.h"
#include "runtime/Attention.h"
#include "runtime/Gemm.h"
#include "runtime/GradientNorm.h"
#include "runtime/ThreadPool.h"
#include <cstring>
#include <sys/mman.h>
#include <vector>

namespace accum::calibrate {

using runtime::Error;
using runtime::Expected;
using runtime::Status;

namespace {

// The operands of the largest point (attention backward), and room to walk at all others.
constexpr int64_t kInputs = 64 << 20, kOutputs = 32 << 20;
constexpr int64_t kPoolBytes = (kInputs + kOutputs) * int64_t(sizeof(float));

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
    return Error{runtime::kExitRunFailed, "384 MiB for operands could not be allocated", "memory"};
  LibraryCalls calls;
  calls.pool.reset(static_cast<float *>(memory));
  for (int64_t i = 0; i < kInputs + kOutputs; ++i) // no denormals, no zeros that multiply faster
    calls.pool.get()[i] = float((i * 7919) % 1021 - 510) * 1e-3f;
  return calls;
}

/// The place of `elements` elements of a ring.
static int64_t advance(int64_t &next, int64_t elements, int64_t ring) {
  elements = (elements + 63) / 64 * 64;
  int64_t at = next + elements > ring ? 0 : next;
  next = at + elements;
  return at;
}

const float *LibraryCalls::input(int64_t elements) {
  return pool.get() + advance(nextInput, elements, kInputs);
}

float *LibraryCalls::output(int64_t elements) {
  return pool.get() + kInputs + advance(nextOutput, elements, kOutputs);
}

Expected<Sample> LibraryCalls::time(const std::string &call, const std::array<int64_t, 3> &point) {
  if (call.rfind("gemm-", 0) == 0)
    return gemm(call[5], call[6], point);
  return attention(call.find("backward") != std::string::npos, call.find("causal") != std::string::npos,
                   point);
}

Expected<Sample> LibraryCalls::gemm(char a, char b, const std::array<int64_t, 3> &point) {
  auto [m, n, k] = point;
  accum_gemm call = {};
  call.dtype = call.c_dtype = ACCUM_F32;
  call.m = m;
  call.n = n;
  call.k = k;
  call.a_row = a == 'n' ? k : 1;
  call.a_col = a == 'n' ? 1 : m;
  call.b_row = b == 'n' ? n : 1;
  call.b_col = b == 'n' ? 1 : k;
  call.c_row = n;
  float beta = a == 't' ? 1 : 0; // weight gradients are added
  Status failed;
  Sample taken = sample([&, m = m, n = n, k = k] {
    call.a = input(m * k);
    call.b = input(k * n);
    call.c = output(m * n);
    if (Status status = runtime::gemm(call, beta); !status)
      failed = status;
  });
  return failed ? Expected<Sample>(taken) : failed.error();
}

Expected<Sample> LibraryCalls::attention(bool backward, bool causal, const std::array<int64_t, 3> &point) {
  auto [all, length, features] = point;
  int64_t heads = all <= 4 ? all : 8, batch = all / heads, each = length * heads * features;
  accum_attention call = {};
  call.dtype = ACCUM_F32;
  call.causal = causal;
  call.hidden = ACCUM_HIDDEN_LOWERED;
  call.batch = batch;
  call.heads = call.groups = heads;
  call.queries = call.keys = length;
  call.features = call.value_features = features;
  call.scale = 0.125;
  auto place = [&, length = length, features = features](bool written) {
    const float *data = written ? output(batch * each) : input(batch * each);
    return stridesOf(data, length, heads, features);
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
  Sample taken = sample([&] {
    if (Status one = run(backward); !one)
      status = one;
  });
  return status ? Expected<Sample>(taken) : status.error();
}

Sample LibraryCalls::launch() {
  auto nothing = [](void *, int64_t, int64_t) {};
  int64_t pieces = runtime::threadCount();
  return sample([&] { runtime::parallelFor(nothing, nullptr, pieces, pieces); }, 50);
}

Sample LibraryCalls::norm(int64_t elements) {
  double sum = 0;
  return sample([&] { sum += runtime::squaredNormOf(input(elements), uint64_t(elements), ACCUM_F32); });
}

Sample LibraryCalls::copy(int64_t bytes) {
  return sample([&] { std::memcpy(output(bytes / 4), input(bytes / 4), size_t(bytes)); });
}

} // namespace accum::calibrate
