/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between kernels.sim.so, which the compiler writes, and the simulated device of the runtime.
 *
 * kernels.sim.so holds the kernels of kernels.ptx as code for this machine: the same optimised LLVM IR, in
 * which special registers, barriers, shuffles, matrix instructions, copies to shared memory and shared memory
 * are calls of hooks, and every access to memory is announced to one. It exports one symbol, accum_sim().
 */
#ifndef ACCUM_SIM_H
#define ACCUM_SIM_H

#include "runtime/accum_operands.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACCUM_SIM_VERSION 6u

enum accum_sim_register { ACCUM_SIM_THREAD = 0, ACCUM_SIM_BLOCK = 1 }; /* their x; y and z are not used */

#define ACCUM_SIM_ANY UINT32_MAX

/* What a whole warp does, on `words` of each lane, as PTX lays it out over lanes.
 * MULTIPLY: mma.m16n8k16 of bf16, sums in f32. In: 4 words of the left operand, 2 of the right one, 4 sums.
 * Out: 4 sums. MULTIPLY_TF32: the same of mma.m16n8k8 of tf32. LOAD: ldmatrix.m8n8.x4. In: the address of 16
 * bytes of shared memory, in 2 words. Out: 4 words. LOAD_TRANSPOSED: .trans.
 */
enum accum_sim_matrix {
  ACCUM_SIM_MULTIPLY = 1,
  ACCUM_SIM_LOAD = 2,
  ACCUM_SIM_LOAD_TRANSPOSED = 3,
  ACCUM_SIM_MULTIPLY_TF32 = 4
};
#define ACCUM_SIM_MATRIX_WORDS 10

/* What a thread of a kernel calls. `operand` is the one whose pointer the address was made of, ACCUM_SIM_ANY
 * where the compiler does not know; `alignment` in bytes is what the access was made for. `site` numbers the
 * barriers, shuffles and matrix instructions of a kernel: threads meet at one.
 */
typedef struct accum_sim_hooks {
  uint32_t (*special)(uint32_t which);
  void (*load)(const void *address, uint64_t bytes, uint32_t operand, uint32_t alignment);
  void (*store)(void *address, uint64_t bytes, uint32_t operand, uint32_t alignment);
  uint8_t *(*shared)(void); /* of this block, shared_bytes long, 16-byte aligned */
  void (*barrier)(uint32_t site);
  /* The value of the lane whose number differs in the bits of `distance`; `mask` names the lanes that take
   * part. */
  uint32_t (*exchange)(uint32_t mask, uint32_t value, uint32_t distance, uint32_t site);
  void (*matrix)(uint32_t kind, uint32_t *words, uint32_t site);
  float (*exp2)(float power); /* denormal results are 0 */
  /* cp.async: `bytes` of shared memory get `present` bytes from memory and zeros behind them, at some time
   * before finish_copies of the same thread returns. */
  void (*start_copy)(void *to, const void *from, uint32_t bytes, uint32_t present, uint32_t operand);
  void (*finish_copies)(void);
} accum_sim_hooks;

typedef struct accum_sim_kernel {
  const char *name;
  void (*thread)(void *const *args); /* one thread, from start to end */
  const accum_operand *operands;
  uint32_t num_operands;
  uint32_t blocks, block_threads, shared_bytes;
  uint32_t meets; /* whether there is a barrier, a shuffle or a matrix instruction in it */
} accum_sim_kernel;

typedef struct accum_sim_v1 {
  uint32_t version, size;
  uint32_t count;
  const accum_sim_kernel *kernels;
  const accum_sim_hooks **hooks; /* set before the first thread runs */
} accum_sim_v1;

/* The symbol of kernels.sim.so. */
const accum_sim_v1 *accum_sim(void);

#ifdef __cplusplus
}
#endif
#endif
