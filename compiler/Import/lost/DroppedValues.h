// SPDX-License-Identifier: Apache-2.0
// Values that calls of the traced model read and that the file does not hold. An optimiser drops what changes
// no value: what moves nothing, what equals something else, and with it what only cuts a gradient.
#pragma once
#include "compiler/Import/lost/TracedCall.h"
#include "compiler/Import/walk/Refusal.h"
#include <optional>
#include <set>

namespace accum::import {

/// A value that is gone, and the one that is read in its place.
struct DroppedValue {
  std::string name;  ///< as the call reads it
  std::string input; ///< as the node reads it
};

class DroppedValues {
public:
  explicit DroppedValues(const Graph &graph);

  /// What the node reads in place of a value that is gone, where a rewrite that no gradient minds does not
  /// explain it: the gradient may be another one than the model's. `isTrained` tells which of the node's
  /// inputs depend on what is trained; `isExplained`: of what is no detach somebody else knows better.
  std::optional<Refusal> refusal(const Node &node, const std::function<bool(const std::string &)> &isTrained,
                                 bool isExplained = false) const;
  /// The node reads something that is trained in place of a value that is gone.
  bool readsInPlace(const Node &node, const std::function<bool(const std::string &)> &isTrained) const;

private:
  struct Group {
    TracedCall call;
    std::vector<const Node *> nodes;
    std::vector<std::string> inputs; ///< from outside of the group
  };
  enum class Lost { Nothing, Detach, Twin, Step };

  void collectGroups(const Graph &graph);
  void collectHints(const Graph &graph);
  bool isRead(std::string_view operand, std::string_view input) const;
  bool isKept(const Group &group, const std::string &operand) const;
  bool isDropped(const Group &group, const std::string &operand) const;
  bool isOneToOne(const Group &group, const std::vector<std::string> &operands) const;
  std::vector<std::string> standIns(const Group &group, const std::vector<std::string> &operands) const;
  std::vector<DroppedValue> droppedBy(const Group &group) const;
  std::vector<DroppedValue> readBy(const Node &node) const;
  Lost lostWith(const Group &group, const DroppedValue &dropped) const;

  const Graph &graph;
  std::map<std::string, Group, std::less<>> groups;            ///< by the call's result
  std::map<const Node *, const Group *> groupOf;               ///< none of nodes without a call
  std::map<std::string, const Group *, std::less<>> producers; ///< of values
  std::map<std::string, std::string, std::less<>>
      placeholders;                          ///< of inputs and initializers: what calls say
  std::set<std::string, std::less<>> held;   ///< names of values and of placeholders
  std::set<std::string, std::less<>> pieces; ///< of nodes with several results: calls say `getitem_3`
  std::set<std::string, std::less<>> trainedPlaceholders;
  std::map<const Group *, std::vector<DroppedValue>> dropped;
  bool holdsAllParameters = true; ///< or calls name them: none was dropped for being zero
  bool speaksOfDetaching = false; ///< where none that the file names is meant
};

} // namespace accum::import
