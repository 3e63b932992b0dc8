// SPDX-License-Identifier: Apache-2.0
// Evaluation over the C interface of the runtime.
#include "tools/accum-run/Evaluation.h"
#include <cmath>
#include <fmt/format.h>

namespace accum::run {

int Evaluator::bind() {
  if (options.evalData.empty())
    return 0;
  std::vector<const char *> paths;
  for (const std::string &path : options.evalData)
    paths.push_back(path.c_str());
  return accum_bind_evaluation_files(session, paths.data(), paths.size());
}

bool Evaluator::isDue(uint64_t done, bool isLast) const {
  return !options.evalData.empty() && (isLast || (options.evalEvery > 0 && done % options.evalEvery == 0));
}

int Evaluator::run(uint64_t done, Evaluation &found) {
  accum_evaluation result;
  if (int code = accum_evaluate(session, &result))
    return code;
  auto given = [](double value) { return std::isnan(value) ? std::nullopt : std::optional(value); };
  found = {
      done, result.loss, result.samples, result.targets, given(result.accuracy), given(result.perplexity)};
  return 0;
}

std::string describe(const Evaluation &found) {
  std::string line = "eval     ";
  if (found.step > 0)
    line += fmt::format("step {}: ", found.step);
  line += fmt::format("loss {:.6g}", found.loss);
  if (found.perplexity)
    line += fmt::format(", perplexity {:.5g}", *found.perplexity);
  if (found.accuracy)
    line += fmt::format(", accuracy {:.2f} %", *found.accuracy * 100);
  line += fmt::format("; {} samples", found.samples);
  return found.targets ? line + fmt::format(", {} targets", found.targets) : line;
}

} // namespace accum::run
