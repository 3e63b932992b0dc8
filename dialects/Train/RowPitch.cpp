// SPDX-License-Identifier: Apache-2.0
// Pitches as attributes of a kernel's arguments and results.
#include "dialects/Train/RowPitch.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/TrainDialect.h"

using namespace mlir;

namespace accum {

static int64_t valueOf(IntegerAttr pitch) { return pitch ? pitch.getInt() : 0; }

int64_t argumentPitch(func::FuncOp kernel, unsigned argument) {
  return valueOf(kernel.getArgAttrOfType<IntegerAttr>(argument, kPitch));
}

int64_t resultPitch(func::FuncOp kernel, unsigned result) {
  return valueOf(kernel.getResultAttrOfType<IntegerAttr>(result, kPitch));
}

void setArgumentPitch(func::FuncOp kernel, unsigned argument, int64_t pitch) {
  if (pitch == 0)
    kernel.removeArgAttr(argument, kPitch);
  else
    kernel.setArgAttr(argument, kPitch, Builder(kernel).getI64IntegerAttr(pitch));
}

void setResultPitch(func::FuncOp kernel, unsigned result, int64_t pitch) {
  if (pitch == 0)
    kernel.removeResultAttr(result, StringAttr::get(kernel.getContext(), kPitch));
  else
    kernel.setResultAttr(result, kPitch, Builder(kernel).getI64IntegerAttr(pitch));
}

bool hasPitch(func::FuncOp kernel) {
  auto arguments = llvm::seq<unsigned>(0, kernel.getNumArguments()),
       results = llvm::seq<unsigned>(0, kernel.getNumResults());
  return llvm::any_of(arguments, [&](unsigned i) { return argumentPitch(kernel, i) != 0; }) ||
         llvm::any_of(results, [&](unsigned i) { return resultPitch(kernel, i) != 0; });
}

int64_t pitchOf(Value value, SymbolTableCollection &symbols) {
  auto result = dyn_cast<OpResult>(nn::behindViews(value));
  auto command = result ? dyn_cast<train::CommandOp>(result.getOwner()) : train::CommandOp();
  auto kernel = command ? symbols.lookupNearestSymbolFrom<func::FuncOp>(command, command.getKernelAttr())
                        : func::FuncOp();
  return kernel ? resultPitch(kernel, result.getResultNumber()) : 0;
}

int64_t pitchInKernel(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto kernel = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return kernel ? argumentPitch(kernel, argument.getArgNumber()) : 0;
}

SmallVector<int64_t> withPitch(ArrayRef<int64_t> shape, int64_t pitch) {
  SmallVector<int64_t> lying(shape);
  if (pitch != 0)
    lying.back() = pitch;
  return lying;
}

} // namespace accum
