// SPDX-License-Identifier: Apache-2.0
// Predictions over the C interface of the runtime.
#include "tools/accum-run/training/Predictor.h"
#include "runtime/accum_outputs.h"
#include "tools/accum-run/training/RunData.h"
#include <algorithm>
#include <cstdio>
#include <sstream>

namespace accum::run {

int Predictor::bind() {
  if (int code = accum_set_weights(session, options.weights.c_str()))
    return code;
  std::vector<const char *> paths = pathsOf(options.predict);
  accum_data_options data = dataOptions(options);
  return accum_bind_prediction_files(session, paths.data(), paths.size(), &data);
}

int Predictor::say(const runtime::Error &error) const {
  std::fputs(format(error).c_str(), stderr);
  return error.exitCode;
}

int Predictor::write() {
  for (const std::string &name : names) {
    accum_tensor tensor = {};
    if (int code = accum_predicted(session, name.c_str(), &tensor)) {
      std::fputs(accum_last_error(), stderr);
      return code;
    }
    std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.rank);
    if (auto status = writer->add(name, runtime::DType(tensor.dtype), shape, tensor.data); !status)
      return say(status.error());
  }
  return 0;
}

int Predictor::predictFrom(int64_t first, int64_t samples) {
  std::vector<const char *> chosen = pathsOf(names);
  chosen.push_back(nullptr);
  int64_t predicted = 0;
  int code = accum_predict(session, chosen.data(), first, samples, &predicted);
  if (code != 0) {
    std::fputs(accum_last_error(), stderr);
    return code;
  }
  if (predicted == 0)
    return runtime::kExitStopped;
  int written = writer ? write() : 0;
  int64_t worst = 0;
  if (int failed = accum_maximum(session, written, &worst))
    return failed;
  return int(worst);
}

int Predictor::run() {
  accum_info info{};
  accum_get_info(session, &info);
  std::istringstream list(options.outputs);
  for (std::string name; std::getline(list, name, ',');)
    names.push_back(name);
  for (size_t i = 0; options.outputs.empty() && accum_output(session, i); ++i)
    names.emplace_back(accum_output(session, i));
  if (info.rank == 0) {
    auto opened = runtime::ArrayWriter::create(options.output); // the options were checked
    if (!opened)
      return say(opened.error());
    writer.emplace(std::move(*opened));
  }
  int64_t all = accum_prediction_samples(session);
  for (int64_t first = 0; first < all; first += info.batch)
    if (int code = predictFrom(first, std::min(info.batch, all - first)))
      return code;
  if (!writer)
    return 0;
  if (auto status = writer->commit(); !status)
    return say(status.error());
  std::string written;
  for (const std::string &name : names)
    written += (written.empty() ? "" : ", ") + name;
  std::printf("wrote    %s: %s of %lld samples\n", options.output.c_str(), written.c_str(),
              static_cast<long long>(all));
  return 0;
}

} // namespace accum::run
