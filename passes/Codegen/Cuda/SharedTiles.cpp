// SPDX-License-Identifier: Apache-2.0
// One array of a block's shared memory, dealt out in order.
#include "passes/Codegen/Cuda/SharedTiles.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace accum::codegen {

constexpr int64_t kFour = 4;

Tile rowsOf(ThreadCode &code, const Tile &tile, Value first, int64_t rows) {
  Tile part = tile;
  part.data = code.at(tile.data, code.mul(first, tile.stride), tile.element);
  part.rows = rows;
  return part;
}

SharedArea::SharedArea(ThreadCode &code, LLVM::LLVMFuncOp function) {
  constexpr unsigned kShared = 3; // NVPTX's address space
  std::string name = (function.getName() + "$shared").str();
  OpBuilder builder(function);
  auto type = LLVM::LLVMArrayType::get(builder.getF32Type(), 0);
  global = LLVM::GlobalOp::create(builder, function.getLoc(), type, false, LLVM::Linkage::Internal, name,
                                  Attribute(), 16, kShared);
  base = LLVM::AddressOfOp::create(code.b, global);
}

Tile SharedArea::take(ThreadCode &code, int64_t rows, int64_t width, int64_t stride) {
  Value data = code.at(base, code.integer(used), code.b.getF32Type());
  used += rows * stride;
  most = std::max(most, used);
  return {data, rows, width, stride, code.b.getF32Type()};
}

Tile SharedArea::takeOperand(ThreadCode &code, int64_t rows, int64_t columns) {
  auto width = static_cast<int64_t>(llvm::alignTo(columns, kFour * 8));
  return take(code, rows, width, width + kFour);
}

Tile SharedArea::takeTensor(ThreadCode &code, int64_t rows, int64_t columns, int64_t bytes) {
  int64_t each = 4 / bytes; // of a word
  auto width = static_cast<int64_t>(llvm::alignTo(columns, 8 * each)), stride = width + kFour * each;
  Tile words = take(code, rows, width / each, stride / each);
  Type element = bytes == 2 ? Type(code.b.getI16Type()) : code.b.getF32Type();
  return {words.data, rows, width, stride, element};
}

void SharedArea::finish() {
  if (askedBytes() != 0) {
    global.setLinkage(LLVM::Linkage::External);
    return;
  }
  Type f32 = Float32Type::get(global.getContext());
  global.setGlobalTypeAttr(TypeAttr::get(LLVM::LLVMArrayType::get(f32, static_cast<unsigned>(most))));
}

} // namespace accum::codegen
