// SPDX-License-Identifier: Apache-2.0
// The products of GPT-2 124M with 512 rows, in f32 and bf16: the runtime's beside one call of the library on
// as many threads, by turns in one process. Nothing is asserted.
#include "runtime/host/Gemm.h"
#include "runtime/host/GemmBf16.h"
#include "runtime/system/Clock.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <vector>

using namespace accum::runtime;

namespace {

constexpr int64_t kRows = 512, kWidth = 768, kVocabulary = 50257;
constexpr double kSecondsEach = 0.5;
constexpr int kLeastTurns = 3;

/// `tn`: a weight gradient, added to f32; else an activation, in bf16 where its operands are.
struct Shape {
  const char *form;
  int64_t m, n, k;
};
constexpr Shape kShapes[] = {{"nn", kRows, 3 * kWidth, kWidth},  {"nn", kRows, kWidth, kWidth},
                             {"nn", kRows, 4 * kWidth, kWidth},  {"nn", kRows, kWidth, 4 * kWidth},
                             {"nt", kRows, kVocabulary, kWidth}, {"nt", kRows, kWidth, 3 * kWidth},
                             {"nt", kRows, kWidth, kWidth},      {"nt", kRows, kWidth, 4 * kWidth},
                             {"nt", kRows, 4 * kWidth, kWidth},  {"nn", kRows, kWidth, kVocabulary},
                             {"tn", kWidth, 3 * kWidth, kRows},  {"tn", kWidth, kWidth, kRows},
                             {"tn", kWidth, 4 * kWidth, kRows},  {"tn", 4 * kWidth, kWidth, kRows},
                             {"tn", kVocabulary, kWidth, kRows}};

struct Operands {
  std::vector<float> a, b, c;
  std::vector<uint16_t> shortA, shortB, shortC;

  Operands() {
    auto most = size_t(kVocabulary * kWidth);
    for (auto *values : {&a, &b, &c})
      values->assign(most, 0.5f);
    for (auto *values : {&shortA, &shortB, &shortC})
      values->assign(most, 0x3f00);
  }
};

accum_gemm callOf(const Shape &shape, Operands &data, bool isShort) {
  bool turnA = shape.form[0] == 't', turnB = shape.form[1] == 't';
  accum_gemm call = {};
  call.a = isShort ? static_cast<void *>(data.shortA.data()) : data.a.data();
  call.b = isShort ? static_cast<void *>(data.shortB.data()) : data.b.data();
  call.c = isShort && !turnA ? static_cast<void *>(data.shortC.data()) : data.c.data();
  call.dtype = isShort ? ACCUM_BF16 : ACCUM_F32;
  call.c_dtype = isShort && !turnA ? ACCUM_BF16 : ACCUM_F32;
  call.m = shape.m, call.n = shape.n, call.k = shape.k;
  call.a_row = turnA ? 1 : shape.k, call.a_col = turnA ? shape.m : 1;
  call.b_row = turnB ? 1 : shape.n, call.b_col = turnB ? shape.k : 1;
  call.c_row = shape.n;
  return call;
}

template <typename T> int callLibrary(ProductFn<T> multiply, const accum_gemm &call, float beta, float *c) {
  GemmOperand a = operandOf(call.a_row, call.a_col, call.m, call.k),
              b = operandOf(call.b_row, call.b_col, call.k, call.n);
  return multiply(a.transpose, b.transpose, call.m, call.n, call.k, 1.0f, static_cast<const T *>(call.a),
                  a.leading, static_cast<const T *>(call.b), b.leading, beta, c, call.c_row);
}

/// Processor time of the process over its threads, so that others on the machine count little.
double busySeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double(time.tv_sec) + double(time.tv_nsec) * 1e-9) / threadCount();
}

template <typename Body> void keepLeast(double &least, Body body) {
  double begin = busySeconds();
  body();
  least = std::min(least, busySeconds() - begin);
}

/// Seconds of the fastest turn.
struct Times {
  double f32 = INFINITY, sgemm = INFINITY, bf16 = INFINITY, library = INFINITY;
};

Times measure(const Shape &shape, Operands &data) {
  Times times;
  float beta = shape.form[0] == 't' ? 1 : 0;
  accum_gemm whole = callOf(shape, data, false), narrow = callOf(shape, data, true);
  const GemmLibrary &library = gemmLibrary();
  double end = now() + kSecondsEach;
  for (int turn = 0; turn < kLeastTurns || now() < end; ++turn) {
    keepLeast(times.f32, [&] { (void)gemm(whole, beta); });
    keepLeast(times.sgemm, [&] { callLibrary(library.sgemm, whole, beta, data.c.data()); });
    keepLeast(times.bf16, [&] { (void)gemm(narrow, beta); });
    if (library.bf16Gemm)
      keepLeast(times.library, [&] {
        if (callLibrary(library.bf16Gemm, narrow, beta, data.c.data()))
          std::exit(EXIT_SUCCESS);
      });
  }
  return times;
}

} // namespace

int main(int argc, char **argv) {
  setThreads(argc > 1 ? std::atoi(argv[1]) : 0);
  if (Status status = loadGemmLibrary(); !status) {
    fmt::print(stderr, "error: {}\n", status.error().message);
    return EXIT_FAILURE;
  }
  fmt::print("{}, {} threads; bf16 {}; GFLOP/s of the fastest turn\n", gemmLibraryVersion(), threadCount(),
             bf16Products().native ? fmt::format("native, {:.1f} times widened", bf16Products().gain)
                                   : "widened");
  fmt::print("{:24} {:>8} {:>8} {:>6} {:>8} {:>8} {:>6}\n", "", "f32", "sgemm", "share", "bf16", "library",
             "share");
  Operands data;
  Times all{0, 0, 0, 0};
  double flops = 0;
  auto print = [](const std::string &name, double work, const Times &t) {
    fmt::print("{:24} {:8.0f} {:8.0f} {:6.2f} {:8.0f} {:8.0f} {:6.2f}\n", name, work / t.f32 * 1e-9,
               work / t.sgemm * 1e-9, t.sgemm / t.f32, work / t.bf16 * 1e-9, work / t.library * 1e-9,
               t.library / t.bf16);
    std::fflush(stdout);
  };
  for (const Shape &shape : kShapes) {
    Times times = measure(shape, data);
    double work = 2.0 * double(shape.m) * double(shape.n) * double(shape.k);
    print(fmt::format("{} {} x {} x {}", shape.form, shape.m, shape.n, shape.k), work, times);
    flops += work;
    all.f32 += times.f32, all.sgemm += times.sgemm, all.bf16 += times.bf16, all.library += times.library;
  }
  print("all", flops, all);
}
