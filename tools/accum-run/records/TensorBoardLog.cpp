// SPDX-License-Identifier: Apache-2.0
// Tags before a slash are TensorBoard's groups.
#include "tools/accum-run/records/TensorBoardLog.h"
#include <cerrno>
#include <cmath>
#include <cstring>

namespace accum::run {

void TensorBoardLog::step(uint64_t step, const accum_info &info, const accum_step_result &result) {
  std::vector<Scalar> scalars = {{"train/loss", result.loss},
                                 {"train/learning_rate", info.lr},
                                 {"speed/ms", result.seconds * 1e3},
                                 {"speed/data_wait_ms", result.data_seconds * 1e3},
                                 {"speed/samples_per_s", double(result.samples) / result.seconds},
                                 {"memory/peak_gib", double(info.peak_bytes) / double(1 << 30)}};
  if (!std::isnan(result.gradient_norm))
    scalars.push_back({"train/gradient_norm", result.gradient_norm});
  if (result.targets)
    scalars.push_back({"speed/tokens_per_s", double(result.targets) / result.seconds});
  if (result.skipped)
    scalars.push_back({"train/skipped", 1});
  for (const auto &[name, value] : latest)
    scalars.push_back({"train/outputs/" + name, value});
  write(step, scalars);
}

void TensorBoardLog::evaluation(const Evaluation &found) {
  std::vector<Scalar> scalars = {{"eval/loss", found.loss}};
  if (found.accuracy)
    scalars.push_back({"eval/accuracy", *found.accuracy});
  if (found.perplexity)
    scalars.push_back({"eval/perplexity", *found.perplexity});
  for (const auto &[name, value] : found.outputs)
    scalars.push_back({"eval/outputs/" + name, value});
  write(found.step, scalars);
}

void TensorBoardLog::write(uint64_t step, const std::vector<Scalar> &scalars) {
  if (!file || file->write(step, scalars))
    return;
  std::fprintf(stderr, "note: step %llu: --tensorboard cannot be written: %s; training goes on without it\n",
               static_cast<unsigned long long>(step), std::strerror(errno));
  failed = runtime::kExitFile;
  file.reset();
}

} // namespace accum::run
