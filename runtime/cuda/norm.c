/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of squares on a GPU, compiled to PTX by clang when the runtime is built. Without barriers, shuffles or
 * atomics: every thread adds up what is its own in a fixed order, so bits depend on the values alone, and the
 * same source runs on the host, one thread after the other, where ACCUM_THREAD and ACCUM_THREADS say so. */
#ifdef __NVPTX__
#define ACCUM_KERNEL __attribute__((nvptx_kernel))
#define ACCUM_THREAD                                                                                         \
  (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#define ACCUM_THREADS (__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x())
#endif

typedef unsigned long long accum_size;

/* sums[thread] = the sum of the squares of values[thread], values[thread + threads], ... */
ACCUM_KERNEL void accum_squares_f32(const float *values, accum_size n, double *sums) {
  double sum = 0;
  for (accum_size i = ACCUM_THREAD; i < n; i += ACCUM_THREADS)
    sum += (double)values[i] * (double)values[i];
  sums[ACCUM_THREAD] = sum;
}

ACCUM_KERNEL void accum_squares_f64(const double *values, accum_size n, double *sums) {
  double sum = 0;
  for (accum_size i = ACCUM_THREAD; i < n; i += ACCUM_THREADS)
    sum += values[i] * values[i];
  sums[ACCUM_THREAD] = sum;
}

/* to[thread] = the sum of from[thread], from[thread + threads], ... */
ACCUM_KERNEL void accum_sums(const double *from, accum_size n, double *to) {
  double sum = 0;
  for (accum_size i = ACCUM_THREAD; i < n; i += ACCUM_THREADS)
    sum += from[i];
  to[ACCUM_THREAD] = sum;
}
