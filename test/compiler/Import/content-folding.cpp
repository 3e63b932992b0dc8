// SPDX-License-Identifier: Apache-2.0
// Folding of symbolic content against brute force: the same operation on the whole tensor, for several batch
// sizes, must give what the folded content says.
#include "compiler/Import/content/Content.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace accum::import;
using accum::DType;
using accum::nn::ElementwiseFn;

namespace {

/// A whole tensor at a fixed batch size.
struct Whole {
  std::vector<int64_t> shape, data;
  int64_t at(const std::vector<int64_t> &index) const {
    int64_t place = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      place = place * shape[d] + index[d];
    return data[place];
  }
};

std::vector<int64_t> sizesAt(const Shape &shape, int64_t n) {
  std::vector<int64_t> sizes;
  for (Extent extent : shape)
    sizes.push_back(extent.count * (extent.batched ? n : 1));
  return sizes;
}

template <class F> Whole generate(std::vector<int64_t> shape, F element) {
  Whole whole{std::move(shape), {}};
  if (llvm::is_contained(whole.shape, 0))
    return whole;
  std::vector<int64_t> index(whole.shape.size(), 0);
  do
    whole.data.push_back(element(index));
  while (accum::import::advance(index, whole.shape));
  return whole;
}

/// What a content means at batch size n: position p of the batch axis is (block, sample, row).
Whole wholeAt(const Content &content, int64_t n) {
  return generate(sizesAt(content.shape(), n), [&](std::vector<int64_t> index) {
    int64_t sample = 0;
    if (content.batchAxis >= 0) {
      int64_t &p = index[content.batchAxis], rows = content.slab[content.batchAxis] / content.outer;
      int64_t block = p / (n * rows);
      sample = p / rows % n;
      p = block * rows + p % rows;
    }
    return content.at(index).at(sample, n);
  });
}

void expectMeans(const Folded &folded, const std::function<Whole(int64_t)> &brute) {
  ASSERT_TRUE(folded.has_value());
  for (int64_t n : {1, 2, 3, 5}) {
    Whole expected = brute(n), got = wholeAt(*folded, n);
    EXPECT_EQ(got.shape, expected.shape) << "N = " << n;
    EXPECT_EQ(got.data, expected.data) << "N = " << n;
  }
}

Content integers(std::vector<int64_t> values) {
  std::vector<Element> elements;
  for (int64_t value : values)
    elements.push_back(Element::integer(value));
  auto count = static_cast<int64_t>(values.size());
  return Content::dense(DType::Int64, {Extent::fixed(count)}, std::move(elements));
}

/// Range(0, count * N).
Content batchRange(int64_t count) {
  Content zero = Content::scalar(DType::Int64, Element::integer(0));
  Content limit = Content::scalar(DType::Int64, Element::integer(0, 0, count));
  Content one = Content::scalar(DType::Int64, Element::integer(1));
  return *foldRange(zero, limit, one);
}

Whole binary(ElementwiseFn fn, const Whole &a, const Whole &b) {
  size_t rank = std::max(a.shape.size(), b.shape.size());
  std::vector<int64_t> shape(rank, 1);
  auto widen = [&](const Whole &w) {
    for (size_t d = 0; d < w.shape.size(); ++d)
      shape[rank - w.shape.size() + d] = std::max(shape[rank - w.shape.size() + d], w.shape[d]);
  };
  widen(a);
  widen(b);
  auto read = [&](const Whole &w, const std::vector<int64_t> &index) {
    std::vector<int64_t> own(index.end() - static_cast<ptrdiff_t>(w.shape.size()), index.end());
    for (size_t d = 0; d < own.size(); ++d)
      own[d] = w.shape[d] == 1 ? 0 : own[d];
    return w.at(own);
  };
  return generate(shape, [&](const std::vector<int64_t> &index) -> int64_t {
    int64_t x = read(a, index), y = read(b, index);
    switch (fn) {
    case ElementwiseFn::add:
      return x + y;
    case ElementwiseFn::sub:
      return x - y;
    case ElementwiseFn::mul:
      return x * y;
    case ElementwiseFn::div:
      return x / y;
    case ElementwiseFn::mod:
      return ((x % y) + y) % y;
    case ElementwiseFn::lt:
      return x < y;
    case ElementwiseFn::eq:
      return x == y;
    case ElementwiseFn::max:
      return std::max(x, y);
    default:
      ADD_FAILURE();
      return 0;
    }
  });
}

} // namespace

TEST(ContentFolding, RangeOverTheBatch) {
  expectMeans(batchRange(3), [](int64_t n) {
    return generate({3 * n}, [](const std::vector<int64_t> &i) { return i[0]; });
  });
}

TEST(ContentFolding, ReshapeKeepsSamplesOrIsRefused) {
  Content flat = batchRange(6);
  Shape kept{Extent::ofBatch(1), Extent::fixed(2), Extent::fixed(3)};
  expectMeans(foldReshape(flat, kept), [&](int64_t n) {
    Whole whole = wholeAt(flat, n);
    whole.shape = {n, 2, 3};
    return whole;
  });
  // [6*N] as [2, 3*N]: a row would hold half of the samples.
  EXPECT_FALSE(foldReshape(flat, Shape{Extent::fixed(2), Extent::ofBatch(3)}));
}

