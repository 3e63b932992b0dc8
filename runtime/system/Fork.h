// SPDX-License-Identifier: Apache-2.0
// A forked child has its parent's memory and none of its threads: work that is handed to one is never done.
#ifndef ACCUM_RUNTIME_SYSTEM_FORK_H
#define ACCUM_RUNTIME_SYSTEM_FORK_H

namespace accum::runtime {

/// Told before the first thread is started; children that are forked from then on have lost some.
void expectThreads();

/// Whether this process was forked from one that had threads of ours.
bool isOrphan();

} // namespace accum::runtime
#endif
