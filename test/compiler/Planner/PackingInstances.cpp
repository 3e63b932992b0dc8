// SPDX-License-Identifier: Apache-2.0
// Kinds of packing inputs from a seed.
#include "test/compiler/Planner/PackingInstances.h"
#include <algorithm>
#include <cmath>
#include <queue>

namespace accum::planner {

namespace {

/// Cuts one rectangle into ever more pieces.
class Cutter {
public:
  Cutter(Random &random, const Cutting &cutting) : random(random), cutting(cutting) {
    pieces = {{0, cutting.horizon, cutting.height}};
    push(0);
  }

  std::vector<Rectangle> run() {
    for (int tries = 0; size() < cutting.pieces && tries < 100 * cutting.pieces; ++tries) {
      size_t index =
          cutting.largestFirst ? queue.top().second : static_cast<size_t>(draw(random, 0, size() - 1));
      if (cutting.largestFirst)
        queue.pop();
      size_t before = pieces.size();
      cut(index);
      push(index);
      for (size_t added = before; added < pieces.size(); ++added)
        push(added);
    }
    shuffle(random, pieces);
    return std::move(pieces);
  }

private:
  int size() const { return static_cast<int>(pieces.size()); }

  /// Larger pieces are cut earlier, but not strictly so.
  void push(size_t index) {
    const Rectangle &piece = pieces[index];
    double area =
        std::log(static_cast<double>(piece.end - piece.start)) + std::log(static_cast<double>(piece.size));
    queue.emplace(area + static_cast<double>(draw(random, 0, 1000)) / 500, index);
  }

  void cut(size_t index) {
    Rectangle piece = pieces[index];
    int64_t grains = piece.size / cutting.grain;
    int width = piece.end - piece.start;
    if (width >= 3 && grains >= 3 && draw(random, 0, 99) < cutting.pinwheelPercent)
      return cutPinwheel(index);
    bool inTime = draw(random, 0, 1) == 0;
    if (inTime && width > 1) {
      int at = piece.start + static_cast<int>(part(width));
      pieces[index].end = at;
      pieces.push_back({at, piece.end, piece.size});
    } else if (!inTime && grains > 1) {
      int64_t below = cutting.grain * part(grains);
      pieces[index].size = below;
      pieces.push_back({piece.start, piece.end, piece.size - below});
    }
  }

  /// Where to cut so many units, at least one from the edges.
  int64_t part(int64_t units) {
    if (!cutting.nearEdges)
      return draw(random, 1, units - 1);
    int64_t near = draw(random, 1, std::max<int64_t>(1, units / 8));
    return draw(random, 0, 1) == 0 ? near : units - near;
  }

  /// Bottom, right, top, left and the one in their middle.
  void cutPinwheel(size_t index) {
    Rectangle piece = pieces[index];
    int64_t grains = piece.size / cutting.grain;
    int64_t left = draw(random, piece.start + 1, piece.end - 2),
            right = draw(random, left + 1, piece.end - 1);
    int64_t bottom = draw(random, 1, grains - 2), top = draw(random, bottom + 1, grains - 1);
    auto add = [&](int64_t start, int64_t end, int64_t size) {
      pieces.push_back({static_cast<int>(start), static_cast<int>(end), size * cutting.grain});
    };
    pieces[index] = {piece.start, static_cast<int>(right), bottom * cutting.grain};
    add(right, piece.end, top);
    add(left, piece.end, grains - top);
    add(piece.start, left, grains - bottom);
    add(left, right, top - bottom);
  }

  Random &random;
  const Cutting &cutting;
  std::vector<Rectangle> pieces;
  std::priority_queue<std::pair<double, size_t>> queue; ///< what to cut next
};

/// Steps through time; whatever ends leaves a hole, and holes side by side are filled by the next tiles.
class Tiler {
public:
  Tiler(Random &random, const Tiling &tiling) : random(random), tiling(tiling) {}

  std::vector<Rectangle> run() {
    std::vector<MemorySlot> slots = {{tiling.capacity, 0}};
    auto fillHole = [&](int now, int64_t free, auto &next) { fill(now, free, next); };
    for (int now = 0; static_cast<int>(made.size()) < tiling.buffers; ++now)
      slots = refilled(slots, now, fillHole);
    int last = 0;
    for (const Rectangle &tile : made)
      last = std::max(last, tile.start + 1);
    for (Rectangle &tile : made)
      tile.end = std::min(tile.end, last); // full to the end
    return std::move(made);
  }

private:
  /// Tiles that fill a hole.
  void fill(int now, int64_t free, std::vector<MemorySlot> &slots) {
    if (tiling.kind == TileKind::Fan && free > 0 && draw(random, 0, 2) == 0)
      return scatter(now, free, slots);
    while (free > 0) {
      int64_t size = std::min(free, tiling.alignment * sizes[draw(random, 0, 5)]);
      put(now, size, now + life(), slots);
      free -= size;
    }
  }

