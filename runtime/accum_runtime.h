/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of the runtime: open an artifact, bind data, step, read tensors, save, close. accum-run is
 * written against it; libaccum_runtime.so and libaccum_runtime.a define it.
 *
 * Every function that returns int returns 0, or the exit code that accum-run would end with (2 usage, 3 file,
 * 4 run); accum_last_error() then holds "error: ..." and "note: ..." lines. A session is used by one thread
 * at a time. With more than one device every rank makes the same calls in the same order.
 */
#ifndef ACCUM_RUNTIME_H
#define ACCUM_RUNTIME_H

#include "accum_program.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct accum_session accum_session;

/* The message of this thread's last failed call; valid until its next call. */
const char *accum_last_error(void);
/* Where that is empty, since another rank says what is wrong: "error: another rank failed, rank 0: ...". */
const char *accum_other_error(void);
const char *accum_runtime_version(void);

/* ---- Open -------------------------------------------------------------------------------------- */

typedef struct accum_open_options {
  uint32_t size;   /* sizeof(accum_open_options) */
  int32_t threads; /* per process; 0: OMP_NUM_THREADS, or the usable processors (affinity, quota) divided by
                      the local ranks */
  int32_t random_params; /* non-zero: trained parameters are drawn, not read */
  int32_t
      skip_nan; /* non-zero: a step whose loss or gradients are not finite changes nothing; else it fails */
  uint64_t random_seed; /* of random_params */
  const char *target;   /* null: the artifact's own; "sim": its GPU kernels on the processor, checked */
  const char *launcher; /* who started the ranks: "auto" (or null), "mpi", "slurm" or "env" */
  const accum_program_v1 *program; /* program.cpp built into the caller: accum_program(); null: program.so */
  int32_t awaits_weights;  /* non-zero: accum_init_weights or accum_resume follows, and the artifact's own
                              weights may be gone */
  int32_t devices;         /* ranks; 0: as many as the artifact was compiled for. m stays, K follows */
  const char *offload_dir; /* on the host: the folder of the file that holds offloaded state; null: the
                              artifact's */
  int32_t local_batches;   /* non-zero: each rank's arrays of a step or an evaluation are samples of its own,
                              and the batch is those of all ranks; else every rank is given all of them, and
                              that they are the same is checked */
} accum_open_options;

/* Checks and loads the artifact, joins the other ranks when it has more than one device, allocates the arena
 * and loads the parameters. options may be null. */
int accum_open(const char *artifact, const accum_open_options *options, accum_session **session);
void accum_close(accum_session *session);

/* Signature, plan, memory table and versions as text, without running anything; of a checkpoint or a folder
 * of them what they hold. Free with accum_free. */
int accum_describe(const char *artifact, char **text);
void accum_free(void *text);

/* ---- What is open ------------------------------------------------------------------------------ */

typedef struct accum_info {
  int64_t batch, m, devices,
      samples;     /* batch: of the latest step; samples: of the bound data, 0 before bind */
  int64_t windows; /* steps of the first epoch of the bound data */
  int32_t rank, ranks, threads;
  uint64_t state_bytes, scratch_bytes, staging_bytes,
      arena_bytes;     /* arena: allocated; the sum of the three, and on a GPU what libraries work in */
  uint64_t peak_bytes; /* the most memory in use so far: of the process on the host, of the card elsewhere */
  const char *optimizer;
  double lr;           /* of the latest step */
  uint64_t evaluated;  /* steps that were made before the latest whole accum_evaluate, also by runs that this
                          one goes on from; UINT64_MAX: there was none */
  uint64_t sent_bytes; /* by this rank to others in the latest step's sums and gatherings, as a ring sends
                          them; 0 on GPUs, where NCCL sends */
  double ema;          /* d of the average of the weights; 0 where none is kept */
} accum_info;
void accum_get_info(const accum_session *session, accum_info *info);

