/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels do with the memory behind their arguments, for those who check it. */
#ifndef ACCUM_OPERANDS_H
#define ACCUM_OPERANDS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum accum_access {
  ACCUM_READ = 1,  /* an operand */
  ACCUM_WRITE = 2, /* a result: all of it is written */
  ACCUM_ADD = 3    /* a result that is added to, or written, as the flag says */
};

/* Where rows lie apart, nobody reads or writes what is between them: `row` bytes of every `pitch` count. Else
 * both are 0. */
typedef struct accum_operand {
  uint64_t bytes, row, pitch;
  uint32_t access;
} accum_operand;

/* A symbol of kernels.so on the host: of each kernel in the order of accum_kernels(), num_args operands. */
const accum_operand *const *accum_operands(void);

#ifdef __cplusplus
}
#endif
#endif
