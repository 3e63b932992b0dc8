// SPDX-License-Identifier: Apache-2.0
// Values are printed so that they can be read back without loss.
#include "tools/accum-run/training/ParameterPrint.h"
#include "runtime/files/Convert.h"
#include <algorithm>
#include <cstdio>

namespace accum::run {

using runtime::Error;

runtime::Expected<ParameterPrint> ParameterPrint::parse(const std::string &text,
                                                        const accum_session *session) {
  ParameterPrint print;
  print.name = text;
  accum_tensor tensor;
  if (accum_read(session, "parameter", text.c_str(), &tensor) == 0)
    return print;
  size_t colon = text.rfind(':');
  std::string digits = colon == std::string::npos ? "" : text.substr(colon + 1);
  bool counted = !digits.empty() && digits.size() < 10 && std::all_of(digits.begin(), digits.end(), isdigit);
  if (counted) {
    print.name = text.substr(0, colon);
    print.count = std::stoll(digits);
  }
  if (accum_read(session, "parameter", print.name.c_str(), &tensor) != 0)
    return Error{runtime::kExitUsage,
                 "--print-param: the artifact has no parameter `" + print.name + "`",
                 "usage",
                 {"accum-run DIR --steps 0 --save FILE writes them all"}};
  return print;
}

void ParameterPrint::print(void *user, const accum_session *session, uint32_t k, uint32_t steps) {
  auto *self = static_cast<ParameterPrint *>(user);
  accum_tensor tensor;
  if (accum_read(session, "parameter", self->name.c_str(), &tensor) != 0)
    return;
  int64_t elements = 1;
  for (int32_t d = 0; d < tensor.rank; ++d)
    elements *= tensor.shape[d];
  std::printf("step %llu micro-step %u/%u %s", static_cast<unsigned long long>(self->step), k + 1, steps,
              self->name.c_str());
  auto dtype = runtime::DType(tensor.dtype);
  for (int64_t i = 0; i < std::min(elements, self->count); ++i)
    std::printf(dtype == ACCUM_F64 ? " %.17g" : " %.9g",
                runtime::asDouble(static_cast<const uint8_t *>(tensor.data), dtype, i));
  std::printf("\n");
  std::fflush(stdout);
}

void ParameterPrint::read(void *user, const accum_session *session, uint32_t, uint32_t) {
  accum_tensor tensor;
  (void)accum_read(session, "parameter", static_cast<ParameterPrint *>(user)->name.c_str(), &tensor);
}

} // namespace accum::run
