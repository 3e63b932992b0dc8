// SPDX-License-Identifier: Apache-2.0
// Run by mpirun, or as ranks over sockets: sums, parts of sums and gathered parts, several pieces long, and
// maxima and broadcasts, against the closed form. Exit 0 when all are right.
#include "runtime/accum_program.h"
#include "runtime/ranks/Collectives.h"
#include <cstdio>
#include <vector>

using namespace accum::runtime;

static int report(const Status &status) {
  return status ? 0 : (std::fputs(format(status.error()).c_str(), stderr), 1);
}

static int wrong(const char *what, int dtype, uint64_t at) {
  std::fprintf(stderr, "%s, dtype %d: element %llu is wrong\n", what, dtype,
               static_cast<unsigned long long>(at));
  return 1;
}

/// Element i of rank r is i % 100 + r; exact in every dtype.
template <typename T> static int checkSum(Collectives &ranks, int dtype, uint64_t n) {
  std::vector<T> values(n);
  for (uint64_t i = 0; i < n; ++i)
    values[i] = T(i % 100 + ranks.rank());
  if (int code = report(ranks.allReduce(values.data(), n, dtype)))
    return code;
  int count = ranks.ranks(), offsets = count * (count - 1) / 2;
  for (uint64_t i = 0; i < n; ++i)
    if (values[i] != T(i % 100 * count + offsets))
      return wrong("all-reduce", dtype, i);
  return 0;
}

/// The same numbers; then every rank's part of the sums comes to all.
template <typename T> static int checkParts(Collectives &ranks, int dtype, uint64_t n) {
  uint64_t count = ranks.ranks(), offsets = count * (count - 1) / 2;
  std::vector<T> values(n * count);
  for (uint64_t i = 0; i < values.size(); ++i)
    values[i] = T(i % 100 + ranks.rank());
  if (int code = report(ranks.reduceScatter(values.data(), n, dtype)))
    return code;
  for (uint64_t i = ranks.rank() * n; i < (ranks.rank() + 1) * n; ++i)
    if (values[i] != T(i % 100 * count + offsets))
      return wrong("reduce-scatter", dtype, i);
  if (int code = report(ranks.allGather(values.data(), n * sizeof(T))))
    return code;
  for (uint64_t i = 0; i < values.size(); ++i)
    if (values[i] != T(i % 100 * count + offsets))
      return wrong("all-gather", dtype, i);
  return 0;
}

/// Many pieces with a rest, less than a piece, fewer elements than ranks.
template <typename T> static int check(Collectives &ranks, int dtype) {
  for (uint64_t n : {(20 << 20) / sizeof(T) + 7, size_t(1001), size_t(1)})
    if (int code = checkSum<T>(ranks, dtype, n) | checkParts<T>(ranks, dtype, n))
      return code;
  return 0;
}

/// What rank 0 has comes to all, and only then all have the same.
static int checkOne(Collectives &ranks) {
  std::vector<uint8_t> bytes((3 << 20) + 5, uint8_t(200 + ranks.rank()));
  auto differ = ranks.isSame(uint64_t(ranks.rank()) << 63);
  if (int code = report(ranks.broadcast(bytes.data(), bytes.size())))
    return code;
  for (uint64_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != 200)
      return wrong("broadcast", ACCUM_U8, i);
  auto same = ranks.isSame(UINT64_MAX);
  return !differ || !same || *differ != (ranks.ranks() == 1) || !*same ? wrong("isSame", ACCUM_I64, 0) : 0;
}

int main() {
  Collectives ranks;
  if (Status status = ranks.join("auto"); !status)
    return std::fputs(format(status.error()).c_str(), stderr), 1;
  int code = check<float>(ranks, ACCUM_F32) | check<double>(ranks, ACCUM_F64) |
             check<int32_t>(ranks, ACCUM_I32) | check<int64_t>(ranks, ACCUM_I64) | checkOne(ranks);
  auto largest = ranks.maximum(100 - ranks.rank());
  bool refused = !ranks.allReduce(&code, 1, ACCUM_BF16);
  if (ranks.rank() == 0)
    std::printf("%d ranks\n", ranks.ranks());
  return code != 0 || !largest || *largest != 100 || !refused;
}
