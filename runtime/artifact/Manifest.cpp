// SPDX-License-Identifier: Apache-2.0
// What can be computed from a manifest, and the state layout, which the manifest owns.
#include "runtime/artifact/Manifest.h"
#include "runtime/artifact/Optimizers.h"
#include <algorithm>
#include <numeric>

namespace accum::runtime {
namespace {

uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/// How ranks hold a segment, and where.
enum class Held { Whole, Owned, Cut };
enum class Where { OnDevice, Offloaded };

/// Hands out aligned offsets one after the other.
class Cursor {
public:
  explicit Cursor(int64_t devices) : devices(uint64_t(devices)) {}

  uint64_t take(uint64_t bytes) {
    uint64_t offset = end;
    end = roundUp(end + bytes, kRangeAlign);
    return offset;
  }
  /// What was taken since the last segment is one; `inParts`: of equal parts for all devices.
  void close(Held held, bool inParts, Where where = Where::OnDevice, int64_t pieces = 1) {
    if (inParts)
      end = start + roundUp(end - start, devices * uint64_t(pieces) * kRangeAlign);
    uint64_t bytes = end - start;
    bool isOffloaded = where == Where::Offloaded;
    uint64_t &local = isOffloaded ? offloaded : onDevice;
    if (bytes > 0)
      segments.push_back({start, bytes, local, held == Held::Cut, held == Held::Owned, isOffloaded});
    local += held == Held::Cut ? bytes / devices : bytes;
    start = end;
  }

