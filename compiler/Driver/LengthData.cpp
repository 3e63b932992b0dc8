// SPDX-License-Identifier: Apache-2.0
// How long samples are, and the sizes that suit them.
#include "compiler/Driver/LengthData.h"
#include "runtime/files/Convert.h"
#include "runtime/files/DataFiles.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>

namespace accum::driver {
namespace {

constexpr int64_t kSizeStep = 8;
constexpr int64_t kShortest = 8; ///< of a ladder

runtime::Error bad(const std::string &path, const std::string &what) {
  return runtime::Error{runtime::kExitFile, "--lengths " + path + ": " + what, "bad-data"};
}

runtime::Status add(LengthCounts &counts, const std::string &path, int64_t length, int64_t samples) {
  if (length < 0 || samples < 0 || length > int64_t(counts.size()))
    return bad(path, fmt::format("holds a sample of length {}, expected at most {}", length, counts.size()));
  counts[size_t(std::max<int64_t>(length, 1)) - 1] += samples; // an empty one takes a place, too
  return {};
}

runtime::Expected<LengthCounts> readText(const std::string &path, int64_t longest) {
  LengthCounts counts(size_t(longest), 0);
  std::ifstream file(path);
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    int64_t length = 0, samples = 0;
    std::string more;
    if (line.empty() || line[0] == '#')
      continue;
    if (!(words >> length >> samples) || words >> more)
      return bad(path, fmt::format("line {}: expected `length count`", number));
    if (runtime::Status status = add(counts, path, length, samples); !status)
      return status.error();
  }
  return counts;
}

/// Of each sample of a padded array the place after the last one that is no padding.
runtime::Status notePadded(const runtime::Array &array, const LengthInput &input,
                           std::vector<int64_t> &ends) {
  if (int64_t(array.shape.size()) <= input.axis)
    return bad(array.path, fmt::format("array `{}` has {} axes", array.name, array.shape.size()));
  int64_t samples = array.shape[0], row = samples > 0 ? array.elements() / samples : 0, after = 1;
  for (size_t axis = size_t(input.axis) + 1; axis < array.shape.size(); ++axis)
    after *= array.shape[axis];
  auto first = int64_t(ends.size());
  ends.resize(ends.size() + size_t(samples), input.isMask ? 0 : array.shape[size_t(input.axis)]);
  if (!input.isMask)
    return {};
  return runtime::forEachPiece(array, [&](int64_t flat, int64_t count, const uint8_t *values) {
    for (int64_t i = 0; i < count; ++i)
      if (runtime::asDouble(values, array.dtype, i) != input.fill) {
        int64_t place = (flat + i) % row / after % array.shape[size_t(input.axis)];
        int64_t &end = ends[size_t(first + (flat + i) / row)];
        end = std::max(end, place + 1);
      }
    return true;
  });
}

runtime::Status noteOffsets(const runtime::Array &array, std::vector<int64_t> &ends) {
  int64_t before = 0;
  bool isFirst = true;
  return runtime::forEachPiece(array, [&](int64_t, int64_t count, const uint8_t *values) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t offset = runtime::asInteger(values, array.dtype, i);
      if (!isFirst)
        ends.push_back(offset - before);
      before = offset;
      isFirst = false;
    }
    return true;
  });
}

runtime::Expected<LengthCounts> readArrays(const std::string &path, const std::vector<LengthInput> &inputs,
                                           int64_t longest) {
  auto files = runtime::readData({path}, "");
  if (!files)
    return files.error();
  std::vector<int64_t> all;
  bool isMasked = false; // where `all` comes from masks
  for (const LengthInput &input : inputs)
    for (const auto &shards : files->arrays) {
      bool isRagged = shards.front().name == input.name + ".offsets";
      bool isPadded = shards.front().name == input.name;
      std::vector<int64_t> ends;
      for (const runtime::Array &array : shards) {
        bool hasOffsets = std::ranges::any_of(
            files->arrays, [&](const auto &other) { return other.front().name == input.name + ".offsets"; });
        runtime::Status status = isRagged                  ? noteOffsets(array, ends)
                                 : isPadded && !hasOffsets ? notePadded(array, input, ends)
                                                           : runtime::Status();
        if (!status)
          return status.error();
      }
      // Masks say more than the width of arrays does, and a sample ends where the last of them does.
      if (ends.empty() || (!input.isMask && !all.empty()))
        continue;
      if (!isMasked || all.size() != ends.size())
        all = std::move(ends);
      else
        std::ranges::transform(all, ends, all.begin(), [](int64_t a, int64_t b) { return std::max(a, b); });
      isMasked |= input.isMask;
    }
  if (all.empty())
    return bad(path,
               "holds no array that is padded along the dimension, expected one of the model's inputs, or "
               "lines `length count`");
  LengthCounts counts(size_t(longest), 0);
  for (int64_t length : all)
    if (runtime::Status status = add(counts, path, length, 1); !status)
      return status.error();
  return counts;
}

