// SPDX-License-Identifier: Apache-2.0
// Shuffles and shared memory.
#include "passes/Codegen/Cuda/Teams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace accum::codegen {
namespace {

constexpr unsigned kShared = 3; ///< NVPTX's address space

Value integer(ImplicitLocOpBuilder &builder, int64_t value, unsigned bits = 64) {
  return arith::ConstantIntOp::create(builder, builder.getIntegerType(bits), value);
}

Value callIntrinsic(ImplicitLocOpBuilder &builder, Type type, StringRef name, ArrayRef<Value> arguments) {
  return LLVM::CallIntrinsicOp::create(builder, type, builder.getStringAttr(name), ValueRange(arguments))
      .getResult(0);
}

/// The word of the lane whose number differs in the bits of `distance`.
Value exchangeWord(ImplicitLocOpBuilder &builder, Value word, int64_t distance) {
  return callIntrinsic(
      builder, builder.getI32Type(), "llvm.nvvm.shfl.sync.bfly.i32",
      {integer(builder, -1, 32), word, integer(builder, distance, 32), integer(builder, kWarp - 1, 32)});
}

} // namespace

Value exchange(ImplicitLocOpBuilder &builder, Value value, int64_t distance) {
  Type type = value.getType(), i32 = builder.getI32Type(), i64 = builder.getI64Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  Type plain = builder.getIntegerType(bits);
  Value word = type == plain ? value : arith::BitcastOp::create(builder, plain, value).getResult();
  if (bits < 32) {
    word = exchangeWord(builder, arith::ExtUIOp::create(builder, i32, word), distance);
    word = arith::TruncIOp::create(builder, plain, word);
  } else if (bits == 32) {
    word = exchangeWord(builder, word, distance);
  } else {
    Value half = integer(builder, 32);
    Value low = arith::TruncIOp::create(builder, i32, word);
    Value high = arith::TruncIOp::create(builder, i32, arith::ShRUIOp::create(builder, word, half));
    low = arith::ExtUIOp::create(builder, i64, exchangeWord(builder, low, distance));
    high = arith::ExtUIOp::create(builder, i64, exchangeWord(builder, high, distance));
    word = arith::OrIOp::create(builder, arith::ShLIOp::create(builder, high, half), low);
  }
  return type == plain ? word : arith::BitcastOp::create(builder, type, word).getResult();
}

void barrier(ImplicitLocOpBuilder &builder) {
  LLVM::CallIntrinsicOp::create(builder, builder.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.all"),
                                ValueRange(integer(builder, 0, 32)));
}

namespace {

Value combineWarp(ImplicitLocOpBuilder &builder, Value value, Team::Combine combine) {
  for (int64_t distance = kWarp / 2; distance > 0; distance /= 2)
    value = combine(value, exchange(builder, value, distance));
  return value;
}

/// Shared memory of the kernel that goes by this name, as large as the largest that asks for it: its users
/// come one after the other, with barriers between them.
LLVM::GlobalOp sharedMemory(ImplicitLocOpBuilder &builder, ThreadPlace place, StringRef suffix,
                            LLVM::LLVMArrayType type) {
  std::string name = (place.function.getName() + suffix).str();
  if (auto known =
          SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(place.function, builder.getStringAttr(name))) {
    if (cast<LLVM::LLVMArrayType>(known.getGlobalType()).getNumElements() < type.getNumElements())
      known.setGlobalType(type);
    return known;
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(place.function);
  return LLVM::GlobalOp::create(builder, type, false, LLVM::Linkage::Internal, name, Attribute(), 16,
                                kShared);
}

/// What a block's threads tell each other: a slot of eight bytes each, times `words`.
class SharedSlots {
public:
  explicit SharedSlots(const ThreadPlace &place, int64_t words = 1) : place(place), words(words) {}

  void store(ImplicitLocOpBuilder &builder, Value slot, Value value) {
    LLVM::StoreOp::create(builder, widened(builder, value), pointer(builder, slot), 8);
  }
  Value load(ImplicitLocOpBuilder &builder, Value slot, Type type) {
    Type stored = storedType(builder, type);
    Value value = LLVM::LoadOp::create(builder, stored, pointer(builder, slot), 8);
    return stored == type ? value : arith::TruncIOp::create(builder, type, value).getResult();
  }

private:
  /// A bit takes a byte.
  static Type storedType(ImplicitLocOpBuilder &builder, Type type) {
    if (!getElementTypeOrSelf(type).isInteger(1))
      return type;
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(builder.getI8Type())) : builder.getI8Type();
  }
  static Value widened(ImplicitLocOpBuilder &builder, Value value) {
    Type stored = storedType(builder, value.getType());
    return stored == value.getType() ? value : arith::ExtUIOp::create(builder, stored, value).getResult();
  }

  Value pointer(ImplicitLocOpBuilder &builder, Value slot) {
    MLIRContext *context = builder.getContext();
    Value base = LLVM::AddressOfOp::create(builder, global(builder));
    base = LLVM::AddrSpaceCastOp::create(builder, LLVM::LLVMPointerType::get(context), base);
    Value word =
        words == 1 ? slot : arith::MulIOp::create(builder, slot, integer(builder, words)).getResult();
    return LLVM::GEPOp::create(builder, base.getType(), builder.getI64Type(), base,
                               ArrayRef<LLVM::GEPArg>{word});
  }

  LLVM::GlobalOp global(ImplicitLocOpBuilder &builder) {
    return sharedMemory(builder, place, "$shared",
                        LLVM::LLVMArrayType::get(builder.getI64Type(), place.blockThreads * words));
  }

  ThreadPlace place;
  int64_t words;
};

/// Numbers in shared memory, and how many of them each warp has.
class SharedList {
public:
  explicit SharedList(const ThreadPlace &place) : place(place) {}

