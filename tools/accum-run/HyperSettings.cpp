// SPDX-License-Identifier: Apache-2.0
// What is not given stays as it is filled in there, and lists end in a null.
#include "tools/accum-run/HyperSettings.h"
#include <utility>

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
  for (auto [from, to] : {std::pair(&given.lr, &hyper.lr),
                          {&given.weightDecay, &hyper.weight_decay},
                          {&given.beta1, &hyper.beta1},
                          {&given.beta2, &hyper.beta2},
                          {&given.eps, &hyper.eps},
                          {&given.momentum, &hyper.momentum},
                          {&given.clipNorm, &hyper.clip_norm},
                          {&given.skipSpikes, &hyper.skip_spikes}})
    *to = from->value_or(*to);
  hyper.decays = decays.data();
  hyper.lr_scales = rates.data();
  return accum_set_hyper(session, &hyper);
}

} // namespace accum::run
