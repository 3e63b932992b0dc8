// SPDX-License-Identifier: Apache-2.0
// The PTX comes from norm.c, compiled with the runtime.
#include "runtime/cuda/Norm.h"

namespace accum::runtime::cuda {
namespace {

constexpr char kNormPtx[] =
#include "runtime/cuda/norm.inc"
    ;
constexpr unsigned kBlocks = 512, kThreads = 256;

} // namespace

Status Norm::load() {
  if (Status status = module.load(kNormPtx, "the runtime's own PTX"); !status)
    return status;
  struct Wanted {
    const char *name;
    Function *place;
  };
  for (Wanted wanted :
       {Wanted{"accum_squares_f32", &narrow}, {"accum_squares_f64", &wide}, {"accum_sums", &sums}}) {
    auto function = module.find(wanted.name);
    if (!function)
      return function.error();
    *wanted.place = *function;
  }
  return {};
}

Status Norm::start(Function function, unsigned blocks, unsigned threads, Address from, uint64_t n,
                   Address to) {
  void *parameters[] = {&from, &n, &to};
  CUDA_TRY(compute.driver, cuLaunchKernel, function, blocks, 1, 1, threads, 1, 1, 0, compute.stream,
           parameters, nullptr);
  return {};
}

Status Norm::launch(Address values, uint64_t n, DType dtype, Address area) {
  Address few = area + 256, many = few + kThreads * sizeof(double);
  Status status = start(dtype == ACCUM_F64 ? wide : narrow, kBlocks, kThreads, values, n, many);
  if (status)
    status = start(sums, 1, kThreads, many, uint64_t(kBlocks) * kThreads, few);
  return status ? start(sums, 1, 1, few, kThreads, area) : status;
}

} // namespace accum::runtime::cuda
