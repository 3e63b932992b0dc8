// SPDX-License-Identifier: Apache-2.0
// Registration and verifiers of the device dialect.
#include "dialects/Device/DeviceDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "runtime/artifact/Optimizers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/Device/DeviceDialect.cpp.inc"
#include "dialects/Device/DeviceEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Device/DeviceTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Device/DeviceOps.cpp.inc"

namespace accum::device {

void DeviceDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Device/DeviceTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Device/DeviceOps.cpp.inc"
      >();
}

BufferOp definition(Value buffer) { return cast<BufferOp>(buffer.getDefiningOp()); }

static int64_t spanOf(RankedTensorType tensor, int64_t pitch) {
  int64_t elements = tensor.getNumElements();
  return pitch == 0 || elements == 0 ? elements : elements / tensor.getShape().back() * pitch;
}

int64_t bytesOf(RankedTensorType tensor, int64_t pitch) {
  return spanOf(tensor, pitch) * ((tensor.getElementTypeBitWidth() + 7) / 8);
}

LogicalResult ProgramOp::verify() {
  if (getM() < 1 || getDevices() < 1)
    return emitOpError("needs m >= 1 and devices >= 1");
  if (!getOptimizer().empty() && !runtime::findOptimizer(getOptimizer().str()))
    return emitOpError("has the optimizer `")
           << getOptimizer() << "`, which is none of " << runtime::optimizerNames();
  return success();
}

int64_t BufferOp::getBytes() { return bytesOf(getTensor(), getPitch()); }

int64_t BufferOp::getSpan() { return spanOf(getTensor(), getPitch()); }

/// The last words of the label, as an SSA name: `/h.0/ln_1/LayerNormalization` reads
/// `%h.0_ln_1_LayerNormalization`.
void BufferOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  std::string name;
  for (char c : getLabel())
    if (llvm::isAlnum(c) || c == '.' || c == '_')
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  StringRef trimmed = StringRef(name).rtrim("._").take_back(48).ltrim("._0123456789");
  setName(getResult(), trimmed.empty() ? "buffer" : trimmed);
}

/// Bytes from a buffer's place to where it begins in the last round of the loops around it; nothing where
/// that is no number.
static std::optional<int64_t> furthest(BufferOp op) {
  auto loop = (*op).getParentOfType<ForSlicesOp>();
  int64_t reached = op.getSkip();
  for (int64_t step : llvm::reverse(op.getStep())) {
    int64_t far = 0;
    if (!loop || step < 0 || llvm::MulOverflow<int64_t>(step, loop.getCount() - 1, far) ||
        llvm::AddOverflow(reached, far, reached))
      return std::nullopt;
    loop = loop->getParentOfType<ForSlicesOp>();
  }
  return loop && !op.getStep().empty() ? std::nullopt : std::optional(reached);
}

/// [offset, offset + bytes) inside `size`, offset a multiple of `alignment`.
static LogicalResult verifyPlace(BufferOp op, StringRef space, int64_t size, int64_t alignment) {
  int64_t offset = op.getOffset(), bytes = op.getBytes(), skip = furthest(op).value_or(0);
  if (int64_t byRank = op.getByRank()) {
    auto last = static_cast<int64_t>(op->getParentOfType<ProgramOp>().getDevices()) - 1;
    if (byRank < 0 || byRank % alignment != 0 || byRank > size / std::max<int64_t>(last, 1))
      return op.emitOpError("has places of ranks that are no multiple of ") << alignment << " bytes apart";
    skip += byRank * last;
  }
  if (offset < 0 || bytes > size || skip > size - bytes || offset > size - bytes - skip)
    return op.emitOpError("ends outside the ") << space << " of " << size << " bytes";
  if (offset % alignment != 0)
    return op.emitOpError("does not start on a multiple of ") << alignment << " bytes";
  return success();
}