  void setMost(int64_t ofThread) { most = std::max(most, ofThread); }
  Value count(ImplicitLocOpBuilder &b, Value warp) { return pointer(b, warp); }
  Value entry(ImplicitLocOpBuilder &b, Value number) {
    return pointer(b, arith::AddIOp::create(b, number, integer(b, place.blockThreads / kWarp)));
  }

private:
  Value pointer(ImplicitLocOpBuilder &builder, Value word) {
    Value base = LLVM::AddressOfOp::create(builder, global(builder));
    base = LLVM::AddrSpaceCastOp::create(builder, LLVM::LLVMPointerType::get(builder.getContext()), base);
    return LLVM::GEPOp::create(builder, base.getType(), builder.getI32Type(), base,
                               ArrayRef<LLVM::GEPArg>{word});
  }

  LLVM::GlobalOp global(ImplicitLocOpBuilder &builder) {
    int64_t warps = place.blockThreads / kWarp;
    return sharedMemory(builder, place, "$list",
                        LLVM::LLVMArrayType::get(builder.getI32Type(), warps + place.blockThreads * most));
  }

  ThreadPlace place;
  int64_t most = 1;
};

class ThreadTeam : public Team {
public:
  explicit ThreadTeam(ImplicitLocOpBuilder &builder) {
    rank = integer(builder, 0);
    leader = integer(builder, 1, 1);
  }
  Value combine(ImplicitLocOpBuilder &, Value value, Combine) override { return value; }
};

Value isZero(ImplicitLocOpBuilder &builder, Value value) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, value, integer(builder, 0));
}

class WarpTeam : public Team {
public:
  WarpTeam(ImplicitLocOpBuilder &builder, const ThreadPlace &place) {
    size = kWarp;
    rank = arith::RemUIOp::create(builder, place.thread, integer(builder, kWarp));
    leader = isZero(builder, rank);
  }
  Value combine(ImplicitLocOpBuilder &builder, Value value, Combine combine) override {
    return combineWarp(builder, value, combine);
  }
};

class BlockTeam : public Team {
public:
  BlockTeam(ImplicitLocOpBuilder &builder, const ThreadPlace &place) : slots(place), found(place) {
    size = place.blockThreads;
    rank = place.thread;
    leader = isZero(builder, rank);
    warp = arith::DivUIOp::create(builder, rank, integer(builder, kWarp));
    firstLane = isZero(builder, arith::RemUIOp::create(builder, rank, integer(builder, kWarp)));
  }

  Value combine(ImplicitLocOpBuilder &builder, Value value, Combine combine) override {
    value = combineWarp(builder, value, combine);
    if (size == kWarp)
      return value;
    auto speaks = scf::IfOp::create(builder, firstLane, false);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(speaks.thenBlock());
      slots.store(builder, warp, value);
    }
    barrier(builder);
    Value sum = slots.load(builder, integer(builder, 0), value.getType());
    for (int64_t i = 1; i < size / kWarp; ++i)
      sum = combine(sum, slots.load(builder, integer(builder, i), value.getType()));
    barrier(builder); // the slots may be used again
    return sum;
  }

  Value list(ImplicitLocOpBuilder &b, Value bits, int64_t most,
             llvm::function_ref<Value(Value)> number) override;

  Value listed(ImplicitLocOpBuilder &b, Value place) override {
    Value entry = LLVM::LoadOp::create(b, b.getI32Type(), found.entry(b, place));
    return arith::ExtUIOp::create(b, b.getI64Type(), entry);
  }

  void giveUpList(ImplicitLocOpBuilder &builder) override { barrier(builder); }

private:
  /// How many of the warp's bits lower lanes have, and how many there are (i32).
  std::pair<Value, Value> countBits(ImplicitLocOpBuilder &b, Value count);
  /// The same in front of this warp, and in the block.
  std::pair<Value, Value> countWarps(ImplicitLocOpBuilder &b, Value inWarp);

  SharedSlots slots;
  SharedList found;
  Value warp, firstLane;
};

