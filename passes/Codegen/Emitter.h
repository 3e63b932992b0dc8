// SPDX-License-Identifier: Apache-2.0
// Writes the loops of one kernel by asking what an element is made of.
//
// `element(v, at)` writes the code of v[at] and returns it. An elementwise op asks for its operands'
// elements, a transpose asks for its operand at permuted coordinates, a reduction writes a loop in the
// outermost scope where its coordinates are known and remembers the result there. A kernel is then a loop
// over the elements of its results, and nothing in between is ever stored. Elements are scalars, or vectors
// of `lanes` neighbours along the innermost axis: with one lane this is the reference, any type and libm;
// with more, the host's code. On a GPU lanes are neighbours that one thread loads at once;
// a team of threads shares the loops over rows and reductions (Team.h).
#pragma once

#include "dialects/NN/NNDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/Codegen/Scope.h"
#include "passes/Codegen/Team.h"
#include <deque>

namespace accum::codegen {

/// Row-major memory of a tensor.
struct Buffer {
  mlir::Value pointer;
  mlir::RankedTensorType type;
  int64_t pitch = 0; ///< elements from row to row; 0: they lie one behind the other
};

class Emitter {
public:
  /// Writes before `end`, the kernel's return. `lanes` is a power of two.
  Emitter(mlir::Operation *end, int64_t lanes);
  /// A GPU's code: a team to share work with where elements are not per thread, and `lanes` neighbours in a
  /// thread's loads and stores.
  Emitter(mlir::Operation *end, Team &team, int64_t lanes);

  void bind(mlir::Value argument, Buffer buffer) { buffers[argument] = buffer; }

  // --- elements ---

  /// The element of `value` at `at`, one coordinate per axis. Null where an op has no code: `unsupported`
  /// names it.
  Element element(mlir::Value value, mlir::ArrayRef<Index> at, Mask mask);
  mlir::Operation *unsupported() const { return refused; }

  /// Loads and stores: contiguous, gathered or scalar, whichever `at` asks for. bf16 and f16 are f32, i1 is
  /// i1 outside of memory. What a kernel writes itself is loaded in the scope of the code that needs it,
  /// behind the stores there: `at` may be known further out, where nothing is written yet.
  Element loadWritten(const Buffer &buffer, mlir::ArrayRef<Index> at, Mask mask, Scope *scope);
  void store(const Buffer &buffer, mlir::ArrayRef<Index> at, Mask mask, Element element, Scope *scope);

  // --- loops ---

  using Values = mlir::SmallVector<mlir::Value>;
  using Body = std::function<Values(Scope *, mlir::Value induction, mlir::ValueRange carried)>;
  /// for i = lower; i < upper; i += step: carries values, returns the last ones.
  Values loop(Scope *scope, mlir::Value lower, mlir::Value upper, int64_t step, mlir::ValueRange initial,
              const Body &body);
  /// A loop whose body differs from thread to thread.
  Values threadLoop(Scope *scope, mlir::Value lower, mlir::Value upper, int64_t step,
                    mlir::ValueRange initial, const Body &body);
  /// [lower, upper) dealt out to the team's threads, `width` neighbours each, one after the other.
  Values shareLoop(Scope *scope, mlir::Value lower, mlir::Value upper, int64_t width,
                   mlir::ValueRange initial, const Body &body);
  /// Code in `scope` is run by a team with equal values.
  bool isShared(const Scope *scope) const { return team && !scope->perThread; }
  int64_t teamSize() const { return team ? team->size : 1; }
  /// Where each thread of a team works on columns of its own: those from the returned index on, of as many as
  /// the team has lanes. Code in there and in `scope`, which has no loops, comes in the order in which it is
  /// asked for.
  Index ownColumns(Scope *scope);

  /// One step of a fold: the coordinates of the folded axes, and the lanes of the last that exist.
  using Step = std::function<Values(Scope *, mlir::ArrayRef<Index>, Mask, mlir::ValueRange carried)>;
  /// Loops over `extents`, the last one `lanes` at a time where `vectorLast`.
  Values fold(Scope *scope, mlir::ArrayRef<int64_t> extents, bool vectorLast, mlir::ValueRange initial,
              const Step &step);

