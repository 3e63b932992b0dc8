// SPDX-License-Identifier: Apache-2.0
// Totals that are zero, and nodes over masks.
#include "runtime/session/NotFinite.h"
#include <algorithm>

namespace accum::runtime {
namespace {

struct Words {
  const char *kind, *what;
};
constexpr Words kWords[] = {
    {"softmax", " is a softmax over scores that a mask sets to -inf: where it hides a whole row the result "
                "is NaN, as ONNX "
                "defines it; let each row see something, or mask by a large negative number such as -1e9"},
    {"extremum",
     " is a maximum or minimum over what a mask leaves: where it leaves nothing the result is infinite"},
    {"quotient",
     " divides by a sum over the samples' data: where that is 0, as the count of a mask that hides all, the "
     "result is not finite; divide by the larger one of the sum and a small number"},
};

/// `A` (and 3 more)
std::string namesOf(const std::vector<NanSource> &sources, const std::string &kind) {
  std::string first;
  size_t count = 0;
  for (const NanSource &source : sources)
    if (source.kind == kind && count++ == 0)
      first = "`" + source.node + "`";
  return count > 1 ? first + " (and " + std::to_string(count - 1) + " more)" : first;
}

} // namespace

Error notFinite(const std::string &what, const Manifest &manifest,
                const std::function<Expected<double>(const ScalarSpec &)> &valueOf) {
  Error error{kExitRunFailed, what, "nan", {}};
  for (const ScalarSpec &scalar : manifest.scalars) {
    if (scalar.name == "loss" || scalar.isMetric())
      continue;
    auto value = valueOf(scalar);
    if (!value || *value != 0)
      continue;
    if (scalar.name == "targets") {
      error.message += ", and no target of this batch was counted";
      error.notes.emplace_back(
          "all its labels are ignored or masked, and a mean over no target is 0 / 0; leave such "
          "samples out of the data, or draw batches in which some label counts");
    } else {
      error.notes.emplace_back(
          "a sum over the whole batch, by which the loss may divide, is 0: a count or the weights "
          "of what it averages; see that each batch has something to average");
    }
  }
  for (const Words &words : kWords)
    if (std::string names = namesOf(manifest.nanSources, words.kind); !names.empty())
      error.notes.push_back("it may come from the data: " + names + words.what);
  return error;
}

Error notFinite(const char *what, Opened &opened, bool follows) {
  Error error = notFinite(std::string(what), opened.artifact.manifest,
                          [&](const ScalarSpec &scalar) { return opened.valueOf(scalar); });
  bool isExplained = error.message != what;
  error.notes.emplace_back("--on-nan skip leaves such steps out");
  if (follows && !isExplained)
    error.notes.back() += "; a smaller --lr is the usual cure";
  return error;
}

} // namespace accum::runtime