TEST(ContentFolding, SequenceFirst) {
  Content batch = *foldReshape(batchRange(4), Shape{Extent::ofBatch(1), Extent::fixed(4)});
  Content sequenceFirst = *foldTranspose(batch, {1, 0});
  // [4, N] as [4*N]: four blocks of N samples.
  Folded merged = foldReshape(sequenceFirst, Shape{Extent::ofBatch(4)});
  expectMeans(merged, [&](int64_t n) {
    Whole whole = wholeAt(sequenceFirst, n);
    whole.shape = {4 * n};
    return whole;
  });
  EXPECT_EQ(merged->outer, 4);
}

TEST(ContentFolding, GatherWithinTheSample) {
  Content table = *foldReshape(batchRange(4), Shape{Extent::ofBatch(4)});
  Content indices = *foldReshape(batchRange(4), Shape{Extent::ofBatch(1), Extent::fixed(4)});
  expectMeans(foldGather(table, indices, 0), [&](int64_t n) {
    Whole data = wholeAt(table, n), picks = wholeAt(indices, n);
    return generate(picks.shape, [&](const std::vector<int64_t> &i) { return data.data[picks.at(i)]; });
  });
  Content next = *foldElementwise(ElementwiseFn::add, {&indices, &indices});
  EXPECT_FALSE(foldGather(table, next, 0));
}

TEST(ContentFolding, GatherNDByCoordinates) {
  Content data = *foldReshape(batchRange(4), Shape{Extent::ofBatch(1), Extent::fixed(4)});
  Shape column{Extent::ofBatch(1), Extent::fixed(1), Extent::fixed(1)},
      whole{Extent::ofBatch(1), Extent::fixed(4), Extent::fixed(1)};
  Content sample = *foldBroadcast(*foldReshape(batchRange(1), column), whole);
  Content place =
      *foldBroadcast(*foldReshape(integers({3, 0, 2, 1}), Shape{Extent::fixed(4), Extent::fixed(1)}), whole);
  Folded tuples = foldConcat({&sample, &place}, 2);
  expectMeans(foldGatherND(data, *tuples), [&](int64_t n) {
    Whole d = wholeAt(data, n), t = wholeAt(*tuples, n);
    return generate({n, 4}, [&](const std::vector<int64_t> &i) {
      return d.at({t.at({i[0], i[1], 0}), t.at({i[0], i[1], 1})});
    });
  });
}

TEST(ContentFolding, PositionsOfWhatIsNotZero) {
  auto positions = [](const Whole &mask) {
    std::vector<std::vector<int64_t>> found;
    generate(mask.shape, [&](const std::vector<int64_t> &i) {
      if (mask.at(i) != 0)
        found.push_back(i);
      return 0;
    });
    return generate({int64_t(mask.shape.size()), int64_t(found.size())},
                    [&](const std::vector<int64_t> &i) { return found[size_t(i[1])][size_t(i[0])]; });
  };
  Content row = *foldReshape(integers({0, 7, 0, -1, 2, 0}), staticShape({2, 3}));
  Content same = *foldBroadcast(row, Shape{Extent::ofBatch(1), Extent::fixed(2), Extent::fixed(3)});
  Content flat = *foldReshape(same, Shape{Extent::ofBatch(6)});
  Content led = *foldReshape(flat, Shape{Extent::fixed(1), Extent::ofBatch(2), Extent::fixed(3)});
  for (const Content &mask : {row, integers({0, 0}), same, flat, led})
    expectMeans(foldNonZero(mask), [&](int64_t n) { return positions(wholeAt(mask, n)); });
  EXPECT_FALSE(foldNonZero(*foldTranspose(same, {1, 0, 2})))
      << "positions of a row of all samples come first";
  EXPECT_FALSE(foldNonZero(batchRange(2))) << "zero in one sample alone";
}

