/* SPDX-License-Identifier: Apache-2.0 */
/* A training run as an executable of one's own: an artifact's program.cpp is part of it, the runtime a library.
 *
 *   c++ -std=c++20 -O1 -I INCLUDE -c model.accum/program.cpp        or: nvcc -I INCLUDE -c ...
 *   cc -I INCLUDE -c own-program.c
 *   c++ own-program.o program.o -L LIB -laccum_runtime -o own-program
 *   ./own-program model.accum DATA.safetensors STEPS WEIGHTS.safetensors
 *
 * INCLUDE is what `accum-run --include-dir` prints, LIB the folder of libaccum_runtime.so. */
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
    fputs("usage: own-program ARTIFACT DATA STEPS WEIGHTS\n", stderr);
    return 2;
  }
  accum_open_options options = {sizeof options};
  options.program = accum_program();
  accum_session *session;
  check(accum_open(argv[1], &options, &session));
  accum_data_options order = {sizeof order};
  check(accum_bind_files(session, (const char *const *)&argv[2], 1, &order));
  for (int step = 0; step < atoi(argv[3]); ++step) {
    accum_step_result result;
    check(accum_step(session, (uint64_t)step, &result));
    printf("step %d: loss %g\n", step + 1, result.loss);
  }
  check(accum_save(session, "parameter", "onnx", argv[4], 0));
  accum_close(session);
  return 0;
}
