// SPDX-License-Identifier: Apache-2.0
// Loads and stores of elements.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Codegen/Emitter.h"

using namespace mlir;

namespace accum::codegen {

constexpr int64_t kCacheLine = 64; ///< bytes

Type computeType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  if (element.isInteger() && !element.isSignlessInteger())
    return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth());
  return element;
}

/// i1 is one byte; unsigned integers and 16-bit floats are bits.
static Type memoryType(Type element) {
  if (element.isF16() || element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), std::max(8u, integer.getWidth()));
  return element;
}

static Type like(Type form, Type element) {
  auto vector = dyn_cast<VectorType>(form);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

/// From what memory holds to what is computed with.
static Value widen(ImplicitLocOpBuilder &builder, Value value, Type element) {
  Type type = like(value.getType(), computeType(element));
  if (type == value.getType())
    return value;
  if (isa<FloatType>(element)) {
    Value half = arith::BitcastOp::create(builder, like(type, element), value);
    return arith::ExtFOp::create(builder, type, half);
  }
  Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, value, zero);
}

static Value narrow(ImplicitLocOpBuilder &builder, Value value, Type element) {
  Type type = like(value.getType(), memoryType(element));
  if (type == value.getType())
    return value;
  if (isa<FloatType>(element)) {
    Value half = arith::TruncFOp::create(builder, like(type, element), value);
    return arith::BitcastOp::create(builder, type, half);
  }
  return arith::ExtUIOp::create(builder, type, value);
}

/// Vectors of a GPU are moved whole only where they lie on multiples of their size, or of 16 bytes, where
/// every buffer starts (else the kernel is `accum.shifted`).
unsigned Emitter::vectorAlignment(const Buffer &buffer, Index position) const {
  unsigned one = memoryType(buffer.type.getElementType()).getIntOrFloatBitWidth() / 8;
  bool isWhole = team && position.form == Index::Form::Lanes && position.multiple % lanes == 0;
  return isWhole ? std::min<unsigned>(16, one * static_cast<unsigned>(lanes)) : one;
}

static unsigned alignmentOf(Type element) { return memoryType(element).getIntOrFloatBitWidth() / 8; }

static Value pointerTo(ImplicitLocOpBuilder &builder, const Buffer &buffer, Value position) {
  auto vector = dyn_cast<VectorType>(position.getType());
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type type = vector ? Type(VectorType::get(vector.getShape(), pointer)) : pointer;
  return LLVM::GEPOp::create(builder, type, memoryType(buffer.type.getElementType()), buffer.pointer,
                             ArrayRef<LLVM::GEPArg>{position});
}

/// The lines of the vector that lies `ahead` of `position`; an address behind the buffer's end does no harm.
void Emitter::prefetch(const Buffer &buffer, Index position, Scope *scope) {
  Type memory = memoryType(buffer.type.getElementType());
  int64_t perLine = kCacheLine * 8 / memory.getIntOrFloatBitWidth();
  for (int64_t line = 0; line < lanes; line += perLine) {
    Value address = pointerTo(in(scope), buffer, add(position, ahead + line).value);
    LLVM::Prefetch::create(in(scope), address, /*rw=*/0, /*hint=*/3, /*cache=*/1);
  }
}

Element Emitter::load(const Buffer &buffer, ArrayRef<Index> at, Mask mask) {
  return loadWritten(buffer, at, mask, root());
}

Element Emitter::loadWritten(const Buffer &buffer, ArrayRef<Index> at, Mask mask, Scope *scope) {
  Type element = buffer.type.getElementType(), memory = memoryType(element);
  Index position = linearize(at, buffer.type.getShape(), buffer.pitch);
  scope = deeper(position.scope, scope);
  if (position.isUniform()) {
    Value pointer = pointerTo(in(scope), buffer, position.value);
    Value value = LLVM::LoadOp::create(builder, memory, pointer, alignmentOf(element));
    return {widen(builder, value, element), scope};
  }
  if (mask)
    scope = deeper(scope, mask.scope);
  auto type = vectorOf(memory);
  Value pointers = pointerTo(in(scope), buffer, position.value), value;
  Value zeros = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
  IntegerAttr alignment = builder.getI32IntegerAttr(alignmentOf(element));
  if (ahead != 0 && position.form == Index::Form::Lanes)
    prefetch(buffer, position, scope);
  if (position.form == Index::Form::Lanes && !mask)
    value = LLVM::LoadOp::create(builder, type, pointers, vectorAlignment(buffer, position));
  else if (position.form == Index::Form::Lanes)
    value = LLVM::MaskedLoadOp::create(builder, type, pointers, mask.value, zeros, alignment, UnitAttr());
  else {
    auto all = DenseElementsAttr::get(vectorOf(builder.getI1Type()), true);
    Value which = mask ? mask.value : arith::ConstantOp::create(builder, all).getResult();
    value = LLVM::masked_gather::create(builder, type, pointers, which, zeros, alignment);
  }
  return {widen(builder, value, element), scope};
}

/// What a team computed is written by its leader.
void Emitter::writeMemory(Scope *scope, function_ref<void()> write) {
  in(scope);
  if (!isShared(scope))
    return write();
  auto ifLeads = scf::IfOp::create(builder, team->leader, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifLeads.thenBlock());
  write();
}

void Emitter::store(const Buffer &buffer, ArrayRef<Index> at, Mask mask, Element what, Scope *scope) {
  Type element = buffer.type.getElementType();
  Index position = linearize(at, buffer.type.getShape(), buffer.pitch);
  if (position.isUniform()) {
    Value value = narrow(in(scope), what.value, element);
    Value pointer = pointerTo(builder, buffer, position.value);
    writeMemory(scope, [&] { LLVM::StoreOp::create(builder, value, pointer, alignmentOf(element)); });
    return;
  }
  what = splat(what);
  Value pointers = pointerTo(in(scope), buffer, position.value);
  Value value = narrow(builder, what.value, element);
  if (position.form == Index::Form::Lanes && !mask) {
    unsigned alignment = vectorAlignment(buffer, position);
    writeMemory(scope, [&] { LLVM::StoreOp::create(builder, value, pointers, alignment); });
    return;
  }
  IntegerAttr alignment = builder.getI32IntegerAttr(alignmentOf(element));
  if (position.form == Index::Form::Lanes) {
    LLVM::MaskedStoreOp::create(builder, value, pointers, mask.value, alignment);
    return;
  }
  auto all = DenseElementsAttr::get(vectorOf(builder.getI1Type()), true);
  Value which = mask ? mask.value : arith::ConstantOp::create(builder, all).getResult();
  LLVM::masked_scatter::create(builder, value, pointers, which, alignment);
}

} // namespace accum::codegen
