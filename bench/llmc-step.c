// SPDX-License-Identifier: Apache-2.0
// llm.c: its own forward, backward and update, as its main() calls them; one JSON line a step.
// llmc-step CHECKPOINT TOKENS BATCH SEQUENCE STEPS: TOKENS are BATCH x SEQUENCE int32. Its targets are given, so that the
// last token of a row is only a target: the same mean over BATCH * (SEQUENCE - 1) that the others take.
#define TESTING // leaves out its main()
#include "train_gpt2.c"

int main(int argc, char **argv) {
  if (argc != 6)
    return 2;
  int batch = atoi(argv[3]), sequence = atoi(argv[4]), steps = atoi(argv[5]), length = sequence - 1;
  size_t count = (size_t)batch * length;
  int *inputs = mallocCheck(count * sizeof(int)), *targets = mallocCheck(count * sizeof(int));
  int *row = mallocCheck(sequence * sizeof(int));
  FILE *tokens = fopenCheck(argv[2], "rb");
  for (int b = 0; b < batch; ++b) {
    freadCheck(row, sizeof(int), sequence, tokens);
    memcpy(inputs + (size_t)b * length, row, length * sizeof(int));
    memcpy(targets + (size_t)b * length, row + 1, length * sizeof(int));
  }
  fcloseCheck(tokens);
  GPT2 model;
  gpt2_build_from_checkpoint(&model, argv[1]);
  for (int step = 1; step <= steps; ++step) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    gpt2_forward(&model, inputs, targets, batch, length);
    gpt2_zero_grad(&model);
    gpt2_backward(&model);
    gpt2_update(&model, 1e-4f, 0.9f, 0.999f, 1e-8f, 0.0f, step);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ms = (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6;
    printf("{\"loss\": %.9g, \"ms\": %.6g}\n", model.mean_loss, ms);
    fflush(stdout);
  }
  gpt2_free(&model);
}