/* ---- Data -------------------------------------------------------------------------------------- */

typedef struct accum_data_options {
  uint32_t size; /* sizeof(accum_data_options) */
  int32_t shuffle, drop_last;
  uint64_t seed;   /* of the shuffle, of synthetic data, and accum_ctx::seed */
  int64_t samples; /* of synthetic data; 0: one global batch */
  /* of files of tokens; null: none */
  const char *token_type;         /* of .bin files without a header: "u16" (or null), "u32" */
  const char *document_separator; /* the id that ends a document, or "index" for Megatron's */
  const char *token_labels;       /* "same" or "next" token; null: by the artifact's loss */
  const char *val_split; /* of any data: its last samples, "P%" or a number, are bound for accum_evaluate */
  int32_t truncate;      /* samples longer than the largest of several lengths are cut, not refused */
} accum_data_options;

/* An array in memory, samples leading; kept by the caller until the session closes. */
typedef struct accum_array {
  const char *name;
  int32_t dtype, rank;
  const int64_t *shape;
  const void *data;
} accum_array;

/* paths: FILE.safetensors, FILE.npz or NAME=FILE.npy, whose values are all checked here; or tokens in
 * FILE.bin or FILE.npy, which are checked when they are read; or folders and patterns of one of these. */
int accum_bind_files(accum_session *session, const char *const *paths, size_t count,
                     const accum_data_options *options);
int accum_bind_arrays(accum_session *session, const accum_array *arrays, size_t count,
                      const accum_data_options *options);
/* Random samples: one global batch, or as many as the options say. */
int accum_bind_synthetic(accum_session *session, const accum_data_options *options);
/* Decisions taken while opening and binding, one line each, until null. */
const char *accum_notice(const accum_session *session, size_t index);

/* ---- Train ------------------------------------------------------------------------------------- */

/* What stays as accum_hyper_defaults fills it in has the optimizer's default; any other NaN is refused, as
 * are infinite numbers (slug `usage`, exit 2). decay: null or "matrices", "all", or a glob over parameter
 * names. */
typedef struct accum_hyper_options {
  uint32_t size; /* sizeof(accum_hyper_options) */
  double lr, weight_decay, beta1, beta2, eps, momentum;
  const char *decay;
  double clip_norm;   /* the global norm of the gradients, summed over all devices, is at most this: gradients
                         are multiplied by min(1, clip_norm / (norm + 1e-6)); as filled in: no limit */
  double skip_spikes; /* a step is left out whose loss or norm is so many standard deviations above the mean
                         of the last 128; as filled in: none is */
  const char *const *decays;    /* as `decay`, up to a null: what any of them matches decays; null: none */
  const char *const *lr_scales; /* "GLOB=X", up to a null: factors of lr, of which the first that matches a
                                   parameter wins; null: none */
  double ema; /* d, between 0 and 1: of an artifact that keeps an average of the weights (accumc --ema), every
                 update makes it ema + (weights - ema) * (1 - d); as filled in: 0.999 */
} accum_hyper_options;
void accum_hyper_defaults(accum_hyper_options *options);
/* Also between two steps: all of it holds from the next one on, and the schedule's factors are those of the
 * new rate. */
int accum_set_hyper(accum_session *session, const accum_hyper_options *options);

/* The learning rate of step s (from 0) of S, as a factor of accum_hyper_options::lr: (s + 1) / w in a warm-up
 * of w steps, 1 at s = w, the floor in the last step. Strings as accum-run takes them: null means none. */