  using LaneBody = std::function<void(Scope *, Index, Mask)>;
  /// [lower, upper) in vectors, the last one masked. Both are multiples of the lanes, or `upper` ends the
  /// axis. A team has no masks: bounds that are no constants are multiples, and what a constant one leaves is
  /// taken element by element.
  void lanesLoop(Scope *scope, mlir::Value lower, mlir::Value upper, const LaneBody &body);

  // --- coordinates: integer arithmetic, remembered so that equal coordinates are the same value ---

  Index constantIndex(int64_t value);
  Index uniform(mlir::Value value, Scope *scope) { return {value, scope}; }
  Index add(Index a, Index b);
  Index add(Index a, int64_t b) { return b == 0 ? a : add(a, constantIndex(b)); }
  Index mul(Index a, int64_t b);
  Index div(Index a, int64_t b); ///< a >= 0
  Index rem(Index a, int64_t b); ///< a >= 0
  Index clamp(Index a, int64_t extent);
  /// a < b (signed) as an i1 or a vector of i1.
  Element less(Index a, Index b);
  /// Row-major position (in rows that lie `pitch` apart, where that is not 0), and back.
  Index linearize(mlir::ArrayRef<Index> at, mlir::ArrayRef<int64_t> shape, int64_t pitch = 0);
  mlir::SmallVector<Index> delinearize(Index position, mlir::ArrayRef<int64_t> shape);
  /// All lanes of an index.
  Element lanesOf(Index index);

  // --- values ---

