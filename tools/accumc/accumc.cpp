// SPDX-License-Identifier: Apache-2.0
// Model in, artifact out.
#include "compiler/Driver/Compile.h"
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <string_view>
#include <system_error>
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

int outputFailed(int error) {
  fmt::print(stderr, "error: standard output: cannot be written: {} [output-failed]\n", std::strerror(error));
  return 3;
}

/// A reader of half a plan or half an object must not take it for the whole.
int compileAndFlush(const accum::driver::Options &options) {
  try {
    int code = accum::driver::compile(options);
    return std::fflush(stdout) != 0 || std::ferror(stdout) != 0 ? outputFailed(errno) : code;
  } catch (const std::system_error &error) { // of fmt::print
    return outputFailed(error.code().value());
  }
}

} // namespace

int main(int argc, char **argv) {
  reportCrashes();
  accum::driver::ParsedOptions parsed = accum::driver::parseOptions(argc, argv);
  if (parsed.options)
    return compileAndFlush(*parsed.options);
  std::fputs(parsed.text.c_str(), parsed.exitCode == 0 ? stdout : stderr);
  return parsed.exitCode;
}
