/* SPDX-License-Identifier: Apache-2.0 */
/* The whole interface between an emitted program and the runtime that executes it.
 *
 * program.so exports one symbol, accum_program(), and has no undefined accum_ symbols: everything that it
 * needs is passed in as a table. It never touches the memory behind a pointer itself, so that the same
 * program drives the host and a GPU. Kernels are in kernels.so on the host, which exports one symbol,
 * accum_kernels(), and in kernels.ptx (an entry each, named in the manifest) on a GPU. The header is plain C
 * so that the emitted program.cpp, a debugger and other languages can use it.
 *
 * Sizes are bytes unless a name says otherwise. All pointers handed to kernels and library calls are device
 * pointers (on the host: ordinary ones). Buffers are 64-byte aligned or better; entries of `flags` and
 * `decay` are aligned to their type.
 */
#ifndef ACCUM_PROGRAM_H
#define ACCUM_PROGRAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACCUM_ABI_VERSION 7u

enum accum_dtype {
  ACCUM_BOOL = 0, /* one byte, 0 or 1 */
  ACCUM_I8 = 1,
  ACCUM_U8 = 2,
  ACCUM_I32 = 3,
  ACCUM_I64 = 4,
  ACCUM_F16 = 5,
  ACCUM_BF16 = 6,
  ACCUM_F32 = 7,
  ACCUM_F64 = 8,
  /* in data files only: widened to what a program reads */
  ACCUM_I16 = 9,
  ACCUM_U16 = 10,
  ACCUM_U32 = 11,
  ACCUM_U64 = 12
};

struct accum_ctx;
struct accum_runtime_v1;

/* Hyper-parameters of one optimizer step. Everything is a double so that the bias corrections keep the
 * precision of the reference formulas; kernels round where they use them. `values` has ACCUM_HYPER_COUNT
 * entries, indexed by accum_hyper_slot, of which an optimizer reads those of its row in
 * runtime/artifact/Optimizers.cpp. `decay` has a pair per trained parameter, in manifest order: the
 * weight-decay coefficient, or 0 where decay does not apply, and the factor of the learning rate. Both are
 * device pointers, which stay where they are from step to step. */
enum accum_hyper_slot {
  ACCUM_HYPER_LR = 0,
  ACCUM_HYPER_BETA1 = 1, /* or the momentum */
  ACCUM_HYPER_BETA2 = 2,
  ACCUM_HYPER_EPS = 3,
  ACCUM_HYPER_CORRECTION1 =
      4, /* 1 - beta1^t, t counted from 1; 1 where unused. With a momentum: 0 at t = 1, else 1 */
  ACCUM_HYPER_CORRECTION2 = 5, /* sqrt(1 - beta2^t); 1 where unused */
  ACCUM_HYPER_GRAD_SCALE =
      6,               /* gradients are multiplied by this before the update (clipping); 1 where unused */
  ACCUM_HYPER_EMA = 7, /* 1 - d, the part of the new weights in their moving average; 0 where there is none */
  ACCUM_HYPER_COUNT = 8
};
typedef struct accum_hyper {
  const double *values;
  const double *decay;
} accum_hyper;

/* C[i,j] (+)= sum_k A[i,k] * B[k,j], for every point of the batch dimensions. Element strides, so that
 * transposes and heads in the middle of a row need no copy. For A and B one of (row, col) stride is 1; C is
 * row-major with c_col == 1. beta = 0 writes (C may hold anything, NaN included), beta = 1 accumulates. bias,
 * when not null, has n elements, is added to each row, and needs beta = 0. */
#define ACCUM_GEMM_MAX_BATCH_DIMS 4
/* With ACCUM_BF16 as dtype, on the host: a is bf16, and b is f32, each element of which is rounded to bf16
 * (to nearest, ties to even) as it is read. */
