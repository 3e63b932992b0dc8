// SPDX-License-Identifier: Apache-2.0
// accum_runtime_v1: C functions in front of the step in accum_ctx::self.
#include "runtime/session/Step.h"
#include "runtime/system/ThreadPool.h"

namespace accum::runtime {
namespace {

Step &stepOf(accum_ctx *context) { return *static_cast<Step *>(context->self); }

int beginMicro(accum_ctx *context, uint32_t phase, uint32_t k, uint64_t *firstRow, uint32_t *valid) {
  return stepOf(context).beginMicro(context, phase, k, firstRow, valid);
}

int endMicro(accum_ctx *context, uint32_t phase, uint32_t k) { return stepOf(context).endMicro(phase, k); }

int launch(accum_ctx *context, uint32_t kernel, void *const *args) {
  return stepOf(context).launch(kernel, args);
}

int runGemm(accum_ctx *context, const accum_gemm *call, float beta) {
  return stepOf(context).runGemm(call, beta);
}

int attend(accum_ctx *context, const accum_attention *call) { return stepOf(context).attend(call); }

int runParallel(accum_ctx *, void (*fn)(void *, int64_t, int64_t), void *data, int64_t n, int64_t chunks) {
  parallelFor(fn, data, n, chunks);
  return 0;
}

int allReduce(accum_ctx *context, void *data, uint64_t n, int32_t dtype) {
  return stepOf(context).allReduce(data, n, dtype);
}

int zero(accum_ctx *context, void *data, uint64_t bytes) { return stepOf(context).zero(data, bytes); }

int copy(accum_ctx *context, void *target, const void *source, uint64_t bytes) {
  return stepOf(context).copy(target, source, bytes);
}

int startAllReduce(accum_ctx *context, void *data, uint64_t n, int32_t dtype) {
  return stepOf(context).startAllReduce(data, n, dtype);
}

int inspectGradients(accum_ctx *context, const void *data, uint64_t n, int32_t dtype, int32_t isPart,
                     int32_t last) {
  return stepOf(context).inspectGradients(data, n, dtype, isPart != 0, last != 0);
}

int reduceScatter(accum_ctx *context, void *data, uint64_t n, int32_t dtype) {
  return stepOf(context).reduceScatter(data, n, dtype);
}

int allGather(accum_ctx *context, void *target, const void *source, uint64_t bytes) {
  return stepOf(context).allGather(target, source, bytes);
}

int startReduceScatter(accum_ctx *context, void *data, uint64_t n, int32_t dtype) {
  return stepOf(context).startReduceScatter(data, n, dtype);
}

int startAllGather(accum_ctx *context, void *target, const void *source, uint64_t bytes) {
  return stepOf(context).startAllGather(target, source, bytes);
}

int fetch(accum_ctx *context, void *target, uint64_t offset, uint64_t bytes) {
  return stepOf(context).fetch(target, offset, bytes);
}

int store(accum_ctx *context, uint64_t offset, const void *source, uint64_t bytes) {
  return stepOf(context).store(offset, source, bytes);
}

int startFetch(accum_ctx *context, void *target, uint64_t offset, uint64_t bytes) {
  return stepOf(context).startFetch(target, offset, bytes);
}

int startStore(accum_ctx *context, uint64_t offset, const void *source, uint64_t bytes) {
  return stepOf(context).startStore(offset, source, bytes);
}

int output(accum_ctx *context, uint32_t number, const void *rows, uint64_t bytes) {
  return stepOf(context).output(number, rows, bytes);
}

} // namespace

const accum_runtime_v1 *programTable() {
  static const accum_runtime_v1 table = {ACCUM_ABI_VERSION,
                                         sizeof(accum_runtime_v1),
                                         beginMicro,
                                         endMicro,
                                         launch,
                                         runGemm,
                                         runParallel,
                                         allReduce,
                                         attend,
                                         zero,
                                         copy,
                                         startAllReduce,
                                         inspectGradients,
                                         reduceScatter,
                                         allGather,
                                         startReduceScatter,
                                         startAllGather,
                                         fetch,
                                         store,
                                         startFetch,
                                         startStore,
                                         output};
  return &table;
}

} // namespace accum::runtime