typedef struct accum_schedule_options {
  uint32_t size;      /* sizeof(accum_schedule_options) */
  uint64_t steps;     /* S, optimizer steps of the whole run */
  const char *kind;   /* a row of runtime/options/Schedule.cpp, null for "constant", or the path of a file of
                         lines `step,factor` */
  const char *warmup; /* "N" steps, or "P%" of the run */
  const char *floor;  /* a learning rate, or "P%" of the peak */
  const char *decay_steps; /* of wsd: "N" or "P%"; null: a tenth */
} accum_schedule_options;
/* After accum_set_hyper, before the first step. */
int accum_set_schedule(accum_session *session, const accum_schedule_options *options);
/* Not zero where a schedule of this name depends on the number of steps of the run. */
int accum_schedule_ends(const char *kind);
/* What the two refuse of every artifact that was compiled for this optimizer, without one; of patterns over
 * names only the form. */
int accum_check_run(const char *optimizer, const accum_hyper_options *hyper,
                    const accum_schedule_options *schedule);

/* A row of the table of options, from which accum-run's command line is made too. */
typedef struct accum_run_option {
  uint32_t size;      /* sizeof(accum_run_option) of the library */
  int32_t is_set;     /* non-zero: accum_set takes it */
  const char *name;   /* as in `--clip-norm`, without its dashes */
  const char *group;  /* of the help */
  const char *help;   /* "" for one that is not listed */
  const char *python; /* type and default of the Python keyword, "float | None = None"; null: there is none */
} accum_run_option;
/* Null after the last one. */
const accum_run_option *accum_run_option_at(size_t index);
/* What accum_set_hyper and accum_set_schedule set, by the names and texts of the command line: "clip-norm"
 * and "1". Options that are not named stay as they are; one with several texts ("decay", "lr-scale") is named
 * once for each, and these replace those that it had. A null text: as if it were never given. "steps" is that
 * of accum_schedule_options. Where it fails nothing has changed but, of a mixture, what the update reads. */
int accum_set(accum_session *session, const char *const *names, const char *const *texts, size_t count);
/* What that refuses of every artifact that was compiled for this optimizer, without one; as accum_check_run.
 */
int accum_check_options(const char *optimizer, const char *const *names, const char *const *texts,
                        size_t count);

/* The global batch from step `step` on, counted from 0; the micro-batch stays, and the loss is normalised by
 * what the step has. Windows go on where the one before ended, also inside an epoch. */
typedef struct accum_batch_change {
  uint64_t step;
  int64_t batch;
} accum_batch_change;
/* Ascending, the first at step 0; before data is bound. Without it: the artifact's batch. */
int accum_set_batches(accum_session *session, const accum_batch_change *changes, size_t count);
/* Steps until so many epochs of the bound data are over; 0 before bind, UINT64_MAX for more than there are
 * numbers. */
uint64_t accum_steps_of_epochs(const accum_session *session, uint64_t epochs);

enum accum_skipped { ACCUM_SKIPPED_NOT_FINITE = 1, ACCUM_SKIPPED_SPIKE = 2 };

typedef struct accum_step_result {
  double loss,
      gradient_norm; /* gradient_norm: over all gradients, before clipping; NaN where no gradient was seen */
  int64_t samples, targets; /* targets: 0 where the artifact does not count them */
  double seconds, data_seconds;
  uint32_t micro_steps;
  int32_t skipped; /* accum_skipped: the step changed nothing; also set where accum_step fails since it was
                      not finite */
} accum_step_result;

/* Step number `step`, counted from 0, decides the samples and the randomness. The number of updates since
 * open decides the bias corrections. A signal handler of yours that may run meanwhile needs sigaltstack and
 * SA_ONSTACK: the library of products keeps values below the stack pointer. */
int accum_step(accum_session *session, uint64_t step, accum_step_result *result);
/* The same step over samples of the caller's, at least one, instead of bound data: arrays as
 * accum_bind_arrays takes them, kept until the call returns. Their number decides K, and the loss is
 * normalised by what they hold; m stays. `seed` and `step` decide the randomness. With more than one device
 * every rank passes all samples and trains its share, or its own: accum_open_options::local_batches. Slug
 * `other-samples` (exit 3) where all shall be the same and are not. */
