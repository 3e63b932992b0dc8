// SPDX-License-Identifier: Apache-2.0
// Which sharding and offload, and how much memory for units: the best point of each mode, compared.
#pragma once
#include "compiler/Planner/Search/PointChoice.h"

namespace accum::planner {

/// The best point of a pair of --shard and --offload.
struct ModeChoice {
  std::vector<Sharing> sharings; ///< they differ in when gradients are reduced
  std::vector<int> modes = {};   ///< with the memory for units that was chosen
  ChosenPoint chosen = {};       ///< no point where nothing fits
  double seconds = 0;            ///< of the point, with the units that its repeated commands gather
  int smallest = kNoIndex;       ///< where nothing fits: the point that needs least
};

class ModeSearch {
public:
  ModeSearch(SearchSpace &points, PointChooser &chooser, const DeviceProfile &profile, const Options &options)
      : points(points), chooser(chooser), options(options),
        tolerance(options.prefer == "speed" ? 0 : toleranceOf(profile)) {}

  /// `sharings`: in order of preference, not empty. Tries a level of offload only where nothing fits with
  /// less. Returns the number of the choice that is taken.
  size_t run(const std::vector<Sharing> &sharings);
  /// Makes its modes those that the search space considers, with their real times.
  void take(const ModeChoice &choice);

  std::vector<ModeChoice> choices = {}; ///< that were compared

private:
  using Amount = UnitRoom UnitRooms::*; ///< how much memory
  ModeChoice withRoom(const ModeChoice &sharings, UnitRoom room, Amount amount);
  void search(ModeChoice &choice);
  void tryRoom(ModeChoice &choice, UnitRoom now, UnitRoom more, Amount amount);
  size_t best();

  SearchSpace &points;
  PointChooser &chooser;
  const Options &options;
  double tolerance;
};

} // namespace accum::planner
