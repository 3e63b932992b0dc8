// SPDX-License-Identifier: Apache-2.0
// Which memory a command overwrites.
#include "runtime/host/Poison.h"
#include "runtime/host/Gemm.h"
#include <cstdlib>
#include <cstring>

namespace accum::runtime {
namespace {

const uint8_t *byte(const void *address) { return static_cast<const uint8_t *>(address); }

void fill(void *memory, uint64_t bytes) { std::memset(memory, 0xff, bytes); }

/// `heads` are those of the query, or the groups of keys and values.
void fillMatrices(const accum_strided &to, int64_t batch, int64_t heads, int64_t rows, int64_t columns,
                  uint64_t element) {
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t row = 0; row < rows; ++row)
        fill(static_cast<uint8_t *>(to.data) +
                 uint64_t(b * to.batch + head * to.head + row * to.row) * element,
             uint64_t(columns) * element);
}

/// Whether another argument that is read has some of the memory of `result`.
bool isShared(const accum_operand *operands, uint32_t count, void *const *args, uint32_t result) {
  for (uint32_t i = 0; i < count; ++i)
    if (i != result && operands[i].access != ACCUM_WRITE &&
        byte(args[i]) < byte(args[result]) + operands[result].bytes &&
        byte(args[result]) < byte(args[i]) + operands[i].bytes)
      return true;
  return false;
}

} // namespace

std::optional<Poison> Poison::asked(const Artifact &artifact) {
  const char *text = std::getenv("ACCUM_POISON");
  if (!text || std::strcmp(text, "1") != 0)
    return std::nullopt;
  Poison poison;
  poison.stateBytes = artifact.manifest.stateBytes;
  poison.scratchBytes = artifact.program->scratch_bytes;
  const Manifest &manifest = artifact.manifest;
  if (manifest.shard.segments.empty()) {
    for (const ParameterSpec &param : manifest.params)
      if (param.trained)
        poison.gradients.push_back({param.gradOffset, param.bytes()});
  } else {
    poison.poisonSharded(manifest);
  }
  if (auto operands = findFunction(artifact, "kernels.so", "accum_operands"))
    poison.operands = reinterpret_cast<const accum_operand *const *(*)()>(*operands)();
  return poison;
}

/// What lies between whole gradients stays zero; parts are written with it. Units that are whole for a while
/// lie behind what is kept.
void Poison::poisonSharded(const Manifest &manifest) {
  auto devices = uint64_t(manifest.devices);
  for (const StateSegment &segment : manifest.shard.segments) {
    bool isGradient = segment.offset >= manifest.gradients.offset &&
                      segment.offset < manifest.gradients.offset + manifest.gradients.bytes;
    if (isGradient && segment.isCut)
      gradients.push_back({segment.local, segment.bytes / devices});
    for (const ParameterSpec &param : manifest.params)
      if (isGradient && !segment.isCut && param.trained && param.gradOffset >= segment.offset &&
          param.gradOffset < segment.offset + segment.bytes)
        gradients.push_back({segment.local + (param.gradOffset - segment.offset), param.bytes()});
  }
  const StateSegment &last = manifest.shard.segments.back();
  uint64_t kept = last.local + (last.isCut ? last.bytes / devices : last.bytes);
  gradients.push_back({kept, manifest.stateBytes - kept});
}

void Poison::beforeStep(uint8_t *arena, bool evaluates) const {
  fill(arena + stateBytes, scratchBytes);
  if (evaluates)
    return; // gradients of the last step are read behind it
  for (auto [offset, bytes] : gradients)
    fill(arena + offset, bytes);
}

void Poison::beforeLaunch(uint32_t kernel, uint32_t count, void *const *args) const {
  if (!operands)
    return;
  const accum_operand *own = operands[kernel];
  for (uint32_t i = 0; i < count; ++i) {
    // The flag comes last.
    bool writes = own[i].access == ACCUM_WRITE || (own[i].access == ACCUM_ADD && *byte(args[count - 1]) != 0);
    if (writes && !isShared(own, count, args, i))
      fill(args[i], own[i].bytes);
  }
}

void Poison::beforeGemm(const accum_gemm &call, float beta) {
  if (beta != 0)
    return;
  int64_t points = 1;
  for (int32_t i = 0; i < call.batch_dims; ++i)
    points *= call.batch[i];
  uint64_t element = bytesOf(DType(call.c_dtype));
  for (int64_t i = 0; i < points; ++i)
    for (int64_t row = 0; row < call.m; ++row)
      fill(static_cast<uint8_t *>(pointOf(call, i).c) + uint64_t(row * call.c_row) * element,
           uint64_t(call.n) * element);
}

void Poison::beforeAttention(const accum_attention &call) {
  uint64_t element = bytesOf(DType(call.dtype));
  if (call.backward) {
    fillMatrices(call.dq, call.batch, call.heads, call.queries, call.features, element);
    fillMatrices(call.dk, call.batch, call.groups, call.keys, call.features, element);
    fillMatrices(call.dv, call.batch, call.groups, call.keys, call.value_features, element);
    return;
  }
  fillMatrices(call.y, call.batch, call.heads, call.queries, call.value_features, element);
  fillMatrices(call.lse, call.batch, call.heads, call.queries, 1,
               bytesOf(call.dtype == ACCUM_F64 ? ACCUM_F64 : ACCUM_F32));
}

} // namespace accum::runtime