bool isText(const std::string &path) { return path.ends_with(".txt") || path.ends_with(".csv"); }

} // namespace

runtime::Expected<LengthCounts> readLengths(const std::string &path, const std::vector<LengthInput> &inputs,
                                            int64_t longest) {
  if (isText(path) && !std::ifstream(path))
    return runtime::Error{runtime::kExitFile, "--lengths " + path + ": there is no such file",
                          "missing-file"};
  return isText(path) ? readText(path, longest) : readArrays(path, inputs, longest);
}

std::vector<int64_t> ladder(int64_t longest, int64_t count) {
  std::vector<int64_t> sizes;
  for (int64_t size = longest; int64_t(sizes.size()) < count && (sizes.size() < 2 || size >= kShortest);
       size /= 2) {
    if (size == 0)
      break;
    sizes.insert(sizes.begin(), size);
  }
  return sizes;
}

double interpolate(const std::vector<std::pair<double, double>> &points, double x) {
  double sum = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    double term = points[i].second;
    for (size_t j = 0; j < points.size(); ++j)
      if (j != i)
        term *= (x - points[j].first) / (points[i].first - points[j].first);
    sum += term;
  }
  return sum;
}

std::string compareCounts(const LengthCounts &counts, int64_t longest, int64_t count,
                          const LengthCost &cost) {
  std::string text = "\nsizes    predicted step, update aside\n";
  for (int64_t most = 1; most <= count; ++most) {
    std::vector<int64_t> sizes = chooseSizes(counts, longest, most, cost);
    if (int64_t(sizes.size()) == most)
      text += fmt::format("{:>8}  {:8.1f} ms  {}\n", most, 1e3 * stepSeconds(counts, sizes, cost),
                          fmt::join(sizes, ", "));
  }
  return text;
}

double LengthCost::seconds(int64_t size, double share) const {
  double samples = share * double(batch), each = perSample(size);
  return samples * each + 0.5 * std::sqrt(2 * samples * each * perMicroStep);
}

double stepSeconds(const LengthCounts &counts, const std::vector<int64_t> &sizes, const LengthCost &cost) {
  std::vector<double> shares = sharesOf(counts, sizes);
  double seconds = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    seconds += cost.seconds(sizes[i], shares[i]);
  return seconds;
}

std::vector<double> sharesOf(const LengthCounts &counts, const std::vector<int64_t> &sizes) {
  double all = double(std::max<int64_t>(std::accumulate(counts.begin(), counts.end(), int64_t(0)), 1));
  std::vector<double> shares;
  int64_t before = 0;
  for (int64_t size : sizes) {
    int64_t own = std::accumulate(counts.begin() + before, counts.begin() + size, int64_t(0));
    shares.push_back(double(own) / all);
    before = size;
  }
  return shares;
}

/// best[n][c]: the least time of all samples up to candidate c, with n + 1 sizes of which c is the last.
std::vector<int64_t> chooseSizes(const LengthCounts &counts, int64_t longest, int64_t count,
                                 const LengthCost &cost) {
  std::vector<int64_t> candidates;
  for (int64_t size = kSizeStep; size < longest; size += kSizeStep)
    candidates.push_back(size);
  candidates.push_back(longest);
  std::vector<double> upTo(counts.size() + 1, 0);
  double all = double(std::max<int64_t>(std::accumulate(counts.begin(), counts.end(), int64_t(0)), 1));
  for (size_t i = 0; i < counts.size(); ++i)
    upTo[i + 1] = upTo[i] + double(counts[i]) / all;
  auto added = [&](int64_t after, int64_t size) {
    return cost.seconds(size, upTo[size_t(size)] - upTo[size_t(after)]);
  };
  size_t n = candidates.size();
  std::vector<std::vector<double>> best(size_t(count),
                                        std::vector<double>(n, std::numeric_limits<double>::infinity()));
  std::vector<std::vector<size_t>> from(size_t(count), std::vector<size_t>(n, 0));
  for (size_t c = 0; c < n; ++c)
    best[0][c] = added(0, candidates[c]);
  for (size_t k = 1; k < size_t(count); ++k)
    for (size_t c = k; c < n; ++c)
      for (size_t before = k - 1; before < c; ++before)
        if (double seconds = best[k - 1][before] + added(candidates[before], candidates[c]);
            seconds < best[k][c]) {
          best[k][c] = seconds;
          from[k][c] = before;
        }
  size_t k = 0;
  for (size_t other = 1; other < size_t(count); ++other)
    if (best[other][n - 1] < best[k][n - 1])
      k = other;
  std::vector<int64_t> sizes;
  for (size_t c = n - 1;; c = from[k--][c]) {
    sizes.insert(sizes.begin(), candidates[c]);
    if (k == 0)
      break;
  }
  return sizes;
}

} // namespace accum::driver
