// SPDX-License-Identifier: Apache-2.0
// Which recorders a run has.
#include "tools/accum-run/records/RunRecorder.h"
#include "runtime/accum_outputs.h"
#include "tools/accum-run/records/ProgressLine.h"
#include "tools/accum-run/records/RunReport.h"
#include "tools/accum-run/records/StepLog.h"
#include "tools/accum-run/records/TensorBoardLog.h"

namespace accum::run {

runtime::Expected<Recorders> Recorders::open(const Options &options, const accum_info &info, uint64_t from,
                                             uint64_t total) {
  Recorders recorders;
  if (info.rank != 0)
    return recorders;
  if (!options.log.empty()) {
    auto log = StepLog::open(options.log, from);
    if (!log)
      return log.error();
    recorders.all.push_back(std::move(*log));
  }
  if (!options.tensorboard.empty()) {
    auto file = EventFile::create(options.tensorboard, from + 1);
    if (!file)
      return file.error();
    recorders.all.push_back(std::make_unique<TensorBoardLog>(std::move(*file)));
  }
  if (!options.report.empty())
    recorders.all.push_back(std::make_unique<RunReport>(options, info, from, total));
  if (options.progress)
    recorders.all.push_back(std::make_unique<ProgressLine>(options, from, total));
  if (from > 0 && !options.log.empty())
    recorders.tellEarlier(options.log, from);
  return recorders;
}

void Recorders::tellEarlier(const std::string &log, uint64_t from) {
  readLog(log, from, [this](const LogLine &line) {
    for (auto &recorder : all) {
      if (line.evaluation)
        recorder->earlierEvaluation(*line.evaluation);
      else
        recorder->earlierStep(line.step, line.info, line.result);
    }
  });
}

void Recorders::step(uint64_t step, const accum_info &info, const accum_step_result &result) {
  for (auto &recorder : all)
    recorder->step(step, info, result);
}

Outputs outputsOf(const accum_session *session) {
  Outputs found;
  double value = 0;
  while (const char *name = accum_scalar_output(session, found.size(), &value))
    found.emplace_back(name, value);
  return found;
}

void Recorders::outputs(const Outputs &found) {
  for (auto &recorder : all)
    recorder->outputs(found);
}

void Recorders::evaluation(const Evaluation &found) {
  for (auto &recorder : all)
    recorder->evaluation(found);
}

void Recorders::interrupt() {
  for (auto &recorder : all)
    recorder->interrupt();
}

int Recorders::finish() {
  int code = 0;
  for (auto &recorder : all) {
    int failed = recorder->finish();
    code = code ? code : failed;
  }
  all.clear();
  return code;
}

} // namespace accum::run
