// SPDX-License-Identifier: Apache-2.0
// Recomputation, defined once: which commands may be recomputed, where they run again, who reads the results.
#pragma once
#include "compiler/Planner/Problem/Problem.h"
#include <span>
#include <vector>

namespace accum::planner {

/// The data flow of a problem as recomputation sees it. Buffers are seen as storages: views belong to the
/// one that they are views of.
class Recomputation {
public:
  explicit Recomputation(const Problem &problem);

  /// Whether a command may run a second time: in the forward part of the micro-step, without other effects,
  /// all its results and operands written once and used within the main loop only.
  bool isAllowed(int command) const { return allowed[command]; }

  /// Per command the original command that its repetition stands right before, or kNoIndex where it has none.
  /// A repetition stands before the first backward command that reads one of its results, itself or through
  /// other repetitions: as late as possible. Several before one command keep their order. Commands of
  /// `chosen` whose results nothing backward needs are not repeated. From then on all that is backward, and
  /// all repetitions, read the repetition; the forward part reads the original.
  std::vector<int> positions(const std::vector<char> &chosen) const;

  /// The storages (buffer indices) that a command makes, and those that it reads.
  std::span<const int> results(int command) const { return resultLists.of(command); }
  std::span<const int> operands(int command) const { return operandLists.of(command); }
  /// The commands that read a storage, through any view, in order.
  std::span<const int> users(int storage) const { return userLists.of(storage); }
  /// The storage of a buffer.
  int root(int buffer) const { return roots[buffer]; }

  bool isBackward(int command) const { return backward[command] != 0; }

private:
  /// Lists of indices, one after another.
  struct Lists {
    std::vector<int> begins = {}, items = {};
    std::span<const int> of(int index) const {
      return std::span(items).subspan(begins[index], begins[index + 1] - begins[index]);
    }
    /// `each(add)` calls add(list, item) for all items, the same ones each time it is called.
    template <class Each> static Lists from(size_t count, Each each);
    /// Sorts each list, and drops what is in it twice.
    void sortOut();
  };

  std::vector<int> roots;
  Lists resultLists, operandLists, userLists;
  std::vector<char> allowed, backward;
};

/// What a plan decides about the commands themselves.
struct Choice {
  std::vector<char> recomputed = {}; ///< per command; empty: none
  std::vector<int> variants = {};    ///< per command, an index into its variants; empty: the default
  bool operator==(const Choice &) const = default;
};

/// The problem that runs: repetitions inserted (ids from `cloneIds`, `cloneOf` set, buffers `ID:RESULT` of
/// the repetition's id), every command with its chosen variant as the only one, results resized.
Problem expand(const Problem &problem, const Choice &choice);

struct Plan;

/// The choice that a plan holds. Slug `invalid-plan` where it names what the problem does not have.
Result<Choice> choiceOf(const Problem &problem, const Plan &plan);

/// What a plan runs: its choice, and of copies of weights what a device holds.
Result<Problem> problemThatRuns(const Problem &problem, const Plan &plan);

/// What is added to a command's id for its repetition: `cloneIds`, or what follows the largest id.
int64_t cloneBase(const Problem &problem);

/// Before each command of a problem its repetitions, in the order of their list.
struct RunningOrder {
  /// `before`: `Recomputation::positions`.
  explicit RunningOrder(const std::vector<int> &before);

  std::vector<int> original, clone; ///< command -> place; kNoIndex where it does not run again
  int length = 0;
};

} // namespace accum::planner
