/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a step is right, as a part of accum_runtime.h's interface. Errors are told as there. */
#ifndef ACCUM_VERIFY_H
#define ACCUM_VERIFY_H

#include "accum_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A comparison of accum_verify. */
typedef struct accum_check {
  const char *name;         /* what was compared with what, or whose gradient */
  double measured, allowed; /* relative differences; allowed: what rounding may make of them */
  int32_t ok;
} accum_check;

typedef struct accum_verify_options {
  uint32_t size;                  /* sizeof(accum_verify_options) */
  double seconds;                 /* for cuts, and as many for the gradient; 0: all cuts, and no gradient */
  const accum_data_options *data; /* the seed, and how files are read; null: seed 0 */
  const char *const *paths;       /* files, as accum_bind_files takes them, whose first samples are taken; */
  size_t path_count;              /* at least a batch */
  const accum_array *arrays; /* or the caller's samples; with more than one device all of them on every */
  size_t array_count;        /* rank. Neither: synthetic ones */
  void (*line)(void *user, const char *text);          /* of the report, as it is made, or null */
  void (*check)(void *user, const accum_check *check); /* of each comparison, or null */
  void *user;
} accum_verify_options;
/* Whether the step does not depend on how the batch is cut, and its gradient is that of the loss;
 * docs/verifying.md says how and what not. At the weights that are there; these, slots and later steps keep
 * their bits, gradients do not. All ranks call it. Slugs `not-the-same-step`, `wrong-gradient` and `nan`
 * (exit 4), `usage` (exit 2) between accum_accumulate and accum_update. */
int accum_verify(accum_session *session, const accum_verify_options *options);

#ifdef __cplusplus
}
#endif
#endif
