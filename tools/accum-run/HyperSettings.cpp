// SPDX-License-Identifier: Apache-2.0
// What is not given is NaN there, and lists end in a null.
#include "tools/accum-run/HyperSettings.h"
#include <cmath>

namespace accum::run {

/// Pointers into `texts`.
static std::vector<const char *> listOf(const std::vector<std::string> &texts) {
  std::vector<const char *> list;
  for (const std::string &text : texts)
    list.push_back(text.c_str());
  list.push_back(nullptr);
  return list;
}

int setHyper(const Options &options, accum_session *session) {
  const runtime::HyperOptions &given = options.hyper;
  std::vector<const char *> decays = listOf(given.decay), rates = listOf(options.rateRules);
  accum_hyper_options hyper;
  accum_hyper_defaults(&hyper);
  hyper.lr = given.lr.value_or(NAN);
  hyper.weight_decay = given.weightDecay.value_or(NAN);
  hyper.beta1 = given.beta1.value_or(NAN);
  hyper.beta2 = given.beta2.value_or(NAN);
  hyper.eps = given.eps.value_or(NAN);
  hyper.momentum = given.momentum.value_or(NAN);
  hyper.clip_norm = given.clipNorm.value_or(NAN);
  hyper.skip_spikes = given.skipSpikes.value_or(NAN);
  hyper.decays = decays.data();
  hyper.lr_scales = rates.data();
  return accum_set_hyper(session, &hyper);
}

} // namespace accum::run
