// SPDX-License-Identifier: Apache-2.0
// What is said about a loss or gradient that is not finite.
#ifndef ACCUM_RUNTIME_SESSION_NOTFINITE_H
#define ACCUM_RUNTIME_SESSION_NOTFINITE_H

#include "runtime/device/Opened.h"
#include <functional>

namespace accum::runtime {

/// An error of slug `nan` that begins with `what`. The notes say what the numbers of the step and the model
/// file show: totals of the batch that are zero, and nodes that are not finite where a mask hides all they
/// read.
Error notFinite(const std::string &what, const Manifest &manifest,
                const std::function<Expected<double>(const ScalarSpec &)> &valueOf);
/// The same of a step that has just been made; one that follows no other was not led astray by the learning
/// rate.
Error notFinite(const char *what, Opened &opened, bool follows);

} // namespace accum::runtime
#endif
