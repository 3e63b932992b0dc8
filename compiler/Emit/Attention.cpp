// SPDX-License-Identifier: Apache-2.0
// device.attention -> accum_attention.
#include "compiler/Emit/Program.h"
#include "passes/Schedule/StateLayout.h"
#include "llvm/ADT/StringSwitch.h"
#include <cstddef>

namespace accum::emit {

static int32_t dtypeOfBuffer(mlir::Value buffer) {
  return dtypeOf(device::definition(buffer).getTensor().getElementType()).value();
}

uint64_t offsetOfOperand(llvm::StringRef name) {
  return llvm::StringSwitch<uint64_t>(name)
      .Case("q", offsetof(accum_attention, q))
      .Case("k", offsetof(accum_attention, k))
      .Case("v", offsetof(accum_attention, v))
      .Case("mask", offsetof(accum_attention, mask))
      .Case("y", offsetof(accum_attention, y))
      .Case("lse", offsetof(accum_attention, lse))
      .Case("dy", offsetof(accum_attention, dy))
      .Case("dq", offsetof(accum_attention, dq))
      .Case("dk", offsetof(accum_attention, dk))
      .Case("dv", offsetof(accum_attention, dv));
}

int64_t byteOffsetOf(device::AttentionOp attention, unsigned operand) {
  unsigned bits = device::definition(attention.getArgs()[operand]).getTensor().getElementTypeBitWidth();
  return attention.getOffsets()[operand] * ((bits + 7) / 8);
}

accum_attention describeAttention(device::AttentionOp attention) {
  accum_attention words = {};
  words.backward = attention.getBackward();
  words.dtype = dtypeOfBuffer(attention.getArgs()[0]);
  words.mask_dtype = attention.getMasked() ? dtypeOfBuffer(attention.getArgs()[3]) : ACCUM_BOOL;
  words.causal = attention.getCausal();
  words.hidden = static_cast<int32_t>(attention.getHidden());
  llvm::ArrayRef<int64_t> sizes = attention.getSizes();
  words.batch = sizes[0];
  words.heads = sizes[1];
  words.groups = sizes[2];
  words.queries = sizes[3];
  words.keys = sizes[4];
  words.features = sizes[5];
  words.value_features = sizes[6];
  words.scale = attention.getScale().convertToDouble();
  for (auto [i, name] : llvm::enumerate(attention.names())) {
    llvm::ArrayRef<int64_t> strides = attention.stridesOf(i);
    accum_strided operand = {nullptr, strides[0], strides[1], strides[2], strides[3]};
    std::memcpy(reinterpret_cast<char *>(&words) + offsetOfOperand(name), &operand, sizeof operand);
  }
  return words;
}

} // namespace accum::emit
