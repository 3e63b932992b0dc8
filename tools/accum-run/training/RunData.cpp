// SPDX-License-Identifier: Apache-2.0
// An empty text is one that was not given.
#include "tools/accum-run/training/RunData.h"

namespace accum::run {

accum_data_options dataOptions(const Options &options) {
  auto text = [](const std::string &value) { return value.empty() ? nullptr : value.c_str(); };
  return {sizeof(accum_data_options),
          options.shuffle,
          options.dropLast,
          options.seed,
          0,
          text(options.tokenType),
          text(options.documentSeparator),
          text(options.tokenLabels),
          text(options.valSplit),
          options.truncate};
}

std::vector<const char *> pathsOf(const std::vector<std::string> &words) {
  std::vector<const char *> paths;
  for (const std::string &word : words)
    paths.push_back(word.c_str());
  return paths;
}

int bindData(const Options &options, accum_session *session) {
  accum_data_options data = dataOptions(options);
  if (options.synthetic)
    return accum_bind_synthetic(session, &data);
  if (options.data.empty())
    return 0;
  std::vector<const char *> paths = pathsOf(options.data);
  return accum_bind_files(session, paths.data(), paths.size(), &data);
}

} // namespace accum::run
