// SPDX-License-Identifier: Apache-2.0
// program.so of the toy artifact, written the way an emitted program is: pre-pass, loop, sums over devices,
// update.
#include "ToyConfig.h"
#include "runtime/accum_program.h"
#include <time.h>
#include <unistd.h>

namespace {

ToyConfig config;
std::string folder;

uint64_t realBytes() { return config.isDouble ? 8 : 4; }

struct Scratch {
  void *pred, *r, *scaled;
  explicit Scratch(accum_ctx *ctx) {
    uint64_t stride = (config.m * realBytes() + 63) / 64 * 64;
    pred = ctx->scratch;
    r = ctx->scratch + stride;
    scaled = ctx->scratch + 2 * stride;
  }
};

accum_gemm makeGemm(const void *a, const void *b, void *c) {
  accum_gemm call = {};
  call.a = a;
  call.b = b;
  call.c = c;
  call.dtype = call.c_dtype = config.isDouble ? ACCUM_F64 : ACCUM_F32;
  return call;
}

/// pred[m] = x^T w; x is [features, m].
int forward(accum_ctx *ctx, const Scratch &scratch) {
  accum_gemm call = makeGemm(ctx->inputs[kX], ctx->state + config.w, scratch.pred);
  call.m = config.m;
  call.n = 1;
  call.k = kFeatures;
  call.a_row = 1;
  call.a_col = config.m;
  call.b_row = call.b_col = call.c_row = 1;
  return ctx->rt->gemm(ctx, &call, 0);
}

/// dw[features] (+)= x scaled.
int backward(accum_ctx *ctx, const Scratch &scratch, uint32_t k) {
  accum_gemm call = makeGemm(ctx->inputs[kX], scratch.scaled, ctx->state + config.dw);
  call.m = kFeatures;
  call.n = 1;
  call.k = config.m;
  call.a_row = config.m;
  call.a_col = call.b_row = call.b_col = call.c_row = 1;
  return ctx->rt->gemm(ctx, &call, k == 0 ? 0 : 1);
}

/// What tells a kernel with accumulating results to write (k = 0) or to add.
void *flagOf(accum_ctx *ctx, uint32_t k) { return const_cast<uint8_t *>(ctx->flags) + (k == 0); }

int countTargets(accum_ctx *ctx, uint32_t phase, uint32_t steps) {
  uint64_t firstRow;
  uint32_t valid;
  for (uint32_t k = 0; k < steps; ++k) {
    if (int code = ctx->rt->begin_micro(ctx, phase, k, &firstRow, &valid))
      return code;
    void *args[] = {ctx->inputs[kIds], ctx->inputs[kMask], ctx->inputs[kValid], ctx->state + config.targets,
                    flagOf(ctx, k)};
    if (ctx->rt->launch(ctx, kCount, args))
      return 0 + 1;
    if (int code = ctx->rt->end_micro(ctx, phase, k))
      return code;
  }
  return ctx->rt->all_reduce(ctx, ctx->state + config.targets, 1, ACCUM_I64);
}

int residualOf(accum_ctx *ctx, const Scratch &scratch, uint32_t k) {
  uint8_t *state = ctx->state;
  void *args[] = {scratch.pred,           ctx->inputs[kIds], ctx->inputs[kMask], ctx->inputs[kT],
                  ctx->inputs[kValid],    state + config.e,  state + config.b,   state + config.scale,
                  state + config.targets, scratch.r,         scratch.scaled,     state + config.loss,
                  flagOf(ctx, k)};
  return ctx->rt->launch(ctx, config.failKernel ? 99 : kResidual + config.isDouble, args);
}

int micro(accum_ctx *ctx, const Scratch &scratch, uint32_t phase, uint32_t k, bool isLast) {
  uint64_t firstRow;
  uint32_t valid;
  if (int code = ctx->rt->begin_micro(ctx, phase, k, &firstRow, &valid))
    return code;
  if (config.onHost && *reinterpret_cast<int64_t *>(ctx->inputs[kFirstRow]) != int64_t(firstRow))
    return 1000;
  if (forward(ctx, scratch))
    return 1 + 1;
  if (residualOf(ctx, scratch, k))
    return 2 + 1;
  if (phase == kEvaluation)
    return 0;
  void *args[] = {ctx->inputs[kIds],      ctx->inputs[kMask],     scratch.r,
                  ctx->state + config.de, ctx->state + config.db, flagOf(ctx, k)};
  if (ctx->rt->launch(ctx, kScatter + config.isDouble, args))
    return 3 + 1;
  if (isLast && config.devices > 1)
    if (int code = ctx->rt->start_all_reduce(ctx, ctx->state + config.de, kVocabulary,
                                             config.isDouble ? ACCUM_F64 : ACCUM_F32))
      return code;
  return backward(ctx, scratch, k) ? 4 + 1 : 0;
}

void pause(uint32_t milliseconds) {
  timespec time = {milliseconds / 1000, long(milliseconds % 1000) * 1000000};
  nanosleep(&time, nullptr);
}

void compute(uint32_t milliseconds) {
  for (clock_t start = clock(); clock() - start < clock_t(milliseconds) * (CLOCKS_PER_SEC / 1000);)
    ;
}

int misbehave(accum_ctx *ctx) {
  void *args[] = {ctx->state + config.db};
  if (config.nanStep == int64_t(ctx->step))
    if (ctx->rt->launch(ctx, kPoison + config.isDouble, args))
      return 6 + 1;
  pause(config.stepMilliseconds);
  if (ctx->rank == 1 && ctx->step == 0)
    compute(config.busyMilliseconds);
  if (!config.writePids || ctx->step != 0)
    return 0;
  if (std::FILE *file = std::fopen((folder + "/rank-" + std::to_string(ctx->rank) + ".pid").c_str(), "w")) {
    std::fprintf(file, "%d\n", int(getpid()));
    std::fclose(file);
  }
  return 0;
}

int reduceAndUpdate(accum_ctx *ctx, const accum_hyper *hyper) {
  if (int code = ctx->rt->all_reduce(ctx, ctx->state + config.loss, 1, ACCUM_F64))
    return code;
  uint8_t *gradients = ctx->state + config.gradients;
  uint64_t count = config.gradientBytes / realBytes();
  int32_t dtype = config.isDouble ? ACCUM_F64 : ACCUM_F32;
  if (int code = ctx->rt->all_reduce(ctx, gradients, count, dtype))
    return code;
  if (int code = ctx->rt->inspect_gradients(ctx, gradients, count, dtype, /*is_part=*/0, /*last=*/1))
    return code;
  void *args[] = {ctx->state, const_cast<double *>(hyper->values), const_cast<double *>(hyper->decay)};
  return ctx->rt->launch(ctx, kUpdate + config.isDouble, args) ? 5 + 1 : 0;
}

int step(accum_ctx *ctx, uint32_t steps, const accum_hyper *hyper) {
  Scratch scratch(ctx);
  if (int code = countTargets(ctx, kCounts, steps))
    return code;
  for (uint32_t k = 0; k < steps; ++k) {
    if (int code = micro(ctx, scratch, kMicro, k, k + 1 == steps))
      return code;
    if (k + 1 < steps)
      if (int code = ctx->rt->end_micro(ctx, kMicro, k))
        return code;
  }
  if (int code = misbehave(ctx))
    return code;
  if (int code = reduceAndUpdate(ctx, hyper))
    return code;
  return ctx->rt->end_micro(ctx, kMicro, steps - 1);
}

int eval(accum_ctx *ctx, uint32_t steps) {
  Scratch scratch(ctx);
  if (int code = countTargets(ctx, kEvaluationCounts, steps))
    return code;
  for (uint32_t k = 0; k < steps; ++k) {
    if (int code = micro(ctx, scratch, kEvaluation, k, false))
      return code;
    pause(config.evalMilliseconds);
  }
  return ctx->rt->all_reduce(ctx, ctx->state + config.loss, 1, ACCUM_F64);
}

} // namespace

extern "C" const accum_program_v1 *accum_program(void) {
  static accum_program_v1 table;
  folder = readConfig(config);
  table = {config.abi, sizeof table, config.stateBytes, config.scratchBytes, config.m, config.devices, step,
           eval,       nullptr};
  return &table;
}
