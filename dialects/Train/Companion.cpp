// SPDX-License-Identifier: Apache-2.0
// Companions as a dictionary.
#include "dialects/Train/Companion.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace accum {

std::optional<Companion> companionOf(train::CommandOp command) {
  auto entries = command->getAttrOfType<DictionaryAttr>("companion");
  if (!entries)
    return std::nullopt;
  Companion companion;
  companion.id = entries.getAs<IntegerAttr>("id").getInt();
  companion.kernel = entries.getAs<FlatSymbolRefAttr>("kernel");
  llvm::append_range(companion.more, entries.getAs<DenseI64ArrayAttr>("more").asArrayRef());
  llvm::append_range(companion.mayAlias, entries.getAs<DenseI64ArrayAttr>("may_alias").asArrayRef());
  companion.flops = entries.getAs<train::PolyAttr>("flops");
  companion.bytes = entries.getAs<train::PolyAttr>("bytes");
  return companion;
}

void setCompanion(train::CommandOp command, const Companion &companion) {
  Builder builder(command.getContext());
  NamedAttrList entries;
  entries.set("id", builder.getI64IntegerAttr(companion.id));
  entries.set("kernel", companion.kernel);
  entries.set("more", builder.getDenseI64ArrayAttr(companion.more));
  entries.set("may_alias", builder.getDenseI64ArrayAttr(companion.mayAlias));
  entries.set("flops", companion.flops);
  entries.set("bytes", companion.bytes);
  command->setAttr("companion", entries.getDictionary(command.getContext()));
}

} // namespace accum
