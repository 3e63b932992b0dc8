// SPDX-License-Identifier: Apache-2.0
// Evaluation over the C interface of the runtime.
#include "tools/accum-run/training/Evaluation.h"
#include "tools/accum-run/training/RunData.h"
#include "tools/accum-run/training/RunResults.h"
#include <cmath>
#include <cstdio>
#include <fmt/format.h>

namespace accum::run {

int Evaluator::bind() {
  if (int code = accum_set_weights(session, options.weights.c_str()); code || options.evalData.empty())
    return code;
  std::vector<const char *> paths = pathsOf(options.evalData);
  accum_data_options data = dataOptions(options);
  return accum_bind_evaluation_files(session, paths.data(), paths.size(), &data);
}

bool Evaluator::isDue(uint64_t done, bool isLast) const {
  bool hasData = !options.evalData.empty() || !options.valSplit.empty();
  return hasData && (isLast || (options.evalEvery > 0 && done % options.evalEvery == 0));
}

int Evaluator::run(uint64_t done, std::optional<Evaluation> &found) {
  accum_evaluation result;
  if (int code = accum_evaluate(session, &result))
    return code;
  if (result.samples == 0)
    return 0;
  auto given = [](double value) { return std::isnan(value) ? std::nullopt : std::optional(value); };
  found = Evaluation{done,
                     result.loss,
                     result.samples,
                     result.targets,
                     result.is_best != 0,
                     given(result.accuracy),
                     given(result.perplexity),
                     outputsOf(session)};
  return 0;
}

void Evaluator::keepBest(const Evaluation &found) {
  if (!found.isBest || options.best.empty())
    return;
  failed = writeWeights(options, session, {options.best, /*keepOld=*/false});
  if (failed == 0)
    return;
  std::fputs(accum_last_error(), stderr);
  std::fprintf(stderr, "note: step %llu has the lowest loss and its weights are not kept; training goes on\n",
               static_cast<unsigned long long>(found.step));
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
  if (found.targets)
    line += fmt::format(", {} targets", found.targets);
  return found.isBest && found.step > 0 ? line + "; the lowest so far" : line;
}

} // namespace accum::run