#define ACCUM_GEMM_WIDE_B 0x100
typedef struct accum_gemm {
  const void *a, *b, *bias;
  void *c;
  int32_t dtype;   /* of a, b: ACCUM_F32, ACCUM_BF16, ACCUM_F64, ACCUM_BF16 | ACCUM_GEMM_WIDE_B */
  int32_t c_dtype; /* of c and bias */
  int64_t m, n, k;
  int64_t a_row, a_col, b_row, b_col, c_row;
  int32_t batch_dims;
  int64_t batch[ACCUM_GEMM_MAX_BATCH_DIMS];
  int64_t a_batch[ACCUM_GEMM_MAX_BATCH_DIMS]; /* stride 0: broadcast */
  int64_t b_batch[ACCUM_GEMM_MAX_BATCH_DIMS];
  int64_t c_batch[ACCUM_GEMM_MAX_BATCH_DIMS];
} accum_gemm;

/* The score of a key that a query may not see (by a mask of ACCUM_BOOL, or causal). Which one it is shows
 * only in rows that see no key at all; `lowest` is the lowest f32, -3.4028235e38, for every dtype. */
enum accum_hidden {
  ACCUM_HIDDEN_EXCLUDED = 0, /* -inf; a row whose scores are all -inf gives y = 0 and passes no cotangents */
  ACCUM_HIDDEN_INFINITE = 1, /* -inf; such a row gives NaN, as a bare softmax does */
  ACCUM_HIDDEN_LOWERED = 2,  /* the score + lowest: equal weights over all keys; cotangents pass */
  ACCUM_HIDDEN_REPLACED = 3  /* lowest: the same weights; hidden scores get no cotangent */
};

/* Where a tensor lies: elements from one batch entry, head, row and column to the next; 0: the same again. */
typedef struct accum_strided {
  void *data;
  int64_t batch, head, row, column;
} accum_strided;

/* Attention as one command: scores[i,j] = scale * q[i,:] . k[j,:] + mask[i,j]; y = softmax(scores) v. Head h
 * of `heads` reads keys and values of group h / (heads / groups). With `causal`, query i sees keys 0 .. i.
 * Weights of hidden keys are exactly 0 in every row that sees a key whose score is above lowest / 2.
 *
 *            shape [batch, head, row, column]          column stride
 *   q, dq    [batch, heads, queries, features]         1
 *   k, dk    [batch, groups, keys, features]           1
 *   v, dv    [batch, groups, keys, value_features]     1
 *   y, dy    [batch, heads, queries, value_features]   1
 *   mask     [batch, heads, queries, keys]             any, 0 where it is broadcast
 *   lse      [batch, heads, queries]                   unused
 *
 * lse is max + log(sum of exp(score - max)) of each row, in f64 where dtype is, else in f32; -inf for a row
 * of zeros by ACCUM_HIDDEN_EXCLUDED. Where it is below lowest / 2 the sum is lost in it: a backward pass has
 * to find the row's maximum and sum again.
 *
 * Forward (backward = 0) reads q, k, v, mask and writes y, lse. Backward reads q, k, v, mask, y, lse, dy and
 * writes dq, dk, dv, which may lie between each other in one buffer; it computes the weights again. Outputs
 * are written, never added to, and overlap no operand. The memory between their elements is not touched. */
typedef struct accum_attention {
  int32_t backward;
  int32_t dtype; /* of all tensors but mask and lse: ACCUM_F32, ACCUM_F64, ACCUM_BF16 */
  int32_t
      mask_dtype; /* ACCUM_BOOL: 1 where the query sees the key; or dtype: added. mask.data null: no mask */
  int32_t causal;
  int32_t hidden; /* accum_hidden */
  int32_t reserved;
  int64_t batch, heads, groups, queries, keys, features, value_features;
  double scale;
  accum_strided q, k, v, mask, y, lse, dy, dq, dk, dv;
} accum_attention;

