// SPDX-License-Identifier: Apache-2.0
// Where parameters, gradients, optimizer slots and named numbers lie in the state.
#pragma once

#include "dialects/Device/DeviceDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "runtime/artifact/Manifest.h"
#include "llvm/ADT/StringMap.h"

namespace accum {

/// What the state of a module holds beside its `train.param`s. A `device.program` carries the same
/// attributes.
struct StateContents {
  mlir::ArrayAttr gradients;       ///< symbols of the parameters that are trained
  mlir::ArrayAttr scalars;         ///< dictionaries {name, type}: loss and totals; a total may be an array
  mlir::StringAttr optimizer;      ///< a row of runtime/artifact/Optimizers.cpp
  mlir::DictionaryAttr shard = {}; ///< of the plan; null: nothing is sharded
};

/// A manifest with `devices`, `optimizer`, `params`, `gradients`, `scalars` and `stateBytes`, and what it has
/// no word for: totals that are arrays lie behind everything else.
struct StateLayout {
  StateContents contents;
  runtime::Manifest manifest;
  llvm::StringMap<int64_t> offsets; ///< of scalars and totals by name

  /// Trained parameters that are cut together, as ranges of the whole state: parameters, gradients, and each
  /// slot of the optimizer by its name.
  struct Unit {
    size_t first = 0, count = 0; ///< numbers among the trained parameters
    uint64_t bytes = 0;          ///< of each range, padding included
    int64_t pieces = 1;          ///< of a device's part, where it is offloaded
    uint64_t parameters = 0, gradients = 0;
    llvm::StringMap<uint64_t> slots;
  };
  llvm::SmallVector<Unit> units; ///< none where the whole state is on each device
  size_t copied = 0;             ///< so many of them, the first ones, have copies in half the bytes
  /// Frozen parameters that are cut together: `first` is a number among the frozen ones, and there is no more
  /// than parameters.
  llvm::SmallVector<Unit> frozen;

  /// Places behind the rest of a device's state: for its parts of those copies, for parameters that are
  /// gathered, for gradients that are scattered, for offloaded state on its way, of so many bytes.
  int64_t copies = 0, copiesBytes = 0, gathered = 0, gatheredBytes = 0, scattered = 0, scatteredBytes = 0,
          staged = 0, stagedBytes = 0;

  bool isSharded() const { return !manifest.shard.isNone(); }
  /// A unit is whole on each device while its tensors are updated, one by one.
  bool updatesWholeUnits() const;
  /// The unit of a trained parameter; nothing where there are none.
  std::optional<size_t> unitOf(llvm::StringRef parameter) const;
  /// Numbers of what is gathered: units, copies of the first ones of them, frozen units.
  size_t numberOfCopy(size_t unit) const { return units.size() + unit; }
  /// Of what has a parameter, also a frozen one, as it is; nothing where a device has all of it.
  std::optional<size_t> gatheredWith(llvm::StringRef parameter) const;
  /// What is gathered under a number, and whether that is its copy.
  std::pair<const Unit *, bool> gatheredUnit(size_t number) const;
  /// Where a device has its part of the copy of a unit.
  int64_t copyOf(size_t unit) const;
  /// Whether a device has its part only of `parameter` or `gradient`, or has it elsewhere.
  bool hasPartsOf(llvm::StringRef slot) const;
  /// Where a device has what lies there in the whole state, or its part of that; of offloaded state the place
  /// in that.
  int64_t local(uint64_t offset) const;
  /// Of a unit: `parameter`, `gradient` or a slot.
  uint64_t startOf(llvm::StringRef slot, size_t unit) const;
  uint64_t partBytes(size_t unit) const {
    return units[unit].bytes / static_cast<uint64_t>(manifest.parts());
  }
  uint64_t pieceBytes(size_t unit) const {
    return partBytes(unit) / static_cast<uint64_t>(units[unit].pieces);
  }
  /// What of a unit is offloaded: slots that are cut with it, in the optimizer's order, and `parameter`.
  llvm::SmallVector<llvm::StringRef> offloadedSlots() const;
  const runtime::StateSegment *segment(uint64_t offset) const;

  const runtime::ParameterSpec &parameter(llvm::StringRef name) const;
  uint64_t slotOffset(llvm::StringRef parameter, llvm::StringRef slot) const;
};

/// Parameters are in the module's order; the contents are read off @step, @eval and the plan, where there is
/// one: targets of their yields. The optimizer's name stands on its kernel (`accum.update`). Fails, with a
/// diagnostic, where a scalar's name has two types, an optimizer's is none, or trained parameters differ in
/// dtype.
mlir::FailureOr<StateLayout> layOutState(mlir::ModuleOp module, int64_t devices);
/// Of a program that was built.
mlir::FailureOr<StateLayout> layOutState(mlir::ModuleOp module, device::ProgramOp program);

/// The runtime's name of an element type; nothing for one that no tensor of an artifact has.
std::optional<runtime::DType> dtypeOf(mlir::Type element);

} // namespace accum
