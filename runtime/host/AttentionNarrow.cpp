// SPDX-License-Identifier: Apache-2.0
// Attention on bf16: the heads that share keys and values are widened, attended to in f32, and the results
// rounded once.
#include "runtime/host/AttentionNarrow.h"
#include "runtime/files/DType.h"
#include "runtime/host/Bf16Rows.h"
#include <vector>

namespace accum::runtime {
namespace {

/// The rows of some heads of one batch entry, as f32 beside each other.
class Panel {
public:
  Panel(const accum_strided &tensor, int64_t batch, int64_t head, int64_t heads, int64_t rows,
        int64_t columns)
      : source(tensor), heads(heads), rows(rows), columns(columns) {
    if (!tensor.data)
      return;
    first = static_cast<uint16_t *>(tensor.data) + batch * tensor.batch + head * tensor.head;
    values.resize(size_t(heads * rows * columns));
  }

  void read() {
    forRows([&](uint16_t *row, float *wide) { widenRow(row, columns, wide); });
  }
  void write() {
    forRows([&](uint16_t *row, const float *wide) { roundRow(wide, columns, row); });
  }
  accum_strided view() { return {first ? values.data() : nullptr, 0, rows * columns, columns, 1}; }

private:
  template <typename Fn> void forRows(Fn fn) {
    for (int64_t h = 0; first && h < heads; ++h)
      for (int64_t r = 0; r < rows; ++r)
        fn(first + h * source.head + r * source.row, values.data() + (h * rows + r) * columns);
  }

  const accum_strided &source;
  int64_t heads, rows, columns;
  uint16_t *first = nullptr;
  std::vector<float> values;
};

accum_strided at(const accum_strided &tensor, int64_t elementBytes, int64_t batch, int64_t head) {
  accum_strided result = tensor;
  if (tensor.data)
    result.data =
        static_cast<uint8_t *>(tensor.data) + (batch * tensor.batch + head * tensor.head) * elementBytes;
  return result;
}

} // namespace

void attendWidened(const accum_attention &call, int64_t batch, int64_t group, bool native,
                   void (*attend)(accum_attention &, const accum_attention *)) {
  int64_t each = call.heads / call.groups, head = group * each;
  const accum_strided none = {};
  Panel q(native ? none : call.q, batch, head, each, call.queries, call.features),
      k(native ? none : call.k, batch, group, 1, call.keys, call.features),
      v(native ? none : call.v, batch, group, 1, call.keys, call.value_features),
      y(call.y, batch, head, each, call.queries, call.value_features),
      dy(call.dy, batch, head, each, call.queries, call.value_features),
      dq(call.dq, batch, head, each, call.queries, call.features),
      dk(call.dk, batch, group, 1, call.keys, call.features),
      dv(call.dv, batch, group, 1, call.keys, call.value_features);
  for (Panel *operand : {&q, &k, &v})
    operand->read();
  if (call.backward) {
    y.read();
    dy.read();
  }
  accum_attention wide = call;
  wide.dtype = ACCUM_F32;
  wide.batch = wide.groups = 1;
  wide.heads = each;
  wide.q = q.view(), wide.k = k.view(), wide.v = v.view(), wide.y = y.view();
  wide.dy = dy.view(), wide.dq = dq.view(), wide.dk = dk.view(), wide.dv = dv.view();
  wide.lse = at(call.lse, sizeof(float), batch, head);
  wide.mask = at(call.mask, int64_t(bytesOf(DType(call.mask_dtype))), batch, head);
  accum_attention narrow = call;
  for (accum_strided *operand : {&narrow.q, &narrow.dy})
    *operand = at(*operand, sizeof(uint16_t), batch, head);
  for (accum_strided *operand : {&narrow.k, &narrow.v})
    *operand = at(*operand, sizeof(uint16_t), batch, group);
  attend(wide, native ? &narrow : nullptr);
  if (!call.backward)
    return y.write();
  for (Panel *result : {&dq, &dk, &dv})
    result->write();
}

} // namespace accum::runtime
