// SPDX-License-Identifier: Apache-2.0
// Run by mpirun: sums and maxima over ranks, several pieces long, against the closed form. Exit 0 when all
// are right.
#include "runtime/accum_program.h"
#include "runtime/ranks/Collectives.h"
#include <cstdio>
#include <vector>

using namespace accum::runtime;

/// Element i of rank r is i % 100 + r; exact in every dtype.
template <typename T> static int check(Collectives &ranks, int dtype) {
  uint64_t n = (20 << 20) / sizeof(T) + 7; // many pieces, and a rest
  std::vector<T> values(n);
  for (uint64_t i = 0; i < n; ++i)
    values[i] = T(i % 100 + ranks.rank());
  if (Status status = ranks.allReduce(values.data(), n, dtype); !status)
    return std::fputs(format(status.error()).c_str(), stderr), 1;
  int count = ranks.ranks(), offsets = count * (count - 1) / 2;
  for (uint64_t i = 0; i < n; ++i)
    if (values[i] != T(i % 100 * count + offsets))
      return std::fprintf(stderr, "dtype %d, element %llu is wrong\n", dtype,
                          static_cast<unsigned long long>(i)),
             1;
  return 0;
}

int main() {
  Collectives ranks;
  if (Status status = ranks.join("auto"); !status)
    return std::fputs(format(status.error()).c_str(), stderr), 1;
  int code = check<float>(ranks, ACCUM_F32) | check<double>(ranks, ACCUM_F64) |
             check<int32_t>(ranks, ACCUM_I32) | check<int64_t>(ranks, ACCUM_I64);
  auto largest = ranks.maximum(100 - ranks.rank());
  bool refused = !ranks.allReduce(&code, 1, ACCUM_BF16);
  if (ranks.rank() == 0)
    std::printf("%d ranks\n", ranks.ranks());
  return code != 0 || !largest || *largest != 100 || !refused;
}
