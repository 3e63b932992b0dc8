// SPDX-License-Identifier: Apache-2.0
// What a device need not have.
#include "runtime/device/Device.h"

namespace accum::runtime {

Status Device::attention(const accum_attention &) {
  return Error{kExitInternal, "the program asks " + name() + " for attention as one command", "program"};
}

} // namespace accum::runtime
