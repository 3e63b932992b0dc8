// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as a manifest, a safetensors, .npz or .npy file: what is read is there to the
// last byte.
#include "runtime/artifact/Manifest.h"
#include "runtime/files/Array.h"
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace accum::runtime;

static volatile unsigned sink = 0;

static void touch(const Array &array) {
  for (uint64_t i = 0; i < array.bytes(); ++i)
    sink = sink + array.data[i];
}

static void readFile(const uint8_t *data, size_t size) {
  int file = ::memfd_create("arrays", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::write(file, data, size) == ssize_t(size)) {
    for (auto read : {readSafetensors, readNpz})
      if (auto arrays = read(path))
        for (const Array &array : *arrays)
          touch(array);
  }
  ::close(file);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  if (auto manifest = parseManifest(text, "input"))
    if (!parseManifest(toJson(*manifest), "again"))
      std::abort();
  if (auto array = parseNpy(data, size, "x", "input"))
    touch(*array);
  readFile(data, size);
  return 0;
}
