// SPDX-License-Identifier: Apache-2.0
// libaccum_runtime.so alone: the public headers and the library need nothing else of ours.
#include "runtime/accum_runtime.h"
#include <gtest/gtest.h>
#include <string>

extern "C" const char *versionFromC(void);

TEST(SharedLibrary, OpensThroughTheCInterface) {
  accum_session *session = nullptr;
  EXPECT_EQ(accum_open("/nonexistent.accum", nullptr, &session), 3);
  EXPECT_EQ(session, nullptr);
  EXPECT_EQ(std::string(accum_last_error()), "error: /nonexistent.accum: no such artifact [no-artifact]\n"
                                             "note: make one: accumc MODEL.onnx --batch N\n");
}

TEST(SharedLibrary, HeadersAreC) { EXPECT_STREQ(versionFromC(), accum_runtime_version()); }
