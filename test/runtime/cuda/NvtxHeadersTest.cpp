// SPDX-License-Identifier: Apache-2.0
// Our own side of NVTX against the real headers: the protocol's numbers, and the same tool attached to
// NVIDIA's own implementation.
#include "runtime/session/Nvtx.h"
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>
#include <sstream>

namespace own = accum::runtime::nvtx;

TEST(NvtxHeaders, TheProtocolIsTheirs) {
  EXPECT_EQ(own::kVersion, uint32_t(NVTX_VERSION));
  EXPECT_EQ(own::kTableCallbacks, uint32_t(NVTX_ETID_CALLBACKS));
  EXPECT_EQ(own::kTableVersionInfo, uint32_t(NVTX_ETID_VERSIONINFO));
  EXPECT_EQ(own::kModuleCore, uint32_t(NVTX_CB_MODULE_CORE));
  EXPECT_EQ(own::kModules, uint32_t(NVTX_CB_MODULE_SIZE));
  EXPECT_EQ(own::kRangePush, uint32_t(NVTX_CBID_CORE_RangePushA));
  EXPECT_EQ(own::kRangePop, uint32_t(NVTX_CBID_CORE_RangePop));
  EXPECT_EQ(own::kEntries[NVTX_CB_MODULE_CORE], unsigned(NVTX_CBID_CORE_SIZE));
  EXPECT_EQ(own::kEntries[NVTX_CB_MODULE_CORE2], unsigned(NVTX_CBID_CORE2_SIZE));
  EXPECT_EQ(own::kEntries[NVTX_CB_MODULE_CUDA], unsigned(NVTX_CBID_CUDA_SIZE));
  EXPECT_EQ(own::kEntries[NVTX_CB_MODULE_CUDART], unsigned(NVTX_CBID_CUDART_SIZE));
  EXPECT_EQ(own::kEntries[NVTX_CB_MODULE_OPENCL], unsigned(NVTX_CBID_OPENCL_SIZE));
  EXPECT_EQ(own::kEntries[NVTX_CB_MODULE_SYNC], unsigned(NVTX_CBID_SYNC_SIZE));
  EXPECT_EQ(sizeof(own::Callbacks), sizeof(NvtxExportTableCallbacks));
  EXPECT_EQ(offsetof(own::Callbacks, moduleTable),
            offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
  EXPECT_EQ(sizeof(own::VersionInfo), sizeof(NvtxExportTableVersionInfo));
  EXPECT_EQ(offsetof(own::VersionInfo, setToolVersion),
            offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));
}

TEST(NvtxHeaders, TheTestsToolAttachesToTheirs) {
  std::string log = testing::TempDir() + "/nvtx-headers";
  setenv("FAKE_PROFILER_LOG", log.c_str(), 1);
  setenv("NVTX_INJECTION64_PATH", FAKE_PROFILER, 1);
  EXPECT_EQ(nvtxRangePushA("outer"), 0);
  EXPECT_EQ(nvtxRangePushA("inner"), 1);
  nvtxRangePop();
  nvtxRangePop();
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  EXPECT_EQ(text.str(), "outer\n  inner\n");
}
