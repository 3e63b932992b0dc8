// SPDX-License-Identifier: Apache-2.0
// The frame of a kernel: arguments, rows and chunks, the loop over the rows of each part.
#include "passes/Codegen/Kernel.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/RowPitch.h"
#include "passes/Codegen/Part.h"

using namespace mlir;

namespace accum::codegen {
namespace {

/// Memory that one chunk goes through: small enough to balance threads, large enough to pay for starting one.
constexpr int64_t kChunkBytes = 128 << 10;
constexpr int64_t kMostChunks = 512;

int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * std::max(1u, tensor.getElementTypeBitWidth() / 8);
}

/// Memory that a kernel reads and writes; a contraction counts as much as its multiplications take.
int64_t workOf(func::FuncOp kernel) {
  int64_t bytes = 0;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes()))
    bytes += bytesOf(type);
  kernel.walk([&](nn::ContractOp op) {
    int64_t terms = cast<RankedTensorType>(op.getType()).getNumElements();
    auto lhs = cast<RankedTensorType>(op.getLhs().getType());
    for (auto [axis, letter] : llvm::enumerate(op.lhsLetters()))
      if (!op.resultLetters().contains(letter))
        terms *= lhs.getDimSize(axis);
    bytes += terms;
  });
  return bytes;
}

class Frame {
public:
  Frame(func::FuncOp kernel, int64_t machineLanes) : kernel(kernel), machineLanes(machineLanes) {}

  FailureOr<LLVM::LLVMFuncOp> emit() {
    if (failed(checkStaticTypes(kernel)))
      return failure();
    createFunction();
    loadArguments();
    std::vector<std::unique_ptr<Part>> parts = partsOf(roots, {machineLanes});
    int64_t rows = 0;
    for (const auto &part : parts) {
      if (failed(emitPart(*part, rows, parts.size() > 1)))
        return failure();
      rows += part->rows();
    }
    describe(rows);
    return function;
  }

private:
  void createFunction() {
    OpBuilder builder(kernel);
    MLIRContext *context = kernel.getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i64 = builder.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, i64, i64});
    std::string name = ("kernel." + kernel.getName()).str();
    function = LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), name, type);
    function.setVisibility_(LLVM::Visibility::Hidden);
    builder.setInsertionPointToStart(function.addEntryBlock(builder));
    end = LLVM::ReturnOp::create(builder, kernel.getLoc(), ValueRange());
  }

  Value loadPointer(OpBuilder &builder, int64_t number) {
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Value slot = LLVM::GEPOp::create(builder, kernel.getLoc(), pointer, pointer, function.getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
    return LLVM::LoadOp::create(builder, kernel.getLoc(), pointer, slot);
  }

  void loadArguments() {
    OpBuilder builder(end);
    for (BlockArgument argument : kernel.getArguments())
      operands.push_back({loadPointer(builder, arguments++), cast<RankedTensorType>(argument.getType()),
                          pitchInKernel(argument)});
    Operation *yield = kernel.getBody().front().getTerminator();
    auto added = kernel->getAttrOfType<DenseI64ArrayAttr>("accumulate");
    for (Value result : yield->getOperands()) {
      Root root{nn::behindViews(result), loadPointer(builder, arguments++), false, Value()};
      root.adds = added && llvm::is_contained(added.asArrayRef(), static_cast<int64_t>(roots.size()));
      root.pitch = resultPitch(kernel, static_cast<unsigned>(roots.size()));
      roots.push_back(root);
    }
    if (!added)
      return;
    Value flag = LLVM::LoadOp::create(builder, kernel.getLoc(), builder.getI8Type(),
                                      loadPointer(builder, arguments++));
    Value zero = arith::ConstantIntOp::create(builder, kernel.getLoc(), builder.getI8Type(), 0);
    Value first = arith::CmpIOp::create(builder, kernel.getLoc(), arith::CmpIPredicate::ne, flag, zero);
    for (Root &root : roots)
      root.first = first;
  }

  LogicalResult emitPart(const Part &part, int64_t firstRow, bool several) {
    Emitter emitter(end, machineLanes == 1 ? 1 : part.lanes(machineLanes));
    for (auto [argument, buffer] : llvm::zip_equal(kernel.getArguments(), operands))
      emitter.bind(argument, buffer);
    Value lower = function.getArgument(1), upper = function.getArgument(2);
    if (several) {
      auto own = [&](Value bound) {
        Index row = emitter.add(emitter.uniform(bound, emitter.root()), -firstRow);
        return emitter.clamp(row, part.rows() + 1).value;
      };
      lower = own(lower);
      upper = own(upper);
    }
    emitter.loop(emitter.root(), lower, upper, 1, {}, [&](Scope *scope, Value row, ValueRange) {
      part.emitRow(emitter, scope, emitter.uniform(row, scope));
      return Emitter::Values();
    });
    if (Operation *op = emitter.unsupported())
      return op->emitOpError("has no kernel code [kernel-op]");
    return success();
  }

  void describe(int64_t rows) {
    int64_t chunks = std::clamp<int64_t>(workOf(kernel) / kChunkBytes, 1, kMostChunks);
    if (machineLanes == 1)
      chunks = 1;
    chunks = std::min(chunks, std::max<int64_t>(rows, 1));
    int64_t number = kernel->getAttrOfType<IntegerAttr>("accum.kernel").getInt();
    OpBuilder builder(kernel);
    function->setAttr("accum.entry", builder.getDenseI64ArrayAttr({number, rows, chunks, arguments}));
  }

  func::FuncOp kernel;
  int64_t machineLanes;
  LLVM::LLVMFuncOp function;
  Operation *end = nullptr;
  SmallVector<Buffer> operands;
  SmallVector<Root> roots;
  int64_t arguments = 0;
};

} // namespace

LogicalResult checkStaticTypes(func::FuncOp kernel) {
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding())
      return kernel.emitOpError("has type ") << type << ", expected a plain static tensor";
  }
  return success();
}

FailureOr<LLVM::LLVMFuncOp> emitKernel(func::FuncOp kernel, int64_t lanes) {
  return Frame(kernel, lanes).emit();
}

} // namespace accum::codegen
