// SPDX-License-Identifier: Apache-2.0
// Made at its first use.
#include "test/passes/Codegen/SharedContext.h"
#include "dialects/Registration.h"

using namespace mlir;

namespace accum::test {

MLIRContext &sharedContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registerDialects(registry);
    auto *made = new MLIRContext(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

} // namespace accum::test