LogicalResult BufferOp::verify() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (!program)
    return emitOpError("stands outside a device.program");
  if (!getTensor().hasStaticShape() || getTensor().getEncoding() ||
      !getTensor().getElementType().isIntOrFloat())
    return emitOpError("holds a plain static tensor");
  bool isMoved = getSkip() != 0 || !getStep().empty();
  bool isGap = getSpace() == Space::state && getStep().empty();
  if (getSkip() < 0 || (isMoved && !isGap && getSpace() != Space::scratch && getSpace() != Space::input))
    return emitOpError("skips bytes of the state, the scratch or an input, in slices of the last two only");
  if (getPitch() != 0 && (getSpace() != Space::scratch || getTensor().getRank() == 0 ||
                          static_cast<int64_t>(getPitch()) < getTensor().getShape().back()))
    return emitOpError("has a pitch in the scratch only, no shorter than its rows");
  if (!furthest(*this))
    return emitOpError("has one step for each device.for_slices around it, none negative");
  if (getByRank() != 0 && getSpace() != Space::state)
    return emitOpError("has another place on each rank in the state only");
  bool hasHyper = program.getStep().isAncestor((*this)->getParentRegion());
  switch (getSpace()) {
  case Space::state:
    return verifyPlace(*this, "state", program.getStateBytes(), kStateAlignment);
  case Space::scratch:
    return verifyPlace(*this, "scratch", program.getScratchBytes(), kScratchAlignment);
  case Space::input:
    if (!(*this)->getParentOfType<ForMicroOp>())
      return emitOpError("is an input: bound inside device.for_micro only");
    if (getOffset() >= program.getInputs().size())
      return emitOpError("is none of the ") << program.getInputs().size() << " inputs";
    return success();
  case Space::decay:
    if (!hasHyper)
      return emitOpError("reads hyper-parameters, which eval does not have");
    if (2 * getOffset() + getNumElements() > 2 * program.getGradients().size())
      return emitOpError("is none of the ") << program.getGradients().size() << " trained parameters";
    return success();
  case Space::hyper:
    if (!hasHyper)
      return emitOpError("reads hyper-parameters, which eval does not have");
    return getOffset() == 0 ? success() : LogicalResult(emitOpError("starts at 0"));
  case Space::rng:
    return getOffset() == 0 || (getOffset() >= 3 && getOffset() < 4 + 64)
               ? success()
               : LogicalResult(emitOpError(
                     "is neither seed, step and samples before, nor the rank, nor a number below 64"));
  }
  llvm_unreachable("unknown space");
}

/// The description of a phase; null where the program has no such phase.
static DictionaryAttr phaseAt(Operation *op, uint64_t number) {
  ArrayAttr phases = op->getParentOfType<ProgramOp>().getPhases();
  return number < phases.size() ? dyn_cast<DictionaryAttr>(phases[number]) : DictionaryAttr();
}

bool ForMicroOp::addsGradients() { return phaseAt(*this, getPhase()).contains("gradients"); }

std::optional<int64_t> ForMicroOp::length() {
  auto length = phaseAt(*this, getPhase()).getAs<IntegerAttr>("length");
  return length ? std::optional(length.getInt()) : std::nullopt;
}

LogicalResult ForMicroOp::verify() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  DictionaryAttr phase = program ? phaseAt(*this, getPhase()) : DictionaryAttr();
  if (!phase || !phase.getAs<StringAttr>("name") || !phase.contains("loop"))
    return emitOpError("is of phase ") << getPhase() << ", which the program does not list as a loop";
  mlir::Region *around = (*this)->getParentRegion();
  if (program.getEval().isAncestor(around) != phase.contains("eval") ||
      program.getPredict().isAncestor(around) != phase.contains("predict"))
    return emitOpError("is of phase ") << phase.get("name") << ", which is part of "
                                       << (phase.contains("eval")      ? "the evaluation"
                                           : phase.contains("predict") ? "the prediction"
                                                                       : "the step");
  auto lengths = static_cast<int64_t>(program.getLengths() ? program.getLengths()->size() : 0);
  if (auto own = length();
      own.has_value() != (lengths > 0) || own.value_or(0) < 0 || own.value_or(-1) >= lengths)
    return emitOpError("is of a length that the program does not list");
  return success();
}

