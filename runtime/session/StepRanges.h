// SPDX-License-Identifier: Apache-2.0
// A step's parts as a profiler shows them, one inside the step at a time.
//
//   step 12:  pre-pass 1 of 8 | ... | sums over devices | micro-step 1 of 8 | ... | sums over devices |
//             norm of the gradients | update
#ifndef ACCUM_RUNTIME_SESSION_STEPRANGES_H
#define ACCUM_RUNTIME_SESSION_STEPRANGES_H

#include "runtime/artifact/Manifest.h"
#include "runtime/session/Nvtx.h"
#include <cinttypes>
#include <cstdio>

namespace accum::runtime {

/// Costs nothing where no profiler is attached, and allocates nothing where one is.
class StepRanges {
public:
  void beginStep(uint64_t step, bool evaluates) {
    endStep(); // of one that failed
    if (!nvtx::isAttached())
      return;
    char name[64];
    std::snprintf(name, sizeof name, "%s %" PRIu64, evaluates ? "evaluation" : "step", step + 1);
    nvtx::push(name);
    inStep = true;
  }
  void beginMicro(const PhaseSpec &phase, uint32_t k, uint32_t steps) {
    if (!inStep)
      return;
    char name[64];
    std::snprintf(name, sizeof name, "%.32s %u of %u",
                  phase.addsGradients ? "micro-step" : phase.name.c_str(), k + 1, steps);
    enter(name);
  }
  /// Ends the part before, if there is one.
  void enter(const char *name) {
    if (!inStep)
      return;
    leave();
    nvtx::push(name);
    inPart = true;
  }
  void leave() {
    if (inPart)
      nvtx::pop();
    inPart = false;
  }
  void endStep() {
    leave();
    if (inStep)
      nvtx::pop();
    inStep = false;
  }

private:
  bool inStep = false, inPart = false;
};

} // namespace accum::runtime
#endif
