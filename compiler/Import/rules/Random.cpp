// SPDX-License-Identifier: Apache-2.0
// Rules: dropout, and what else is drawn.
#include "compiler/Import/walk/Binder.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace accum::import {

/// Drops in training mode only: inputs are data, ratio and the training flag, both known.
static void dropout(Binder &node) {
  Emitter &emit = node.emit;
  const GraphValue x = node.input(0);
  bool training = node.has(2) && node.integers(2) != SmallVector<int64_t>{0};
  double ratio = !training ? 0 : node.has(1) ? node.constantReal(1) : 0.5;
  if (node.wants(1)) {
    GraphValue mask(Content::splat(DType::Bool, x.shape, Element::integer(1)));
    if (training) {
      mask.content.reset();
      mask.refusal =
          std::make_shared<const Refusal>(Refusal{"unsupported", "reads the mask of a dropout", {}});
    }
    node.set(1, mask);
  }
  if (ratio == 0)
    return node.set(0, x);
  if (!(ratio > 0 && ratio < 1))
    refuseMalformed("has a dropout ratio outside of [0, 1)");
  auto key = static_cast<int64_t>(llvm::xxh3_64bits(StringRef(node.node.name)));
  Value value = x.whole(emit);
  node.set(0, nn::DropoutOp::create(emit.builder, emit.location, value.getType(), value, ValueRange(),
                                    emit.builder.getF64FloatAttr(ratio), emit.builder.getI64IntegerAttr(key),
                                    IntegerAttr(), IntegerAttr(), IntegerAttr())
                  .getResult());
}

/// Noise of the model's own: keyed by nothing that would make it the same in another cut.
static void noise(Binder & /*node*/) {
  throw Refusal{"unsupported",
                "draws random numbers; of randomness only Dropout is built",
                {"stochastic depth (DropPath) is exported so in training mode: build the model with "
                 "drop_path_rate=0",
                 "or export after model.eval(), which leaves out dropout too"}};
}

void addRandomRules(RuleTable &table) {
  table.add("Dropout", 12, dropout, "~seed");
  table.add("Bernoulli", 15, noise, "~dtype ~seed");
  table.add("Multinomial", 7, noise, "~dtype ~sample_size ~seed");
  table.add("RandomNormal", 1, noise, "~dtype ~mean ~scale ~seed ~shape");
  table.add("RandomNormalLike", 1, noise, "~dtype ~mean ~scale ~seed");
  table.add("RandomUniform", 1, noise, "~dtype ~high ~low ~seed ~shape");
  table.add("RandomUniformLike", 1, noise, "~dtype ~high ~low ~seed");
}

} // namespace accum::import
