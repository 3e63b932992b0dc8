// SPDX-License-Identifier: Apache-2.0
// Tight packing inputs: variants of cut rectangles, and recorded allocators.
#include "test/compiler/Planner/TightInstances.h"
#include <algorithm>
#include <cmath>

namespace accum::planner {

namespace {

constexpr int64_t kHeight = 1 << 20;

/// Whether one in a hundred times `percent`.
bool happens(Random &random, int percent) { return draw(random, 0, 99) < percent; }

/// From 1 to `most`, each order of magnitude as likely as the next.
int64_t drawTail(Random &random, int64_t most) {
  double exponent = static_cast<double>(draw(random, 0, 1 << 20)) * 0x1p-20;
  return std::clamp<int64_t>(std::llround(std::pow(static_cast<double>(most), exponent)), 1, most);
}

void shrinkLives(Random &random, std::vector<Rectangle> &rectangles) {
  for (Rectangle &r : rectangles) {
    int most = std::max(1, (r.end - r.start) / 10);
    if (!happens(random, 33) || r.end - r.start < 3)
      continue;
    if (happens(random, 50))
      r.start += static_cast<int>(draw(random, 1, most));
    else
      r.end -= static_cast<int>(draw(random, 1, most));
  }
}

std::vector<Rectangle> cut(Random &random, TightKind kind, int buffers) {
  Cutting cutting{.pieces = buffers, .horizon = buffers / 2, .height = kHeight, .grain = 1024};
  switch (kind) {
  case TightKind::Slivers:
    cutting.largestFirst = false;
    break;
  case TightKind::Pinwheels:
    cutting.pinwheelPercent = 40;
    break;
  case TightKind::AllPinwheels:
    cutting.pinwheelPercent = 100;
    break;
  case TightKind::FewMoments:
    cutting.horizon = buffers / 12;
    break;
  case TightKind::FewSizes:
    cutting.grain = kHeight / 32;
    cutting.horizon = 2 * buffers;
    break;
  case TightKind::HeavyTails:
    cutting.nearEdges = true;
    break;
  case TightKind::ShrunkLives:
    cutting.horizon = 5 * buffers;
    cutting.pinwheelPercent = 20;
    break;
  default:
    cutting.pinwheelPercent = 20;
  }
  std::vector<Rectangle> pieces = cutRectangle(random, cutting);
  if (kind == TightKind::ShrunkLives)
    shrinkLives(random, pieces);
  if (kind == TightKind::ShrunkSizes)
    for (Rectangle &piece : pieces)
      if (piece.size > cutting.grain && happens(random, 33))
        piece.size -= cutting.grain;
  if (kind == TightKind::Dropped)
    drop(random, pieces, 5);
  return pieces;
}

/// Fills a memory as time goes by; whatever ends leaves a hole, and the next ones fill holes from below.
class Allocator {
public:
  Allocator(Random &random, TightKind kind, int buffers) : random(random), kind(kind), buffers(buffers) {
    for (int64_t count = draw(random, 7, 13); count > 0; --count)
      loop.push_back({drawSize(), drawLife()});
  }

  std::vector<Rectangle> run() {
    std::vector<MemorySlot> slots = {{kHeight, 0, true}};
    auto fillHole = [&](int, int64_t free, auto &next) { fill(free, next); };
    for (now = 0; static_cast<int>(made.size()) < buffers; ++now)
      slots = refilled(slots, now, fillHole);
    for (Rectangle &r : made)
      r.end = std::max(r.start + 1, std::min(r.end, now));
    if (kind == TightKind::Loose)
      shrinkLives(random, made);
    return std::move(made);
  }

private:
  struct Tile {
    int64_t size;
    int life;
  };

  int64_t drawSize() {
    switch (kind) {
    case TightKind::AnySizes:
      return draw(random, kHeight / 100, kHeight / 6);
    case TightKind::PowersOfTwo:
      return kHeight >> draw(random, 2, 8);
    case TightKind::ShortAndLong:
      return 1024 * drawTail(random, 256);
    default:
      return 4096 * drawTail(random, 48);
    }
  }

  int drawLife() {
    switch (kind) {
    case TightKind::AnySizes:
      return static_cast<int>(draw(random, 1, 40));
    case TightKind::PowersOfTwo:
      return 1 << draw(random, 0, 5);
    case TightKind::ShortAndLong:
      return happens(random, 16) ? std::max(8, buffers / 20) : static_cast<int>(draw(random, 1, 4));
    case TightKind::Pipeline:
      return 12 + static_cast<int>(draw(random, 0, 2));
    default:
      return static_cast<int>(drawTail(random, 30));
    }
  }

  Tile nextTile() {
    if (kind == TightKind::Loop)
      return loop[made.size() % loop.size()];
    return {drawSize(), drawLife()};
  }

  bool staysEmpty() {
    if (kind == TightKind::Phases)
      return now / 20 % 2 == 1 && happens(random, 60);
    return kind == TightKind::Loose && happens(random, 10);
  }

  void fill(int64_t free, std::vector<MemorySlot> &slots) {
    while (free > 0) {
      Tile tile = nextTile();
      int64_t size = std::min(free, tile.size);
      free -= size;
      if (staysEmpty()) {
        slots.push_back({size, now + 1, true});
        continue;
      }
      slots.push_back({size, now + tile.life});
      made.push_back({now, now + tile.life, size});
    }
  }

  Random &random;
  TightKind kind;
  int buffers;
  std::vector<Tile> loop;
  std::vector<Rectangle> made;
  int now = 0;
};

} // namespace

std::vector<Rectangle> tightInstance(Random &random, TightKind kind, int buffers) {
  std::vector<Rectangle> made =
      kind < TightKind::ShortAndLong ? cut(random, kind, buffers) : Allocator(random, kind, buffers).run();
  shuffle(random, made);
  return made;
}

} // namespace accum::planner
