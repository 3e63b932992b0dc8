// SPDX-License-Identifier: Apache-2.0
// Which frame of a trace is which module's forward. A trace has more frames than its node has modules where
// a function around a module, or one that a module calls, is named `forward` as well.
#pragma once
#include "compiler/Import/lost/SourceTrace.h"
#include <map>
#include <set>

namespace accum::import {

/// The frames of a node, outermost first, and which of them are a module's own.
struct AlignedTrace {
  std::vector<SourceFrame> frames;
  std::vector<std::string> scopes; ///< modules that the node is in
  std::vector<ptrdiff_t> owners;   ///< by frame: the place of its module in `scopes`; -1: none's

  bool isModule(size_t frame) const { return owners[frame] >= 0; }
  size_t countModules() const;
  /// A frame is the innermost module's.
  bool hasInnermost() const;
  /// The place of the first frame after all that are modules'.
  size_t endOfModules() const;
};

class ModuleFrames {
public:
  explicit ModuleFrames(const Graph &graph);

  AlignedTrace align(const Node &node) const;
  /// The line is one of a method: it speaks of `self.weight`, or of what its file calls `self`.
  bool speaksOfSelf(const SourceFrame &frame) const;

private:
  void learn(const SourceFrame &frame, std::string_view attribute);
  void learnFrom(const Node &node, const std::map<std::string, std::string, std::less<>> &held);
  void collectFiles(const Graph &graph);
  void collectPlaces(const Graph &graph);
  int scoreOfPlace(const std::string &place, const std::vector<std::string> &scopes, size_t scope) const;
  int scoreOfFile(std::string_view file, const std::string &type) const;
  std::vector<std::vector<int>> scoresOf(const Node &node, const AlignedTrace &trace) const;

  using Names = std::set<std::string, std::less<>>;
  std::map<std::string, Names, std::less<>> ownFiles; ///< by class
  Names owned;                                        ///< files of some class
  std::map<std::string, Names, std::less<>> selves;   ///< other names of `self`, by file
  Names methods;                                      ///< call places where some line speaks of `self`
  std::map<std::string, Names, std::less<>> known;    ///< modules that compute something there, by call place
};

/// The function in `h = Reverse.apply(x)`, or "". `self.apply(f)` walks over a module's children.
std::string appliedIn(std::string_view code);
/// It is one of a class's name: what is called so is no method.
bool appliesClass(const SourceFrame &frame);
/// The line calls a forward by name, or what it makes: `Loss(2)(x)`.
bool callsModule(const SourceFrame &frame);
/// Where a frame was called from, and its own file: `bert.py:12 linear.py`.
std::string callPlace(const std::vector<SourceFrame> &frames, size_t frame);

} // namespace accum::import
