// SPDX-License-Identifier: Apache-2.0
// Model in, artifact out.
#include "compiler/Driver/accum_compiler.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <unistd.h>

namespace {

/// A crash of ours ends as any internal error does: with a sentence and exit code 70. Only what is safe
/// within a signal happens here.
void crashed(int signal) {
  auto say = [](std::string_view text) { (void)!write(STDERR_FILENO, text.data(), text.size()); };
  say("error: accumc stopped by ");
  say(signal == SIGABRT  ? "an abort"
      : signal == SIGFPE ? "an arithmetic trap"
                         : "an access to memory that is not its own");
  say(" [internal]\nnote: this is a bug of accumc; please report it with the model and the command line; "
      "--dump-phases DIR shows how far it gets\n");
  _exit(70);
}

void reportCrashes() {
  static std::array<char, 64 << 10> stack; // the own one may be what overflowed
  stack_t place = {};
  place.ss_sp = stack.data();
  place.ss_size = stack.size();
  sigaltstack(&place, nullptr);
  struct sigaction action = {};
  action.sa_handler = crashed;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    sigaction(signal, &action, nullptr);
}

} // namespace

namespace {

/// What could not be written to standard output, the first time: errno, or 0.
int outputError = 0;

void print(void *, int32_t stream, const char *text, size_t bytes) {
  FILE *file = stream == 1 ? stdout : stderr;
  if (std::fwrite(text, 1, bytes, file) != bytes && file == stdout && outputError == 0)
    outputError = errno;
}

/// A reader of half a plan or half an object must not take it for the whole.
int flushed(int code) {
  if (std::fflush(stdout) != 0 && outputError == 0)
    outputError = errno;
  if (outputError == 0)
    return code;
  std::fprintf(stderr, "error: standard output: cannot be written: %s [output-failed]\n",
               std::strerror(outputError));
  return 3;
}

} // namespace

int main(int argc, char **argv) {
  reportCrashes();
  accum_compile_options options = {sizeof options, print, nullptr, 0};
  accum_compilation *compilation = nullptr;
  int code = accum_compile(argv + 1, size_t(std::max(argc, 1) - 1), &options, &compilation);
  accum_compilation_free(compilation);
  return flushed(code);
}
