// SPDX-License-Identifier: Apache-2.0
// accum_runtime_v1: C functions in front of the session in accum_ctx::self.
#include "runtime/session/Session.h"
#include "runtime/system/ThreadPool.h"

namespace accum::runtime {
namespace {

Session &sessionOf(accum_ctx *context) { return *static_cast<Session *>(context->self); }

int beginMicro(accum_ctx *context, uint32_t phase, uint32_t k, uint64_t *firstRow, uint32_t *valid) {
  return sessionOf(context).beginMicro(context, phase, k, firstRow, valid);
}

int endMicro(accum_ctx *context, uint32_t phase, uint32_t k) { return sessionOf(context).endMicro(phase, k); }

int launch(accum_ctx *context, uint32_t kernel, void *const *args) {
  return sessionOf(context).launch(kernel, args);
}

int runGemm(accum_ctx *context, const accum_gemm *call, float beta) {
  return sessionOf(context).runGemm(call, beta);
}

int attend(accum_ctx *context, const accum_attention *call) { return sessionOf(context).attend(call); }

int runParallel(accum_ctx *, void (*fn)(void *, int64_t, int64_t), void *data, int64_t n, int64_t chunks) {
  parallelFor(fn, data, n, chunks);
  return 0;
}

int allReduce(accum_ctx *context, void *data, uint64_t n, int32_t dtype) {
  return sessionOf(context).allReduce(data, n, dtype);
}

int zero(accum_ctx *context, void *data, uint64_t bytes) { return sessionOf(context).zero(data, bytes); }

int copy(accum_ctx *context, void *target, const void *source, uint64_t bytes) {
  return sessionOf(context).copy(target, source, bytes);
}

int startAllReduce(accum_ctx *context, void *data, uint64_t n, int32_t dtype) {
  return sessionOf(context).startAllReduce(data, n, dtype);
}

int inspectGradients(accum_ctx *context, const void *data, uint64_t n, int32_t dtype, int32_t isPart,
                     int32_t last) {
  return sessionOf(context).inspectGradients(data, n, dtype, isPart != 0, last != 0);
}

int reduceScatter(accum_ctx *context, void *data, uint64_t n, int32_t dtype) {
  return sessionOf(context).reduceScatter(data, n, dtype);
}

int allGather(accum_ctx *context, void *target, const void *source, uint64_t bytes) {
  return sessionOf(context).allGather(target, source, bytes);
}

int startReduceScatter(accum_ctx *context, void *data, uint64_t n, int32_t dtype) {
  return sessionOf(context).startReduceScatter(data, n, dtype);
}

int startAllGather(accum_ctx *context, void *target, const void *source, uint64_t bytes) {
  return sessionOf(context).startAllGather(target, source, bytes);
}

int fetch(accum_ctx *context, void *target, uint64_t offset, uint64_t bytes) {
  return sessionOf(context).fetch(target, offset, bytes);
}

int store(accum_ctx *context, uint64_t offset, const void *source, uint64_t bytes) {
  return sessionOf(context).store(offset, source, bytes);
}

int startFetch(accum_ctx *context, void *target, uint64_t offset, uint64_t bytes) {
  return sessionOf(context).startFetch(target, offset, bytes);
}

int startStore(accum_ctx *context, uint64_t offset, const void *source, uint64_t bytes) {
  return sessionOf(context).startStore(offset, source, bytes);
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
                                         startStore};
  return &table;
}

} // namespace accum::runtime
