// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as an ONNX file.
#include "test/fuzz/ImportModel.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  accum::import::test::importBytes({data, size});
  return 0;
}