int accum_step_arrays(accum_session *session, uint64_t step, const accum_array *arrays, size_t count,
                      uint64_t seed, accum_step_result *result);
/* accum_step in two calls, for what shall happen to gradients in between. accum_accumulate computes those of
 * the samples that step `step` has, and adds them to those of the calls since the latest update: each call's
 * loss is normalised by its own samples, as backward() of a loop would have it, and the randomness is that of
 * `step`, in which samples count on from call to call: two calls of one `step` draw for their samples what
 * one call with all of them draws. Where state is sharded, each rank's part of the gradients takes its size
 * in memory once more from the second call on. accum_update sums over all devices, then clips, leaves out or
 * updates as accum_step does, with the learning rate of `step`: one accum_accumulate and accum_update have
 * the bits of accum_step. Its result has the loss of the latest accumulate, and the samples and targets of
 * all. accum_checkpoint is refused in between (slug `usage`), as gradients are not part of a checkpoint;
 * accum_step in between drops them. Before the update they are each rank's own; where the state is sharded,
 * accum_accumulate sums them, and each rank has its part. Slug `usage` (exit 2) where there is nothing to
 * update with. */
int accum_accumulate(accum_session *session, uint64_t step, accum_step_result *result);
int accum_accumulate_arrays(accum_session *session, uint64_t step, const accum_array *arrays, size_t count,
                            uint64_t seed, accum_step_result *result);
int accum_update(accum_session *session, uint64_t step, accum_step_result *result);
/* Forward and loss over the same samples; nothing is updated. */
int accum_eval(accum_session *session, uint64_t step, accum_step_result *result);

/* Data of its own for accum_evaluate, in files or arrays like those of training; one sample is enough. */
int accum_bind_evaluation_files(accum_session *session, const char *const *paths, size_t count,
                                const accum_data_options *options);
int accum_bind_evaluation_arrays(accum_session *session, const accum_array *arrays, size_t count);

typedef struct accum_evaluation {
  double loss;       /* as the model defines it, of all samples at once; not finite where it is not */
  double accuracy;   /* the part of the counted targets that is predicted; NaN where nothing counts them */
  double perplexity; /* exp(loss) where the targets are tokens; else NaN */
  int64_t samples, targets; /* targets: 0 where the artifact does not count them */
  double seconds;
  int32_t is_best; /* the loss is the lowest so far, also over runs that this one goes on from */
} accum_evaluation;
/* Every sample once, without dropout, over all devices. A program that relates the samples of its batch to
 * each other: the mean over full batches. Steps before and behind it have the bits that they have without
 * it. */
int accum_evaluate(accum_session *session, accum_evaluation *result);
/* What accum_evaluate, accum_predict and accum_save_weights take from now on: "trained", as at first, or
 * "ema", the moving average of the weights. Slug `usage` (exit 2) where there is none. */
int accum_set_weights(accum_session *session, const char *which);
/* Whether to stop; called by accum_evaluate before each micro-step, on every rank. Where it answers non-zero
 * on one, all leave the evaluation there, and its result has 0 samples. Null: nobody asks. */
typedef int (*accum_stop)(void *user);
void accum_set_stop(accum_session *session, accum_stop wanted, void *user);

/* How steps are cut, to check that it does not matter. */
typedef struct accum_cut {
  uint32_t size;    /* sizeof(accum_cut) */
  int32_t reversed; /* non-zero: the micro-steps in reverse order */
  int64_t rows;     /* samples a micro-step, 1 to m; 0: m */
  int64_t samples;  /* of each window its first so many; 0: all */
  int64_t only;     /* < 0: all contribute. Else the samples of that micro-step alone (none where it is K or
                       more), behind all the others, which are empty; the pre-pass still counts all */
  int32_t longest;  /* non-zero, of a program of several lengths: every sample at the largest size */
} accum_cut;
/* From now on; null: as planned. */
int accum_set_cut(accum_session *session, const accum_cut *cut);

