// SPDX-License-Identifier: Apache-2.0
// Module -> manifest entries of the state; the manifest assigns the offsets.
#include "passes/Schedule/StateLayout.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/OneParameter.h"
#include "dialects/Train/SplitBatch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/artifact/Optimizers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace accum {
namespace {

using NamedTypes = llvm::MapVector<StringRef, RankedTensorType>;

/// Another shape of as many elements is a view of the same bytes.
LogicalResult addScalar(train::YieldOp yield, StringAttr name, Value value, NamedTypes &scalars) {
  RankedTensorType type = nn::slabOf(value.getType());
  RankedTensorType known = scalars.try_emplace(name.getValue(), type).first->second;
  if (known.getElementType() != type.getElementType() || known.getNumElements() != type.getNumElements())
    return yield.emitOpError("names `") << name.getValue() << "`, which has another type elsewhere";
  return success();
}

/// Adds the string targets of a phase, and what it leaves in the state.
LogicalResult addScalars(train::PhaseOp phase, NamedTypes &scalars) {
  train::YieldOp yield = phase.getYield();
  for (auto [value, target] : llvm::zip(yield.getValues(), yield.getTargets()))
    if (auto name = dyn_cast<StringAttr>(target); name && failed(addScalar(yield, name, value, scalars)))
      return failure();
  for (auto [number, value] : llvm::enumerate(yield.getValues()))
    if (std::string name = train::nameInState(phase, number); !name.empty())
      if (failed(addScalar(yield, StringAttr::get(phase.getContext(), name), value, scalars)))
        return failure();
  return success();
}

/// The name on the kernel that updates. A step that computes no update keeps nothing, as sgd does.
FailureOr<StringAttr> optimizerOf(ModuleOp module, train::StepOp step) {
  StringAttr name;
  for (auto kernel : module.getOps<func::FuncOp>())
    if (auto given = kernel->getAttrOfType<StringAttr>("accum.update"))
      name = given;
  auto stored = [](train::StoreOp store) {
    return store.getValue().getDefiningOp<train::CommandOp>() != nullptr;
  };
  train::PhaseOp update = step.getUpdate();
  bool computes = update && llvm::any_of(update.getBlock().getOps<train::StoreOp>(), stored);
  if (!name && computes)
    return step.emitOpError(
        "updates parameters by a kernel that names no optimizer (`accum.update`) [malformed-dump]");
  if (!name)
    return StringAttr::get(module.getContext(), "sgd");
  if (!runtime::findOptimizer(name.str()))
    return step.emitOpError("has the optimizer ")
           << name << ", which is none of " << runtime::optimizerNames() << " [malformed-dump]";
  return name;
}

std::vector<int64_t> shapeOf(RankedTensorType type) { return type.getShape().vec(); }

FailureOr<runtime::ParameterSpec> specOf(train::ParamOp param, const llvm::StringSet<> &trained) {
  runtime::ParameterSpec spec;
  auto type = cast<RankedTensorType>(param.getType());
  spec.onnxName = param.getSymName().str();
  auto dtype = dtypeOf(type.getElementType());
  if (!dtype)
    return param.emitError() << "`" << param.getSymName() << "` has elements of " << type.getElementType()
                             << ", which no run reads [unsupported]";
  spec.dtype = *dtype;
  spec.shape = shapeOf(type);
  spec.trained = trained.contains(param.getSymName());
  if (ArrayAttr aliases = param.getAliasesAttr())
    for (auto alias : aliases.getAsRange<train::AliasAttr>())
      spec.aliases.push_back({alias.getName().str(), alias.getTransposed()});
  return spec;
}

/// Totals with more than one element, behind what the manifest lays out.
void placeArrays(const NamedTypes &scalars, StateLayout &layout) {
  for (auto &[name, type] : scalars) {
    if (type.getNumElements() == 1)
      continue;
    layout.offsets[name] = static_cast<int64_t>(layout.manifest.stateBytes);
    int64_t end = layout.offsets[name] + device::bytesOf(type);
    layout.manifest.stateBytes = llvm::alignTo(end, device::kStateAlignment);
  }
}

/// The mode, and how many parameters each unit has.
runtime::ShardSpec shardOf(DictionaryAttr attr) {
  runtime::ShardSpec shard;
  if (!attr)
    return shard;
  shard.mode.shard = *shardNamed(attr.getAs<StringAttr>("mode").strref());
  if (auto offload = attr.getAs<StringAttr>("offload"))
    shard.mode.offload = *offloadNamed(offload.strref());
  shard.mode.reduceEach = attr.contains("each");
  shard.units = attr.getAs<DenseI64ArrayAttr>("units").asArrayRef().vec();
  shard.pieces = attr.getAs<DenseI64ArrayAttr>("pieces").asArrayRef().vec();
  return shard;
}

/// Ranges of the units, from the parameters that are first in them.
void noteUnits(StateLayout &layout) {
  const runtime::Manifest &manifest = layout.manifest;
  SmallVector<const runtime::ParameterSpec *> trained, frozen;
  for (const runtime::ParameterSpec &param : manifest.params)
    (param.trained ? trained : frozen).push_back(&param);
  size_t first = 0;
  bool isOffloaded = manifest.shard.mode.isOffloaded();
  for (int64_t count : manifest.shard.units) {
    if (first >= trained.size()) {
      size_t number = first - trained.size();
      uint64_t start = frozen[number]->stateOffset;
      layout.frozen.push_back(
          {number, static_cast<size_t>(count), layout.segment(start)->bytes, 1, start, 0, {}});
      first += static_cast<size_t>(count);
      continue;
    }
    const runtime::ParameterSpec &leader = *trained[first];
    StateLayout::Unit unit{first,
                           static_cast<size_t>(count),
                           layout.segment(leader.gradOffset)->bytes,
                           isOffloaded ? manifest.shard.pieces[layout.units.size()] : 1,
                           leader.stateOffset,
                           leader.gradOffset,
                           {}};
    for (const runtime::SlotSpec &slot : leader.slots)
      unit.slots[slot.name] = slot.stateOffset;
    first += unit.count;
    layout.units.push_back(std::move(unit));
  }
}

} // namespace