LogicalResult ForSlicesOp::verify() {
  return getCount() > 0 ? success() : LogicalResult(emitOpError("runs for at least one slice"));
}

static LogicalResult verifyUpdate(Operation *op, std::optional<Update> update) {
  if (update == Update::accumulate && !op->getParentOfType<ForMicroOp>())
    return op->emitOpError("accumulates outside device.for_micro");
  return success();
}

LogicalResult LaunchOp::verify() { return verifyUpdate(*this, getUpdate()); }

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel)
    return success(); // programs can be read without their kernels
  auto index = kernel->getAttrOfType<IntegerAttr>("accum.kernel");
  if (!index || index.getInt() != static_cast<int64_t>(getIndex()))
    return emitOpError("calls kernel ") << getIndex() << ", but " << getKernelAttr() << " has another number";
  if (kernel.getNumArguments() + kernel.getNumResults() != getArgs().size())
    return emitOpError("has ") << getArgs().size() << " arguments, " << getKernelAttr() << " takes "
                               << kernel.getNumArguments() + kernel.getNumResults();
  return success();
}

/// Elements that are reached from a matrix's first one, plus one.
static int64_t extentOf(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip_equal(sizes, strides))
    last += (size - 1) * stride;
  return last + 1;
}

static LogicalResult verifyMatrix(GemmOp op, StringRef name, Value buffer, std::array<int64_t, 2> sizes,
                                  std::array<int64_t, 2> strides, ArrayRef<int64_t> batchStrides) {
  if (strides[0] != 1 && strides[1] != 1)
    return op.emitOpError("needs a unit stride in ") << name;
  int64_t reached = extentOf(sizes, strides) + extentOf(op.getBatch(), batchStrides) - 1;
  if (reached > definition(buffer).getSpan())
    return op.emitOpError("reaches element ")
           << reached - 1 << " of " << name << ", which has " << definition(buffer).getSpan();
  return success();
}

LogicalResult GemmOp::verify() {
  if (getSizes().size() != 3 || getAStrides().size() != 2 || getBStrides().size() != 2)
    return emitOpError("needs 3 sizes and 2 strides each for a and b");
  size_t dims = getBatch().size();
  if (dims > 4 || getABatch().size() != dims || getBBatch().size() != dims || getCBatch().size() != dims)
    return emitOpError("has at most 4 batch dimensions, with one stride in each of a, b and c");
  int64_t m = getSizes()[0], n = getSizes()[1], k = getSizes()[2];
  if (failed(verifyMatrix(*this, "a", getA(), {m, k}, {getAStrides()[0], getAStrides()[1]}, getABatch())) ||
      failed(verifyMatrix(*this, "b", getB(), {k, n}, {getBStrides()[0], getBStrides()[1]}, getBBatch())) ||
      failed(verifyMatrix(*this, "c", getC(), {m, n}, {static_cast<int64_t>(getCRow()), 1}, getCBatch())))
    return failure();
  auto elementOf = [](Value buffer) { return definition(buffer).getTensor().getElementType(); };
  bool sums = elementOf(getA()).isBF16() && elementOf(getC()).isF32();
  bool isWide = elementOf(getA()).isBF16() && elementOf(getB()).isF32(); // rounded as it is read
  if ((elementOf(getB()) != elementOf(getA()) && !isWide) ||
      (elementOf(getC()) != elementOf(getA()) && !sums))
    return emitOpError("mixes element types");
  if (getBias() && (getUpdate() != Update::write || elementOf(getBias()) != elementOf(getC()) ||
                    definition(getBias()).getNumElements() < n || !getBatch().empty()))
    return emitOpError(
        "adds a bias to one product that it writes, with an element of its type for each column");
  return verifyUpdate(*this, getUpdate());
}