/* Fills scratch, gradients and scalars with a byte. 0xff makes every number there NaN, or -1: what a step
 * reads before it has written it then shows. */
int accum_fill_memory(accum_session *session, uint8_t byte);
/* Overwrites a tensor that accum_read reads, scalars left out: `bytes` of values, row by row, in its dtype.
 * accum_write is that of kind "parameter". Slug `usage` (exit 2) for a name or a kind that is none, and for
 * another size. With more than one device every rank writes: parameters and slots the same. */
int accum_write_tensor(accum_session *session, const char *kind, const char *name, const void *data,
                       uint64_t bytes);
int accum_write(accum_session *session, const char *name, const void *data, uint64_t bytes);

/* Called after every micro-step of accum_step; for the last one (k + 1 == steps) after the update. */
typedef void (*accum_observer)(void *user, const accum_session *session, uint32_t k, uint32_t steps);
void accum_observe(accum_session *session, accum_observer observer, void *user);

/* From now on the time of each call of the program is kept (host, and GPUs with ACCUM_CUDA_STEPWISE=1);
 * accum_save_profile writes what there is so far, in the Trace Event format of Perfetto and chrome://tracing.
 */
int accum_profile(accum_session *session);
int accum_save_profile(const accum_session *session, const char *path);

/* ---- Processes of one job ---------------------------------------------------------------------- */

/* How many processes a launcher (as accum_open_options has it; null: any) has started this one among, by its
 * environment; 0: none has. */
int accum_launched(const char *launcher, int32_t *processes);
/* Joins them before there is an artifact to open: sessions then share the job, and leave it as it is. Without
 * it a session for several devices joins when it opens, and leaves when it closes; MPI allows that once. This
 * process is *rank of *ranks: 0 of 1, and nothing is joined, where no launcher has started several. */
int accum_join(const char *launcher, int32_t *rank, int32_t *ranks);
/* After accum_join, on all ranks: `bytes` at `data` on rank 0 come to the others, who wait as long as it
 * takes. */
int accum_broadcast(void *data, uint64_t bytes);
/* Leaves the job, together with the others, when the last session is closed: where it is, this waits for
 * them. Slug `other-call` (exit 4) where another rank goes on, which gets the same error. */
int accum_leave(void);

/* The largest `value` over all ranks. */
int accum_maximum(accum_session *session, int64_t value, int64_t *largest);
/* Ends all ranks now, of this session or (null) of accum_join's job; does not return. */
void accum_abort(accum_session *session, int32_t exit_code);
/* The same for accum_join's job, whose other ranks learn why this one has left (a short sentence) and have a
 * second to end by themselves. */
void accum_fail(int32_t exit_code, const char *why);

/* ---- Read and save ----------------------------------------------------------------------------- */

typedef struct accum_tensor {
  const void *data; /* on the host in the state: changes with the next step; elsewhere a copy, valid until the
                       session's next call */
  int32_t dtype, rank;
  const int64_t *shape;
} accum_tensor;

/* Where the state is sharded, tensors come from all ranks: while rank 0 calls accum_read, accum_save
 * and accum_save_weights, as often as it likes, the others are in accum_assist, which ends when rank 0 calls
 * it too. (Or all ranks call accum_read with the same arguments.) Does nothing for other artifacts. */
int accum_assist(accum_session *session);
/* The ONNX names of the trained parameters, until null. */
const char *accum_trained(const accum_session *session, size_t index);
/* kind: "parameter", "gradient", "scalar", or the name of an optimizer slot ("m", "v", "momentum"; the table
 * in docs/training.md; "ema"). name: in the model file, or the framework's where it has the same layout; of a
 * scalar that in the manifest ("loss", "targets"). A gradient is that of the latest step, or what has been
 * accumulated, before clipping. Slug `usage` (exit 2) for what is not there. */