std::optional<size_t> StateLayout::unitOf(StringRef parameter) const {
  const runtime::ParameterSpec *spec = manifest.findParameter(parameter.str());
  for (auto [i, unit] : llvm::enumerate(units))
    if (spec && spec->trained && spec->gradOffset >= unit.gradients &&
        spec->gradOffset < unit.gradients + unit.bytes)
      return i;
  return std::nullopt;
}

std::optional<size_t> StateLayout::gatheredWith(StringRef parameter) const {
  if (auto unit = unitOf(parameter))
    return hasPartsOf("parameter") ? unit : std::nullopt;
  uint64_t at = this->parameter(parameter).stateOffset;
  for (auto [i, unit] : llvm::enumerate(frozen))
    if (at >= unit.parameters && at < unit.parameters + unit.bytes)
      return units.size() + copied + i;
  return std::nullopt;
}

std::pair<const StateLayout::Unit *, bool> StateLayout::gatheredUnit(size_t number) const {
  if (number < units.size())
    return {&units[number], false};
  number -= units.size();
  return number < copied ? std::pair(&units[number], true) : std::pair(&frozen[number - copied], false);
}

bool StateLayout::updatesWholeUnits() const {
  return !units.empty() && runtime::findOptimizer(manifest.optimizer)->isByTensor();
}

int64_t StateLayout::copyOf(size_t unit) const {
  uint64_t before = 0;
  for (size_t i = 0; i < unit; ++i)
    before += partBytes(i) / 2;
  return copies + static_cast<int64_t>(before);
}

bool StateLayout::hasPartsOf(StringRef slot) const {
  if (units.empty())
    return false;
  const runtime::StateSegment *first = segment(startOf(slot, 0));
  return first->isCut || first->isOffloaded;
}

uint64_t StateLayout::startOf(StringRef slot, size_t unit) const {
  const Unit &of = units[unit];
  return slot == "parameter" ? of.parameters : slot == "gradient" ? of.gradients : of.slots.lookup(slot);
}

SmallVector<StringRef> StateLayout::offloadedSlots() const {
  SmallVector<StringRef> slots;
  if (units.empty())
    return slots;
  if (!updatesWholeUnits())
    for (const runtime::SlotRow &slot : runtime::findOptimizer(manifest.optimizer)->slots)
      slots.push_back(slot.name);
  slots.push_back("parameter");
  llvm::erase_if(slots, [&](StringRef slot) { return !segment(startOf(slot, 0))->isOffloaded; });
  return slots;
}

const runtime::StateSegment *StateLayout::segment(uint64_t offset) const {
  for (const runtime::StateSegment &segment : manifest.shard.segments)
    if (offset >= segment.offset && offset - segment.offset < segment.bytes)
      return &segment;
  return nullptr;
}

int64_t StateLayout::local(uint64_t offset) const {
  const runtime::StateSegment *in = segment(offset);
  return static_cast<int64_t>(in ? in->local + (offset - in->offset) : offset);
}

std::optional<runtime::DType> dtypeOf(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    switch (integer.getWidth()) {
    case 1:
      return ACCUM_BOOL;
    case 8:
      return integer.isUnsigned() ? ACCUM_U8 : ACCUM_I8;
    case 32:
      return ACCUM_I32;
    case 64:
      return ACCUM_I64;
    default:
      return std::nullopt;
    }
  if (element.isF16())
    return ACCUM_F16;
  if (element.isBF16())
    return ACCUM_BF16;
  if (element.isF32())
    return ACCUM_F32;
  return element.isF64() ? std::optional(ACCUM_F64) : std::nullopt;
}

