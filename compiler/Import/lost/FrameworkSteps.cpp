// SPDX-License-Identifier: Apache-2.0
// A table of functions whose steps were seen to vanish from optimised files, and running sums.
#include "compiler/Import/lost/FrameworkSteps.h"
#include "compiler/Import/lost/SourceTrace.h"
#include <algorithm>

namespace accum::import {
namespace {

struct Step {
  std::string_view function, operation;
};
constexpr Step kSteps[] = {{"huber_loss(", "mul"},
                           {"smooth_l1_loss(", "div"},
                           {"smooth_l1_loss(", "mul"},
                           {"margin_ranking_loss(", "add"},
                           {"cosine_embedding_loss(", "add"},
                           {"cosine_embedding_loss(", "sub"},
                           {"cosine_similarity(", "clone"},
                           {"renorm(", "mul"}};

bool isSameLine(const SourceFrame &a, const SourceFrame &b) { return a.file == b.file && a.line == b.line; }
} // namespace

bool isFrameworkStep(const Node &source, const Node &reader, std::string_view operation) {
  std::vector<SourceFrame> from = sourceFrames(source), to = sourceFrames(reader);
  if (from.empty() || !std::equal(from.begin(), from.end(), to.begin(), to.end(), isSameLine))
    return false;
  return std::any_of(std::begin(kSteps), std::end(kSteps), [&](const Step &step) {
    return step.operation == operation && to.back().code.find(step.function) != std::string_view::npos;
  });
}

bool isFirstTurn(const TracedCall &call, std::string_view operand) {
  std::vector<std::string> operands = call.operands();
  return withoutNumber(operand) == "add" && call.operation() == "add" &&
         std::count(operands.begin(), operands.end(), operand) == 1;
}

} // namespace accum::import
