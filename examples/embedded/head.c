/* SPDX-License-Identifier: Apache-2.0 */
/* Trains the classifier head of an artifact on the samples of one user, and keeps it only where it is better.
 * No Python, no file but the artifact's and the user's own:
 *
 *   accumc bert.onnx --batch 16 --memory 100MiB --metric accuracy --trainable 'classifier*'
 *   cc -I INCLUDE head.c -L LIB -laccum_runtime -o head
 *   ./head bert.accum SAMPLES.safetensors HEAD.safetensors EPOCHS
 *
 * INCLUDE is what `accum-run --include-dir` prints, LIB the folder of libaccum_runtime.so. HEAD is read where
 * it is there, so that a user's head goes on learning, and replaced. */
#include "accum_runtime.h"
#include <stdio.h>
#include <stdlib.h>

static void check(int code) {
  if (code == 0)
    return;
  fputs(accum_last_error(), stderr);
  exit(code);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fputs("usage: head ARTIFACT SAMPLES HEAD EPOCHS\n", stderr);
    return 2;
  }
  const char *samples = argv[2], *head = argv[3];
  const accum_open_options options = {.size = sizeof options,
                                      .threads = 1}; /* the other cores are the user's */
  accum_session *session;
  check(accum_open(argv[1], &options, &session));
  const accum_data_options data = {.size = sizeof data, .shuffle = 1, .seed = 1};
  check(accum_bind_files(session, &samples, 1, &data));
  check(accum_bind_evaluation_files(session, &samples, 1, NULL));
  FILE *known = fopen(head, "rb");
  if (known) {
    const accum_init_options weights = {.size = sizeof weights, .path = head};
    int64_t taken;
    fclose(known);
    check(accum_init_weights(session, &weights, &taken));
  }
  accum_hyper_options hyper;
  accum_hyper_defaults(&hyper);
  hyper.lr = 1e-2;
  check(accum_set_hyper(session, &hyper));

  accum_evaluation before, after;
  check(accum_evaluate(session, &before));
  for (uint64_t step = 0; step < accum_steps_of_epochs(session, strtoull(argv[4], NULL, 10)); ++step) {
    accum_step_result result;
    check(accum_step(session, step, &result));
  }
  check(accum_evaluate(session, &after));
  accum_info info;
  accum_get_info(session, &info);
  printf("loss %.6f, was %.6f; right %.0f %%, were %.0f %%; peak %.1f MiB\n", after.loss, before.loss,
         100 * after.accuracy, 100 * before.accuracy, (double)info.peak_bytes / (1 << 20));
  if (after.loss < before.loss)
    check(accum_save(session, "parameter", "onnx", head, 0));
  accum_close(session);
  return 0;
}