std::pair<Value, Value> BlockTeam::countBits(ImplicitLocOpBuilder &b, Value count) {
  Value below = integer(b, 0, 32), all = count, none = below;
  for (int64_t distance = 1; distance < kWarp; distance *= 2) {
    // Groups of `distance` lanes know their sums: a group's partner is in front of it, or behind.
    Value others = exchange(b, all, distance);
    Value bit = arith::AndIOp::create(b, rank, integer(b, distance));
    Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, integer(b, 0));
    below = arith::AddIOp::create(b, below, arith::SelectOp::create(b, isBehind, others, none));
    all = arith::AddIOp::create(b, all, others);
  }
  return {below, all};
}

std::pair<Value, Value> BlockTeam::countWarps(ImplicitLocOpBuilder &b, Value inWarp) {
  auto speaks = scf::IfOp::create(b, firstLane, false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(speaks.thenBlock());
    LLVM::StoreOp::create(b, inWarp, found.count(b, warp));
  }
  barrier(b);
  Value below = integer(b, 0, 32), all = below, none = below;
  for (int64_t other = 0; other < size / kWarp; ++other) {
    Value number = integer(b, other);
    Value count = LLVM::LoadOp::create(b, b.getI32Type(), found.count(b, number));
    Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, warp);
    below = arith::AddIOp::create(b, below, arith::SelectOp::create(b, isBehind, count, none));
    all = arith::AddIOp::create(b, all, count);
  }
  return {below, all};
}

Value BlockTeam::list(ImplicitLocOpBuilder &b, Value bits, int64_t most,
                      llvm::function_ref<Value(Value)> number) {
  found.setMost(most);
  Type wide = b.getI64Type();
  Value count = math::CtPopOp::create(b, bits);
  auto [inWarp, ofWarp] = countBits(b, count);
  auto [inFront, all] = countWarps(b, ofWarp);
  Value place = arith::ExtUIOp::create(b, wide, arith::AddIOp::create(b, inFront, inWarp));
  Value times = arith::ExtUIOp::create(b, wide, count);
  auto loop = scf::ForOp::create(b, integer(b, 0), times, integer(b, 1), ValueRange{bits});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value left = loop.getRegionIterArg(0);
    Value bit = arith::ExtUIOp::create(b, wide, math::CountTrailingZerosOp::create(b, left));
    Value entry = arith::AddIOp::create(b, place, loop.getInductionVar());
    LLVM::StoreOp::create(b, number(bit), found.entry(b, entry));
    Value below = arith::SubIOp::create(b, left, integer(b, 1, 32));
    scf::YieldOp::create(b, ValueRange{arith::AndIOp::create(b, left, below)});
  }
  barrier(b);
  return arith::ExtUIOp::create(b, wide, all);
}

class ColumnTeam : public Team {
public:
  ColumnTeam(ImplicitLocOpBuilder &builder, const ThreadPlace &place, int64_t side, int64_t lanes)
      : slots(place, lanes), side(side), thread(place.thread) {
    size = place.blockThreads / side;
    rank = arith::DivUIOp::create(builder, thread, integer(builder, side));
    column = arith::RemUIOp::create(builder, thread, integer(builder, side));
    leader = isZero(builder, rank);
  }

  Value combine(ImplicitLocOpBuilder &builder, Value value, Combine combine) override {
    slots.store(builder, thread, value);
    barrier(builder);
    // The first half adds what the second half has, until one thread has it all.
    for (int64_t half = size / 2; half > 0; half /= 2) {
      Value adds = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, rank, integer(builder, half));
      auto first = scf::IfOp::create(builder, adds, false);
      {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(first.thenBlock());
        Value behind = arith::AddIOp::create(builder, thread, integer(builder, half * side));
        Value own = slots.load(builder, thread, value.getType());
        slots.store(builder, thread, combine(own, slots.load(builder, behind, value.getType())));
      }
      barrier(builder);
    }
    Value sum = slots.load(builder, column, value.getType());
    barrier(builder); // the slots may be used again
    return sum;
  }

private:
  SharedSlots slots;
  int64_t side;
  Value thread, column;
};

} // namespace

std::unique_ptr<Team> makeThreadTeam(ImplicitLocOpBuilder &builder) {
  return std::make_unique<ThreadTeam>(builder);
}

std::unique_ptr<Team> makeWarpTeam(ImplicitLocOpBuilder &builder, const ThreadPlace &place) {
  return std::make_unique<WarpTeam>(builder, place);
}

std::unique_ptr<Team> makeBlockTeam(ImplicitLocOpBuilder &builder, const ThreadPlace &place) {
  return std::make_unique<BlockTeam>(builder, place);
}

std::unique_ptr<Team> makeColumnTeam(ImplicitLocOpBuilder &builder, const ThreadPlace &place, int64_t side,
                                     int64_t lanes) {
  return std::make_unique<ColumnTeam>(builder, place, side, lanes);
}

} // namespace accum::codegen
