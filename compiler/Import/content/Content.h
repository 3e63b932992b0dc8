// SPDX-License-Identifier: Apache-2.0
// Values that import knows element by element: shapes, index arithmetic, masks. See Affine.h for an element.
#pragma once
#include "compiler/Import/content/Affine.h"
#include "compiler/Import/content/Extent.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>
#include <vector>

namespace accum::import {

/// The elements of one sample's slab. Axis `batchAxis` (or none: -1) of the whole value is outer x N x rows,
/// the slab's extent there is outer * rows. Elements are shared and strided: an expanded axis has stride 0.
struct Content {
  DType dtype = DType::Undefined;
  llvm::SmallVector<int64_t, 6> slab;
  int64_t batchAxis = -1;
  int64_t outer = 1;
  std::shared_ptr<const std::vector<Element>> data;
  int64_t offset = 0;
  llvm::SmallVector<int64_t, 6> strides; ///< in elements of `data`, one for each axis

  /// Row-major elements.
  static Content dense(DType dtype, llvm::ArrayRef<Extent> shape, std::vector<Element> elements,
                       int64_t outer = 1);
  /// The same element everywhere.
  static Content splat(DType dtype, llvm::ArrayRef<Extent> shape, Element element);
  static Content scalar(DType dtype, Element element) { return splat(dtype, {}, element); }

  Shape shape() const;
  int64_t size() const; ///< elements of the slab
  int64_t rank() const { return static_cast<int64_t>(slab.size()); }
  const Element &at(llvm::ArrayRef<int64_t> index) const;
  const Element &only() const { return (*data)[offset]; } ///< of a value with one element
  /// In row-major order of the slab.
  void forEach(llvm::function_ref<void(const Element &)> body) const;
  std::vector<Element> flatten() const;
  /// The same without a copy, where the elements are stored so; otherwise nothing.
  llvm::ArrayRef<Element> inOrder() const;
  bool isUniform() const;  ///< all elements equal (and at least one)
  bool isConstant() const; ///< no element depends on i or N
};

/// Steps a row-major index through `sizes`; false after the last.
bool advance(llvm::MutableArrayRef<int64_t> index, llvm::ArrayRef<int64_t> sizes);

/// Values of more elements are not folded.
constexpr int64_t largestContent = int64_t{1} << 25;
bool isFoldable(llvm::ArrayRef<Extent> shape);

/// The folds. Each gives nothing where the result is not representable (the batch would be mixed, two batch
/// axes, not affine): then the operation is emitted, or refused, as for unknown content.
using Folded = std::optional<Content>;
/// Right-aligned broadcast of all operands; `fn` as in nn.elementwise. `type`: of the last operand. `most`:
/// elements of the result.
Folded foldElementwise(nn::ElementwiseFn fn, llvm::ArrayRef<const Content *> operands,
                       int64_t most = largestContent);
Folded foldCast(const Content &input, DType to);
/// `target` holds as many elements.
Folded foldReshape(const Content &input, llvm::ArrayRef<Extent> target);
Folded foldTranspose(const Content &input, llvm::ArrayRef<int64_t> perm);
/// `target` is the broadcast of the input's shape with something.
Folded foldBroadcast(const Content &input, llvm::ArrayRef<Extent> target);
/// Elements starts[i] + j * steps[i], 0 <= j < counts[i], within the slab.
Folded foldSlice(const Content &input, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> steps,
                 llvm::ArrayRef<int64_t> counts);
Folded foldConcat(llvm::ArrayRef<const Content *> inputs, int64_t axis);
/// `low` and `high` elements of the value before and behind each axis.
Folded foldPad(const Content &input, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
               const Element &value);
/// ONNX Gather with constant indices, negative ones already made positive.
Folded foldGather(const Content &input, const Content &indices, int64_t axis);
/// ONNX GatherND with batch_dims = 0; an index into the batch axis must be local to its sample.
Folded foldGatherND(const Content &input, const Content &indices);
Folded foldGatherElements(const Content &input, const Content &indices, int64_t axis);
/// ONNX NonZero: the positions, [rank, their number], where the samples of one that is known lie in their
/// order.
Folded foldNonZero(const Content &input);
Folded foldCumSum(const Content &input, int64_t axis, bool exclusive, bool reverse);
/// Sum, max, min, product over axes, which become ones.
Folded foldReduce(nn::ReduceKind kind, const Content &input, llvm::ArrayRef<int64_t> axes);
Folded foldTrilu(const Content &input, int64_t diagonal, bool upper);
/// start, start + delta, ... below (or above) limit; c*N elements where limit - start is a multiple of N.
Folded foldRange(const Content &start, const Content &limit, const Content &delta);

} // namespace accum::import
