// SPDX-License-Identifier: Apache-2.0
// Modules that run several times in a traced export, which names every run but the first anew.
#pragma once
#include "compiler/Import/model/Model.h"
#include "compiler/Import/parameters/Signature.h"
#include <set>

namespace accum::import {

/// `enc.fc.weight` of the `enc.fc_1.weight` of its second run.
std::string withoutCounts(const std::string &name);
/// `teacher.fc.` for `teacher.teacher.fc.weight`, scopes of traced exports being as they are.
std::string moduleOf(const Graph &graph, const std::string &name);
/// `teacher.` and `student.` of `teacher.fc.` and `student.fc.`.
std::pair<std::string, std::string> differingModules(std::string here, std::string there);

/// How a file without a signature tells that two names are one module's.
enum class Run {
  Other,   ///< it does not
  Counted, ///< by the number of a second run alone, and a tool has rewritten the file
  Same,
};

/// The TorchScript exporter calls the second run of `enc.n` `enc.n_1`, and a module that two others hold once
/// by each. What both names read is one parameter, also where its values are all equal: weights that are not
/// all equal and that both modules read prove it, and so does the number where nothing else is called so.
class SecondRuns {
public:
  /// Of a graph whose merged names are separated as far as an Identity tells.
  explicit SecondRuns(const Graph &graph);

  /// Of two names by which readers call one initializer.
  Run of(const std::string &name, const std::string &other) const;

private:
  bool isRunOf(const std::string &module, const std::string &first) const;

  const Graph &graph;
  bool isAsTraced; ///< no tool has removed the constants, and with them the Identity of each merged name
  std::set<std::pair<std::string, std::string>> proven; ///< modules, in both orders
  std::set<std::string> ranAgain; ///< what holds modules of a second run that weights prove
};

} // namespace accum::import
