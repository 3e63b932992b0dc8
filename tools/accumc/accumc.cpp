// SPDX-License-Identifier: Apache-2.0
// Model in, artifact out.
#include "compiler/Driver/Compile.h"
#include <cstdio>

int main(int argc, char **argv) {
  accum::driver::ParsedOptions parsed = accum::driver::parseOptions(argc, argv);
  if (parsed.options)
    return accum::driver::compile(*parsed.options);
  std::fputs(parsed.text.c_str(), parsed.exitCode == 0 ? stdout : stderr);
  return parsed.exitCode;
}
