// SPDX-License-Identifier: Apache-2.0
// Samples first, whole tensors only where samples agree.
#include "compiler/Import/parameters/Ties.h"
#include "compiler/Import/model/Contents.h"
#include "compiler/Import/parameters/ModuleNames.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>
#include <xxhash.h>

namespace accum::import {
namespace {

size_t widthOf(const Tensor &tensor) { return static_cast<size_t>(bitWidth(tensor.dtype)) / 8; }

/// Equal keys are necessary for equal content, f32 copies of f16 included. The same places are sampled
/// whatever the layout: `transposed` gives the key of the transposed tensor.
uint64_t sampleKey(const Tensor &tensor, bool transposed) {
  std::vector<int64_t> shape = tensor.shape;
  if (transposed)
    std::reverse(shape.begin(), shape.end());
  constexpr int samples = 16;
  int64_t count = tensor.elementCount(), columns = tensor.shape.empty() ? 1 : tensor.shape.back();
  int64_t rows = count / columns;
  XXH64_hash_t key = XXH3_64bits(shape.data(), shape.size() * sizeof(int64_t)) +
                     static_cast<uint64_t>(computedIn(tensor.dtype));
  for (int sample = 0; sample < samples; ++sample) {
    int64_t index = count / samples * sample + (count % samples) / 2;
    if (transposed)
      index = index % rows * columns + index / rows;
    double value = elementAt(tensor, index);
    key = XXH3_64bits_withSeed(&value, sizeof value, key);
  }
  return key;
}

template <class Word>
bool isTransposed(const std::byte *a, const std::byte *b, int64_t rows, int64_t columns) {
  constexpr int64_t block = 32; // two blocks of doubles are 16 KiB: both stay in the first-level cache
  auto at = [](const std::byte *base, int64_t index) {
    return base + static_cast<size_t>(index) * sizeof(Word);
  };
  for (int64_t r0 = 0; r0 < rows; r0 += block)
    for (int64_t c0 = 0; c0 < columns; c0 += block)
      for (int64_t r = r0; r < std::min(r0 + block, rows); ++r)
        for (int64_t c = c0; c < std::min(c0 + block, columns); ++c)
          if (std::memcmp(at(a, r * columns + c), at(b, c * rows + r), sizeof(Word)) != 0)
            return false;
  return true;
}

/// Of tensors of two types, as when an exporter folds a cast of f16 to f32.
bool haveEqualNumbers(const Tensor &a, const Tensor &b, bool transposed) {
  int64_t count = a.elementCount(), columns = a.shape.back(), rows = count / columns;
  for (int64_t i = 0; i < count; ++i)
    if (elementAt(a, i) != elementAt(b, transposed ? i % columns * rows + i / columns : i))
      return false;
  return true;
}

bool canBeTied(const TieCandidate &candidate) {
  const Tensor &tensor = *candidate.tensor;
  return tensor.data.isPresent() && tensor.elementCount() >= 16 && !isAllEqual(tensor);
}

/// In file order, but what has a framework's name of its own first: that name is worth keeping.
bool isKeptBefore(const TieCandidate &a, const TieCandidate &b) {
  return isModuleName(a.tensor->name) && !isModuleName(b.tensor->name);
}

bool hasName(const TieCandidate &candidate, std::string_view name) {
  const auto &aliases = candidate.moduleAliases;
  return candidate.module == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end();
}

bool shareAName(const TieCandidate &a, const TieCandidate &b) {
  auto isOfB = [&](const std::string &name) { return hasName(b, name); };
  return isOfB(a.module) || std::any_of(a.moduleAliases.begin(), a.moduleAliases.end(), isOfB);
}

/// 1 for `teacher.head.weight` and `teacher.wte.weight`.
ptrdiff_t modulesInCommon(std::string_view a, std::string_view b) {
  auto differing = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return std::count(a.begin(), differing, '.');
}

/// A candidate, whose content is the class's or the transpose of that.
struct Member {
  size_t candidate;
  bool transposed;
};

/// Candidates of equal content that are kept apart, in the order in which they were placed.
using Equal = std::vector<Member>;

struct Sampled {
  size_t equal;
  bool transposed;
};

class Search {
public:
  explicit Search(const std::vector<TieCandidate> &candidates) : candidates(candidates) {}

