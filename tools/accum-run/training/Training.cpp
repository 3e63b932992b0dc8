// SPDX-License-Identifier: Apache-2.0
// The training loop over the C interface of the runtime.
#include "tools/accum-run/training/Training.h"
#include "runtime/accum_runtime.h"
#include "runtime/files/File.h"
#include "runtime/system/Clock.h"
#include "tools/accum-run/records/RunRecorder.h"
#include "tools/accum-run/records/RunSummary.h"
#include "tools/accum-run/training/Checkpoints.h"
#include "tools/accum-run/training/Evaluation.h"
#include "tools/accum-run/training/ParameterPrint.h"
#include "tools/accum-run/training/Predictor.h"
#include "tools/accum-run/training/RunData.h"
#include "tools/accum-run/training/RunResults.h"
#include "tools/accum-run/training/SharedSettings.h"
#include "tools/accum-run/training/StopSignal.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace accum::run {
namespace {

using runtime::Error;

/// As many as the text of an option has digits for: a run of more ends by other means.
constexpr uint64_t kMostSteps = 999'999'999'999'999'999;

class Training {
public:
  Training(const Options &options, accum_session *session) : options(options), session(session) {
    accum_get_info(session, &info);
    accum_set_stop(session, isHurried, this);
  }

  int run();

private:
  bool isFirst() const { return info.rank == 0; }
  int say(int code) const;
  int say(const Error &error) const;
  int agree(int code);
  template <typename Call> int onFirst(Call &&call);
  int prepare();
  int setPrint();
  int set(runtime::OptionOwner owner);
  void printNotices();
  void printNotes();
  bool evaluate(uint64_t done);
  int evaluateOnly();
  int predictOnly();
  int takeWeights();
  uint64_t totalSteps() const;
  void openRecorders();
  int loop();
  bool isHurried() const;
  static int isHurried(void *training);
  int resume();
  int init();
  bool hurriedAgreed();
  int failedStep(int code, uint64_t step, const accum_step_result &result);
  [[noreturn]] void leave(int code);

  const Options &options;
  accum_session *session;
  accum_info info{};
  RunSummary summary;
  Recorders recorders;
  std::optional<ParameterPrint> print;
  size_t noticesPrinted = 0;
  bool isResumed = false;
  uint64_t firstStep = 0; ///< 0, or where a checkpoint was left
  Evaluator evaluator{options, session};
  RunResults results{options, session};
  std::optional<Checkpoints> checkpoints; ///< where a folder for them is given
  double started = runtime::now();        ///< of the training, the loading before it left out
};

/// The last error of the runtime on stderr.
int Training::say(int code) const {
  if (code != 0)
    std::fputs(accum_last_error(), stderr);
  return code;
}

int Training::say(const Error &error) const {
  std::fputs(format(error).c_str(), stderr);
  return error.exitCode;
}

/// All ranks learn whether one has failed; the lowest that has says why (its message is the runtime's last
/// error).
int Training::agree(int code) {
  std::string message = code ? accum_last_error() : "";
  int64_t speaker = 0, worst = 0;
  if (int failed = accum_maximum(session, code ? info.ranks - info.rank : 0, &speaker))
    leave(say(failed));
  if (speaker == 0)
    return 0;
  if (speaker == info.ranks - info.rank)
    std::fputs(message.c_str(), stderr);
  if (int failed = accum_maximum(session, code, &worst))
    leave(say(failed));
  return int(worst);
}

/// What rank 0 alone does with the state; the others send it their parts meanwhile.
template <typename Call> int Training::onFirst(Call &&call) {
  int code = isFirst() ? call() : 0;
  if (int failed = accum_assist(session))
    leave(say(failed));
  return code;
}

/// What the session takes of the options that were given.
int Training::set(runtime::OptionOwner owner) {
  std::vector<const char *> names, texts;
  auto add = [&](const std::string &name, const std::string &text) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  };
  for (const runtime::Setting &setting : options.given)
    if (runtime::findRunOption(setting.name)->owner == owner)
      add(setting.name, *setting.text);
  // Epochs decide it too, and the last text counts.
  const std::string name = "steps", steps = std::to_string(std::min(totalSteps(), kMostSteps));
  if (owner == runtime::OptionOwner::Schedule)
    add(name, steps);
  return accum_set(session, names.data(), texts.data(), names.size());
}

int Training::setPrint() {
  if (options.printParam.empty())
    return 0;
  auto parsed = ParameterPrint::parse(options.printParam, session);
  if (!parsed)
    return isFirst() ? say(parsed.error()) : parsed.error().exitCode;
  print = *parsed;
  accum_observe(session, isFirst() ? ParameterPrint::print : ParameterPrint::read, &*print);
  return 0;
}

