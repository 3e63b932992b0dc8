/* SPDX-License-Identifier: Apache-2.0 */
/* A hand-made artifact's program: a linear model with a small embedding, squared error, normalised by a
 * counted total.
 *
 *   pred[n] = scale * sum_f x[f, n] * w[f] + sum_j mask[n, j] * e[ids[n, j]] + b      (ids = -100: no term)
 *   total   = sum over samples and j of mask[n, j] where ids[n, j] != -100
 *   loss    = sum_n (pred[n] - t[n])^2 / total
 *
 * x has its batch on axis 1. Everything that varies between artifacts is in a file beside program.so, so that
 * one compiled program serves every test. */
#ifndef ACCUM_TEST_TOYMODEL_H
#define ACCUM_TEST_TOYMODEL_H

#include <stdint.h>

enum { kFeatures = 5, kWords = 3, kVocabulary = 7, kIgnored = -100 };
enum ToyOptimizer { kSgd = 0, kMomentum = 1, kAdam = 2, kAdamW = 3 };
enum ToyInput { kX = 0, kIds = 1, kMask = 2, kT = 3, kValid = 4, kFirstRow = 5 };
enum ToyPhase { kCounts = 0, kMicro = 1, kEvaluationCounts = 2, kEvaluation = 3 };
enum ToyKernel { kCount = 0, kResidual = 1, kScatter = 3, kUpdate = 5, kPoison = 7 }; /* + 1 in double */

typedef struct ToyConfig {
  uint64_t stateBytes, scratchBytes;
  uint64_t w, e, b, scale;           /* state offsets */
  uint64_t dw, de, db;               /* gradients */
  uint64_t slots[2][3];              /* optimizer slots of w, e, b */
  uint64_t gradients, gradientBytes; /* the flat range */
  uint64_t loss, targets;            /* scalars */
  uint32_t m, devices, isDouble, optimizer;
  uint32_t abi;              /* what the program claims */
  uint32_t failKernel;       /* non-zero: launches a kernel that does not exist */
  int32_t nanStep;           /* this step's gradient is NaN */
  uint32_t stepMilliseconds; /* a step takes at least so long */
  uint32_t busyMilliseconds; /* rank 1's first step computes so long, at one thing */
  uint32_t evalMilliseconds; /* a micro-step of an evaluation takes at least so long */
  uint32_t writePids;        /* leaves rank-R.pid in the artifact */
  uint32_t onHost;           /* the program may look at its inputs */
} ToyConfig;

#endif
