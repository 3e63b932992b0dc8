// SPDX-License-Identifier: Apache-2.0
// What every function of the fake driver begins with.
#ifndef ACCUM_TEST_FAKE_ENTRY_H
#define ACCUM_TEST_FAKE_ENTRY_H

#include "test/runtime/cuda/fake/Machine.h"

namespace accum::fake {

using namespace runtime::cuda;

constexpr Result kInvalidValue = 1, kInvalidContext = 201, kInvalidatedCapture = 901, kCapturedEvent = 907;

inline Machine &machine() { return Machine::get(); }
inline Stream *own(runtime::cuda::Stream stream) { return reinterpret_cast<Stream *>(stream); }
inline Event *own(runtime::cuda::Event event) { return reinterpret_cast<Event *>(event); }
inline bool isCaptured(runtime::cuda::Stream stream) { return own(stream)->capture != nullptr; }

/// What the driver does on entry: an injected or lasting failure, and without a context nothing.
#define ENTER()                                                                                              \
  do {                                                                                                       \
    if (Result code = machine().enter(__func__))                                                             \
      return code;                                                                                           \
    if (!Machine::hasContext)                                                                                \
      return kInvalidContext;                                                                                \
  } while (false)

/// For calls that may wait or allocate.
#define ENTER_OUTSIDE_CAPTURES()                                                                             \
  do {                                                                                                       \
    ENTER();                                                                                                 \
    if (Result code = machine().refuseInCapture())                                                           \
      return code;                                                                                           \
  } while (false)

} // namespace accum::fake
#endif
