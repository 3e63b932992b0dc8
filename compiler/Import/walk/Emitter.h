// SPDX-License-Identifier: Apache-2.0
// Builds nn ops on values whose types carry their extents: slab sizes, and which axes are multiples of N.
#pragma once
#include "compiler/Import/content/Content.h"
#include "compiler/Import/walk/Refusal.h"
#include "mlir/IR/Builders.h"
#include <set>

namespace accum::import {

struct Ramp;
struct TwoValues;

/// Extents of a value, read off its type.
Shape shapeOf(mlir::Value value);
mlir::Type elementTypeOf(mlir::Value value);

/// Refuses shapes of more than 2^48 elements a sample, and negative extents.
void requireSane(llvm::ArrayRef<Extent> shape);

/// Every function refuses (throws Refusal) what the types do not allow.
class Emitter {
public:
  explicit Emitter(mlir::OpBuilder builder) : builder(builder), location(builder.getUnknownLoc()) {}

  mlir::OpBuilder builder;
  mlir::Location location;
  /// Constants have the same form whatever their size: the graph is compared with itself at another size.
  bool isOneOfSizes = false;
  /// Elements of a table that operations on known values make: what is larger is computed at run time.
  int64_t largestTable = largestContent;
  bool sawCausalMask = false; ///< a known lower-triangular mask became a constant
  bool isFromPyTorch = false; ///< the file's producer, where ONNX leaves room
  std::set<std::string> notices;

  mlir::Type elementType(DType dtype);
  mlir::RankedTensorType type(llvm::ArrayRef<Extent> shape, mlir::Type element);

  /// A scalar of that element type.
  mlir::Value scalar(mlir::Type element, double value);
  mlir::Value integerScalar(mlir::Type element, int64_t value);
  /// Known content as a run-time value of its whole shape. Refuses what depends on the sample's place.
  mlir::Value constant(const Content &content);
  /// The same, but axes along which nothing moves are left at 1: for operands that are broadcast anyway.
  mlir::Value leanConstant(const Content &content);
  mlir::Value batchSize(); ///< i64 scalar: valid samples of the global step

  /// Right-aligned broadcast.
  mlir::Value elementwise(nn::ElementwiseFn fn, llvm::ArrayRef<mlir::Value> operands);
  mlir::Value unary(nn::ElementwiseFn fn, mlir::Value x) { return elementwise(fn, {x}); }
  mlir::Value add(mlir::Value a, mlir::Value b) { return elementwise(nn::ElementwiseFn::add, {a, b}); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return elementwise(nn::ElementwiseFn::sub, {a, b}); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return elementwise(nn::ElementwiseFn::mul, {a, b}); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return elementwise(nn::ElementwiseFn::div, {a, b}); }
  mlir::Value scale(mlir::Value x, double factor);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);
  mlir::Value cast(mlir::Value x, mlir::Type element);
  /// x, through which no gradient goes back: everywhere, or where `condition` (i1, broadcast against x) is
  /// true.
  mlir::Value detach(mlir::Value x);
  mlir::Value detachWhere(mlir::Value condition, mlir::Value x);

  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<Extent> target);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm);
  mlir::Value broadcastTo(mlir::Value x, llvm::ArrayRef<Extent> target);
  /// Static axes only, except whole ones.
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> steps,
                    llvm::ArrayRef<Extent> target);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> inputs, int64_t axis);
  mlir::Value pad(mlir::Value x, mlir::Value value, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> high);
  mlir::Value gather(mlir::Value x, mlir::Value indices, int64_t axis, int64_t batchDims = 0);

  /// `first`: of elements that tie for an extremum over one axis, the first takes the gradient.
  mlir::Value reduce(nn::ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> axes,
                     bool keepAsOnes = false, bool first = false);
  /// Sum over axes divided by their count: static, or times the batch size.
  mlir::Value mean(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepAsOnes = false);
  /// Number of elements of `volume` as a scalar of that float type.
  mlir::Value count(Volume volume, mlir::Type element);
  mlir::Value softmax(mlir::Value x, int64_t axis, bool log = false);
  /// Rows whose scores are all -inf give zeros instead of NaN, and zero derivatives.
  mlir::Value safeSoftmax(mlir::Value x, int64_t axis);
  /// The same where `allowed` (i1, broadcast against x) is false instead of a score of -inf.
  mlir::Value maskedSoftmax(mlir::Value x, mlir::Value allowed, int64_t axis);
  /// Letters as in nn.contract.
  mlir::Value contract(const std::string &spec, mlir::Value lhs, mlir::Value rhs);

private:
  mlir::Value makeLean(const Content &lean);
  mlir::Value denseConstant(const Content &content);
  /// Elements of the content's slab, none of which depends on N: as a rule where one makes them.
  bool isLarge(int64_t elements) const;
  mlir::Value table(const Content &content, llvm::ArrayRef<Element> elements);
  /// The index along an axis, with ones elsewhere.
  mlir::Value iota(const Shape &shape, int64_t axis, mlir::Type element);
  mlir::Value emitRamp(const Ramp &ramp, const Shape &shape, mlir::Type element);
  mlir::Value lowerTriangle(const Shape &shape, int64_t diagonal);
  mlir::Value emitTwoValues(const TwoValues &two, const Shape &shape, mlir::Type element);

  std::vector<std::pair<Content, mlir::Value>> constants; ///< large ones, made once
};

} // namespace accum::import
