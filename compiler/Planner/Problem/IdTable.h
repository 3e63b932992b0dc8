// SPDX-License-Identifier: Apache-2.0
// The rows of a table by their ids, which the rows keep: for the sake of millions.
#pragma once
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace accum::planner {

/// An open table of row numbers beside their hashes. Whether a row has an id is the caller's to say: `isRow`
/// takes the number of a row whose hash is equal.
class IdTable {
public:
  /// With room for as many rows.
  explicit IdTable(size_t rows = 0) : slots(std::bit_ceil(2 * rows + 16)) {}
  static uint64_t hashOf(std::string_view id) { return std::hash<std::string_view>()(id); }
  static uint64_t hashOf(int64_t id) { return static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15u; }

  template <class IsRow> std::optional<size_t> find(uint64_t hash, IsRow isRow) const {
    const Slot &slot = slots[place(hash, isRow)];
    return slot.row == 0 ? std::nullopt : std::optional(slot.row - 1);
  }

  /// False where a row has the id already.
  template <class IsRow> bool insert(uint64_t hash, size_t row, IsRow isRow) {
    if (2 * count >= slots.size())
      grow();
    Slot &slot = slots[place(hash, isRow)];
    if (slot.row != 0)
      return false;
    slot = {hash, row + 1};
    ++count;
    return true;
  }

private:
  struct Slot {
    uint64_t hash = 0;
    size_t row = 0; ///< a row's number plus 1; 0: none
  };

  /// Where a row stands, or would. High bits of the hash enter, for low ones of a product are poor.
  template <class IsRow> size_t place(uint64_t hash, IsRow isRow) const {
    size_t at = (hash ^ hash >> 32) & (slots.size() - 1);
    while (slots[at].row != 0 && (slots[at].hash != hash || !isRow(slots[at].row - 1)))
      at = (at + 1) & (slots.size() - 1);
    return at;
  }

  void grow() {
    std::vector<Slot> old(4 * slots.size());
    old.swap(slots);
    for (const Slot &slot : old)
      if (slot.row != 0)
        slots[place(slot.hash, [](size_t) { return false; })] = slot;
  }

  std::vector<Slot> slots;
  size_t count = 0;
};

} // namespace accum::planner
