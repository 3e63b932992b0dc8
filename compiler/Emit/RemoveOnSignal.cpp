// SPDX-License-Identifier: Apache-2.0
// Only what is safe within a signal happens there: system calls on memory that is already there.
#include "compiler/Emit/RemoveOnSignal.h"
#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace accum::emit {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
std::array<char, PATH_MAX> watched;
std::atomic<bool> isSet = false;

constexpr int kDepth = 3; // folders in folders: those of explore, with artifacts that are being written

/// Empties the folder `name` of `parent`.
void removeContent(int parent, const char *name, int depth) {
  int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  alignas(dirent64) static std::array<std::array<char, 16 << 10>, kDepth + 1> buffers;
  std::array<char, 16 << 10> &entries = buffers[depth];
  long bytes = 0;
  while ((bytes = syscall(SYS_getdents64, folder, entries.data(), entries.size())) > 0)
    for (long at = 0; at < bytes;) {
      auto *entry = reinterpret_cast<dirent64 *>(entries.data() + at);
      std::string_view child = entry->d_name;
      bool isFolder = unlinkat(folder, entry->d_name, 0) != 0 && child != "." && child != "..";
      if (isFolder && depth < kDepth)
        removeContent(folder, entry->d_name, depth + 1);
      if (isFolder)
        unlinkat(folder, entry->d_name, AT_REMOVEDIR);
      at += entry->d_reclen;
    }
  close(folder);
}

void removeAndEnd(int signal) {
  constexpr int kAttempts = 100; // other threads may write another file meanwhile
  if (isSet.exchange(false))
    for (int attempt = 0; attempt < kAttempts && rmdir(watched.data()) != 0; ++attempt)
      removeContent(AT_FDCWD, watched.data(), 0);
  raise(signal); // SA_RESETHAND: it ends the process once this returns
}

} // namespace

RemoveOnSignal::RemoveOnSignal(const std::string &folder) {
  if (isSet || folder.empty() || folder.size() >= watched.size())
    return;
  folder.copy(watched.data(), folder.size());
  watched[folder.size()] = '\0';
  isWatched = isSet = true;
  for (int signal : kSignals) {
    struct sigaction before = {}, action = {};
    action.sa_handler = removeAndEnd;
    action.sa_flags = SA_RESETHAND;
    // Who ignores it (nohup), or has a handler of his own, keeps it.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
      sigaction(signal, &action, nullptr);
  }
}

RemoveOnSignal::~RemoveOnSignal() {
  if (!isWatched)
    return;
  isSet = false;
  for (int signal : kSignals) {
    struct sigaction now = {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == removeAndEnd)
      std::signal(signal, SIG_DFL);
  }
}

} // namespace accum::emit