  Ties run() {
    std::vector<size_t> order;
    for (size_t i = 0; i < candidates.size(); ++i)
      if (canBeTied(candidates[i]))
        order.push_back(i);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      bool isBefore = isKeptBefore(candidates[a], candidates[b]);
      return isBefore || (a < b && !isKeptBefore(candidates[b], candidates[a]));
    });
    for (size_t candidate : order)
      place(candidate);
    for (const auto &[kept, others] : apart)
      ties.notices.push_back(keptApart(kept, others));
    std::sort(ties.ties.begin(), ties.ties.end(),
              [](const Tie &a, const Tie &b) { return a.alias < b.alias; });
    return std::move(ties);
  }

private:
  /// Ties the candidate to one placed before it, or lets later ones be tied to it. Contents are compared once
  /// for each class: layers that begin as copies of one have many parameters that are equal.
  void place(size_t candidate) {
    const Tensor &tensor = *candidates[candidate].tensor;
    auto [begin, end] = placed.equal_range(sampleKey(tensor, false));
    for (auto it = begin; it != end; ++it) {
      Equal &equal = classes[it->second.equal];
      const Tensor &first = *candidates[equal.front().candidate].tensor;
      if (haveEqualContent(first, tensor, it->second.transposed)) {
        if (!tryTies(equal, candidate, it->second.transposed))
          equal.push_back({candidate, it->second.transposed});
        return;
      }
    }
    placed.emplace(sampleKey(tensor, false), Sampled{classes.size(), false});
    if (tensor.shape.size() == 2)
      placed.emplace(sampleKey(tensor, true), Sampled{classes.size(), true});
    classes.push_back({{candidate, false}});
  }

  bool tryTies(const Equal &equal, size_t candidate, bool transposed) {
    const TieCandidate &other = candidates[candidate];
    bool isNoticed = false;
    const Member *best = nullptr;
    for (const Member &member : equal) {
      const TieCandidate &kept = candidates[member.candidate];
      bool isShared = shareAName(kept, other) || (!kept.bias.empty() && kept.bias == other.bias);
      bool isSeparated = !other.made.empty() && kept.made == other.made;
      if (!isShared && (isSeparated || (kept.isTold && other.isTold)))
        continue;
      if (!isShared && isSamePlaceInAnotherLayer(kept.module, other.module)) {
        if (!std::exchange(isNoticed, true))
          apart[member.candidate].push_back(candidate);
        continue;
      }
      if (!best || modulesInCommon(kept.module, other.module) >
                       modulesInCommon(candidates[best->candidate].module, other.module))
        best = &member;
    }
    if (best)
      ties.ties.push_back(
          {candidates[best->candidate].tensor->name, other.tensor->name, best->transposed != transposed});
    return best != nullptr;
  }

  std::string keptApart(size_t first, const std::vector<size_t> &others) const {
    const TieCandidate &kept = candidates[first], &other = candidates[others.front()];
    std::string more = others.size() > 1 ? fmt::format(" and {} more", others.size() - 1) : "";
    return fmt::format(
        "`{}`{} `{}`{} are equal but belong to different layers: not tied; --tie {}={} ties {}", kept.module,
        more.empty() ? " and" : ",", other.module, more, kept.tensor->name, other.tensor->name,
        more.empty() ? "them" : "two of them");
  }

  const std::vector<TieCandidate> &candidates;
  std::vector<Equal> classes;
  std::multimap<uint64_t, Sampled> placed;
  std::map<size_t, std::vector<size_t>> apart; ///< by the one placed first
  Ties ties;
};

bool isSwapped(const Tensor &a, const Tensor &b) {
  return a.shape.size() == 2 && b.shape.size() == 2 && a.shape[0] == b.shape[1] && a.shape[1] == b.shape[0];
}