int Training::prepare() {
  if (int code = setPrint()) // the same on all ranks
    return code;
  int code = set(runtime::OptionOwner::Update);
  if (code == 0 && isFirst() && !options.profile.empty())
    code = accum_profile(session);
  if (code == 0)
    code = isFirst() ? results.checkWeights() : 0;
  if (code == 0 && !options.batches.empty())
    code = accum_set_batches(session, options.batches.data(), options.batches.size());
  if (code == 0)
    code = bindData(options, session);
  if (code == 0)
    code = evaluator.bind();
  if (code == 0) {
    accum_get_info(session, &info);
    code = set(runtime::OptionOwner::Schedule);
  }
  if (int agreed = agree(code))
    return agreed;
  if (!options.checkpoint.empty())
    checkpoints.emplace(options, session, isFirst());
  code = checkpoints ? checkpoints->lock() : 0;
  if (int agreed = agree(code))
    return agreed;
  code = checkpoints ? checkpoints->share() : 0; // on all ranks alike
  if (code != 0)
    return say(code);
  if (int resumed = options.resume.empty() ? 0 : resume())
    return resumed;
  if (int failed = options.init.empty() || isResumed ? 0 : init())
    return failed;
  if (int failed = checkpoints ? checkpoints->takeMemory() : 0)
    return say(failed);
  int64_t refused = checkpoints && isFirst() ? checkpoints->checkBegin(firstStep) : 0;
  if (int failed = accum_maximum(session, refused, &refused))
    leave(say(failed));
  if (refused)
    return int(refused);
  printNotes();
  return 0;
}

int Training::resume() {
  bool isAuto = options.resume == "auto";
  const std::string &path = isAuto ? options.checkpoint : options.resume;
  int32_t found = 0;
  int code = accum_resume(session, path.c_str(),
                          options.resumeWeightsOnly || options.evalOnly || !options.predict.empty(),
                          &firstStep, &found);
  if (int agreed = agree(code))
    return agreed;
  isResumed = found != 0;
  if (!isFirst())
    return found || isAuto ? 0 : runtime::kExitFile;
  return sayResumed(options, found != 0, firstStep);
}

int Training::init() {
  accum_init_options from = {sizeof(accum_init_options), options.init.c_str(),
                             options.initNames.empty() ? nullptr : options.initNames.c_str(),
                             options.initPartial};
  int64_t taken = 0;
  int code = agree(accum_init_weights(session, &from, &taken));
  if (code == 0 && isFirst())
    std::printf("init     %s: %lld parameters\n", options.init.c_str(), static_cast<long long>(taken));
  return code;
}

/// Those that are new.
void Training::printNotices() {
  while (const char *notice = accum_notice(session, noticesPrinted)) {
    recorders.interrupt();
    if (isFirst())
      std::fprintf(stderr, "note: %s\n", notice);
    ++noticesPrinted;
  }
}

void Training::printNotes() {
  printNotices();
  if (!isFirst())
    return;
  if (!options.lr && totalSteps() > 0)
    std::fprintf(stderr, "note: --lr is not given: %g (%s)\n", info.lr, info.optimizer);
  if (!options.ema && info.ema > 0)
    std::fprintf(stderr, "note: --ema is not given: %g\n", info.ema);
}

uint64_t Training::totalSteps() const {
  uint64_t steps = options.steps.value_or(UINT64_MAX);
  return options.epochs ? std::min(steps, accum_steps_of_epochs(session, *options.epochs)) : steps;
}

/// On a signal, or where the time that was given is over.
bool Training::isHurried() const {
  return stopRequested() || (options.maxSeconds > 0 && runtime::now() - started >= options.maxSeconds);
}

int Training::isHurried(void *training) { return static_cast<Training *>(training)->isHurried(); }

/// Of any rank.
bool Training::hurriedAgreed() {
  int64_t any = 0;
  if (int code = accum_maximum(session, isHurried(), &any))
    leave(say(code));
  return any != 0;
}

void Training::openRecorders() {
  accum_get_info(session, &info);
  auto opened = Recorders::open(options, info, firstStep, totalSteps());
  if (!opened)
    leave(say(opened.error()));
  recorders = std::move(*opened);
}