  uint64_t end = 0, onDevice = 0, offloaded = 0;
  std::vector<StateSegment> segments;

private:
  const uint64_t devices;
  uint64_t start = 0;
};

int64_t product(const std::vector<int64_t> &shape) {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return elements;
}

template <typename Item>
const Item *findBy(const std::vector<Item> &items, std::string Item::*key, const std::string &name) {
  auto found = std::find_if(items.begin(), items.end(), [&](const Item &item) { return item.*key == name; });
  return found == items.end() ? nullptr : &*found;
}

/// take(parameter) for each trained one, and a segment behind each unit; behind the last one where there are
/// no units. Returns how many of them there are.
template <typename Take>
size_t overUnits(Manifest &manifest, Cursor &cursor, Held held, Where where, Take &&take) {
  size_t unit = 0;
  int64_t inUnit = 0;
  for (ParameterSpec &param : manifest.params) {
    if (!param.trained)
      continue;
    take(param);
    if (unit < manifest.shard.units.size() && ++inUnit == manifest.shard.units[unit]) {
      cursor.close(held, /*inParts=*/true, where, 2 * manifest.shard.pieces[unit]);
      ++unit;
      inUnit = 0;
    }
  }
  cursor.close(held, held != Held::Whole, where);
  return unit;
}

/// The one dtype of all trained parameters.
Expected<DType> dtypeOfTrained(const Manifest &manifest) {
  std::optional<DType> dtype;
  for (const ParameterSpec &param : manifest.params) {
    if (!param.trained)
      continue;
    if (dtype.value_or(param.dtype) != param.dtype)
      return Error{kExitInternal,
                   "trained parameter `" + param.onnxName + "` has another dtype than the ones before it",
                   "manifest"};
    dtype = param.dtype;
  }
  return dtype.value_or(ACCUM_F32);
}

} // namespace

int64_t InputSpec::slabElements() const { return product(shape); }
InputSpec InputSpec::at(const LengthSpec &length) const {
  InputSpec spec = *this;
  if (padded)
    spec.shape[size_t(padded->axis)] = length.sizes[size_t(padded->dim)];
  return spec;
}

std::vector<LengthSpec> Manifest::allLengths() const {
  return lengths.empty() ? std::vector{LengthSpec{{}, m, 0}} : lengths;
}

int64_t SlotSpec::elements() const { return product(shape); }
int64_t ParameterSpec::elements() const { return product(shape); }

uint64_t ParameterSpec::slotBytes() const {
  uint64_t sum = 0;
  for (const SlotSpec &slot : slots)
    sum += bytes(slot);
  return sum;
}

/// Where the batch is split, what relates its samples runs once, between two loops.
bool Manifest::isCuttable() const {
  bool hasLoop = false, isSplit = false;
  for (const PhaseSpec &phase : phases) {
    if (phase.addsGradients || phase.isEval || phase.isPredict)
      break;
    isSplit |= hasLoop && !phase.isLoop;
    hasLoop |= phase.isLoop;
  }
  return !wholeBatch || m != batch || isSplit;
}

uint64_t Manifest::wholeBytes() const {
  return shard.segments.empty() ? stateBytes : shard.segments.back().offset + shard.segments.back().bytes;
}

std::optional<uint32_t> Manifest::loopAfter(uint32_t phase) const {
  for (uint32_t next = phase + 1; next < phases.size(); ++next)
    if (phases[next].isEval == phases[phase].isEval && phases[next].isPredict == phases[phase].isPredict &&
        phases[next].isLoop)
      return next;
  return std::nullopt;
}

bool Manifest::isPredictedFrom(const std::string &input) const {
  return std::ranges::any_of(phases, [&](const PhaseSpec &phase) {
    return phase.isPredict && std::ranges::count(phase.inputs, input) > 0;
  });
}

int64_t OutputSpec::rowElements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

const ScalarSpec *Manifest::findScalar(const std::string &name) const {
  return findBy(scalars, &ScalarSpec::name, name);
}

const ParameterSpec *Manifest::findParameter(const std::string &onnxName) const {
  return findBy(params, &ParameterSpec::onnxName, onnxName);
}

const ParameterSpec *Manifest::findByAnyName(const std::string &name) const {
  if (const ParameterSpec *param = findParameter(name))
    return param;
  auto isIt = [&](const AliasSpec &alias) {
    return alias.name == name && !alias.transposed && alias.added == 0;
  };
  for (const ParameterSpec &param : params)
    for (const auto *names : {&param.aliases, &param.framework})
      if (std::any_of(names->begin(), names->end(), isIt))
        return &param;
  return nullptr;
}

Status assignStateLayout(Manifest &manifest) {
  const OptimizerSpec *optimizer = findOptimizer(manifest.optimizer);
  if (!optimizer)
    return Error{kExitInternal, "optimizer `" + manifest.optimizer + "` has no state layout", "manifest"};
  auto dtype = dtypeOfTrained(manifest);
  if (!dtype)
    return dtype.error();
  ShardSpec &shard = manifest.shard;
  Cursor cursor(manifest.devices);
  // Parts of parameters are valid everywhere but where only parts are held; the padding is the same for all.
  Held parameters = shard.mode.shard == Shard::Parameters ? Held::Cut : Held::Whole;
  Where parametersAt = shard.mode.offload == Offload::Parameters ? Where::Offloaded : Where::OnDevice;
  Where slotsAt = shard.mode.isOffloaded() ? Where::Offloaded : Where::OnDevice;
  size_t unit = overUnits(manifest, cursor, parameters, parametersAt, [&](ParameterSpec &param) {
    param.stateOffset = cursor.take(param.bytes());
    param.decayDefault = param.shape.size() >= 2;
    param.slots.clear();
  });
  // Units that are left are of frozen parameters, the first ones.
  int64_t inUnit = 0;
  for (ParameterSpec &param : manifest.params)
    if (!param.trained) {
      param.stateOffset = cursor.take(param.bytes());
      param.decayDefault = param.shape.size() >= 2;
      param.slots.clear();
      if (unit == shard.units.size() || ++inUnit < shard.units[unit])
        continue;
      cursor.close(parameters, /*inParts=*/true, parametersAt, 2 * shard.pieces[unit]);
      ++unit;
      inUnit = 0;
    }
  cursor.close(Held::Whole, /*inParts=*/false);
  manifest.gradients = {cursor.end, 0, *dtype};
  Held gradients = shard.mode.reduceEach ? Held::Cut : Held::Owned; // where all have all, a part is as valid
  overUnits(manifest, cursor, gradients, Where::OnDevice,
            [&](ParameterSpec &param) { param.gradOffset = cursor.take(param.bytes()); });
  manifest.gradients.bytes = cursor.end - manifest.gradients.offset;
  for (const SlotRow &row : optimizer->slots) {
    auto take = [&](ParameterSpec &param) {
      if (auto shape = slotShape(row.extent, param.shape)) {
        SlotSpec slot{row.name, 0, *shape};
        slot.stateOffset = cursor.take(param.bytes(slot));
        param.slots.push_back(slot);
      }
    };
    if (!optimizer->isByTensor())
      overUnits(manifest, cursor, shard.isNone() ? Held::Whole : Held::Cut, slotsAt, take);
    else
      for (ParameterSpec &param : manifest.params)
        if (param.trained)
          take(param);
  }
  for (ScalarSpec &scalar : manifest.scalars)
    scalar.stateOffset = cursor.take(bytesOf(scalar.dtype));
  cursor.close(Held::Whole, /*inParts=*/false);
  manifest.stateBytes = cursor.onDevice;
  shard.segments = shard.isPlain() ? std::vector<StateSegment>() : std::move(cursor.segments);
  return {};
}

std::vector<size_t> Manifest::modelOrder() const {
  std::vector<size_t> numbers(params.size());
  std::iota(numbers.begin(), numbers.end(), size_t(0));
  if (shard.order.size() == params.size())
    std::sort(numbers.begin(), numbers.end(),
              [&](size_t a, size_t b) { return shard.order[a] < shard.order[b]; });
  return numbers;
}

uint64_t Manifest::offloadedBytes() const {
  uint64_t sum = 0;
  for (const StateSegment &segment : shard.segments)
    if (segment.isOffloaded)
      sum += segment.isCut ? segment.bytes / uint64_t(devices) : segment.bytes;
  return sum;
}

void markRuntimeInputs(std::vector<InputSpec> &inputs) {
  for (size_t i = inputs.size() < 2 ? 0 : inputs.size() - 2; i < inputs.size(); ++i)
    inputs[i].isRuntimeMade = inputs[i].name == "valid" || inputs[i].name == "first_row";
}

void appendRuntimeInputs(Manifest &manifest) {
  InputSpec valid;
  valid.name = "valid";
  valid.dtype = ACCUM_BOOL;
  valid.shape = {1};
  valid.batchDim = 0;
  InputSpec firstRow;
  firstRow.name = "first_row";
  firstRow.dtype = ACCUM_I64;
  manifest.inputs.push_back(valid);
  manifest.inputs.push_back(firstRow);
  markRuntimeInputs(manifest.inputs);
}

} // namespace accum::runtime