/// A table and a matrix of swapped shape are what tied embeddings look like. Without their bytes they are
/// tied when the export gives them one name, and otherwise only mentioned.
void tieByName(const std::vector<TieCandidate> &candidates, Ties &ties) {
  for (const TieCandidate &table : candidates)
    for (const TieCandidate &matrix : candidates) {
      bool isAbsent = !table.tensor->data.isPresent() || !matrix.tensor->data.isPresent();
      if (!isAbsent || !table.isTable || matrix.isTable || !isSwapped(*table.tensor, *matrix.tensor))
        continue;
      if (shareAName(table, matrix))
        ties.ties.push_back({table.tensor->name, matrix.tensor->name, true});
      else if (matrix.moduleTransposed)
        ties.notices.push_back(
            fmt::format("tying not checked, the weights are absent: `{0}` could be `{1}` transposed; "
                        "--tie {1}={0} ties them",
                        matrix.tensor->name, table.tensor->name));
    }
}

const TieCandidate *findByName(const std::vector<TieCandidate> &candidates, std::string_view name) {
  for (const TieCandidate &candidate : candidates)
    if (candidate.tensor->name == name || hasName(candidate, name))
      return &candidate;
  return nullptr;
}

Failure cannotTie(const std::string &request, std::string why) {
  return {"no-such-parameter", fmt::format("--tie {}", request), std::move(why), {}};
}
} // namespace

bool haveEqualContent(const Tensor &a, const Tensor &b, bool transposed) {
  if (a.dtype != b.dtype)
    return haveEqualNumbers(a, b, transposed);
  const std::byte *left = a.data.bytes().data(), *right = b.data.bytes().data();
  if (!transposed)
    return std::memcmp(left, right, a.byteSize()) == 0;
  switch (widthOf(a)) {
  case 2:
    return isTransposed<uint16_t>(left, right, a.shape[0], a.shape[1]);
  case 4:
    return isTransposed<uint32_t>(left, right, a.shape[0], a.shape[1]);
  default:
    return isTransposed<uint64_t>(left, right, a.shape[0], a.shape[1]);
  }
}

Ties findTies(const std::vector<TieCandidate> &candidates) {
  Ties ties = Search(candidates).run();
  tieByName(candidates, ties);
  return ties;
}

Result<Tie> tieByHand(const std::string &request, const std::vector<TieCandidate> &candidates) {
  size_t equals = request.find('=');
  if (equals == std::string::npos)
    return cannotTie(request, "is not of the form A=B");
  const TieCandidate *a = findByName(candidates, request.substr(0, equals));
  const TieCandidate *b = findByName(candidates, request.substr(equals + 1));
  if (!a || !b)
    return cannotTie(request, fmt::format("names no trained parameter `{}`",
                                          a ? request.substr(equals + 1) : request.substr(0, equals)));
  if (a == b)
    return cannotTie(request, "ties a parameter to itself");
  bool isSame = a->tensor->shape == b->tensor->shape, isSwap = isSwapped(*a->tensor, *b->tensor);
  if ((!isSame && !isSwap) || computedIn(a->tensor->dtype) != computedIn(b->tensor->dtype))
    return cannotTie(request, "names parameters of different shapes or types");
  bool transposed = isSame && isSwap ? a->moduleTransposed != b->moduleTransposed : isSwap;
  if (isKeptBefore(*b, *a))
    std::swap(a, b);
  return Tie{a->tensor->name, b->tensor->name, transposed};
}

void shareNames(Parameter &kept, const Parameter &alias, bool transposed) {
  if (alias.isNameless)
    return;
  if (std::exchange(kept.isNameless, false)) {
    kept.module = alias.module;
    kept.moduleAliases = alias.moduleAliases;
    kept.moduleTransposed = alias.moduleTransposed != transposed;
    kept.moduleAdded = alias.moduleAdded;
    return;
  }
  std::set<std::string> names(kept.moduleAliases.begin(), kept.moduleAliases.end());
  names.insert(alias.moduleAliases.begin(), alias.moduleAliases.end());
  if (isModuleName(alias.module))
    names.insert(alias.module);
  names.erase(kept.module);
  kept.moduleAliases.assign(names.begin(), names.end());
}

} // namespace accum::import
