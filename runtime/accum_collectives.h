/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a communicator plugin (libaccum_mpi.so): loaded only where there is more than one device.
 * Every function returns 0, or non-zero with a sentence in error_text(): ACCUM_OTHER_CALL where ranks do
 * different things. After a failed collective the ranks have lost each other: all that follow fail alike. */
#ifndef ACCUM_COLLECTIVES_H
#define ACCUM_COLLECTIVES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum accum_reduction { ACCUM_SUM = 0, ACCUM_MAX = 1 };

enum { ACCUM_OTHER_CALL = 2 };

/* What a rank does. */
enum accum_rank_action {
  ACCUM_JOINS,
  ACCUM_OPENS,
  ACCUM_STEPS,
  ACCUM_ACCUMULATES,
  ACCUM_UPDATES,
  ACCUM_EVALUATES,
  ACCUM_CHECKPOINTS,
  ACCUM_RESUMES,
  ACCUM_READS,
  ACCUM_COMPARES,
  ACCUM_SHARES,
  ACCUM_LEAVES,
  ACCUM_PREDICTS
};

typedef struct accum_collectives_v1 {
  uint32_t abi, size;
  /* Joins the job that the launcher started. *counter: one to move whenever this rank gets something
   * done; ranks on the same machine watch each other's, which processor time moves, too. */
  int (*init)(int32_t *rank, int32_t *ranks, int32_t *local_ranks, uint64_t **counter);
  /* What this rank does from now on: in the step of this number, counted from 0, or after so many steps. It
   * goes ahead of each collective, of which it must be the same on all ranks. Not while another thread is in
   * a collective. */
  void (*enter)(int32_t action, uint64_t step);
  /* In place over all ranks, n elements of dtype (i32, i64, f32, f64), in pieces of at most 1 MiB. While it
   * waits it watches the counters: one that stands still for `watchdog_seconds` is a failure that names the
   * rank. */
  int (*all_reduce)(void *data, uint64_t n, int32_t dtype, int32_t reduction, double watchdog_seconds);
  /* data: a part of n elements for each rank, in order. Part `rank` becomes the sum over all ranks of that
   * part; the others hold anything afterwards. In pieces, watched as above. */
  int (*reduce_scatter)(void *data, uint64_t n, int32_t dtype, double watchdog_seconds);
  /* data: a part of so many bytes for each rank, of which part `rank` is there; all are afterwards. */
  int (*all_gather)(void *data, uint64_t bytes, double watchdog_seconds);
  /* 0 as long as no rank is known to have died: for a wait that is not a collective of this table. */
  int (*watch)(void);
  const char *(*error_text)(void);
  /* Ends all ranks at once with this exit code; does not return. Where `why` is not null the others have a
   * second to say that this rank has left, and why. */
  void (*abort)(int32_t exit_code, const char *why);
  /* Waits for all ranks and leaves the job; a failure where one of them goes on. */
  int (*finalize)(void);
  const char *(*version)(void);
  /* Not zero: collectives may be called from any thread, one at a time. */
  int (*takes_threads)(void);
} accum_collectives_v1;

/* The symbol of the plugin. */
const accum_collectives_v1 *accum_collectives(void);

#ifdef __cplusplus
}
#endif
#endif