static FailureOr<StateContents> contentsOf(ModuleOp module) {
  auto step = module.lookupSymbol<train::StepOp>("step");
  if (!step)
    return module.emitError("has no train.step @step");
  NamedTypes scalars;
  scalars["loss"] = RankedTensorType::get({}, Float64Type::get(module.getContext()));
  for (auto each : module.getOps<train::StepOp>()) {
    for (train::PhaseOp phase : each.getPhases())
      if (failed(addScalars(phase, scalars)))
        return failure();
  }
  Builder builder(module.getContext());
  SmallVector<Attribute> entries;
  for (auto &[name, type] : scalars)
    entries.push_back(builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(name)),
                                                 builder.getNamedAttr("type", TypeAttr::get(type))}));
  auto optimizer = optimizerOf(module, step);
  if (failed(optimizer))
    return failure();
  auto plan = module->getAttrOfType<train::PlanAttr>("train.plan");
  return StateContents{step.getGradients(), builder.getArrayAttr(entries), *optimizer,
                       plan ? plan.getShard() : DictionaryAttr()};
}

static FailureOr<StateLayout> layOut(ModuleOp module, const StateContents &contents, int64_t devices) {
  StateLayout layout;
  layout.contents = contents;
  runtime::Manifest &manifest = layout.manifest;
  manifest.devices = devices;
  manifest.optimizer = contents.optimizer.str();
  llvm::StringSet<> trained;
  for (auto symbol : contents.gradients.getAsRange<FlatSymbolRefAttr>())
    trained.insert(symbol.getValue());
  for (auto param : module.getOps<train::ParamOp>()) {
    auto spec = specOf(param, trained);
    if (failed(spec))
      return failure();
    manifest.params.push_back(std::move(*spec));
  }
  NamedTypes scalars;
  for (auto entry : contents.scalars.getAsRange<DictionaryAttr>())
    scalars[entry.getAs<StringAttr>("name").getValue()] =
        cast<RankedTensorType>(entry.getAs<TypeAttr>("type").getValue());
  for (auto &[name, type] : scalars)
    if (type.getNumElements() == 1)
      manifest.scalars.push_back({name.str(), dtypeOf(type.getElementType()).value_or(ACCUM_F64)});
  manifest.shard = shardOf(contents.shard);
  for (auto param : module.getOps<train::ParamOp>())
    if (auto number = param->getAttrOfType<IntegerAttr>(train::kModelNumber))
      manifest.shard.order.push_back(number.getInt());
  if (runtime::Status status = runtime::assignStateLayout(manifest); !status)
    return module.emitError(status.error().message);
  for (const runtime::ScalarSpec &scalar : manifest.scalars)
    layout.offsets[scalar.name] = layout.local(scalar.stateOffset);
  noteUnits(layout);
  placeArrays(scalars, layout);
  auto reserve = [&](StringRef name, int64_t &offset, int64_t &bytes) {
    auto size = contents.shard ? contents.shard.getAs<IntegerAttr>(name) : IntegerAttr();
    offset = static_cast<int64_t>(manifest.stateBytes);
    bytes = size ? size.getInt() : 0;
    manifest.stateBytes += static_cast<uint64_t>(bytes);
  };
  if (auto copied = contents.shard ? contents.shard.getAs<IntegerAttr>("copied") : IntegerAttr())
    layout.copied = static_cast<size_t>(copied.getInt());
  reserve("copies", layout.copies, layout.copiesBytes);
  reserve("gathered", layout.gathered, layout.gatheredBytes);
  reserve("scattered", layout.scattered, layout.scatteredBytes);
  reserve("staged", layout.staged, layout.stagedBytes);
  return layout;
}

FailureOr<StateLayout> layOutState(ModuleOp module, int64_t devices) {
  auto contents = contentsOf(module);
  return failed(contents) ? FailureOr<StateLayout>(failure()) : layOut(module, *contents, devices);
}

FailureOr<StateLayout> layOutState(ModuleOp module, device::ProgramOp program) {
  return layOut(
      module,
      {program.getGradients(), program.getScalars(), program.getOptimizerAttr(), program.getShardAttr()},
      static_cast<int64_t>(program.getDevices()));
}

const runtime::ParameterSpec &StateLayout::parameter(StringRef name) const {
  const runtime::ParameterSpec *spec = manifest.findParameter(name.str());
  assert(spec && "symbols were verified");
  return *spec;
}

uint64_t StateLayout::slotOffset(StringRef parameter, StringRef slot) const {
  for (const runtime::SlotSpec &each : this->parameter(parameter).slots)
    if (each.name == slot)
      return each.stateOffset;
  llvm_unreachable("the optimizer has no such slot");
}

} // namespace accum
