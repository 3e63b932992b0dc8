/* SPDX-License-Identifier: Apache-2.0 */
/* Steps over the data's windows, saved by every rank: two-calls ARTIFACT DATA STEPS WEIGHTS how
 *   step   accum_step
 *   calls  an accumulate and an update for each
 *   mean   two accumulates, whose gradients are halved, for each update */
#include "accum_runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int code) {
  if (code == 0)
    return;
  fputs(accum_last_error(), stderr);
  exit(code);
}

static void halve(accum_session *session, const char *name) {
  accum_tensor gradient;
  check(accum_read(session, "gradient", name, &gradient)); /* on all ranks, the same */
  size_t count = 1;
  for (int32_t d = 0; d < gradient.rank; ++d)
    count *= (size_t)gradient.shape[d];
  double *values = malloc(count * sizeof *values);
  float *narrow = (float *)values;
  int is_wide = gradient.dtype == ACCUM_F64;
  memcpy(values, gradient.data, count * (is_wide ? sizeof *values : sizeof *narrow));
  for (size_t i = 0; i < count; ++i)
    if (is_wide)
      values[i] /= 2;
    else
      narrow[i] /= 2;
  check(accum_write_tensor(session, "gradient", name, values,
                           count * (is_wide ? sizeof *values : sizeof *narrow)));
  free(values);
}

int main(int argc, char **argv) {
  if (argc != 6)
    return 2;
  accum_session *session;
  accum_open_options options = {
      .size = sizeof options, .threads = 1, .launcher = getenv("WORLD_SIZE") ? "env" : NULL};
  check(accum_open(argv[1], &options, &session));
  accum_data_options order = {.size = sizeof order};
  check(accum_bind_files(session, (const char *const *)&argv[2], 1, &order));
  accum_hyper_options hyper;
  accum_hyper_defaults(&hyper);
  hyper.lr = 0.05;
  hyper.clip_norm = 0.5;
  check(accum_set_hyper(session, &hyper));
  uint64_t steps = strtoull(argv[3], NULL, 10);
  accum_step_result result;
  for (uint64_t step = 0; step < steps; ++step) {
    if (strcmp(argv[5], "step") == 0) {
      check(accum_step(session, step, &result));
    } else {
      int isMean = strcmp(argv[5], "mean") == 0;
      for (int half = 0; half <= isMean; ++half)
        check(accum_accumulate(session, isMean ? 2 * step + (uint64_t)half : step, &result));
      const char *name;
      for (size_t i = 0; isMean && (name = accum_trained(session, i)); ++i)
        halve(session, name);
      check(accum_update(session, step, &result));
    }
    printf("%.17g %.17g %lld\n", result.loss, result.gradient_norm, (long long)result.samples);
  }
  check(accum_save(session, "parameter", "onnx", argv[4], 0));
  accum_close(session);
  return 0;
}
