// SPDX-License-Identifier: Apache-2.0
// The reference GEMM: panels of B are packed on the stack, every C element sums over k in ascending order.
#include "runtime/host/Gemm.h"
#include <algorithm>

namespace accum::runtime {
namespace {

constexpr int64_t kPanelK = 64, kPanelN = 64;

void packPanel(const accum_gemm &call, const double *b, int64_t k, int64_t depth, int64_t col, int64_t width,
               double *panel) {
  for (int64_t p = 0; p < depth; ++p)
    for (int64_t j = 0; j < width; ++j)
      panel[p * kPanelN + j] = b[(k + p) * call.b_row + (col + j) * call.b_col];
}

/// row[0..width) += a_row[0..depth) * panel.
void addRow(const accum_gemm &call, const double *a, int64_t depth, const double *panel, int64_t width,
            double *row) {
  for (int64_t p = 0; p < depth; ++p) {
    double factor = a[p * call.a_col];
    for (int64_t j = 0; j < width; ++j)
      row[j] += factor * panel[p * kPanelN + j];
  }
}

void startTile(const accum_gemm &call, const GemmPoint &point, double beta, int64_t row, int64_t m,
               int64_t col, int64_t n) {
  if (beta != 0)
    return;
  const double *bias = static_cast<const double *>(point.bias);
  double *c = static_cast<double *>(point.c);
  for (int64_t i = row; i < row + m; ++i)
    for (int64_t j = col; j < col + n; ++j)
      c[i * call.c_row + j] = bias ? bias[j] : 0;
}

} // namespace

void gemmF64Tile(const accum_gemm &call, const GemmPoint &point, double beta, int64_t row, int64_t m,
                 int64_t col, int64_t n) {
  startTile(call, point, beta, row, m, col, n);
  const double *a = static_cast<const double *>(point.a), *b = static_cast<const double *>(point.b);
  double *c = static_cast<double *>(point.c), panel[kPanelK * kPanelN];
  for (int64_t k = 0; k < call.k; k += kPanelK)
    for (int64_t j = col; j < col + n; j += kPanelN) {
      int64_t depth = std::min(kPanelK, call.k - k), width = std::min(kPanelN, col + n - j);
      packPanel(call, b, k, depth, j, width, panel);
      for (int64_t i = row; i < row + m; ++i)
        addRow(call, a + i * call.a_row + k * call.a_col, depth, panel, width, c + i * call.c_row + j);
    }
}

} // namespace accum::runtime
