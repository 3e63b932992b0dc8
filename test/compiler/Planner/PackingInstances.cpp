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
    for (size_t index = pieces.size(); index > 1; --index)
      std::swap(pieces[index - 1],
                pieces[static_cast<size_t>(draw(random, 0, static_cast<int64_t>(index) - 1))]);
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
      int at = static_cast<int>(draw(random, piece.start + 1, piece.end - 1));
      pieces[index].end = at;
      pieces.push_back({at, piece.end, piece.size});
    } else if (!inTime && grains > 1) {
      int64_t part = cutting.grain * draw(random, 1, grains - 1);
      pieces[index].size = part;
      pieces.push_back({piece.start, piece.end, piece.size - part});
    }
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

} // namespace

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
