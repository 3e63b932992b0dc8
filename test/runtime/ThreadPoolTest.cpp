// SPDX-License-Identifier: Apache-2.0
// The pool: every piece once, whatever happens around it.
#include "runtime/system/ThreadPool.h"
#include "runtime/system/Workers.h"
#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

using namespace accum::runtime;

namespace {

/// How often each of [0, n) was in a piece.
std::vector<int> visits(int64_t n, int64_t chunks) {
  std::vector<std::atomic<int>> counts(n);
  parallelFor(n, chunks, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      ++counts[i];
  });
  return {counts.begin(), counts.end()};
}

class Pool : public testing::Test {
protected:
  void TearDown() override { setThreads(1); }
};

TEST_F(Pool, EveryPieceIsDoneOnce) {
  for (int threads : {1, 2, 5, 33}) {
    ASSERT_EQ(setThreads(threads), threads);
    for (int64_t n : {0, 1, 2, 7, 1000})
      for (int64_t chunks : {0, 1, 3, 64, 2000})
        EXPECT_EQ(visits(n, chunks), std::vector<int>(n, 1)) << n << " in " << chunks << " on " << threads;
  }
}

/// Short jobs one after the other: workers are late for many of them.
TEST_F(Pool, LateWorkersTakeNoPieceTwice) {
  setThreads(4);
  int64_t sum = 0;
  constexpr int64_t kJobs = 20000;
  for (int64_t job = 0; job < kJobs; ++job) {
    std::atomic<int64_t> own{0};
    parallelFor(4, 4, [&](int64_t begin, int64_t) { own += begin; });
    sum += own;
  }
  EXPECT_EQ(sum, kJobs * 6);
}

/// Workers that have gone to sleep come back: two pieces that wait for each other are on two threads.
TEST_F(Pool, SleepersAreWoken) {
  setThreads(2);
  for (int turn = 0; turn < 5; ++turn) {
    usleep(2000);
    std::atomic<int> here{0};
    parallelFor(2, 2, [&](int64_t, int64_t) {
      ++here;
      while (here < 2)
        usleep(10);
    });
    EXPECT_EQ(here, 2);
  }
}

/// The worker that has the last piece takes its time: the caller sleeps until it is done.
TEST_F(Pool, TheCallerWaitsForAPieceThatTakesLong) {
  setThreads(2);
  std::atomic<int> begun{0}, done{0};
  auto caller = std::this_thread::get_id();
  parallelFor(2, 2, [&](int64_t, int64_t) {
    ++begun;
    while (begun < 2)
      usleep(10);
    if (std::this_thread::get_id() != caller)
      usleep(20000);
    ++done;
  });
  EXPECT_EQ(done, 2);
}

TEST_F(Pool, PiecesInPiecesRunSerially) {
  setThreads(3);
  std::atomic<int> wrong{0}, inner{0};
  parallelFor(6, 6, [&](int64_t, int64_t) {
    auto self = std::this_thread::get_id();
    parallelFor(10, 10, [&](int64_t, int64_t) {
      wrong += std::this_thread::get_id() != self;
      ++inner;
    });
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(inner, 60);
}

TEST_F(Pool, TwoCallersAtOnceGetEverything) {
  setThreads(3);
  std::atomic<int64_t> sum{0};
  auto call = [&] {
    for (int job = 0; job < 500; ++job)
      parallelFor(8, 8, [&](int64_t begin, int64_t end) { sum += end - begin; });
  };
  std::thread other(call);
  call();
  other.join();
  EXPECT_EQ(sum, 2 * 500 * 8);
}

TEST_F(Pool, AnExceptionReachesTheCaller) {
  for (int threads : {1, 4}) {
    setThreads(threads);
    for (int64_t bad : {0, 57, 99}) {
      auto call = [&] {
        parallelFor(100, 100, [&](int64_t begin, int64_t) {
          if (begin == bad)
            throw std::runtime_error(std::to_string(bad));
        });
      };
      try {
        call();
        ADD_FAILURE() << "nothing thrown";
      } catch (const std::runtime_error &error) {
        EXPECT_EQ(error.what(), std::to_string(bad));
      }
      EXPECT_EQ(visits(100, 100), std::vector<int>(100, 1)); // and the pool goes on
    }
  }
}

TEST_F(Pool, ThreadsMayBeMoreAndFewer) {
  for (int threads : {2, 7, 1, 3, 3, 64, 2}) {
    EXPECT_EQ(setThreads(threads), threads);
    EXPECT_EQ(threadCount(), threads);
    EXPECT_EQ(visits(200, 50), std::vector<int>(200, 1));
  }
}

/// A child has none of the workers: it does the pieces itself, and asks for no others.
TEST_F(Pool, AForkedChildWorksAlone) {
  setThreads(4);
  ASSERT_EQ(visits(10, 10), std::vector<int>(10, 1));
  pid_t child = fork();
  if (child == 0) {
    bool right = visits(100, 100) == std::vector<int>(100, 1);
    setThreads(2);
    right &= visits(100, 100) == std::vector<int>(100, 1);
    _exit(right ? 7 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 7 << 8);
  EXPECT_EQ(visits(10, 10), std::vector<int>(10, 1));
}

int libraryThreads = 5;
thread_local int ofThisThread = 5;

/// Its own threads are one in pieces and what they were afterwards.
TEST_F(Pool, LibrariesInPiecesAreSingle) {
  keepLibrarySingle({[] { return ofThisThread; }, [](int threads) { ofThisThread = threads; }});
  for (int threads : {1, 3}) {
    setThreads(threads);
    std::atomic<int> wrong{0};
    parallelFor(30, 30, [&](int64_t, int64_t) { wrong += ofThisThread != 1; });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(ofThisThread, libraryThreads);
  }
  keepLibrarySingle({nullptr, nullptr});
}

/// Looks at a clock of its own: `gap` ticks between two looks.
bool spinWith(Patience &patience, uint64_t gap) {
  static uint64_t ticks = 0, step = 0;
  step = gap;
  return patience.spin([] { return false; }, +[]() -> uint64_t { return ticks += step; });
}

TEST(PatienceTest, EndsAndIsCutWhereSomethingElseHadTheCore) {
  Patience patience;
  EXPECT_EQ(patience.left(), Patience::kMost);
  EXPECT_FALSE(spinWith(patience, 1000));
  EXPECT_EQ(patience.left(), Patience::kMost);
  EXPECT_FALSE(spinWith(patience, Patience::kGap + 1));
  EXPECT_EQ(patience.left(), Patience::kMost / Patience::kCut);
  for (int turn = 0; turn < 9; ++turn)
    spinWith(patience, Patience::kGap + 1);
  EXPECT_EQ(patience.left(), 0u);
  EXPECT_FALSE(spinWith(patience, 1000));
  EXPECT_EQ(patience.left(), Patience::kRegained);
  EXPECT_TRUE(patience.spin([] { return true; }));
  for (uint64_t turn = 0; turn < 2 * Patience::kMost / Patience::kRegained; ++turn)
    patience.spin([] { return true; });
  EXPECT_EQ(patience.left(), Patience::kMost);
}

} // namespace