TEST(ContentFolding, RangesOfAnyStep) {
  auto range = [](int64_t start, int64_t limit, int64_t delta) -> std::optional<std::vector<int64_t>> {
    auto scalar = [](int64_t value) { return Content::scalar(DType::Int64, Element::integer(value)); };
    Folded folded = foldRange(scalar(start), scalar(limit), scalar(delta));
    std::vector<int64_t> values;
    if (!folded)
      return std::nullopt;
    folded->forEach([&](const Element &element) { values.push_back(element.constant); });
    return values;
  };
  using Values = std::vector<int64_t>;
  EXPECT_EQ(range(0, 5, 2), (Values{0, 2, 4}));
  EXPECT_EQ(range(5, 0, -2), (Values{5, 3, 1}));
  EXPECT_EQ(range(0, 4, 2), (Values{0, 2}));
  EXPECT_EQ(range(0, 5, -1), Values{});
  EXPECT_EQ(range(5, 5, 1), Values{});
  EXPECT_EQ(range(0, 5, INT64_MAX), Values{0});
  EXPECT_EQ(range(5, 0, INT64_MIN), Values{5});
  EXPECT_EQ(range(0, INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(range(0, INT64_MIN, -1), std::nullopt);
}

TEST(ContentFolding, BoundsThatDoNotFit) {
  EXPECT_EQ(boundsOf(Element::integer(INT64_MAX - 1, 0, 1)).low, INT64_MAX);
  EXPECT_EQ(boundsOf(Element::integer(INT64_MAX, 0, 1)).low, std::nullopt);
  EXPECT_EQ(boundsOf(Element::integer(INT64_MIN, 0, -1)).high, std::nullopt);
}

TEST(ContentFolding, BroadcastOfNothing) {
  Folded nothing = foldBroadcast(integers({}), Shape{Extent::fixed(3), Extent::fixed(0)});
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->shape(), (Shape{Extent::fixed(3), Extent::fixed(0)}));
  EXPECT_TRUE(nothing->flatten().empty());
}

TEST(ContentFolding, ElementsInOrderAreNotCopied) {
  Content data = *foldReshape(integers({0, 1, 2, 3, 4, 5}), staticShape({2, 1, 3}));
  EXPECT_EQ(data.inOrder().data(), data.data->data());
  EXPECT_EQ(data.inOrder().size(), 6u);
  Content row = *foldSlice(data, {1, 0, 0}, {1, 1, 1}, {1, 1, 3});
  ASSERT_EQ(row.inOrder().size(), 3u);
  EXPECT_EQ(row.inOrder()[0].constant, 3);
  EXPECT_TRUE(foldTranspose(data, {2, 1, 0})->inOrder().empty());
  EXPECT_TRUE(foldSlice(data, {0, 0, 0}, {1, 1, 1}, {2, 1, 2})->inOrder().empty());
  EXPECT_TRUE(foldBroadcast(integers({7}), staticShape({4}))->inOrder().empty());
}

TEST(ContentFolding, CumSumAndTriangle) {
  Content data = *foldReshape(batchRange(6), Shape{Extent::ofBatch(1), Extent::fixed(2), Extent::fixed(3)});
  expectMeans(foldCumSum(data, 2, false, true), [&](int64_t n) {
    Whole whole = wholeAt(data, n), result = whole;
    for (int64_t row = 0; row < 2 * n; ++row)
      for (int64_t j = 1; j >= 0; --j)
        result.data[row * 3 + j] += result.data[row * 3 + j + 1];
    return result;
  });
  EXPECT_FALSE(foldCumSum(data, 0, false, false));
  expectMeans(foldTrilu(data, 1, true), [&](int64_t n) {
    Whole whole = wholeAt(data, n);
    return generate(whole.shape,
                    [&](const std::vector<int64_t> &i) { return i[2] - i[1] < 1 ? 0 : whole.at(i); });
  });
}

/// Every fold that an operation on random affine tables allows says what the operation gives.
TEST(ContentFolding, RandomElementwiseChains) {
  std::mt19937 random(7);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  auto operand = [&]() -> Content {
    switch (draw(0, 3)) {
    case 0:
      return *foldReshape(batchRange(4), Shape{Extent::ofBatch(1), Extent::fixed(4)});
    case 1:
      return *foldReshape(batchRange(1), Shape{Extent::ofBatch(1), Extent::fixed(1)});
    case 2:
      return integers({draw(-3, 9), draw(1, 9), draw(1, 9), draw(1, 9)});
    default:
      return Content::scalar(DType::Int64, Element::integer(draw(-4, 8), 0, draw(-1, 3)));
    }
  };
  constexpr ElementwiseFn functions[] = {ElementwiseFn::add, ElementwiseFn::sub, ElementwiseFn::mul,
                                         ElementwiseFn::div, ElementwiseFn::mod, ElementwiseFn::lt,
                                         ElementwiseFn::eq,  ElementwiseFn::max};
  int folds = 0;
  for (int round = 0; round < 4000; ++round) {
    Content a = operand(), b = operand();
    for (int step = 0; step < 3; ++step) {
      ElementwiseFn fn = functions[draw(0, 7)];
      bool divides = fn == ElementwiseFn::div || fn == ElementwiseFn::mod;
      bool hasZero = false;
      for (int64_t n : {1, 2, 3, 5})
        hasZero |= llvm::is_contained(wholeAt(b, n).data, 0);
      if (divides && hasZero)
        break;
      Folded folded = foldElementwise(fn, {&a, &b});
      if (!folded)
        break;
      ++folds;
      expectMeans(folded, [&](int64_t n) { return binary(fn, wholeAt(a, n), wholeAt(b, n)); });
      if (HasFailure() || folded->dtype == DType::Bool)
        break;
      a = *folded;
      b = operand();
    }
  }
  EXPECT_GT(folds, 2000);
}
