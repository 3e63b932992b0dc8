// SPDX-License-Identifier: Apache-2.0
// Rules: RotaryEmbedding (opset 23).
#include "compiler/Import/walk/Binder.h"

using namespace mlir;

namespace accum::import {

void addRotaryRule(RuleTable &table);

/// Features [start, start + count) by `step` on the last axis.
static Value features(Emitter &emit, Value x, int64_t start, int64_t count, int64_t step) {
  SmallVector<int64_t> positions;
  for (int64_t j = 0; j < count; ++j)
    positions.push_back(start + j * step);
  return pick(emit, x, static_cast<int64_t>(shapeOf(x).size()) - 1, positions);
}

/// Cosines or sines as [batch or 1, S, 1, pairs].
static Value anglesOf(Binder &node, int64_t i, int64_t pairs) {
  Emitter &emit = node.emit;
  Value table = node.value(i);
  if (node.has(3))
    table = emit.gather(table, node.value(3), 0);
  Shape shape = shapeOf(table);
  if (shape.size() != 3 || shape[2].count < pairs)
    refuseMalformed("has a table of angles of shape " + toString(shape));
  table = features(emit, table, 0, pairs, 1);
  return emit.reshape(table, {shape[0], shape[1], Extent::fixed(1), Extent::fixed(pairs)});
}

/// Pairs of features side by side again: halves, or alternating.
static Value join(Emitter &emit, Value first, Value second, bool interleaved) {
  Shape shape = shapeOf(first);
  auto axis = static_cast<int64_t>(shape.size()) - 1;
  if (!interleaved)
    return emit.concat({first, second}, axis);
  Shape column(shape), whole(shape);
  column.push_back(Extent::fixed(1));
  whole.back().count *= 2;
  Value pair = emit.concat({emit.reshape(first, column), emit.reshape(second, column)}, axis + 1);
  return emit.reshape(pair, whole);
}

/// x is [B, S, H, size].
static Value rotate(Binder &node, Value x, int64_t rotated) {
  Emitter &emit = node.emit;
  bool interleaved = node.integer("interleaved", 0) != 0;
  int64_t pairs = rotated / 2, size = shapeOf(x).back().count;
  Value cosine = anglesOf(node, 1, pairs), sine = anglesOf(node, 2, pairs);
  Value a = features(emit, x, 0, pairs, interleaved ? 2 : 1);
  Value b = features(emit, x, interleaved ? 1 : pairs, pairs, interleaved ? 2 : 1);
  Value first = emit.sub(emit.mul(cosine, a), emit.mul(sine, b));
  Value second = emit.add(emit.mul(sine, a), emit.mul(cosine, b));
  Value turned = join(emit, first, second, interleaved);
  if (rotated == size)
    return turned;
  return emit.concat({turned, features(emit, x, rotated, size - rotated, 1)}, 3);
}

static void rotaryEmbedding(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  Shape shape = shapeOf(x);
  bool flat = shape.size() == 3;
  int64_t heads = node.integer("num_heads", 0);
  if ((flat && (heads < 1 || shape[2].count % heads != 0)) || (!flat && shape.size() != 4))
    refuseMalformed("has an input of shape " + toString(shape));
  if (flat)
    x = emit.reshape(x, {shape[0], shape[1], Extent::fixed(heads), Extent::fixed(shape[2].count / heads)});
  else
    x = emit.transpose(x, {0, 2, 1, 3});
  int64_t size = shapeOf(x).back().count, rotated = node.integer("rotary_embedding_dim", 0);
  rotated = rotated == 0 ? size : rotated;
  if (rotated < 2 || rotated > size || rotated % 2 != 0)
    refuseMalformed("rotates " + std::to_string(rotated) + " features of " + std::to_string(size));
  Value result = rotate(node, x, rotated);
  node.set(0, flat ? emit.reshape(result, shape) : emit.transpose(result, {0, 2, 1, 3}));
}

void addRotaryRule(RuleTable &table) {
  table.add("RotaryEmbedding", 23, rotaryEmbedding, "interleaved num_heads rotary_embedding_dim");
}

} // namespace accum::import
