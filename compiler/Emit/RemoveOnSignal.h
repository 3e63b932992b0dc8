// SPDX-License-Identifier: Apache-2.0
// An interrupted compilation leaves nothing behind.
#pragma once
#include <string>

namespace accum::emit {

/// While it lives, SIGINT, SIGTERM and SIGHUP remove `folder` with what is in it, three folders deep, before
/// they end the process, where they would have ended it at once. One at a time: another is not watched, so
/// the outermost of nested folders comes first. An empty path is none.
class RemoveOnSignal {
public:
  explicit RemoveOnSignal(const std::string &folder);
  ~RemoveOnSignal();
  RemoveOnSignal(const RemoveOnSignal &) = delete;
  RemoveOnSignal &operator=(const RemoveOnSignal &) = delete;

private:
  bool isWatched = false;
};

} // namespace accum::emit
