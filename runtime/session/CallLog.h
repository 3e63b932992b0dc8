// SPDX-License-Identifier: Apache-2.0
// When a program's calls began and how long they took: a timeline in the Trace Event format, which Perfetto
// and chrome://tracing show.
#ifndef ACCUM_RUNTIME_SESSION_CALLLOG_H
#define ACCUM_RUNTIME_SESSION_CALLLOG_H

#include "runtime/accum_program.h"
#include "runtime/system/Status.h"

namespace accum::runtime {

/// What is told of one call beside its times.
struct CallFacts {
  enum Kind {
    Kernel,
    Gemm,
    Attention,
    Zero,
    Copy,
    AllReduce,
    ReduceScatter,
    AllGather,
    Fetch,
    Store,
    Feed,
    Norm
  } kind = Kernel;
  uint32_t kernel = 0; ///< of a Kernel
  /// Gemm: points, m, n, k. Attention: batch, heads, groups, queries, keys, features, value_features. Else
  /// sizes[0] is bytes, 0 where nobody knows them.
  int64_t sizes[7] = {};
  char form[3] = ""; ///< of a Gemm: `n` or `t` for A and for B; t: its rows are neighbours
  bool flag = false; ///< of a Gemm: adds to C; of an Attention: backward
};

CallFacts factsOf(const accum_gemm &call, float beta);
CallFacts factsOf(const accum_attention &call);

class CallLog {
public:
  /// The step that calls belong to from now on; counted from 0.
  void startStep(uint64_t number) { step = number; }
  /// begin: seconds on the clock of Clock.h.
  void add(const CallFacts &facts, double begin, double seconds) {
    calls.push_back({facts, step, begin, seconds});
  }
  /// A call of all of a step: its time as the caller sees it.
  void addStep(double begin, double seconds) { steps.push_back({step, begin, seconds}); }

  /// One JSON object; kernelNames: by number.
  std::string toJson(const std::vector<std::string> &kernelNames, int rank) const;

private:
  struct Call {
    CallFacts facts;
    uint64_t step;
    double begin, seconds;
  };
  struct Step {
    uint64_t step;
    double begin, seconds;
  };
  std::vector<Call> calls;
  std::vector<Step> steps;
  uint64_t step = 0;
};

} // namespace accum::runtime
#endif
