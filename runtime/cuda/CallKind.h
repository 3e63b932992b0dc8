// SPDX-License-Identifier: Apache-2.0
// The calls that a device hands to the replay of graphs: a kind, the number of words behind, these words.
#ifndef ACCUM_RUNTIME_CUDA_CALLKIND_H
#define ACCUM_RUNTIME_CUDA_CALLKIND_H

#include <cstdint>

namespace accum::runtime::cuda {

enum CallKind : uint64_t {
  kLaunchCall,
  kGemmCall,
  kZeroCall,
  kCopyCall,
  kStartSumCall,
  kFinishSumsCall,
  kFinishPartCall,
  kStartScatterCall,
  kStartGatherCall,
  kStartFetchCall,
  kFinishFetchesCall,
  kStartStoreCall,
  kFinishStoresCall
};

} // namespace accum::runtime::cuda
#endif
