/* SPDX-License-Identifier: Apache-2.0 */
/* A training loop of one's own, with data that is made in it, one batch at a time:
 *
 *   accumc gpt2-tiny.onnx --batch 16 --micro-batch 6
 *   cc -I INCLUDE embed.c -L LIB -laccum_runtime -o embed
 *   ./embed gpt2-tiny.accum 40 WEIGHTS.safetensors [FOLDER]
 *
 * INCLUDE is what `accum-run --include-dir` prints, LIB the folder of libaccum_runtime.so. With a FOLDER it
 * goes on from its newest checkpoint, and leaves one. */
#include "accum_runtime.h"
#include <stdio.h>
#include <stdlib.h>

enum { kSamples = 16, kTokens = 32, kWords = 97 };

static void check(int code) {
  if (code == 0)
    return;
  fputs(accum_last_error(), stderr);
  exit(code);
}

/* Sequences in which each token decides the next one. */
static void make_batch(uint64_t step, int64_t *tokens) {
  for (int i = 0; i < kSamples; ++i)
    for (int t = 0; t < kTokens; ++t)
      tokens[i * kTokens + t] = t ? (tokens[i * kTokens + t - 1] * 3 + 1) % kWords
                                  : (int64_t)((step * 31 + (uint64_t)i * 7) % kWords);
}

int main(int argc, char **argv) {
  if (argc < 4 || argc > 5) {
    fputs("usage: embed ARTIFACT STEPS WEIGHTS [FOLDER]\n", stderr);
    return 2;
  }
  uint64_t steps = strtoull(argv[2], NULL, 10), first = 0;
  accum_session *session;
  check(accum_open(argv[1], NULL, &session));
  accum_hyper_options hyper;
  accum_hyper_defaults(&hyper);
  hyper.lr = 3e-3;
  hyper.clip_norm = 1;
  check(accum_set_hyper(session, &hyper));
  accum_schedule_options schedule = {.size = sizeof schedule};
  schedule.steps = steps;
  schedule.kind = "cosine";
  check(accum_set_schedule(session, &schedule));
  int32_t found = 0;
  if (argc == 5) {
    check(accum_lock_checkpoints(argv[4]));
    check(accum_resume(session, argv[4], 0, &first, &found));
  }
  static int64_t tokens[kSamples * kTokens];
  const int64_t shape[] = {kSamples, kTokens};
  const accum_array batch[] = {{"input_ids", ACCUM_I64, 2, shape, tokens},
                               {"labels", ACCUM_I64, 2, shape, tokens}};
  for (uint64_t step = first; step < steps; ++step) {
    accum_step_result result;
    make_batch(step, tokens);
    check(accum_step_arrays(session, step, batch, 2, 0, &result));
    printf("step %llu: loss %.6f of %lld targets in %u micro-steps\n", (unsigned long long)step + 1,
           result.loss, (long long)result.targets, result.micro_steps);
    if (argc == 5 && (step + 1) % 10 == 0)
      check(accum_checkpoint(session, argv[4], step + 1, 2));
  }
  check(accum_save(session, "parameter", "onnx", argv[3], 0));
  accum_close(session);
  return 0;
}
