/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the artifact given; prints the runtime's version and either the batch or the error. */
#include <accum_program.h>
#include <accum_runtime.h>
#include <stdio.h>

int main(int argc, char **argv) {
  accum_session *session = NULL;
  printf("runtime %s\n", accum_runtime_version());
  int code = accum_open(argc > 1 ? argv[1] : "none.accum", NULL, &session);
  if (code) {
    printf("code %d\n%s\n", code, accum_last_error());
    return code;
  }
  accum_info info;
  accum_get_info(session, &info);
  printf("batch %lld, program size %zu\n", (long long)info.batch, sizeof(struct accum_program_v1));
  accum_close(session);
  return 0;
}
