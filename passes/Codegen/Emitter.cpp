// SPDX-License-Identifier: Apache-2.0
// Which code an element asks for: dispatch by op, and what ops of several kinds share.
#include "passes/Codegen/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accum::codegen {

static Scope::Key keyOf(Value value, ArrayRef<Index> at, Mask mask) {
  Scope::Key key = {"element", value.getAsOpaquePointer(), mask.value.getAsOpaquePointer()};
  for (const Index &index : at) {
    key.push_back(index.value.getAsOpaquePointer());
    key.push_back(reinterpret_cast<const void *>(static_cast<intptr_t>(index.form)));
  }
  return key;
}

Element Emitter::element(Value value, ArrayRef<Index> coordinates, Mask mask) {
  // An axis of one element has one coordinate: the less an element depends on, the further out it is
  // computed.
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<Index> at(coordinates);
  for (auto [index, extent] : llvm::zip_equal(at, type.getShape()))
    if (extent == 1)
      index = constantIndex(0);
  if (llvm::all_of(at, [](const Index &index) { return index.isUniform(); }))
    mask = {};
  Scope::Key key = keyOf(value, at, mask);
  Scope *scope = mask ? mask.scope : root();
  for (const Index &index : at)
    scope = deeper(scope, index.scope);
  if (const Element *known = scope->lookup(key))
    return *known;
  Element result = compute(value, at, mask);
  if (result.value)
    result.scope->known[key] = result;
  return result;
}

Element Emitter::compute(Value value, ArrayRef<Index> at, Mask mask) {
  if (auto it = buffers.find(value); it != buffers.end())
    return load(it->second, at, mask);
  if (const Element *row = keptRow(value, at))
    return loadWritten({row->value, rowType(value)}, at.take_back(1), mask, row->scope);
  Element result =
      llvm::TypeSwitch<Operation *, Element>(value.getDefiningOp())
          .Case<nn::ConstantOp>([&](auto op) { return constantElement(op, at, mask); })
          .Case<nn::IotaOp>([&](nn::IotaOp op) {
            Element index = lanesOf(at[op.getDim()]);
            if (at[op.getDim()].isUniform())
              index = {at[op.getDim()].value, at[op.getDim()].scope};
            return convert(index, builder.getI64Type(), op.getType().getElementType());
          })
          .Case<nn::ElementwiseOp>([&](auto op) { return elementwise(op, at, mask); })
          .Case<nn::CastOp>([&](auto op) { return cast(op, at, mask); })
          .Case<nn::ReshapeOp>([&](auto op) { return reshape(op, at, mask); })
          .Case<nn::TransposeOp>([&](auto op) { return transpose(op, at, mask); })
          .Case<nn::BroadcastOp>([&](auto op) { return broadcastElement(op.getInput(), at, mask); })
          .Case<nn::SliceOp>([&](auto op) { return slice(op, at, mask); })
          .Case<nn::PadOp>([&](auto op) { return pad(op, at, mask); })
          .Case<nn::ConcatOp>([&](auto op) { return concat(op, at, mask); })
          .Case<nn::ReduceOp>([&](auto op) { return reduce(op, at, mask); })
          .Case<nn::ArgReduceOp>([&](auto op) { return argReduce(op, at, mask); })
          .Case<nn::CumSumOp>([&](auto op) { return cumSum(op, at, mask); })
          .Case<nn::ContractOp>([&](auto op) { return contract(op, at, mask); })
          .Case<nn::GatherOp>([&](auto op) { return gather(op, at, mask); })
          .Case<nn::GatherElementsOp>([&](auto op) { return gatherElements(op, at, mask); })
          .Case<nn::DropoutOp>([&](auto op) { return dropout(op, at, mask); })
          .Case<nn::RandomOp>([&](auto op) { return random(op, at, mask); })
          .Case<nn::MaskRowsOp>([&](auto op) { return maskRows(op, at, mask); })
          .Case<nn::ShareOp>([&](auto op) { return share(op, at, mask); })
          .Default([&](Operation *op) {
            refused = op;
            return Element();
          });
  // A refused operand was written as zero; the kernel is thrown away.
  if (refused && !result.value)
    return constant(computeType(cast<RankedTensorType>(value.getType()).getElementType()), 0);
  return result;
}

Element Emitter::broadcastElement(Value operand, ArrayRef<Index> at, Mask mask) {
  auto rank = cast<RankedTensorType>(operand.getType()).getRank();
  return element(operand, at.take_back(rank), mask);
}

Buffer Emitter::constantBuffer(nn::ConstantOp op) {
  auto function = root()->anchor->getParentOfType<LLVM::LLVMFuncOp>();
  auto type = mlir::cast<RankedTensorType>(op.getType());
  auto data = dyn_cast<DenseElementsAttr>(op.getValue());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue()))
    data =
        DenseElementsAttr::getFromRawBuffer(resource.getType(), resource.getRawHandle().getBlob()->getData());
  if (type.getElementType().isInteger(1))
    data = data.mapValues(builder.getI8Type(), [](const APInt &bit) { return bit.zext(8); });
  data = data.reshape(RankedTensorType::get(type.getNumElements(), data.getElementType()));
  // Named by its place in the kernel: parts that use the same constant share it.
  auto number = std::distance(op->getBlock()->begin(), op->getIterator());
  std::string name = (function.getName() + ".constant" + Twine(number)).str();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  auto global = SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(function, builder.getStringAttr(name));
  if (!global)
    global = LLVM::GlobalOp::create(builder,
                                    LLVM::LLVMArrayType::get(data.getElementType(), type.getNumElements()),
                                    true, LLVM::Linkage::Internal, name, data, 64);
  builder.setInsertionPointToStart(root()->anchor->getBlock());
  return {LLVM::AddressOfOp::create(builder, global), type};
}

Element Emitter::constantElement(nn::ConstantOp op, ArrayRef<Index> at, Mask mask) {
  Type element = op.getType().getElementType();
  if (auto data = dyn_cast<DenseElementsAttr>(op.getValue()); data && data.isSplat()) {
    if (isa<FloatType>(element))
      return constant(computeType(element), data.getSplatValue<APFloat>().convertToDouble());
    return constant(builder.getIntegerAttr(computeType(element), data.getSplatValue<APInt>()));
  }
  Buffer buffer = constantBuffer(op);
  bind(op, buffer);
  return load(buffer, at, mask);
}

Index Emitter::indexFrom(Element element, int64_t extent) {
  Type type = element.value.getType();
  Type wide = isa<VectorType>(type) ? Type(vectorOf(builder.getI64Type())) : builder.getI64Type();
  Index index{element.value, element.scope};
  if (type != wide)
    index.value = arith::ExtSIOp::create(in(element.scope), wide, element.value);
  index.form = isa<VectorType>(type) ? Index::Form::Vector : Index::Form::Uniform;
  Element negative = less(index, constantIndex(0));
  Index fromEnd = add(index, extent);
  Element chosen = select(negative, {fromEnd.value, fromEnd.scope}, {index.value, index.scope});
  return clamp({chosen.value, chosen.scope, index.form}, extent);
}

Emitter::SamplePosition Emitter::samplePosition(Index at, int64_t extent, int64_t outer, int64_t rows) {
  SmallVector<Index> parts = delinearize(at, {outer, extent / (outer * rows), rows});
  return {parts[0], parts[1], parts[2]};
}

} // namespace accum::codegen