/// Behind each step comes what is due: an evaluation, unless time is short, then a checkpoint.
int Training::loop() {
  openRecorders();
  if (firstStep > 0 && info.evaluated != firstStep && evaluator.isDue(firstStep, firstStep >= totalSteps()))
    if (!evaluate(firstStep)) // who was interrupted in it makes it now
      return runtime::kExitStopped;
  for (uint64_t step = firstStep; step < totalSteps(); ++step) {
    accum_step_result result;
    if (print)
      print->startStep(step + 1);
    if (int code = accum_step(session, step, &result))
      return failedStep(code, step, result);
    printNotices();
    accum_get_info(session, &info);
    if (Outputs outputs = outputsOf(session); !outputs.empty())
      recorders.outputs(outputs);
    recorders.step(step + 1, info, result);
    summary.step(step + 1, info, result);
    bool isGood = result.loss <= options.stopAtLoss.value_or(-INFINITY); // the same on all ranks
    bool isLast = isGood || step + 1 == totalSteps(), hurries = hurriedAgreed();
    if (!hurries && evaluator.isDue(step + 1, isLast))
      hurries = !evaluate(step + 1) || hurriedAgreed();
    if (int code = checkpoints ? checkpoints->writeIfDue(step + 1, hurries || isLast) : 0)
      leave(say(code));
    if (hurries || isGood)
      return runtime::kExitStopped;
  }
  return 0;
}

/// Whether it came to its end.
bool Training::evaluate(uint64_t done) {
  std::optional<Evaluation> found;
  if (int code = evaluator.run(done, found))
    leave(say(code));
  recorders.interrupt();
  if (!found)
    return false;
  recorders.evaluation(*found);
  onFirst([&] {
    std::printf("%s\n", describe(*found).c_str());
    evaluator.keepBest(*found);
    return 0;
  });
  std::fflush(stdout);
  return true;
}

/// Of a checkpoint or of a file, where one is given.
int Training::takeWeights() {
  int code = options.resume.empty() ? 0 : resume();
  return code || options.init.empty() || isResumed ? code : init();
}

int Training::predictOnly() {
  Predictor predictor(options, session);
  if (int agreed = agree(predictor.bind()))
    return agreed;
  if (int failed = takeWeights())
    return failed;
  printNotices();
  return predictor.run();
}

/// The weights of the artifact, of a checkpoint or of a file.
int Training::evaluateOnly() {
  int code = options.valSplit.empty() ? 0 : bindData(options, session);
  code = code ? code : evaluator.bind();
  if (int agreed = agree(code))
    return agreed;
  if (int failed = takeWeights())
    return failed;
  printNotices();
  openRecorders();
  bool isWhole = evaluate(0);
  int unrecorded = recorders.finish();
  return isWhole ? unrecorded : runtime::kExitStopped;
}

/// A step that was not finite failed on all ranks alike: the weights are those of the last good step, and are
/// saved. Any other failure may be this rank's alone and ends the job.
int Training::failedStep(int code, uint64_t step, const accum_step_result &result) {
  std::string message = accum_last_error();
  recorders.interrupt();
  if (message.rfind("error: ", 0) == 0)
    message.insert(7, "step " + std::to_string(step + 1) + ": ");
  if (isFirst() || !result.skipped)
    std::fputs(message.c_str(), stderr);
  if (!result.skipped)
    leave(code);
  int failed = onFirst([&] { return results.save(summary.steps() > 0); });
  return failed ? failed : code;
}

/// Ends the job with the ranks that may be waiting.
void Training::leave(int code) {
  std::fflush(stdout);
  accum_abort(session, code);
  std::abort(); // not reached
}

int Training::run() {
  if (int code = info.ranks > 1 ? requireSameSettings(session, isFirst(), options.given) : 0)
    return code;
  if (options.evalOnly)
    return evaluateOnly();
  if (!options.predict.empty())
    return predictOnly();
  if (int code = prepare())
    return code;
  if (int code = isFirst() ? results.check() : 0)
    leave(code);
  int code = loop();
  int unrecorded = recorders.finish();
  if (code == 0 || code == runtime::kExitStopped) {
    if (isFirst())
      summary.print(info.batch);
    int saved = onFirst([&] { return results.save(summary.steps() > 0); });
    if (checkpoints && isFirst() && code == runtime::kExitStopped)
      checkpoints->sayHowToGoOn();
    saved = saved == 0 && checkpoints ? checkpoints->failure() : saved;
    saved = saved == 0 ? evaluator.failure() : saved;
    saved = saved == 0 ? unrecorded : saved;
    return saved ? saved : code;
  }
  return code;
}

} // namespace

int runTraining(const Options &options, accum_session *session) { return Training(options, session).run(); }

} // namespace accum::run
