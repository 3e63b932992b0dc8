// SPDX-License-Identifier: Apache-2.0
// Who computes what: a block of queries forward, a group of heads backward (its blocks add to the same dk and
// dv, one after another).
#include "runtime/host/Attention.h"
#include "runtime/host/AttentionBlock.h"
#include "runtime/host/AttentionNarrow.h"
#include "runtime/host/Gemm.h"
#include "runtime/host/GemmBf16.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>

namespace accum::runtime {
namespace {

template <typename T>
void zeroRows(const accum_strided &tensor, int64_t batch, int64_t head, int64_t first, int64_t rows,
              int64_t columns) {
  MatrixView<T> matrix = matrixOf<T>(tensor, batch, head, first);
  for (int64_t i = 0; i < rows; ++i)
    std::fill_n(matrix.data + i * matrix.row, columns, T(0));
}

template <typename T> void backwardBlock(AttentionBlock<T> &block) {
  const accum_attention &call = block.call;
  const RowFunctions<T> &functions = rowFunctions<T>();
  int64_t batch = block.batch, head = block.head, group = block.group, first = block.first, rows = block.rows;
  MatrixView<T> dq = matrixOf<T>(call.dq, batch, head, first);
  MatrixView<T> y = matrixOf<T>(call.y, batch, head, first), dy = matrixOf<T>(call.dy, batch, head, first);
  // A row's weights add up to 1: each weight's cotangent loses the mean of all, which is y . dy.
  T delta[kMostQueries];
  for (int64_t i = 0; i < rows; ++i)
    delta[i] = functions.dot(y.data + i * y.row, dy.data + i * dy.row, call.value_features);
  zeroRows<T>(call.dq, batch, head, first, rows, call.features);
  block.readStatistics();
  alignas(64) T cotangents[kMostQueries * kBlockKeys];
  block.forKeys([&](KeyRange keys) {
    block.weights(keys);
    block.takeBlock(block.scores, keys);
    block.addRowsOfQueries(matrixOf<T>(call.dv, batch, group, keys.first), &accum_attention::dy, keys,
                           call.value_features);
    block.pairRows(cotangents, &accum_attention::dy, &accum_attention::v, keys, call.value_features);
    for (int64_t i = 0; i < rows; ++i)
      functions.scoreCotangents(cotangents + i * block.pitch, keys.count, block.scores + i * block.pitch,
                                delta[i], T(call.scale));
    block.blockReplaced(keys, cotangents);
    block.takeBlock(cotangents, keys);
    block.addRowsOfKeys(dq, &accum_attention::k, keys, call.features);
    block.addRowsOfQueries(matrixOf<T>(call.dk, batch, group, keys.first), &accum_attention::q, keys,
                           call.features);
  });
}

template <typename T>
void backwardGroup(const accum_attention &call, int64_t batch, int64_t group, const accum_attention *narrow) {
  zeroRows<T>(call.dk, batch, group, 0, call.keys, call.features);
  zeroRows<T>(call.dv, batch, group, 0, call.keys, call.value_features);
  int64_t each = call.heads / call.groups;
  for (int64_t head = group * each; head < (group + 1) * each; ++head)
    for (int64_t i = 0; i < blocksOfQueries(call.queries); ++i) {
      AttentionBlock<T> block(call, batch, head, i, narrow);
      backwardBlock(block);
    }
}

template <typename T>
void runUnit(const accum_attention &call, int64_t unit, const accum_attention *narrow = nullptr) {
  if (call.backward)
    return backwardGroup<T>(call, unit / call.groups, unit % call.groups, narrow);
  int64_t blocks = blocksOfQueries(call.queries);
  AttentionBlock<T> block(call, unit / blocks / call.heads, unit / blocks % call.heads, unit % blocks,
                          narrow);
  block.forward();
}

/// bf16: one batch entry and one group.
void runNarrow(const accum_attention &call, int64_t unit, bool native) {
  attendWidened(call, unit / call.groups, unit % call.groups, native,
                [](accum_attention &wide, const accum_attention *narrow) {
                  int64_t units = wide.backward ? 1 : wide.heads * blocksOfQueries(wide.queries);
                  for (int64_t i = 0; i < units; ++i)
                    runUnit<float>(wide, i, narrow);
                });
}

Error refuse(const std::string &why) {
  return {kExitRunFailed, "attention was refused: " + why, "attention"};
}

Status check(const accum_attention &call) {
  if (call.dtype != ACCUM_F32 && call.dtype != ACCUM_F64 && call.dtype != ACCUM_BF16)
    return refuse("the host attends in f32, f64 and bf16 only");
  int32_t scores = call.dtype == ACCUM_F64 ? ACCUM_F64 : ACCUM_F32;
  if (call.mask.data && call.mask_dtype != ACCUM_BOOL && call.mask_dtype != scores)
    return refuse("its mask has another type than its scores");
  if (std::min({call.batch, call.heads, call.groups, call.queries, call.keys, call.features,
                call.value_features}) < 1)
    return refuse("sizes must be positive");
  if (call.heads % call.groups != 0)
    return refuse("its heads are no multiple of its groups");
  for (const accum_strided *each :
       {&call.q, &call.k, &call.v, &call.y, &call.dy, &call.dq, &call.dk, &call.dv})
    if (each->data && each->column != 1)
      return refuse("the features of an operand are not neighbours");
  return call.dtype == ACCUM_F64 ? Status() : loadGemmLibrary();
}

/// Whether products read bf16 where it lies, in the processor's own instructions.
bool isNative(const accum_attention &call, ShortProducts products) {
  if (call.dtype != ACCUM_BF16 || !gemmLibrary().bf16Gemm)
    return false;
  if (products != ShortProducts::Native && (products != ShortProducts::Fastest || !bf16Products().native))
    return false;
  auto takes = [](const accum_strided &tensor, int64_t rows, int64_t columns) {
    return isTakeable(tensor.row, tensor.column, rows, columns);
  };
  return takes(call.q, call.queries, call.features) && takes(call.k, call.keys, call.features) &&
         takes(call.v, call.keys, call.value_features) &&
         (!call.backward || takes(call.dy, call.queries, call.value_features));
}

} // namespace

Status attention(const accum_attention &call, ShortProducts products) {
  if (Status status = check(call); !status)
    return status;
  bool narrow = call.dtype == ACCUM_BF16, native = isNative(call, products);
  int64_t units = attentionUnits(call.batch, call.heads, call.groups, blocksOfQueries(call.queries),
                                 call.backward != 0, narrow);
  auto real = [](int64_t size) { return static_cast<double>(size); };
  int64_t together = takenTogether(workOfBlock(real(call.queries), real(call.keys), real(call.features)));
  parallelFor(units, ceilDiv(units, together), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit)
      narrow                    ? runNarrow(call, unit, native)
      : call.dtype == ACCUM_F64 ? runUnit<double>(call, unit)
                                : runUnit<float>(call, unit);
  });
  return {};
}

} // namespace accum::runtime
