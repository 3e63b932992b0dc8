// SPDX-License-Identifier: Apache-2.0
// To be preloaded: SIGTERM while libraries begin, before `main`.
#include <csignal>

[[gnu::constructor]] static void tellToStop() { raise(SIGTERM); }
