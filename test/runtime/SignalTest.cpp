// SPDX-License-Identifier: Apache-2.0
// Signals that arrive while the library multiplies change nothing.
#include "runtime/host/Gemm.h"
#include "runtime/system/SignalStack.h"
#include "runtime/system/ThreadPool.h"
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/time.h>

using namespace accum::runtime;

namespace {

volatile std::sig_atomic_t handled = 0;

accum_gemm product(const std::vector<float> &a, const std::vector<float> &b, int64_t m, int64_t n, int64_t k,
                   bool turned) {
  accum_gemm call = {};
  call.a = a.data();
  call.b = b.data();
  call.dtype = call.c_dtype = ACCUM_F32;
  call.m = m;
  call.n = n;
  call.k = k;
  call.a_row = turned ? 1 : k;
  call.a_col = turned ? m : 1;
  call.b_row = n;
  call.b_col = 1;
  call.c_row = n;
  return call;
}

/// The same product under 1000 signals; every result has the bits of the first.
void multiplyUnderSignals(int64_t m, int64_t n, int64_t k) {
  handleOnOwnStack(SIGALRM, [](int) { handled = handled + 1; });
  std::vector<float> a(m * k), b(k * n), first(m * n), again(m * n);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i * 7919 % 1021) - 510;
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = float(i * 104729 % 1019) - 509;
  for (bool turned : {false, true}) {
    accum_gemm call = product(a, b, m, n, k, turned);
    call.c = first.data();
    ASSERT_TRUE(gemm(call, 0));
    call.c = again.data();
    itimerval every = {{0, 500}, {0, 500}}, never = {};
    setitimer(ITIMER_REAL, &every, nullptr);
    for (handled = 0; handled < 1000;) {
      ASSERT_TRUE(gemm(call, 0));
      ASSERT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(float)), 0);
    }
    setitimer(ITIMER_REAL, &never, nullptr);
  }
}

TEST(Signals, LeaveProductsAlone) {
  ASSERT_TRUE(loadGemmLibrary());
  setThreads(1); // the thread that gets the signals is the one that multiplies
  multiplyUnderSignals(64, 256, 256);
}

TEST(Signals, LeaveProductsOfWorkersAlone) {
  ASSERT_TRUE(loadGemmLibrary());
  setThreads(2);
  sigset_t alarm, before;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, &before); // the other thread gets them
  multiplyUnderSignals(256, 512, 256);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  setThreads(1);
}

} // namespace