/* What the program sees of the process that runs it. `inputs` is filled by begin_micro: one pointer per entry
 * of the manifest's "inputs", in that order. The last two entries always exist and are made by the runtime:
 *   "valid"     i8/bool [m]: 1 for real samples, 0 for the spare rows of a ragged micro-step
 *   "first_row" i64 []:     position of the micro-batch's first sample in the global batch window
 * Losses, counts and norms are named scalars inside `state`; the manifest says where. `seed` and `step` are
 * for the program's own use; kernels read them through `rng`. */
typedef struct accum_ctx {
  uint8_t *state;
  uint8_t *scratch;
  uint8_t *const *inputs;
  const struct accum_runtime_v1 *rt;
  void *self;           /* the runtime's own */
  uint64_t seed, step;  /* step counts from 0 */
  const uint64_t *rng;  /* device pointer: {seed, step, samples before, rank, 0, 1, 2 .. 63}, for kernels that
                           draw random numbers, or update this rank's part or a numbered piece of it. Samples
                           before are those of earlier calls that accumulate for the same update: a sample
                           draws by its place behind them */
  const uint8_t *flags; /* device pointer: {0, 1}. The last argument of a kernel with accumulating results is
                           flags (adds) or flags + 1 (writes) */
  int32_t rank, size;
  uint64_t samples; /* valid samples of this step's global window, over all ranks: the `N` of a graph that
                       reads it */
  /* Of a program that has several lengths (the manifest's `lengths`): the micro-steps of each, whose sum is
   * k_steps. A program of one length does not read it. */
  const uint32_t *micro_steps;
} accum_ctx;

/* Every function returns 0 on success. A program that gets non-zero from a call returns it at once: command
 * id + 1 for a command, so that the runtime can name the command and its ONNX nodes from the manifest; the
 * value itself for begin_micro, end_micro, zero, copy and collectives. */