  /// Equal tiles with one end, and one for the rest.
  void scatter(int now, int64_t free, std::vector<MemorySlot> &slots) {
    int end = now + static_cast<int>(draw(random, 1, 4));
    int64_t size = tiling.alignment * draw(random, 1, 6);
    for (; free > 0; free -= size)
      put(now, std::min(size, free), end, slots);
  }

  int life() {
    auto between = [&](int64_t low, int64_t high) { return static_cast<int>(draw(random, low, high)); };
    if (tiling.kind == TileKind::DoubleBuffered)
      return 2 << between(0, 2);
    if (tiling.kind == TileKind::Skewed)
      return 1 + stage++ % 7;
    if (tiling.kind == TileKind::Prefetched && between(0, 4) == 0)
      return between(10, 30);
    return between(1, 5);
  }

  void put(int start, int64_t size, int end, std::vector<MemorySlot> &slots) {
    slots.push_back({size, end});
    bool shrinks = draw(random, 0, 99) < tiling.shrunkPercent;
    made.push_back({start, end, shrinks ? size - tiling.alignment / 2 : size});
  }

  static constexpr int64_t sizes[] = {1, 2, 3, 4, 8, 12}; ///< in alignments
  Random &random;
  const Tiling &tiling;
  std::vector<Rectangle> made;
  int stage = 0;
};

} // namespace

void shuffle(Random &random, std::vector<Rectangle> &rectangles) {
  for (size_t index = rectangles.size(); index > 1; --index)
    std::swap(rectangles[index - 1],
              rectangles[static_cast<size_t>(draw(random, 0, static_cast<int64_t>(index) - 1))]);
}

std::vector<MemorySlot> refilled(const std::vector<MemorySlot> &slots, int now, const FillHole &fill) {
  std::vector<MemorySlot> next;
  int64_t free = 0;
  for (const MemorySlot &slot : slots) {
    if (slot.end <= now) {
      free += slot.size;
      continue;
    }
    fill(now, free, next);
    free = 0;
    next.push_back(slot);
  }
  fill(now, free, next);
  return next;
}

std::vector<Rectangle> tileLoop(Random &random, const Tiling &tiling) {
  std::vector<Rectangle> tiles = Tiler(random, tiling).run();
  shuffle(random, tiles);
  return tiles;
}

std::vector<Rectangle> cutRectangle(Random &random, const Cutting &cutting) {
  return Cutter(random, cutting).run();
}

void drop(Random &random, std::vector<Rectangle> &rectangles, int percent) {
  std::erase_if(rectangles, [&](const Rectangle &) { return draw(random, 0, 99) < percent; });
}

std::vector<Rectangle> layeredRectangles(Random &random, int layers, int perLayer) {
  std::vector<int64_t> saved, moments;
  for (int index = 0; index < perLayer; ++index) {
    saved.push_back(256 * draw(random, 1, 4000));
    moments.push_back(256 * draw(random, 1, 16000));
  }
  std::vector<Rectangle> rectangles;
  int last = 2 * layers * perLayer;
  auto add = [&](int start, int end, int64_t size) {
    if (std::max(0, start) < std::min(last, end))
      rectangles.push_back({std::max(0, start), std::min(last, end), size});
  };
  for (int layer = 0; layer < layers; ++layer)
    for (int index = 0; index < perLayer; ++index) {
      int forward = layer * perLayer + index, backward = last - 1 - forward;
      if (index % 3 != 2)
        add(forward, backward + 1 - static_cast<int>(draw(random, 0, perLayer / 2)), saved[index]);
      add(forward, forward + 2, moments[index]);
      add(backward - 1, backward + 1, moments[perLayer - 1 - index]);
      if (index % 4 == 0)
        add(backward, backward + perLayer, saved[index]);
    }
  return rectangles;
}

std::vector<Rectangle> scatteredRectangles(Random &random, int count, int longest) {
  std::vector<Rectangle> rectangles;
  for (int index = 0; index < count; ++index) {
    int start = static_cast<int>(draw(random, 0, count - 1));
    int end = start + static_cast<int>(draw(random, 1, longest));
    rectangles.push_back({start, end, 256 * draw(random, 1, 4000)});
  }
  return rectangles;
}

} // namespace accum::planner
