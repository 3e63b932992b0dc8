// SPDX-License-Identifier: Apache-2.0
// Places and their buffer ops.
#include "passes/Schedule/ProgramBuffers.h"
#include "dialects/NN/Views.h"

using namespace mlir;

namespace accum {

using device::Space;

static Type elementType(MLIRContext *context, runtime::DType dtype) {
  switch (dtype) {
  case ACCUM_F16:
    return Float16Type::get(context);
  case ACCUM_BF16:
    return BFloat16Type::get(context);
  case ACCUM_F32:
    return Float32Type::get(context);
  case ACCUM_F64:
    return Float64Type::get(context);
  default:
    return IntegerType::get(context, dtype == ACCUM_BOOL ? 1 : 8 * runtime::bytesOf(dtype));
  }
}

RankedTensorType ProgramBuffers::typeOf(const runtime::ParameterSpec &spec) const {
  return RankedTensorType::get(spec.shape, elementType(top->getParent()->getContext(), spec.dtype));
}

Place ProgramBuffers::parameter(StringRef name) const {
  const auto &spec = layout.parameter(name);
  if (auto number = layout.gatheredWith(name)) {
    auto inside = static_cast<int64_t>(spec.stateOffset - layout.gatheredUnit(*number).first->parameters);
    assert(gatheredAt.contains(*number) && "nobody gathered it");
    return {Space::state, layout.gathered + gatheredAt.at(*number) + inside, typeOf(spec), name.str()};
  }
  return {Space::state, layout.local(spec.stateOffset), typeOf(spec), name.str()};
}

Place ProgramBuffers::gradient(StringRef name) const {
  const auto &spec = layout.parameter(name);
  if (auto unit = layout.unitOf(name); unit && layout.hasPartsOf("gradient")) {
    auto inside = static_cast<int64_t>(spec.gradOffset - layout.units[*unit].gradients);
    assert(scatteredAt.contains(*unit) && "nobody made room for it");
    return {Space::state, layout.scattered + scatteredAt.at(*unit) + inside, typeOf(spec),
            "gradient of " + name.str()};
  }
  return {Space::state, layout.local(spec.gradOffset), typeOf(spec), "gradient of " + name.str()};
}

/// Half the bytes, as many elements.
static Place inBf16(Place place) {
  Type element = BFloat16Type::get(place.contents.getContext());
  place.contents = RankedTensorType::get(place.contents.getShape(), element);
  place.label = "copies in bf16: " + place.label;
  return place;
}

Place ProgramBuffers::copyOf(StringRef name, RankedTensorType type) const {
  size_t unit = *layout.unitOf(name);
  auto inside = static_cast<int64_t>(layout.parameter(name).gradOffset - layout.units[unit].gradients) / 2;
  size_t gathered = layout.numberOfCopy(unit);
  assert(gatheredAt.contains(gathered) && "nobody gathered it");
  int64_t skip = inside % device::kStateAlignment; // half of a multiple
  Place place{Space::state, layout.gathered + gatheredAt.at(gathered) + inside - skip, nn::slabOf(type),
              name.str() + " in bf16"};
  place.skip = skip;
  return place;
}

Place ProgramBuffers::copiedPart(size_t unit) const {
  return inBf16(gradientRange(layout, top->getParent()->getContext(),
                              static_cast<uint64_t>(layout.copyOf(unit)), layout.partBytes(unit),
                              "own parameters of unit " + std::to_string(unit)));
}

Place ProgramBuffers::passing(size_t unit) const {
  return gradientRange(layout, top->getParent()->getContext(), static_cast<uint64_t>(layout.gathered),
                       layout.partBytes(unit), "own parameters of unit " + std::to_string(unit));
}

/// "3", or "3 of frozen ones".
std::string ProgramBuffers::nameOf(size_t number) const {
  size_t frozen = layout.units.size() + layout.copied;
  if (number >= frozen)
    return std::to_string(number - frozen) + " of frozen ones";
  return std::to_string(number < layout.units.size() ? number : number - layout.units.size());
}

Place ProgramBuffers::gatheredFrom(const planner::UnitSpan &span) const {
  size_t units = layout.units.size();
  if (span.unit < units)
    return part("parameter", span.unit);
  auto [unit, isCopy] = layout.gatheredUnit(span.unit);
  if (isCopy)
    return copiedPart(span.unit - units);
  return gradientRange(layout, top->getParent()->getContext(),
                       static_cast<uint64_t>(layout.local(unit->parameters)),
                       unit->bytes / static_cast<uint64_t>(layout.manifest.parts()),
                       "own parameters of unit " + nameOf(span.unit));
}

Place ProgramBuffers::gathered(const planner::UnitSpan &span) const {
  auto [unit, isCopy] = layout.gatheredUnit(span.unit);
  Place place = gradientRange(layout, top->getParent()->getContext(),
                              static_cast<uint64_t>(layout.gathered + span.offset), unit->bytes,
                              "parameters of unit " + nameOf(span.unit));
  return isCopy ? inBf16(place) : place;
}

Place ProgramBuffers::scattered(const planner::UnitSpan &span) const {
  return gradientRange(layout, top->getParent()->getContext(),
                       static_cast<uint64_t>(layout.scattered + span.offset), layout.units[span.unit].bytes,
                       "gradients of unit " + std::to_string(span.unit));
}

Place ProgramBuffers::ownPart(int64_t offset, const StateLayout::Unit &unit, std::string label) const {
  uint64_t part = unit.bytes / static_cast<uint64_t>(layout.manifest.parts());
  Place place = gradientRange(layout, top->getParent()->getContext(), static_cast<uint64_t>(offset), part,
                              std::move(label));
  if (layout.isSharded())
    place.byRank = static_cast<int64_t>(part);
  return place;
}

Place ProgramBuffers::ownScattered(const planner::UnitSpan &span) const {
  return ownPart(layout.scattered + span.offset, layout.units[span.unit],
                 "own part of the sum of unit " + std::to_string(span.unit));
}

Place ProgramBuffers::ownGathered(const planner::UnitSpan &span) const {
  return ownPart(layout.gathered + span.offset, *layout.gatheredUnit(span.unit).first,
                 "own parameters of unit " + nameOf(span.unit));
}

SmallVector<Place> ProgramBuffers::gapsOf(const planner::UnitSpan &span,
                                          const Contributions &contributions) const {
  const StateLayout::Unit &unit = layout.units[span.unit];
  SmallVector<Place> gaps;
  uint64_t end = 0; // of what has terms, in the unit
  auto fill = [&](uint64_t to) {
    if (to <= end)
      return;
    auto skip = static_cast<int64_t>(end % device::kStateAlignment);
    gaps.push_back(gradientRange(layout, top->getParent()->getContext(),
                                 static_cast<uint64_t>(layout.scattered + span.offset - skip) + end, to - end,
                                 "between gradients"));
    gaps.back().skip = skip;
  };
  for (const runtime::ParameterSpec &param : layout.manifest.params) {
    if (!param.trained || param.gradOffset < unit.gradients ||
        param.gradOffset >= unit.gradients + unit.bytes || !contributions.hasTarget(param.onnxName))
      continue;
    fill(param.gradOffset - unit.gradients);
    end = param.gradOffset - unit.gradients + param.bytes();
  }
  fill(unit.bytes);
  return gaps;
}

static std::string unitLabel(StringRef slot, size_t unit) {
  return (slot == "gradient"    ? "gradients"
          : slot == "parameter" ? "parameters"
                                : slot.str()) +
         " of unit " + std::to_string(unit);
}

Place ProgramBuffers::whole(StringRef slot, size_t unit) const {
  uint64_t start = layout.startOf(slot, unit);
  assert(!layout.segment(start)->isCut && "only a part is there");
  return gradientRange(layout, top->getParent()->getContext(), static_cast<uint64_t>(layout.local(start)),
                       layout.units[unit].bytes, unitLabel(slot, unit));
}

Place ProgramBuffers::part(StringRef slot, size_t unit) const {
  uint64_t start = layout.startOf(slot, unit), bytes = layout.partBytes(unit);
  Place place =
      gradientRange(layout, top->getParent()->getContext(), static_cast<uint64_t>(layout.local(start)), bytes,
                    "own " + unitLabel(slot, unit));
  if (layout.isSharded() && !layout.segment(start)->isCut)
    place.byRank = static_cast<int64_t>(bytes);
  return place;
}

Place ProgramBuffers::piece(StringRef slot, size_t unit, int64_t piece) const {
  if (layout.units[unit].pieces == 1 && !layout.segment(layout.startOf(slot, unit))->isOffloaded)
    return part(slot, unit);
  Place place = part(slot, unit);
  uint64_t bytes = layout.pieceBytes(unit);
  auto offset = static_cast<uint64_t>(place.offset + piece * static_cast<int64_t>(bytes));
  auto slots = layout.offloadedSlots();
  bool isOffloaded = llvm::is_contained(slots, slot);
  if (isOffloaded) { // every other piece passes through the same half
    int64_t before = piece;
    for (size_t other = 0; other < unit; ++other)
      before += layout.units[other].pieces;
    offset = static_cast<uint64_t>(layout.staged + before % 2 * (layout.stagedBytes / 2)) +
             static_cast<uint64_t>(llvm::find(slots, slot) - slots.begin()) * bytes;
  }
  Place result = gradientRange(layout, top->getParent()->getContext(), offset, bytes,
                               place.label + ", piece " + std::to_string(piece));
  result.byRank = isOffloaded ? 0 : place.byRank;
  return result;
}

Place ProgramBuffers::slot(StringRef slot, FlatSymbolRefAttr parameter, RankedTensorType type) const {
  const auto &params = layout.manifest.params;
  auto first = llvm::find_if(params, [](const runtime::ParameterSpec &spec) { return spec.trained; });
  assert(first != params.end() && "somebody updates parameters");
  const runtime::ParameterSpec &spec = parameter ? layout.parameter(parameter.getValue()) : *first;
  std::string label = slot.str() + (parameter ? " of " + spec.onnxName : " rows");
  int64_t offset = slot == "parameter"  ? this->parameter(spec.onnxName).offset
                   : slot == "gradient" ? gradient(spec.onnxName).offset
                                        : layout.local(layout.slotOffset(spec.onnxName, slot));
  return {Space::state, offset, nn::slabOf(type), label};
}

Place ProgramBuffers::decay(FlatSymbolRefAttr parameter, std::optional<int64_t> unit,
                            RankedTensorType type) const {
  if (unit)
    return {Space::decay, static_cast<int64_t>(layout.units[*unit].first), nn::slabOf(type),
            "decay and rate of unit " + std::to_string(*unit)};
  int64_t number = 0;
  for (const runtime::ParameterSpec &spec : layout.manifest.params) {
    if (!parameter || spec.onnxName == parameter.getValue())
      break;
    number += spec.trained ? 1 : 0;
  }
  std::string label = parameter ? "decay and rate of " + parameter.getValue().str() : "decay and rate";
  return {Space::decay, number, nn::slabOf(type), label};
}

Place ProgramBuffers::scalar(StringRef name, RankedTensorType type) const {
  return {Space::state, layout.offsets.lookup(name), nn::slabOf(type), name.str()};
}

Place ProgramBuffers::gradientRange(const StateLayout &layout, MLIRContext *context, uint64_t offset,
                                    uint64_t bytes, std::string label) {
  runtime::DType dtype = layout.manifest.gradients.dtype;
  auto count = static_cast<int64_t>(bytes / runtime::bytesOf(dtype));
  auto type = RankedTensorType::get({count}, elementType(context, dtype));
  return {Space::state, static_cast<int64_t>(offset), type, std::move(label)};
}

Place ProgramBuffers::gradients() const {
  const auto &range = layout.manifest.gradients;
  return gradientRange(layout, top->getParent()->getContext(),
                       static_cast<uint64_t>(layout.local(range.offset)), range.bytes, "all gradients");
}

Place ProgramBuffers::target(Attribute target, RankedTensorType type) const {
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(target))
    return gradient(symbol.getValue());
  return scalar(cast<StringAttr>(target).getValue(), type);
}

const Place *ProgramBuffers::find(Value value) const {
  auto it = places.find(nn::behindViews(value));
  return it == places.end() ? nullptr : &it->second;
}

Value ProgramBuffers::at(const Place &place, OpBuilder &builder, Location loc) {
  Key key = {place.space, place.offset, place.skip, place.step, place.contents.getAsOpaquePointer(),
             place.pitch, place.byRank, place.label};
  for (const auto &buffers : known)
    if (auto it = buffers.find(key); it != buffers.end())
      return it->second;
  bool local = place.space == Space::scratch || place.space == Space::input;
  OpBuilder::InsertionGuard guard(builder);
  if (!local && lastListed)
    builder.setInsertionPointAfter(lastListed);
  else if (!local)
    builder.setInsertionPointToStart(top);
  auto op = device::BufferOp::create(builder, loc, device::BufferType::get(builder.getContext()), place.space,
                                     place.offset, place.contents, place.label, place.skip, place.step,
                                     place.pitch, place.byRank);
  if (!local)
    lastListed = op;
  (local ? known.back() : known.front())[key] = op;
  return op;
}

} // namespace accum
