// SPDX-License-Identifier: Apache-2.0
// accum_runtime.h in front of Session: checks arguments, turns errors into codes and text.
#include "runtime/session/CInterface.h"
#include "runtime/checkpoints/CheckpointText.h"
#include "runtime/session/Describe.h"
#include "runtime/system/Fork.h"
#include <algorithm>
#include <cstring>

using namespace accum::runtime;

namespace {

thread_local std::string lastError;

} // namespace

namespace accum::runtime {

int report(const Error &error) {
  lastError = format(error);
  return error.exitCode;
}

Status requireThreads() {
  if (!isOrphan())
    return {};
  return Error{
      kExitUsage,
      "this process was forked from one that had opened a run, whose threads it does not have: start workers "
      "with the spawn method",
      "forked",
      {"multiprocessing.get_context(\"spawn\"), or mp_context of a pool; or fork before the first run is "
       "opened"}};
}

int report(const Status &status) { return status ? 0 : report(status.error()); }

int storeResult(const Expected<accum_step_result> &outcome, accum_step_result *result) {
  if (!outcome)
    return report(outcome.error());
  if (result)
    *result = *outcome;
  return 0;
}

int storeStep(const Session &session, const Expected<accum_step_result> &outcome, accum_step_result *result) {
  int code = storeResult(outcome, result);
  if (code != 0 && result) {
    *result = {};
    result->skipped = session.training.step.outcome.unchanged;
  }
  return code;
}

} // namespace accum::runtime