SmallVector<StringRef> AttentionOp::names() {
  SmallVector<StringRef> names = {"q", "k", "v"};
  if (getMasked())
    names.push_back("mask");
  names.append({"y", "lse"});
  if (getBackward())
    names.append({"dy", "dq", "dk", "dv"});
  return names;
}

/// [batch, heads, rows, columns] of each operand.
static SmallVector<std::array<int64_t, 4>> shapesOf(AttentionOp op) {
  ArrayRef<int64_t> sizes = op.getSizes();
  int64_t batch = sizes[0], heads = sizes[1], groups = sizes[2], queries = sizes[3], keys = sizes[4];
  SmallVector<std::array<int64_t, 4>> shapes;
  for (StringRef name : op.names()) {
    if (name == "lse")
      shapes.push_back({batch, heads, queries, 1});
    else if (name == "mask")
      shapes.push_back({batch, heads, queries, keys});
    else if (name.ends_with("k") || name.ends_with("v"))
      shapes.push_back({batch, groups, keys, name.ends_with("k") ? sizes[5] : sizes[6]});
    else
      shapes.push_back({batch, heads, queries, name.ends_with("q") ? sizes[5] : sizes[6]});
  }
  return shapes;
}

LogicalResult AttentionOp::verify() {
  auto names = this->names();
  if (getSizes().size() != 7 || getArgs().size() != names.size() || getOffsets().size() != names.size() ||
      getStrides().size() != 4 * names.size())
    return emitOpError("needs 7 sizes, and ")
           << names.size() << " operands with an offset and 4 strides each";
  if (llvm::any_of(getSizes(), [](int64_t size) { return size < 1; }) || getSizes()[1] % getSizes()[2] != 0)
    return emitOpError("has no positive sizes, or heads that are no multiple of its groups");
  for (auto [i, shape] : llvm::enumerate(shapesOf(*this))) {
    BufferOp buffer = definition(getArgs()[i]);
    int64_t reached = getOffsets()[i] + extentOf(shape, stridesOf(i));
    if (getOffsets()[i] < 0 || reached > buffer.getNumElements())
      return emitOpError("reaches element ")
             << reached - 1 << " of " << names[i] << ", which has " << buffer.getNumElements();
    if (names[i] != "mask" && names[i] != "lse" && shape[3] > 1 && stridesOf(i)[3] != 1)
      return emitOpError("needs a unit stride along the features of ") << names[i];
  }
  return success();
}

LogicalResult CopyOp::verify() {
  if (definition(getSource()).getBytes() != definition(getTarget()).getBytes())
    return emitOpError("copies between buffers of different sizes");
  return success();
}

LogicalResult AllGatherOp::verify() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  int64_t part = definition(getSource()).getBytes(), all = definition(getTarget()).getBytes();
  return all == part * static_cast<int64_t>(program.getDevices())
             ? success()
             : LogicalResult(emitOpError("brings parts of ") << part << " bytes to a place of " << all);
}

LogicalResult ZeroOp::verify() {
  if (getIfFirst() && !(*this)->getParentOfType<ForMicroOp>())
    return emitOpError("asks for the first micro-step outside device.for_micro");
  return success();
}

LogicalResult StartAllReduceOp::verify() {
  auto loop = dyn_cast<ForMicroOp>((*this)->getParentOp());
  if (!loop || !loop.addsGradients())
    return emitOpError("stands in no loop that adds to gradients");
  if (definition(getTarget()).getSpace() != Space::state)
    return emitOpError("sums over devices what is not in the state");
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (definition(getTarget()).getSpace() != Space::state)
    return emitOpError("sums over devices what is not in the state");
  return success();
}

} // namespace accum::device
