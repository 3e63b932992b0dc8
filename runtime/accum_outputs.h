/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of the model, as a part of accum_runtime.h's interface: rows for samples that are not trained on,
 * and numbers beside the loss. Errors are told as there.
 */
#ifndef ACCUM_OUTPUTS_H
#define ACCUM_OUTPUTS_H

#include "accum_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Outputs of the model that the artifact predicts, by name, until null. */
const char *accum_output(const accum_session *session, size_t index);
/* Data for accum_predict, in files or arrays like those of training. Inputs that no output depends on
 * (labels) may be missing, and are not looked at. */
int accum_bind_prediction_files(accum_session *session, const char *const *paths, size_t count,
                                const accum_data_options *options);
int accum_bind_prediction_arrays(accum_session *session, const accum_array *arrays, size_t count);
/* How many of them there are: of arrays, those that this rank was given. */
int64_t accum_prediction_samples(const accum_session *session);
/* Outputs (`names` up to a null; null: all of them) of `samples` of them, from sample `first` on, with the
 * present weights and without dropout, in micro-steps of m over all devices. Memory of their size is taken,
 * which is not in the plan: who wants many samples asks for some at a time. Every rank gets all rows; of
 * arrays of its own (accum_open_options::local_batches), which are predicted all at once with first = 0, its
 * own. *predicted (may be null): samples of all ranks, 0 where accum_set_stop's function has ended it. Steps
 * before and behind it have the bits that they have without it. Slug `no-such-output` (exit 2). */
int accum_predict(accum_session *session, const char *const *names, int64_t first, int64_t samples,
                  int64_t *predicted);

/* Scalar outputs of the model that its loss is computed from, such as auxiliary losses: as the model defines
 * them, over the samples of the latest step, accumulate or evaluation. Names until null. */
const char *accum_scalar_output(const accum_session *session, size_t index, double *value);

/* Rows of an output of the latest accum_predict, the samples leading, valid until the next. f16 and bf16 come
 * as f32. */
int accum_predicted(const accum_session *session, const char *name, accum_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
