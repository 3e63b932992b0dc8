// SPDX-License-Identifier: Apache-2.0
// Which learning rate and which decay each trained parameter has in a run.
#ifndef ACCUM_RUNTIME_ARTIFACT_GROUPS_H
#define ACCUM_RUNTIME_ARTIFACT_GROUPS_H

#include "runtime/artifact/Manifest.h"

namespace accum::runtime {

/// `--lr-scale GLOB=X`
struct RateRule {
  std::string glob;
  double factor = 1;
};

/// Reads `GLOB=X`; nothing where X is no finite number from 0 on.
std::optional<RateRule> rateRuleIn(const std::string &text);

struct GroupRules {
  std::vector<RateRule> rates;     ///< the first that matches wins; 1 where none does
  double weightDecay = 0;          ///< of what decays
  std::vector<std::string> decays; ///< "all", "matrices" or globs: any of them; none: "matrices"
};

/// One of each per trained parameter, in manifest order.
struct Coefficients {
  std::vector<double> rate, decay;
};

/// Globs match names in the model file and of the framework. Refuses (exit 2) a pattern that decides nothing,
/// naming what comes nearest to it, and a decay towards another value than the model file's 0.
Expected<Coefficients> coefficientsOf(const Manifest &manifest, const GroupRules &rules);

/// Trained parameters with the same coefficients.
struct Group {
  double rate = 1, decay = 0;
  uint64_t tensors = 0, values = 0;
  std::string members; ///< a checksum of their names

  bool operator==(const Group &) const = default;
};

/// In the order of their first members.
std::vector<Group> groupsOf(const Manifest &manifest, const Coefficients &coefficients);

/// "lr * 0.1, decay 0.01: 12 tensors, 7087872 values"
std::string describe(const Group &group);

} // namespace accum::runtime
#endif