extern "C" {

const char *accum_last_error(void) { return lastError.c_str(); }
const char *accum_other_error(void) { return heardError().c_str(); }
const char *accum_runtime_version(void) { return ACCUM_VERSION; }

int accum_open(const char *artifact, const accum_open_options *options, accum_session **session) {
  *session = nullptr;
  return guarded([&] {
    if (Status status = requireThreads(); !status)
      return report(status);
    accum_open_options known = {}; // a caller of an older header has fewer
    if (options)
      std::memcpy(&known, options, std::min<size_t>(options->size, sizeof known));
    auto opened = Session::open(artifact, known);
    if (!opened)
      return report(opened.error());
    *session = new accum_session{std::move(*opened)};
    return 0;
  });
}

/// A forked child leaves its parent's session as it is: what waits for threads would wait for ever.
void accum_close(accum_session *session) {
  if (!isOrphan())
    delete session;
}

int accum_describe(const char *artifact, char **text) {
  return guarded([&] {
    if (holdsCheckpoints(artifact)) {
      auto checkpoints = describeCheckpoints(artifact);
      *text = checkpoints ? strdup(checkpoints->c_str()) : nullptr;
      return checkpoints ? 0 : report(checkpoints.error());
    }
    auto read = readArtifact(artifact);
    if (!read)
      return report(read.error());
    if (Status status = checkFiles(*read); !status)
      return report(status.error());
    (void)loadProgram(*read); // for another machine: described without its scratch
    *text = strdup(describe(*read).c_str());
    return 0;
  });
}

void accum_free(void *text) { std::free(text); }

void accum_get_info(const accum_session *session, accum_info *info) { session->session->describe(*info); }

const char *accum_notice(const accum_session *session, size_t index) {
  const std::vector<std::string> &notices = session->session->opened.notices;
  return index < notices.size() ? notices[index].c_str() : nullptr;
}

int accum_set_batches(accum_session *session, const accum_batch_change *changes, size_t count) {
  return guarded([&] {
    std::vector<BatchChange> all;
    for (size_t i = 0; i < count; ++i)
      all.push_back({changes[i].step, changes[i].batch});
    return report(session->session->samples.setBatches(std::move(all)));
  });
}

uint64_t accum_steps_of_epochs(const accum_session *session, uint64_t epochs) {
  const Epochs *known = session->session->samples.epochs();
  return known ? known->stepsOf(epochs) : 0;
}

int accum_step(accum_session *session, uint64_t step, accum_step_result *result) {
  return guardedStep(session, ACCUM_STEPS, step, result, [&](Session &own) { return own.step(step); });
}

int accum_accumulate(accum_session *session, uint64_t step, accum_step_result *result) {
  return guardedStep(session, ACCUM_ACCUMULATES, step, result,
                     [&](Session &own) { return own.accumulate(step); });
}

int accum_update(accum_session *session, uint64_t step, accum_step_result *result) {
  return guardedStep(session, ACCUM_UPDATES, step, result, [&](Session &own) -> Expected<accum_step_result> {
    // Sums of the program's own may find nobody: all ranks are here.
    if (Status status = own.ranks().meet(); !status)
      return status.error();
    return own.update(step);
  });
}

const char *accum_trained(const accum_session *session, size_t index) {
  for (const ParameterSpec &param : session->session->manifest().params)
    if (param.trained && index-- == 0)
      return param.onnxName.c_str();
  return nullptr;
}

int accum_eval(accum_session *session, uint64_t step, accum_step_result *result) {
  return guarded(session, ACCUM_EVALUATES, [&](Session &own) { return storeResult(own.eval(step), result); });
}

int accum_evaluate(accum_session *session, accum_evaluation *result) {
  return guarded(session, ACCUM_EVALUATES, [&](Session &own) {
    auto outcome = own.evaluate();
    if (!outcome)
      return report(outcome.error());
    *result = *outcome;
    return 0;
  });
}

int accum_set_weights(accum_session *session, const char *which) {
  return guarded([&] { return report(session->session->weights.use(which)); });
}

void accum_set_stop(accum_session *session, accum_stop wanted, void *user) {
  session->session->evaluation.stopWhere(wanted, user);
  session->session->predictions.stopWhere(wanted, user);
}

int accum_lock_checkpoints(const char *root) {
  return guarded([&] { return report(lockCheckpoints(root)); });
}

int accum_newest_checkpoint(const char *root, uint64_t *step) {
  return guarded([&] {
    std::vector<uint64_t> steps = listCheckpoints(root);
    *step = steps.empty() ? 0 : steps.back();
    return 0;
  });
}

int accum_share_checkpoints(accum_session *session, const char *root) {
  return guarded(session, ACCUM_CHECKPOINTS,
                 [&](Session &own) { return report(own.checkpoints.share(root)); });
}

int accum_checkpoint_background(accum_session *session) {
  return guarded(session, ACCUM_CHECKPOINTS,
                 [&](Session &own) { return report(own.checkpoints.writeInBackground()); });
}

int accum_finish_checkpoint(accum_session *session, int32_t wait) {
  if (isOrphan()) // what is being written is the parent's
    return 0;
  return guarded(session, ACCUM_CHECKPOINTS,
                 [&](Session &own) { return report(own.checkpoints.finish(wait != 0)); });
}

int accum_checkpoint(accum_session *session, const char *root, uint64_t step, uint64_t keep) {
  return guarded(session, ACCUM_CHECKPOINTS,
                 [&](Session &own) { return report(own.checkpoint(root, step, keep)); });
}

int accum_resume(accum_session *session, const char *path, int32_t weights_only, uint64_t *step,
                 int32_t *found) {
  return guarded(session, ACCUM_RESUMES, [&](Session &own) {
    auto resumed = own.resume(path, weights_only != 0);
    if (!resumed)
      return report(resumed.error());
    *found = resumed->has_value();
    *step = resumed->value_or(0);
    return 0;
  });
}

int accum_save_weights(accum_session *session, const char *path, const accum_save_options *options) {
  return guarded(session, ACCUM_READS, [&](Session &own) {
    accum_save_options known = {};
    std::memcpy(&known, options, std::min<size_t>(options->size, sizeof known));
    auto stored = known.dtype ? dtypeNamed(known.dtype) : std::nullopt;
    if (known.dtype && stored != ACCUM_F16 && stored != ACCUM_BF16)
      return report(Error{kExitUsage, "weights are saved as f16 or bf16, or as they are trained", "usage"});
    return report(
        own.weights.save({path, known.names ? known.names : "onnx", stored, known.model ? known.model : "",
                          known.keep_old != 0, known.check_only != 0}));
  });
}

int accum_init_weights(accum_session *session, const accum_init_options *options, int64_t *taken) {
  return guarded(session, ACCUM_RESUMES, [&](Session &own) {
    accum_init_options known = {};
    std::memcpy(&known, options, std::min<size_t>(options->size, sizeof known));
    auto held = own.weights.init({known.path, known.names ? known.names : "", known.partial != 0});
    if (!held)
      return report(held.error());
    *taken = int64_t(*held);
    return 0;
  });
}

int accum_set_cut(accum_session *session, const accum_cut *cut) {
  accum_cut known = {sizeof known, 0, 0, 0, -1, 0};
  if (cut)
    std::memcpy(&known, cut, std::min<size_t>(cut->size, sizeof known));
  return report(session->session->samples.microSteps.setCut(
      {known.rows, known.samples, known.only, known.reversed != 0, known.longest != 0}));
}

int accum_fill_memory(accum_session *session, uint8_t byte) {
  return guarded([&] { return report(session->session->opened.fill(byte)); });
}

int accum_write_tensor(accum_session *session, const char *kind, const char *name, const void *data,
                       uint64_t bytes) {
  return guarded([&] {
    return report(session->session->weights.write(kind, name, static_cast<const uint8_t *>(data), bytes));
  });
}

int accum_write(accum_session *session, const char *name, const void *data, uint64_t bytes) {
  return accum_write_tensor(session, "parameter", name, data, bytes);
}

void accum_observe(accum_session *session, accum_observer observer, void *user) {
  session->session->observe(observer, user, session);
}

int accum_profile(accum_session *session) {
  return guarded([&] { return report(session->session->startProfile()); });
}

int accum_save_profile(const accum_session *session, const char *path) {
  return guarded([&] { return report(session->session->saveProfile(path)); });
}

int accum_assist(accum_session *session) {
  return guarded(session, ACCUM_READS, [&](Session &own) { return report(own.opened.memory.assist()); });
}

int accum_read(const accum_session *session, const char *kind, const char *name, accum_tensor *tensor) {
  return guarded(session, ACCUM_READS, [&](Session &own) {
    auto found = own.weights.read(kind, name);
    if (!found)
      return report(found.error());
    *tensor = *found;
    return 0;
  });
}

int accum_save(const accum_session *session, const char *kind, const char *names, const char *path,
               int32_t keepOld) {
  std::string where = path ? path : "";
  return guarded(session, ACCUM_READS, [&](Session &own) {
    return report(own.weights.saveTensors(kind, names, where, keepOld != 0));
  });
}

} // extern "C"