typedef struct accum_runtime_v1 {
  uint32_t abi, size;
  /* Binds ctx->inputs to the rows [first_row, first_row + valid) of this rank's share of the global window;
   * spare rows repeat a real sample. `phase` is a position in the manifest's `phases`, of a loop over
   * micro-batches; those of its inputs that the manifest lists there are brought. Each length has a loop of
   * its own, whose k begins at 0; first_row goes on from length to length. */
  int (*begin_micro)(accum_ctx *, uint32_t phase, uint32_t k, uint64_t *first_row, uint32_t *valid);
  /* Observer: profile, parameter prints. The one of the last micro-step of the phase that adds to gradients
   * is called after the update. */
  int (*end_micro)(accum_ctx *, uint32_t phase, uint32_t k);
  /* Runs kernel number `kernel`: over all its chunks on the host, with the grid of the manifest's entry on a
   * GPU. args: one device pointer per kernel operand, the same on every target. */
  int (*launch)(accum_ctx *, uint32_t kernel, void *const *args);
  int (*gemm)(accum_ctx *, const accum_gemm *, float beta);
  /* fn(data, begin, end) over [0, n) cut into `chunks` pieces fixed by the program, never by the thread
   * count: result bits do not depend on how many threads run. */
  int (*parallel_for)(accum_ctx *, void (*fn)(void *, int64_t, int64_t), void *data, int64_t n,
                      int64_t chunks);
  /* In place, sum over all ranks; n elements. For one device too, where the values stay as they are. */
  int (*all_reduce)(accum_ctx *, void *data, uint64_t n, int32_t dtype);
  int (*attention)(accum_ctx *, const accum_attention *);
  /* Sets `bytes` of device memory to zero. */
  int (*zero)(accum_ctx *, void *data, uint64_t bytes);
  /* From device memory to device memory; the ranges do not overlap. */
  int (*copy)(accum_ctx *, void *target, const void *source, uint64_t bytes);
  /* In the last micro-step of the phase that adds to gradients: n elements of the gradients to which nothing
   * is added any more. The runtime may begin to sum them over all ranks, or leave it to the all_reduce of all
   * gradients, before which nobody reads them. Each gradient once. */
  int (*start_all_reduce)(accum_ctx *, void *data, uint64_t n, int32_t dtype);
  /* n elements of the gradients, summed over all ranks; once or several times between the loss's all_reduce
   * and the update. What it has seen since the step began is one vector; its norm and finiteness are looked
   * at when `last` is not zero, before the update reads hyper->values (clipping changes GRAD_SCALE here, also
   * in the device's copy). A non-zero result, which also means `leave this step out`, is returned at once and
   * before any parameter changes. Not zero `is_part`: every rank shows another part of the gradients. */
  int (*inspect_gradients)(accum_ctx *, const void *data, uint64_t n, int32_t dtype, int32_t is_part,
                           int32_t last);
  /* `data` are size equal parts of n elements, one for each rank. Afterwards part `rank` holds the sum over
   * all ranks of that part; the other parts hold anything. */
  int (*reduce_scatter)(accum_ctx *, void *data, uint64_t n, int32_t dtype);
  /* `target` becomes the parts of all ranks, `bytes` each, one behind the other; `source` is this rank's. It
   * is its place in target, or outside of that. */
  int (*all_gather)(accum_ctx *, void *target, const void *source, uint64_t bytes);
  /* The same may begin, or be left to the call of the same arguments that follows and before which nobody
   * reads the result, writes the source, or touches the target. At most one begun for the same place. */
  int (*start_reduce_scatter)(accum_ctx *, void *data, uint64_t n, int32_t dtype);
  int (*start_all_gather)(accum_ctx *, void *target, const void *source, uint64_t bytes);
  /* State that is kept off the device, in offloaded memory of this rank: `bytes` from `offset` there to
   * `target`, or from `source` to there. */
  int (*fetch)(accum_ctx *, void *target, uint64_t offset, uint64_t bytes);
  int (*store)(accum_ctx *, uint64_t offset, const void *source, uint64_t bytes);
  /* The same may begin, or be left to the call of the same arguments that follows. Until then nobody touches
   * the target of a fetch or writes the source of a store; a fetch of what a store has begun comes behind the
   * call that ends that. */
  int (*start_fetch)(accum_ctx *, void *target, uint64_t offset, uint64_t bytes);
  int (*start_store)(accum_ctx *, uint64_t offset, const void *source, uint64_t bytes);
  /* In a loop of a prediction: the rows that the micro-step has of output `number`, a position in the
   * manifest's `outputs`; those behind the valid ones repeat a sample. They may change when it returns. */
  int (*output)(accum_ctx *, uint32_t number, const void *rows, uint64_t bytes);
} accum_runtime_v1;

typedef struct accum_program_v1 {
  uint32_t abi, size;
  uint64_t state_bytes, scratch_bytes;
  uint32_t m, devices;
  /* One optimizer step of k_steps micro-batches; the loop lives here. */
  int (*step)(accum_ctx *, uint32_t k_steps, const accum_hyper *);
  /* Forward and loss over k_steps micro-batches, nothing is updated. */
  int (*eval)(accum_ctx *, uint32_t k_steps);
  /* The model's outputs over k_steps micro-batches. Null where the program has none, and not there at all
   * where `size` ends before. */
  int (*predict)(accum_ctx *, uint32_t k_steps);
} accum_program_v1;

/* The symbol of program.so. */
const accum_program_v1 *accum_program(void);

/* Host kernels: fn runs the outer rows [begin, end) of [0, n); the runtime cuts [0, n) into `chunks` pieces.
 */
typedef struct accum_kernel_v1 {
  const char *name;
  void (*fn)(void *const *args, int64_t begin, int64_t end);
  int64_t n, chunks;
  uint32_t num_args;
} accum_kernel_v1;
typedef struct accum_kernels_v1 {
  uint32_t abi, size;
  uint32_t count;
  const accum_kernel_v1 *kernels;
} accum_kernels_v1;

/* The symbol of kernels.so on the host. */
const accum_kernels_v1 *accum_kernels(void);

#ifdef __cplusplus
}
#endif
#endif
