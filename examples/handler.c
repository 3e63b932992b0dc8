/* SPDX-License-Identifier: Apache-2.0 */
/* One's own gradient handler between the gradients and the update: two batches for each update, whose
 * gradients are averaged, and a parameter that is left as it is. Built and run like embed.c:
 *
 *   ./handler gpt2-tiny.accum DATA.safetensors STEPS PARAMETER WEIGHTS.safetensors */
#include "accum_runtime.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int code) {
  if (code == 0)
    return;
  fputs(accum_last_error(), stderr);
  exit(code);
}

static int64_t elements(const accum_tensor *tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor->rank; ++d)
    count *= tensor->shape[d];
  return count;
}

/* Multiplies the gradient of a parameter; its norm before. */
static double scale(accum_session *session, const char *name, float factor) {
  accum_tensor gradient;
  check(accum_read(session, "gradient", name, &gradient));
  int64_t count = elements(&gradient);
  float *values = malloc((size_t)count * sizeof(float));
  double squares = 0;
  memcpy(values, gradient.data, (size_t)count * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    squares += (double)values[i] * values[i];
    values[i] *= factor;
  }
  check(accum_write_tensor(session, "gradient", name, values, (uint64_t)count * sizeof(float)));
  free(values);
  return sqrt(squares);
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fputs("usage: handler ARTIFACT DATA STEPS PARAMETER WEIGHTS\n", stderr);
    return 2;
  }
  accum_session *session;
  check(accum_open(argv[1], NULL, &session));
  accum_data_options order = {.size = sizeof order};
  check(accum_bind_files(session, (const char *const *)&argv[2], 1, &order));
  for (uint64_t step = 0; step < strtoull(argv[3], NULL, 10); ++step) {
    accum_step_result first, second, update;
    check(accum_accumulate(session, 2 * step, &first));
    check(accum_accumulate(session, 2 * step + 1, &second));
    double frozen = 0;
    const char *name;
    for (size_t i = 0; (name = accum_trained(session, i)); ++i) {
      double norm = scale(session, name, strcmp(name, argv[4]) == 0 ? 0 : 0.5F);
      frozen = strcmp(name, argv[4]) == 0 ? norm : frozen;
    }
    check(accum_update(session, step, &update));
    printf("step %llu: losses %.6f %.6f; norm %.6f without %.6f of %s\n", (unsigned long long)step + 1,
           first.loss, second.loss, update.gradient_norm, frozen, argv[4]);
  }
  check(accum_save(session, "parameter", "onnx", argv[5], 0));
  accum_close(session);
  return 0;
}
