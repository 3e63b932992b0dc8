// SPDX-License-Identifier: Apache-2.0
// What happens inside a step: binding rows, kernels, GEMMs, sums over ranks. Allocates nothing unless it
// fails.
#include "runtime/Clock.h"
#include "runtime/Gemm.h"
#include "runtime/GradientNorm.h"
#include "runtime/Session.h"
#include "runtime/ThreadPool.h"
#include <cmath>

namespace accum::runtime {
namespace {

// The program returns it at once; the session knows from `skipped` or `failure` what it stands for.
constexpr int kLeaveStep = -1;

} // namespace

int Session::fail(Error error, bool inCommand) {
  failure = std::move(error);
  failedInCommand = inCommand;
  return kLeaveStep;
}

int Session::beginMicro(uint32_t phase, uint32_t k, uint64_t *firstRow, uint32_t *valid) {
  double started = now();
  if (k >= share->steps)
    return fail(
        {kExitInternal,
         "the program asks for micro-step " + std::to_string(k) + " of " + std::to_string(share->steps),
         "program"},
        false);
  staging.bind(*dataset, *share, k, order.data() + window.start);
  dataset->release();
  *firstRow = share->firstRow(k);
  *valid = uint32_t(share->valid(k));
  dataSeconds += now() - started;
  return 0;
}

int Session::endMicro(uint32_t phase, uint32_t k) {
  if (observer && phase == ACCUM_MICRO)
    observer(observerUser, observerHandle, k, share->steps);
  return 0;
}

int Session::launch(uint32_t kernel, void *const *args) {
  if (kernel >= artifact.kernels->count)
    return fail({kExitInternal,
                 "the program launches kernel " + std::to_string(kernel) + " of " +
                     std::to_string(artifact.kernels->count),
                 "program"},
                true);
  const accum_kernel_v1 &entry = artifact.kernels->kernels[kernel];
  parallelFor(entry.n, entry.chunks, [&](int64_t begin, int64_t end) { entry.fn(args, begin, end); });
  return 0;
}

int Session::runGemm(const accum_gemm *call, float beta) {
  Status status = gemm(*call, beta);
  return status ? 0 : fail(status.error(), true);
}

int Session::allReduce(void *data, uint64_t n, int32_t dtype) {
  if (Status status = collectives.allReduce(data, n, dtype); !status)
    return fail(status.error(), false);
  const GradientRange &gradients = artifact.manifest.gradients;
  uint64_t offset = uint64_t(static_cast<uint8_t *>(data) - arena.data());
  if (offset < gradients.offset || offset >= gradients.offset + gradients.bytes)
    return 0;
  squaredNorm += squaredNormOf(data, n, DType(dtype));
  sawGradients = true;
  if (isFinite())
    return 0;
  skipped = skipNan;
  if (skipped)
    return kLeaveStep;
  unchanged = true;
  return fail({kExitRunFailed,
               "the loss or a gradient is not finite",
               "nan",
               {"--on-nan skip leaves such steps out; a smaller --lr is the usual cure"}},
              false);
}

bool Session::isFinite() const { return std::isfinite(squaredNorm) && std::isfinite(scalarOr("loss", 0)); }

} // namespace accum::runtime
