// SPDX-License-Identifier: Apache-2.0
// The rows, by the groups of the help.
#include "runtime/artifact/Groups.h"
#include "runtime/options/RunOptions.h"
#include "runtime/options/Schedule.h"
#include "runtime/system/ThreadPool.h"

/// Apart from the library's names, of which the columns have some.
namespace accum::runtime::rows {
namespace {

using O = RunOptions;
using Table = OptionTable<RunOptions>;
using enum Agreement;
using enum OptionOwner;
using enum NumberRange;

constexpr uint8_t kBoth = kVerifying | kEvaluating | kPredicting;
constexpr const char *kPath = "str | os.PathLike[str] | None = None";
/// A number of the update.
OptionFacts number(NumberRange range) {
  return {.range = range, .owner = Update, .python = "float | None = None"};
}

/// One that not every optimizer has.
void addOfSome(Table &add, HyperName name, std::optional<double> O::*field) {
  add(flagOf(name) + 2, field, "default by optimizer: " + presetsOf(name),
      number(endOf(name) == 1 ? Fraction : NotNegative));
}

std::string readTime(const std::string &text, O &options) {
  options.maxSeconds = secondsIn(text).value_or(0);
  return options.maxSeconds > 0 ? "" : "`" + text + "` is not a time like 11h30m, 90m or 45s";
}

/// `500` steps, or `10min`.
std::string readCheckpointEvery(const std::string &text, O &options) {
  bool isTime = text.ends_with("min");
  auto interval = intervalIn(isTime ? text.substr(0, text.size() - 2) : text);
  if (!interval || isTime != (interval->seconds > 0))
    return "`" + text + "` is neither a number of steps nor a time like 10min";
  options.checkpointEvery = *interval;
  return "";
}

std::string readProgress(const std::string &text, O &options) {
  options.progress = text != "none";
  if (text == "none" || text == "auto")
    return "";
  auto interval = intervalIn(text);
  options.progressEvery = interval.value_or(Interval());
  return interval ? "" : "`" + text + "` is neither auto nor none, a number of steps, or a time like 30s";
}

std::string readBatches(const std::string &text, O &options) {
  auto batches = batchesIn(text);
  options.batches = batches.value_or(std::vector<accum_batch_change>());
  return batches ? "" : "`" + text + "` is not STEP:BATCH,... like 0:64,1000:256";
}

/// There is no such option, and whoever asks for it learns why.
std::string refuseEvaluationSize(const std::string &, O &) {
  return "--eval-micro-batch: evaluation has the micro-batch of training: leave it out";
}

std::string rateRuleComplaint(const std::string &text) {
  return rateRuleIn(text) ? "" : "`" + text + "` is not a pattern, = and a number from 0 on";
}

void addData(Table &add) {
  add("data", &O::data,
      ".safetensors, .npz or NAME=FILE.npy: one array per model input, samples on the first axis; or tokens: "
      ".bin (raw, llm.c's, or Megatron's with its .idx) or one-dimensional .npy; or a folder or a quoted "
      "pattern of such files",
      {.shown = "PATH...", .takesMore = true, .agreement = Presence, .modes = kBoth});
  add("token-type", &O::tokenType, "token type of a .bin without a header: u16 (default) or u32",
      {.choices = {"u16", "u32"}, .modes = kBoth});
  add("document-separator", &O::documentSeparator,
      "the token that ends a document, or index for Megatron's: labels do not cross it, and position_ids "
      "restart",
      {.shown = "ID|index", .modes = kBoth});
  add("token-labels", &O::tokenLabels,
      "labels made from tokens: same (the model shifts them) or next, if the loss of the artifact leaves "
      "this open",
      {.choices = {"same", "next"}, .modes = kBoth});
  add("truncate", &O::truncate,
      "cut samples that are longer than the largest of several lengths (default: refused)", {.modes = kBoth});
  add("synthetic", &O::synthetic, "random inputs from the artifact's signature", {.modes = kVerifying});
  add("steps", &O::steps, "optimizer steps", {.owner = Schedule, .python = "int | None = None"});
  add("epochs", &O::epochs, "passes over the data");
  add("shuffle", &O::shuffle, "a new order in every epoch (default)",
      {.isNegatable = true, .recorded = RecordedAs{"shuffled data", "--no-shuffle"}});
  add("seed", &O::seed, "seed of shuffle, dropout and synthetic data (default 0)",
      {.modes = kBoth, .recorded = RecordedAs{}, .python = "int = 0"});
  add("drop-last", &O::dropLast, "drop an incomplete last step of an epoch",
      {.recorded = RecordedAs{"--drop-last", "the last window of an epoch, which --drop-last leaves out"}});
  add("max-time", readTime, "stop after the step in which this time is over, as on a signal (exit 5)",
      {.shown = "TIME"});
  add("stop-at-loss", &O::stopAtLoss, "stop after the first step whose loss is at most this (exit 5)");
}

void addUpdate(Table &add) {
  add("lr", &O::lr, "learning rate (default " + presetsOfRate() + ")", number(NotNegative));
  add("lr-scale", &O::lrScales,
      "factor of the learning rate for parameters that match; the first matching pattern wins",
      {.shown = "GLOB=X",
       .check = rateRuleComplaint,
       .owner = Update,
       .python = "Mapping[str, float] | None = None"});
  add("weight-decay", &O::weightDecay, "default 0", number(NotNegative));
  add("decay", &O::decay,
      "what decays: matrices (default), all, or globs over parameter names, each with its --decay",
      {.shown = "GLOB", .owner = Update, .python = "str | Sequence[str] | None = None"});
  addOfSome(add, HyperName::Beta1, &O::beta1);
  addOfSome(add, HyperName::Beta2, &O::beta2);
  addOfSome(add, HyperName::Eps, &O::eps);
  addOfSome(add, HyperName::Momentum, &O::momentum);
  add("clip-norm", &O::clipNorm, "the global norm of the gradients is at most this", number(Positive));
  add("skip-spikes", &O::skipSpikes,
      "skip a step whose loss or gradient norm is more than this many standard deviations above the mean of "
      "the last 128",
      number(Positive));
  add("ema", &O::ema,
      "after accumc --ema: decay of the average of the weights, between 0 and 1 (default 0.999)",
      number(Positive));
}

void addSchedule(Table &add) {
  add("schedule", &O::schedule,
      "learning rate by optimizer step: " + scheduleChoices() + " (default constant)",
      {.owner = Schedule, .python = "str = 'constant'"});
  add("warmup", &O::warmup, "warm-up steps, or a percentage of the run",
      {.shown = "N|P%", .owner = Schedule, .python = "int | str | None = None"});
  add("lr-floor", &O::lrFloor, "final learning rate of the schedule, or a percentage of --lr",
      {.shown = "X|P%", .owner = Schedule, .python = "float | str | None = None"});
  add("decay-steps", &O::decaySteps, "length of the final decay of wsd (default 10%)",
      {.shown = "N|P%", .owner = Schedule, .python = "int | str | None = None"});
}

void addEvaluation(Table &add) {
  add("eval", &O::evalData,
      "files as in --data; their loss, without dropout, after the last step and as --eval-every says",
      {.shown = "PATH...", .takesMore = true, .agreement = Presence, .modes = kEvaluating});
  add("val-split", &O::valSplit,
      "instead of --eval: exclude the last P% of --data (or a number of samples) from training, and evaluate "
      "them",
      {.shown = "P%", .modes = kEvaluating});
  add("eval-every", &O::evalEvery, "evaluate every N steps", {.least = 1});
  add("best", &O::best, "keep the weights of the lowest evaluation loss here",
      {.shown = "FILE", .check = emptyComplaint, .agreement = Presence});
  add("weights", &O::weights,
      "what is evaluated, predicted with and saved, --best too: trained (default), or their average, ema",
      {.choices = {"trained", kAverage}, .modes = kEvaluating | kPredicting});
  add("eval-micro-batch", refuseEvaluationSize, "");
  add("eval-only", &O::evalOnly, "evaluate the weights of the artifact or of --resume; trains nothing",
      {.modes = kEvaluating});
  add("predict", &O::predict,
      "files as in --data: outputs of the model for them, with the weights of the artifact, of --init or of "
      "--resume; trains nothing",
      {.shown = "PATH...", .takesMore = true, .agreement = Presence, .modes = kPredicting});
  add("output", &O::output, "file of what --predict gives: .npz or .safetensors",
      {.shown = "FILE", .check = emptyComplaint, .letter = 'o', .agreement = None, .modes = kPredicting});
  add("outputs", &O::outputs, "outputs to predict (default: all that the artifact has)",
      {.shown = "NAME,...", .check = emptyComplaint, .modes = kPredicting});
}

void addCheckpoints(Table &add) {
  add("checkpoint", &O::checkpoint,
      "folder of checkpoints: written at the end, on a signal, and as --checkpoint-every says",
      {.shown = "DIR", .check = emptyComplaint, .agreement = Presence, .modes = kEvaluating | kPredicting});
  add("checkpoint-every", readCheckpointEvery, "steps, or minutes as in 10min", {.shown = "N|Nmin"});
  add("checkpoint-keep", &O::checkpointKeep, "keep only the newest N (default: all)", {.least = 1});
  add("checkpoint-background", &O::checkpointBackground,
      "write them in a thread, from a copy of the state, whose memory is printed");
  add("resume", &O::resume,
      "a checkpoint, a folder of them, or auto: the newest of --checkpoint, if there is one",
      {.shown = "DIR|auto",
       .check = emptyComplaint,
       .agreement = Presence,
       .modes = kEvaluating | kPredicting});
  add("resume-weights-only", &O::resumeWeightsOnly, "take the weights of --resume and begin a new run");
}

void addWeights(Table &add) {
  add("init", &O::init,
      "weights instead of the artifact's: FILE.safetensors, an index of several, or their folder; names of "
      "the model file or the framework",
      {.shown = "FILE",
       .check = emptyComplaint,
       .agreement = Presence,
       .modes = kEvaluating | kPredicting,
       .python = kPath});
  add("init-partial", &O::initPartial, "take the tensors of --init that fit, and name the others",
      {.modes = kEvaluating | kPredicting, .python = "bool = False"});
  add("init-names", &O::initNames, "layouts in --init, if its shapes leave this open: onnx or framework",
      {.choices = {"onnx", "framework"}, .modes = kEvaluating | kPredicting, .python = "str | None = None"});
  add("random-params", &O::randomParams, "random weights from this seed instead of the file's",
      {.modes = kBoth, .python = "int | None = None"});
}

void addResults(Table &add) {
  add("save", &O::save,
      "trained weights (default MODEL.trained.safetensors beside the artifact); FILE.onnx: the model file "
      "with trained weights",
      {.check = emptyComplaint, .agreement = None});
  add("names", &O::names, "names and layouts in saved files: onnx (default) or framework",
      {.choices = {"onnx", "framework"}, .agreement = None});
  add("export-dtype", &O::exportDtype, "type of the weights in --save FILE.safetensors: f16 or bf16",
      {.choices = {"f16", "bf16"}, .agreement = None});
  add("model", &O::model, "for --save FILE.onnx: the model file, if it was moved since it was compiled",
      {.shown = "FILE", .check = emptyComplaint, .agreement = Presence});
  add("dump-gradients", &O::dumpGradients, "gradients of the last step",
      {.shown = "FILE", .check = emptyComplaint, .agreement = Presence});
  add("print-param", &O::printParam, "first values of a parameter after every micro-step",
      {.shown = "NAME[:COUNT]"});
  add("log", &O::log, "one JSON line per step; - is stdout",
      {.shown = "FILE", .check = emptyComplaint, .agreement = None, .modes = kEvaluating | kPredicting});
  add("tensorboard", &O::tensorboard,
      "folder of event files: loss, norm, learning rate, speed, memory, evaluations",
      {.shown = "DIR", .check = emptyComplaint, .agreement = None});
  add("report", &O::report,
      "a page with curves of loss, norm, learning rate, speed and memory; rewritten every two minutes",
      {.shown = "FILE.html", .check = emptyComplaint, .agreement = None});
  add("profile", &O::profile,
      "start and duration of each call, for Perfetto; on GPUs with ACCUM_CUDA_STEPWISE=1",
      {.shown = "FILE.json", .agreement = None});
}

void addProcess(Table &add) {
  add("devices", &O::devices,
      "processes, one device each (default: what the artifact was compiled for, or what mpirun or srun "
      "started)",
      {.least = 1, .most = INT32_MAX, .modes = kBoth, .python = "int | None = None"});
  add("offload-dir", &O::offloadDir,
      "folder for the file of offloaded state, which disappears with the run (default: the artifact's)",
      {.shown = "DIR", .agreement = None, .python = kPath});
  add("batch-schedule", readBatches,
      "global batch from each step on, as in 0:64,1000:256; the micro-batch stays",
      {.shown = "STEP:BATCH,..."});
  add("on-nan", &O::onNan, "if loss or gradients are not finite: stop (default) or skip the step",
      {.choices = {"stop", "skip"}, .python = "str = 'stop'"});
  add("progress", readProgress,
      "auto (default): a progress line on a terminal, elsewhere a line a minute; none; a line every N steps, "
      "or every 30s",
      {.shown = "auto|none|N|TIME", .agreement = None, .modes = kBoth});
  add("threads", &O::threads,
      "threads per process (default: OMP_NUM_THREADS, or the processors that it may use by affinity and "
      "quota, divided by the processes on this machine)",
      {.least = 1, .most = kMostThreads, .agreement = None, .modes = kBoth, .python = "int = 0"});
  add("verify", &O::verify,
      "compare the step with the same samples cut in other ways, and its gradient with finite differences of "
      "the loss; on synthetic data, or the first samples of --data; trains nothing",
      {.modes = kVerifying});
  add("verify-seconds", &O::verifySeconds,
      "time limit for the cuts, and for the gradient (default 60); 0: all cuts, and no gradient",
      {.shown = "FLOAT:NONNEGATIVE", .range = NotNegative, .modes = kVerifying});
  add("target", &O::target, "sim: run the kernels of a CUDA artifact on the CPU, and check each access",
      {.choices = {"sim"}, .modes = kBoth});
  add("launcher", &O::launcher,
      "who started the ranks: auto (default), mpi, slurm, or env (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, "
      "MASTER_PORT)",
      {.choices = {"auto", "mpi", "slurm", "env"},
       .agreement = None,
       .modes = kBoth,
       .python = "str | None = None"});
  add("describe", &O::describe, "print what is in the artifact, or in a checkpoint; runs nothing",
      {.agreement = None, .modes = kDescribing});
}

} // namespace

static std::vector<RunOption> all() {
  Table add;
  add("artifact", &O::artifact, "DIR.accum",
      {.isPositional = true, .agreement = Presence, .modes = kBoth | kDescribing});
  auto addGroup = [&](const char *group, auto... each) {
    add.group = group;
    (each(add), ...);
  };
  addGroup("Data and length", addData);
  addGroup("Optimizer and schedule", addUpdate, addSchedule);
  addGroup("Evaluation", addEvaluation);
  addGroup("Checkpoints", addCheckpoints);
  addGroup("Weights", addWeights);
  addGroup("What comes out", addResults);
  addGroup("The run", addProcess);
  return add.rows;
}

} // namespace accum::runtime::rows

const std::vector<accum::runtime::RunOption> &accum::runtime::runOptions() {
  static const std::vector<RunOption> table = rows::all();
  return table;
}
