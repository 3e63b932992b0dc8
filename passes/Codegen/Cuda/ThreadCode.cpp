// SPDX-License-Identifier: Apache-2.0
// Formulas as ops of arith, math, scf and llvm.
#include "passes/Codegen/Cuda/ThreadCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Codegen/Cuda/Teams.h"

using namespace mlir;

namespace accum::codegen {

Value ThreadCode::integer(int64_t value) { return arith::ConstantIntOp::create(b, b.getI32Type(), value); }
Value ThreadCode::real(double value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value))); }
Value ThreadCode::add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
Value ThreadCode::sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
Value ThreadCode::mulInteger(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
Value ThreadCode::div(Value x, int64_t y) { return arith::DivUIOp::create(b, x, integer(y)); }
Value ThreadCode::rem(Value x, int64_t y) { return arith::RemUIOp::create(b, x, integer(y)); }
Value ThreadCode::least(Value x, Value y) { return arith::MinSIOp::create(b, x, y); }
Value ThreadCode::least(Value x, int64_t y) { return least(x, integer(y)); }
Value ThreadCode::below(Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
}
Value ThreadCode::differs(Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, x, y);
}
Value ThreadCode::both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
Value ThreadCode::either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
Value ThreadCode::select(Value condition, Value yes, Value no) {
  return arith::SelectOp::create(b, condition, yes, no);
}

Value ThreadCode::times(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
Value ThreadCode::plus(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
Value ThreadCode::minus(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
Value ThreadCode::fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
Value ThreadCode::larger(Value x, Value y) { return arith::MaxNumFOp::create(b, x, y); }
Value ThreadCode::smaller(Value x, Value y) { return arith::MinNumFOp::create(b, x, y); }
Value ThreadCode::equal(Value x, double y) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, real(y));
}
Value ThreadCode::atMost(Value x, double y) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, x, real(y));
}
Value ThreadCode::exp(Value x) { return math::ExpOp::create(b, x); }
Value ThreadCode::log(Value x) { return math::LogOp::create(b, x); }
Value ThreadCode::splat(Value x) {
  return vector::BroadcastOp::create(b, VectorType::get(4, x.getType()), x);
}
Value ThreadCode::part(Value vector, int64_t lane) { return vector::ExtractOp::create(b, vector, lane); }
Value ThreadCode::zeros() {
  auto type = VectorType::get(4, b.getF32Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, 0.0F));
}

Value ThreadCode::at(Value pointer, Value index, Type element) {
  return LLVM::GEPOp::create(b, pointer.getType(), element, pointer, ArrayRef<LLVM::GEPArg>{index});
}
Value ThreadCode::load(Type type, Value address, int64_t alignment) {
  return LLVM::LoadOp::create(b, type, address, static_cast<unsigned>(alignment));
}
void ThreadCode::store(Value value, Value address, int64_t alignment) {
  LLVM::StoreOp::create(b, value, address, static_cast<unsigned>(alignment));
}
Value ThreadCode::stretched(Value number, int64_t stride) {
  Value factor = arith::ConstantIntOp::create(b, b.getI64Type(), stride);
  return arith::MulIOp::create(b, wide(number), factor);
}
Value ThreadCode::sum64(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
Value ThreadCode::wide(Value x) { return arith::ExtSIOp::create(b, b.getI64Type(), x); }

Values ThreadCode::loop(Value from, Value to, int64_t step, ValueRange carried, Round round) {
  auto loop = scf::ForOp::create(b, from, to, integer(step), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Values next = round(loop.getInductionVar(), loop.getRegionIterArgs());
  if (carried.empty())
    return {}; // its terminator is there
  scf::YieldOp::create(b, next);
  return Values(loop.getResults());
}

void ThreadCode::when(Value condition, function_ref<void()> then) {
  auto branch = scf::IfOp::create(b, condition, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  then();
}

Values ThreadCode::when(Value condition, ValueRange carried, function_ref<Values()> then) {
  auto branch = scf::IfOp::create(b, carried.getTypes(), condition, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, then());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, carried);
  return Values(branch.getResults());
}

void ThreadCode::choose(Value condition, function_ref<void()> then, function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(b, condition, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  then();
  b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

Value ThreadCode::call(Type type, StringRef intrinsic, ValueRange arguments) {
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(intrinsic), arguments).getResult(0);
}

/// Sixteen bytes pass by the first-level cache.
void ThreadCode::startCopy(Value to, Value from, int64_t bytes, Value present) {
  constexpr unsigned kGlobal = 1, kShared = 3; // NVPTX's address spaces
  auto in = [&](Value pointer, unsigned space) {
    auto type = LLVM::LLVMPointerType::get(b.getContext(), space);
    return pointer.getType() == type ? pointer : LLVM::AddrSpaceCastOp::create(b, type, pointer).getResult();
  };
  StringRef intrinsic =
      bytes == 16 ? "llvm.nvvm.cp.async.cg.shared.global.16.s" : "llvm.nvvm.cp.async.ca.shared.global.4.s";
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr(intrinsic),
                                ValueRange{in(to, kShared), in(from, kGlobal), present});
}

void ThreadCode::finishCopies() {
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.nvvm.cp.async.wait.all"), ValueRange());
}

Value ThreadCode::exp2(Value x) { return call(b.getF32Type(), "llvm.nvvm.ex2.approx.ftz", x); }

Value ThreadCode::unpack(Value word, int64_t half) {
  Value bits = half == 0 ? Value(arith::ShLIOp::create(b, word, integer(16)))
                         : Value(arith::AndIOp::create(b, word, integer(-65536)));
  return arith::BitcastOp::create(b, b.getF32Type(), bits);
}

Value ThreadCode::pack(Value low, Value high) {
  auto two = VectorType::get(2, b.getBF16Type());
  Value halves = call(two, "llvm.nvvm.ff2bf16x2.rn", {high, low});
  return LLVM::BitcastOp::create(b, b.getI32Type(), halves);
}

Value ThreadCode::round(Value x) {
  Value bf16 = call(b.getBF16Type(), "llvm.nvvm.f2bf16.rn", x);
  return LLVM::BitcastOp::create(b, b.getI16Type(), bf16);
}

Value ThreadCode::roundToTf32(Value x) { return call(b.getI32Type(), "llvm.nvvm.f2tf32.rna", x); }

Value ThreadCode::pairOf(Value low, Value high) {
  auto two = VectorType::get(2, b.getF32Type());
  Value pair = arith::ConstantOp::create(b, DenseElementsAttr::get(two, 0.0F));
  return vector::InsertOp::create(b, high, vector::InsertOp::create(b, low, pair, 0), 1);
}

Value ThreadCode::overLanes(Value x, ArrayRef<int64_t> distances, function_ref<Value(Value, Value)> combine) {
  for (int64_t distance : distances)
    x = combine(x, exchange(b, x, distance));
  return x;
}

} // namespace accum::codegen
