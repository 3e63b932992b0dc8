// SPDX-License-Identifier: Apache-2.0
// This program again, under mpirun, with one rank that prints.
#include "tools/accum-calibrate/AllReduce.h"
#include "runtime/accum_program.h"
#include "runtime/ranks/Collectives.h"
#include "runtime/system/Clock.h"
#include "tools/accum-calibrate/Children.h"
#include <cstdio>
#include <fstream>
#include <unistd.h>
#include <vector>

namespace accum::calibrate {

using runtime::Status;

std::optional<AllReduceTimes> timeAllReduce(Results &results) {
  AllReduceTimes times;
  const Sample *few = results.find("all-reduce few"), *many = results.find("all-reduce many");
  if (!few || !many) {
    auto folder = TemporaryFolder::make();
    if (!folder)
      return std::nullopt;
    std::vector<std::string> words = {"mpirun", "-q", "-n", "2", "--oversubscribe", "--bind-to", "none"};
    if (geteuid() == 0)
      words.push_back("--allow-run-as-root");
    words.insert(words.end(), {besideThis("accum-calibrate"), "--all-reduce"});
    std::string output = folder->path() + "/output";
    if (!runChild(words, output, folder->path() + "/errors"))
      return std::nullopt;
    double seconds[2] = {};
    std::ifstream file(output);
    if (!(file >> seconds[0] >> seconds[1]) || seconds[0] <= 0 || seconds[1] <= 0)
      return std::nullopt;
    if (!results.add("all-reduce few", {seconds[0], seconds[0], 0, 1}) ||
        !results.add("all-reduce many", {seconds[1], seconds[1], 0, 1}))
      return std::nullopt;
    few = results.find("all-reduce few");
    many = results.find("all-reduce many");
  }
  times.few = *few;
  times.many = *many;
  return times;
}

int runAllReduce() {
  runtime::Collectives ranks;
  if (Status status = ranks.join("mpi"); !status) {
    std::fputs(format(status.error()).c_str(), stderr);
    return status.error().exitCode;
  }
  AllReduceTimes times;
  std::vector<float> values(size_t(times.manyBytes / 4), 0.0F);
  auto median = [&](int64_t bytes, int repeats) {
    std::vector<double> seconds;
    for (int i = 0; i < repeats; ++i) { // as many on every rank
      double begin = runtime::now();
      (void)ranks.allReduce(values.data(), uint64_t(bytes / 4), ACCUM_F32);
      seconds.push_back(runtime::now() - begin);
    }
    return summarize(seconds).median;
  };
  double few = median(times.fewBytes, 50), many = median(times.manyBytes, 3);
  if (ranks.rank() == 0)
    std::printf("%.9g %.9g\n", few, many);
  return 0;
}

} // namespace accum::calibrate
