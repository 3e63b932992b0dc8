// SPDX-License-Identifier: Apache-2.0
// Attention by kernels of our own.
#include "dialects/Train/TrainDialect.h"
#include "passes/Schedule/Passes.h"

namespace accum {
#define GEN_PASS_DEF_LAUNCHATTENTION
#include "passes/Schedule/Passes.h.inc"

namespace {

struct LaunchAttention : impl::LaunchAttentionBase<LaunchAttention> {
  void runOnOperation() override {
    getOperation().walk([](train::CommandOp command) {
      if (command.getLibrary() == "attention")
        command.removeLibraryAttr();
    });
  }
};

} // namespace
} // namespace accum
