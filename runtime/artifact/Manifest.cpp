// SPDX-License-Identifier: Apache-2.0
// What can be computed from a manifest, and the state layout, which the manifest owns.
#include "runtime/artifact/Manifest.h"
#include "runtime/artifact/Optimizers.h"
#include <algorithm>

namespace accum::runtime {
namespace {

constexpr uint64_t kAlign = 256;

uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/// Hands out aligned offsets one after the other.
struct Cursor {
  uint64_t end = 0;
  uint64_t take(uint64_t bytes) {
    uint64_t offset = end;
    end = roundUp(end + bytes, kAlign);
    return offset;
  }
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

Status assignGradients(Manifest &manifest, Cursor &cursor) {
  std::optional<DType> dtype;
  manifest.gradients.offset = cursor.end;
  for (ParameterSpec &param : manifest.params) {
    if (!param.trained)
      continue;
    if (dtype.value_or(param.dtype) != param.dtype)
      return Error{kExitInternal,
                   "trained parameter `" + param.onnxName + "` has another dtype than the ones before it",
                   "manifest"};
    dtype = param.dtype;
    param.gradOffset = cursor.take(param.bytes());
  }
  uint64_t used = cursor.end - manifest.gradients.offset;
  manifest.gradients.bytes = roundUp(used, manifest.devices * kAlign);
  manifest.gradients.dtype = dtype.value_or(ACCUM_F32);
  cursor.end = manifest.gradients.offset + manifest.gradients.bytes;
  return {};
}

} // namespace

int64_t InputSpec::slabElements() const { return product(shape); }
int64_t SlotSpec::elements() const { return product(shape); }
int64_t ParameterSpec::elements() const { return product(shape); }

uint64_t ParameterSpec::slotBytes() const {
  uint64_t sum = 0;
  for (const SlotSpec &slot : slots)
    sum += bytes(slot);
  return sum;
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
  Cursor cursor;
  for (bool trained : {true, false})
    for (ParameterSpec &param : manifest.params) {
      if (param.trained != trained)
        continue;
      param.stateOffset = cursor.take(param.bytes());
      param.decayDefault = param.shape.size() >= 2;
      param.slots.clear();
    }
  if (Status status = assignGradients(manifest, cursor); !status)
    return status;
  for (const SlotRow &row : optimizer->slots)
    for (ParameterSpec &param : manifest.params) {
      auto shape = param.trained ? slotShape(row.extent, param.shape) : std::nullopt;
      if (!shape)
        continue;
      SlotSpec slot{row.name, 0, *shape};
      slot.stateOffset = cursor.take(param.bytes(slot));
      param.slots.push_back(slot);
    }
  for (ScalarSpec &scalar : manifest.scalars)
    scalar.stateOffset = cursor.take(bytesOf(scalar.dtype));
  manifest.stateBytes = cursor.end;
  return {};
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
}

} // namespace accum::runtime
