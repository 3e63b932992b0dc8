// SPDX-License-Identifier: Apache-2.0
// A library call that may block on other ranks, with a wait that ends when a rank never comes.
#ifndef ACCUM_RUNTIME_CUDA_WATCHEDCALL_H
#define ACCUM_RUNTIME_CUDA_WATCHEDCALL_H

#include "runtime/cuda/ComputeStream.h"

namespace accum::runtime::cuda {

/// What `call` returns, made on a thread of its own with the card's context while this one watches. An error
/// of `watch` is returned at once and leaves the call behind, waiting: it owns all that it touches.
Expected<Result> callWatched(const Driver &driver, std::function<Result()> call,
                             const ComputeStream::Watch &watch);

} // namespace accum::runtime::cuda
#endif
