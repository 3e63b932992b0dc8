// SPDX-License-Identifier: Apache-2.0
// Outputs of the model for samples that are not trained on.
#ifndef ACCUM_RUNTIME_SESSION_PREDICTIONS_H
#define ACCUM_RUNTIME_SESSION_PREDICTIONS_H

#include "runtime/session/Prediction.h"
#include "runtime/session/Training.h"

namespace accum::runtime {

class Predictions {
public:
  /// All of them outlive it.
  Predictions(Opened &opened, Samples &samples, Training &training)
      : opened(opened), samples(samples), training(training) {}
  Predictions(const Predictions &) = delete;
  Predictions &operator=(const Predictions &) = delete;

  /// Its samples: what outputs depend on.
  Status bind(Dataset data);
  /// The same for those that each rank is given; see accum_open_options::local_batches.
  Status give(Expected<Dataset> given);
  /// Of `count` of them, from `first` on, the outputs with these names, or all. How many samples they are: of
  /// samples that each rank is given, those of all ranks; 0 where it was left before its end.
  Expected<int64_t> run(const std::vector<std::string> &names, int64_t first, int64_t count);
  /// Of the latest; null where there is none.
  const Prediction *latest() const { return rows ? &*rows : nullptr; }
  int64_t samplesBound() const { return feed ? feed->samples() : 0; }
  /// See accum_set_stop.
  void stopWhere(accum_stop wants, void *of) {
    wanted = wants;
    user = of;
  }

private:
  Expected<bool> isStopped();
  Status share(const Share &own);

  Opened &opened;
  Samples &samples;
  Training &training;
  std::optional<Feed> feed;
  std::optional<Share> placed; ///< of samples that were given, all at once
  bool areOwn = false;         ///< those of this rank alone
  std::optional<Prediction> rows;
  accum_stop wanted = nullptr;
  void *user = nullptr;
  bool stopped = false; ///< the latest, before its end
};

} // namespace accum::runtime
#endif