  mlir::ImplicitLocOpBuilder &in(Scope *scope);
  Scope *root() { return &scopes.front(); }
  mlir::Value integer(int64_t value) { return constantIndex(value).value; }
  int64_t laneCount() const { return lanes; }
  mlir::VectorType vectorOf(mlir::Type element) const { return mlir::VectorType::get({lanes}, element); }
  /// The same number in all lanes.
  Element splat(Element element);
  /// Gives all of them the same form, and the scope where all are known.
  Scope *unify(mlir::MutableArrayRef<Element> elements);
  Element select(Element condition, Element yes, Element no);
  Element both(Element a, Element b); ///< logical and
  Mask masked(Mask mask, Element condition);
  Element constant(mlir::TypedAttr value);
  Element constant(mlir::Type type, double value);
  /// As nn.cast, by tensor element types.
  Element convert(Element element, mlir::Type from, mlir::Type to);

private:
  Element compute(mlir::Value value, mlir::ArrayRef<Index> at, Mask mask);
  /// Of memory that the kernel does not write: in the outermost scope where `at` is known.
  Element load(const Buffer &buffer, mlir::ArrayRef<Index> at, Mask mask);
  // By kind, one file each.
  Element constantElement(nn::ConstantOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element elementwise(nn::ElementwiseOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element cast(nn::CastOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element reshape(nn::ReshapeOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element transpose(nn::TransposeOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element slice(nn::SliceOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element pad(nn::PadOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element concat(nn::ConcatOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element reduce(nn::ReduceOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element argReduce(nn::ArgReduceOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element cumSum(nn::CumSumOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element contract(nn::ContractOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element gather(nn::GatherOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element gatherElements(nn::GatherElementsOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element dropout(nn::DropoutOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element random(nn::RandomOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element maskRows(nn::MaskRowsOp op, mlir::ArrayRef<Index> at, Mask mask);
  Element share(nn::ShareOp op, mlir::ArrayRef<Index> at, Mask mask);

public:
  /// The operand's element under right-aligned broadcasting.
  Element broadcastElement(mlir::Value operand, mlir::ArrayRef<Index> at, Mask mask);
  /// An index read from memory: negative ones count from the end, and whatever it is, it stays inside.
  Index indexFrom(Element element, int64_t extent);
  /// (outer, sample, row) of a coordinate on an axis that is outer x samples x rows.
  struct SamplePosition {
    Index outer, sample, row;
  };
  SamplePosition samplePosition(Index at, int64_t extent, int64_t outer, int64_t rows);

  /// Those of 0 .. count - 1 that `holds`, in rounds: the threads of a block look at a few each, and then all
  /// of them run `body` with the number of those that were found, which are `listed` in an order that `count`
  /// decides.
  void forEachFound(Scope *scope, int64_t count, llvm::function_ref<Element(Scope *, Index)> holds,
                    llvm::function_ref<void(Scope *, mlir::Value found)> body);
  Index listed(Scope *scope, mlir::Value place) { return {team->listed(in(scope), place), scope}; }

private:
  using Term = std::function<Element(mlir::ArrayRef<Index>, Mask)>;
  /// How a reduction may go along its last axis.
  struct Along {
    bool vectorLast = false; ///< in vectors
    bool perLane = false;    ///< no: each lane folds terms of its own
    bool anyWidth = false;   ///< in vectors by a team, whatever is left behind the last whole one
  };
  Element accumulate(Scope *scope, nn::ReduceKind kind, mlir::Type to, mlir::ArrayRef<int64_t> extents,
                     Along along, const Term &term);
  /// Sums of a few terms are added to a total in a wider type; without `add` there is none.
  struct Totals {
    mlir::Value identity;
    std::function<mlir::Value(Scope *, mlir::Value total, mlir::Value part)> add;
  };
  mlir::Value foldTogether(Scope *scope, mlir::ArrayRef<int64_t> extents, int64_t width, mlir::Value identity,
                           const Step &step, const Totals &totals);
  /// The same over one axis, `lanes` terms at a time and the rest one by one; `across` makes one number of
  /// lanes.
  mlir::Value foldLanesTogether(Scope *scope, int64_t terms, mlir::Value identity, const Step &step,
                                const Totals &totals, llvm::function_ref<mlir::Value(mlir::Value)> across);
  void shareLanes(Scope *scope, mlir::Value lower, mlir::Value upper, const LaneBody &body);
  void prefetch(const Buffer &buffer, Index position, Scope *scope);
  unsigned vectorAlignment(const Buffer &buffer, Index position) const;
  void writeMemory(Scope *scope, llvm::function_ref<void()> write);
  Element inside(Index &index, int64_t extent);
  /// The row of `value` that a reduction left behind (RowBuffer.cpp); null if none did.
  const Element *keptRow(mlir::Value value, mlir::ArrayRef<Index> at) const;
  void keepRow(mlir::Value value, mlir::ArrayRef<Index> at, Scope *scope, const Buffer &buffer);
  Buffer allocateRow(mlir::Value value);
  Element half(Element wide, bool high);
  struct RandomWords {
    mlir::Value first, second; ///< i32, independent of each other
    Scope *scope;
  };
  template <class Op> RandomWords randomWords(Op op, mlir::ArrayRef<Index> at, Mask mask);
  Element keep(const RandomWords &drawn, double ratio, Element input);
  Index arithmetic(mlir::StringRef name, Index a, Index b, Index::Form form,
                   llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> build);
  Buffer constantBuffer(nn::ConstantOp op);

  mlir::ImplicitLocOpBuilder builder;
  std::deque<Scope> scopes; ///< stable addresses; the first is the kernel's body
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  std::map<std::pair<const void *, int64_t>, mlir::Value> constants;
  int64_t lanes;
  Team *team = nullptr;
  int64_t ahead =
      0; ///< elements that loads of vectors ask the cache for in advance; 0: the processor guesses
  mlir::Operation *refused = nullptr;
};

/// f32 for the 16-bit floats, else the type itself: what arithmetic on such a tensor is done in.
mlir::Type computeType(mlir::Type element);

/// One row of a value, as it is computed with.
mlir::RankedTensorType rowType(mlir::Value value);

/// The values below `input` that its reduction had better keep: dear ones, used again.
mlir::SmallVector<mlir::Value> rowsWorthKeeping(mlir::Value input);

/// One scalar function; operands are scalars or vectors of one form.
mlir::Value applyFunction(mlir::ImplicitLocOpBuilder &builder, nn::ElementwiseFn fn,
                          mlir::ArrayRef<mlir::Value> operands);

} // namespace accum::codegen