int accum_read(const accum_session *session, const char *kind, const char *name, accum_tensor *tensor);

typedef struct accum_init_options {
  uint32_t size;     /* sizeof(accum_init_options) */
  const char *path;  /* FILE.safetensors, an index of several, or the folder of either */
  const char *names; /* "onnx" or "framework": whose layouts the file has; null: as its shapes tell */
  int32_t partial;   /* non-zero: takes what fits; else every trained parameter must be there, and nothing
                        that is none */
} accum_init_options;
/* Parameters from a file of weights, before the first step; every rank calls it. *taken: how many it held. */
int accum_init_weights(accum_session *session, const accum_init_options *options, int64_t *taken);

typedef struct accum_save_options {
  uint32_t size;      /* sizeof(accum_save_options) */
  const char *names;  /* "onnx" (or null) or "framework" */
  const char *dtype;  /* of safetensors: "f16" or "bf16", rounded to nearest even; null: as it is trained */
  const char *model;  /* of PATH.onnx: the model file; null: where it was compiled, or beside the artifact */
  int32_t keep_old;   /* non-zero: an existing file is kept as PATH.1 */
  int32_t check_only; /* non-zero: writes nothing, and answers whether it could */
} accum_save_options;
/* Trained parameters as safetensors, or, where the path ends in .onnx, the model file with their values in
 * the place of its own: names, types, layouts, tied copies and files beside it as they were. */
int accum_save_weights(accum_session *session, const char *path, const accum_save_options *options);

/* kind: "parameter", "gradient" or "ema"; names: "onnx" or "framework". An existing file is kept as PATH.1
 * when keep_old. A null path writes nothing: what the file will lack for the framework's loader is told by
 * notices. */
int accum_save(const accum_session *session, const char *kind, const char *names, const char *path,
               int32_t keep_old);

/* ---- Checkpoints ------------------------------------------------------------------------------- */

/* Keeps other processes from writing checkpoints into a folder, as long as this one lives; makes the folder.
 */
int accum_lock_checkpoints(const char *root);
/* The step of the newest checkpoint in a folder, whole or not, or 0: whoever writes older ones there has them
 * taken for a part of another run. */
int accum_newest_checkpoint(const char *root, uint64_t *step);
/* Writes ROOT/step-NNNNNNNN: trained parameters, optimizer state, and what else the next step needs. It
 * appears whole or not at all. `step` counts the steps that were made; of the others the newest `keep - 1`
 * stay (0: all). All ranks call it, and each writes its share: behind accum_lock_checkpoints on rank 0, then
 * accum_share_checkpoints. An error is the same on all ranks; the one that it names has its words. */
int accum_checkpoint(accum_session *session, const char *root, uint64_t step, uint64_t keep);
/* All ranks call it, before the first checkpoint: whether they see one folder, which rank 0 has locked. Slug
 * `not-shared` (exit 3) where they do not. Nothing to do for one rank. */
int accum_share_checkpoints(accum_session *session, const char *root);
/* From now on accum_checkpoint returns when it has copied the state, into memory that is taken here, and a
 * thread writes the copy. accum_finish_checkpoint says how the latest one ended, once: with `wait` behind its
 * end, else 0 while it is on its way. It comes before the next accum_checkpoint, with `wait`. All ranks call
 * both. */
int accum_checkpoint_background(accum_session *session);
int accum_finish_checkpoint(accum_session *session, int32_t wait);
/* Reads a checkpoint, or the newest whole one of a folder of them; all ranks call it, behind bind. *step is
 * the step to go on with: the next ones have the bits of a run that was never interrupted. weights_only:
 * parameters alone, or their average behind accum_set_weights("ema"), and a new run. *found is 0 where the
 * folder holds none. */
int accum_resume(accum_session *session, const char *path, int32_t weights_only, uint64_t *step,
                 int32_t *found);

#ifdef __cplusplus
}
#endif
#endif
