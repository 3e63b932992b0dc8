// SPDX-License-Identifier: Apache-2.0
// The report as it is made.
#include "tools/accum-run/training/Verification.h"
#include "runtime/accum_verify.h"
#include "tools/accum-run/training/RunData.h"
#include <cstdio>

namespace accum::run {

int verifyPlan(const Options &options, accum_session *session) {
  accum_info info;
  accum_get_info(session, &info);
  accum_data_options data = dataOptions(options);
  std::vector<const char *> paths = pathsOf(options.data);
  accum_verify_options verify = {};
  verify.size = sizeof verify;
  verify.seconds = options.verifySeconds;
  verify.data = &data;
  verify.paths = paths.data();
  verify.path_count = paths.size();
  if (info.rank == 0)
    verify.line = [](void *, const char *text) { std::printf("%s\n", text); };
  int code = accum_verify(session, &verify);
  std::fflush(stdout);
  if (code != 0 && info.rank == 0)
    std::fputs(accum_last_error(), stderr);
  return code;
}

} // namespace accum::run
