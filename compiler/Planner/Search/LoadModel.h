// SPDX-License-Identifier: Apache-2.0
// The peak scratch of a choice as a function of the micro-batch size, without building its
// problem.
#pragma once
#include "compiler/Planner/Problem/Recompute.h"
#include <algorithm>

namespace accum::planner {

/// Bytes `fixed + perSample * m`.
struct LoadLine {
  int64_t fixed = 0, perSample = 0;
  int64_t at(int64_t m) const { return fixed + perSample * m; }
};

/// The maximum of lines: the load of the fullest moments, one line for each that is the fullest at some m.
class PeakCurve {
public:
  std::vector<LoadLine> lines = {};
  /// At the smallest and the largest size asked for: a norm of the loads of all moments that is a little
  /// above the fullest one, the more so the more moments are nearly as full.
  double crowded[2] = {0, 0};
  int64_t at(int64_t m) const {
    int64_t largest = 0;
    for (const LoadLine &line : lines)
      largest = std::max(largest, line.at(m));
    return largest;
  }
};

/// The fullest moment at one size.
struct FullestMoment {
  int64_t bytes = 0;
  double crowded = 0;          ///< as in PeakCurve
  std::vector<int> there = {}; ///< buffers: storages
};

/// Loads without alignment, tables taken at their least value, results merged with an operand whose place
/// they may take where both may have the same size: a lower bound of what packing needs, and close to it.
class LoadModel {
public:
  /// For sizes m in [smallest, largest].
  LoadModel(const Problem &problem, const Recomputation &flow, int64_t smallest, int64_t largest);

  /// `order`: of the positions of `choice.recomputed`. The choice's `variants` has one entry per command.
  PeakCurve peak(const RunningOrder &order, const Choice &choice) const;

  /// The fullest moment of m samples.
  FullestMoment fullest(const RunningOrder &order, const Choice &choice, int64_t m) const;

private:
  struct Donor {
    int storage = kNoIndex;
    bool fits = false; ///< with both producers in their default: `mayBeEqual`
  };
  struct Storage {
    int buffer = kNoIndex;
    int producer = kNoIndex;
    int start = 0, end = 0;          ///< in the original order
    int lastEarly = 0;               ///< the last of the producer and its users in the forward part
    int lastLate = kNoIndex;         ///< the last backward user
    LoadLine line = {};              ///< with its producer in its default
    std::vector<int> mayRepeat = {}; ///< users that may be recomputed
    std::vector<Donor> donors = {};  ///< whose place this one may take
    bool crossesLoop = false;
  };
  struct Instance {
    int start = 0, end = 0; ///< in the expanded order; empty: not there
    bool taken = false;
  };
  struct Run;

  LoadLine lineOf(const Amount &amount) const;
  const Amount &bytesOf(const Storage &storage, const Choice &choice) const;
  std::vector<LoadLine> loadsOf(const Run &run, const Choice &choice) const;
  bool mayBeEqual(const Amount &one, const Amount &other) const;
  PeakCurve envelope(const std::vector<LoadLine> &loads) const;

  const Problem &problem;
  const Recomputation &flow;
  int64_t smallest, largest;
  std::vector<Storage> storages;
  std::vector<int> storageOf;                    ///< buffer -> index into storages
  std::vector<std::vector<LoadLine>> workspaces; ///< per command and variant
  std::vector<int> working;                      ///< commands that have one in some variant
};

} // namespace accum::planner
