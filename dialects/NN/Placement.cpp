// SPDX-License-Identifier: Apache-2.0
// Placements as encodings.
#include "dialects/NN/Placement.h"
#include "dialects/NN/NNDialect.h"

using namespace mlir;

namespace accum::nn {

Placement Placement::of(Type type) {
  Attribute encoding = cast<RankedTensorType>(type).getEncoding();
  if (auto attr = dyn_cast_or_null<BatchedAttr>(encoding))
    return batched(attr.getDim(), attr.getOuter());
  if (isa_and_nonnull<ReplicatedAttr>(encoding))
    return replicated();
  if (isa_and_nonnull<PartialAttr>(encoding))
    return partial();
  if (isa_and_nonnull<WholeAttr>(encoding))
    return whole();
  return {};
}

Placement Placement::dual() const {
  if (isReplicated())
    return partial();
  return isPartial() ? replicated() : *this;
}

Attribute Placement::encoding(MLIRContext *context) const {
  switch (kind) {
  case Kind::Unplaced:
    return {};
  case Kind::Batched:
    return BatchedAttr::get(context, dim, outer);
  case Kind::Replicated:
    return ReplicatedAttr::get(context);
  case Kind::Partial:
    return PartialAttr::get(context);
  case Kind::Whole:
    return WholeAttr::get(context);
  }
  llvm_unreachable("all kinds handled");
}

RankedTensorType Placement::place(Type type) const { return withEncoding(type, encoding(type.getContext())); }

} // namespace accum::nn
