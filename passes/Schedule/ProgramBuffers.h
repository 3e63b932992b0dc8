// SPDX-License-Identifier: Apache-2.0
// Where the values of a step lie, and the device.buffer ops that say so.
#pragma once

#include "compiler/Planner/Sharing/Gathering.h"
#include "dialects/Train/OneParameter.h"
#include "passes/Schedule/Contributions.h"
#include "passes/Schedule/StateLayout.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace accum {

struct Place {
  device::Space space;
  int64_t offset;
  mlir::RankedTensorType contents;
  std::string label;
  int64_t skip = 0;                     ///< bytes, to where a slice begins
  llvm::SmallVector<int64_t, 2> step{}; ///< bytes, from a slice to the next, by the loops around it
  int64_t pitch = 0;                    ///< elements from row to row; 0: they lie one behind the other
  int64_t byRank = 0;                   ///< bytes, from a rank's place to the next one's

  int64_t bytes() const { return device::bytesOf(contents, pitch); }
};

/// The same bytes as rows.
inline Place rowsOf(Place place, mlir::RankedTensorType type) {
  place.contents = mlir::RankedTensorType::get(type.getShape(), type.getElementType());
  return place;
}

/// Buffers of one program region. What outlives the step (state, hyper-parameters) is listed at its top,
/// scratch and inputs stand where they are first used.
class ProgramBuffers {
public:
  ProgramBuffers(const StateLayout &layout, mlir::Block *top) : layout(layout), top(top) {}

  // --- places of the state ---
  Place parameter(mlir::StringRef name) const;
  Place gradient(mlir::StringRef name) const;
  /// A parameter's copy, in a unit that was gathered; a rank's part of the copy of a unit.
  Place copyOf(mlir::StringRef name, mlir::RankedTensorType type) const;
  Place copiedPart(size_t unit) const;
  /// Where a device's offloaded parameters of a unit pass through to be copied.
  Place passing(size_t unit) const;
  /// `parameter`, `gradient` or a slot: of one parameter, or of all trained ones, from the first one's on.
  Place slot(mlir::StringRef slot, mlir::FlatSymbolRefAttr parameter, mlir::RankedTensorType type) const;
  /// A rank's part of a unit's range: `parameter`, `gradient` or a slot. Of what is offloaded, the place that
  /// it passes through.
  Place part(mlir::StringRef slot, size_t unit) const;
  /// Of the part, a piece.
  Place piece(mlir::StringRef slot, size_t unit, int64_t piece) const;
  /// All of a unit's range, `parameter` or `gradient`, where a rank has it.
  Place whole(mlir::StringRef slot, size_t unit) const;
  /// What a run gives each trained parameter, its weight decay and its factor of the learning rate: of one
  /// parameter, of a unit's, or of all.
  Place decay(mlir::FlatSymbolRefAttr parameter, std::optional<int64_t> unit,
              mlir::RankedTensorType type) const;
  Place scalar(mlir::StringRef name, mlir::RankedTensorType type) const;
  /// All of them, with the padding between and behind.
  Place gradients() const;
  /// `bytes` of the range of all gradients, from an offset in the state on.
  static Place gradientRange(const StateLayout &layout, mlir::MLIRContext *context, uint64_t offset,
                             uint64_t bytes, std::string label);
  /// A yield target: a string is a scalar of the state, a symbol a gradient.
  Place target(mlir::Attribute target, mlir::RankedTensorType type) const;

  // --- units that are whole for a while ---
  /// All of a gathered or scattered unit, or copy of one, and a rank's part of it there.
  Place gathered(const planner::UnitSpan &span) const;
  Place scattered(const planner::UnitSpan &span) const;
  Place ownScattered(const planner::UnitSpan &span) const;
  Place ownGathered(const planner::UnitSpan &span) const;
  /// Where a rank keeps its part of what is gathered.
  Place gatheredFrom(const planner::UnitSpan &span) const;
  /// What lies between a unit's gradients, or has no term in the micro-step, where that is scattered.
  llvm::SmallVector<Place> gapsOf(const planner::UnitSpan &span, const Contributions &contributions) const;
  /// From here on that unit's parameters, or gradients, are there.
  void noteGathered(const planner::UnitSpan &span) { gatheredAt[span.unit] = span.offset; }
  void noteScattered(const planner::UnitSpan &span) { scatteredAt[span.unit] = span.offset; }

  // --- values ---
  void place(mlir::Value value, Place place) { places.insert_or_assign(value, std::move(place)); }
  /// Where a value lies, looking through reshapes; null where nothing placed it.
  const Place *find(mlir::Value value) const;

  /// The buffer op of a place, made where needed. `builder` stands where it is used.
  mlir::Value at(const Place &place, mlir::OpBuilder &builder, mlir::Location loc);
  /// Buffers that are made inside a loop, which loops may stand in, are known there only.
  void enterLoop() { known.emplace_back(); }
  void leaveLoop() { known.pop_back(); }

private:
  using Key = std::tuple<device::Space, int64_t, int64_t, llvm::SmallVector<int64_t, 2>, const void *,
                         int64_t, int64_t, std::string>;
  mlir::RankedTensorType typeOf(const runtime::ParameterSpec &spec) const;
  Place ownPart(int64_t offset, const StateLayout::Unit &unit, std::string label) const;
  std::string nameOf(size_t number) const;

  const StateLayout &layout;
  mlir::Block *top;
  mlir::Operation *lastListed = nullptr;
  llvm::DenseMap<mlir::Value, Place> places;
  std::map<size_t, int64_t> gatheredAt, scatteredAt; ///< unit -> offset in the place for such
  std::vector<std::map<Key, mlir::Value>> known{1};  ///< by the loops around the builder, the region's first
};

} // namespace accum
