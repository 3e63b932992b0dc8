// SPDX-License-Identifier: Apache-2.0
// Runs mpirun as a child in a process group of its own: a terminal's Ctrl-C would make it kill ranks that
// still have to save. It forwards SIGUSR1, which ranks take as the request to stop; SIGTERM makes it end
// them.
#include "tools/accum-run/training/Launcher.h"
#include "tools/accum-run/training/RankBoard.h"
#include "tools/accum-run/training/StopSignal.h"
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace accum::run {

using runtime::Error;
using runtime::Status;

namespace {

/// More on one machine are a plan for many machines, run by mistake on one.
constexpr int kMostLocal = 1024;

volatile std::sig_atomic_t childToTell = 0, requested = 0, atOnce = 0;

/// A request to stop, or, where it is another Ctrl-C, to end at once.
void passOn(int number) {
  atOnce = atOnce || (requested && number == SIGINT);
  requested = 1;
  if (childToTell)
    kill(childToTell, atOnce ? SIGTERM : SIGUSR1);
  alarm(1);
}

/// mpirun loses a request that comes before it has started the ranks.
void repeatRequest(int) {
  if (childToTell && !atOnce)
    kill(childToTell, SIGUSR1);
  alarm(1);
}

constexpr int kRequests[] = {SIGINT, SIGTERM, SIGUSR1};

/// No signal comes between a fork and the handlers of the two processes behind it.
class SignalsHeld {
public:
  SignalsHeld() {
    sigset_t held;
    sigemptyset(&held);
    for (int number : kRequests)
      sigaddset(&held, number);
    sigprocmask(SIG_BLOCK, &held, &before);
  }
  ~SignalsHeld() { sigprocmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};

std::string ownPath() {
  char link[4096];
  ssize_t length = readlink("/proc/self/exe", link, sizeof link);
  return std::string(link, length > 0 ? length : 0);
}

/// Quiet (-q): the ranks' own sentences are enough. Shared memory only, yielding: there are often more ranks
/// than processors; single-copy transfers are forbidden in most containers.
std::vector<std::string> mpirunWords(const Options &options, int devices) {
  std::vector<std::string> words = {"mpirun",          "-q",        "-n",  std::to_string(devices),
                                    "--oversubscribe", "--bind-to", "none"};
  for (const char *setting :
       {"mpi_yield_when_idle=1", "btl=self,vader", "pml=ob1", "btl_vader_single_copy_mechanism=none"}) {
    std::string text = setting;
    size_t equals = text.find('=');
    words.insert(words.end(), {"--mca", text.substr(0, equals), text.substr(equals + 1)});
  }
  if (geteuid() == 0)
    words.push_back("--allow-run-as-root");
  words.push_back(ownPath());
  words.insert(words.end(), options.words.begin(), options.words.end());
  return words;
}

/// Nobody is left to stop the ranks of a launcher that was killed: they are ended with it.
[[noreturn]] void becomeMpirun(std::vector<std::string> words, pid_t launcher) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != launcher)
    _exit(127);
  setpgid(0, 0);
  int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

int failWith(const Error &error) {
  std::fputs(format(error).c_str(), stderr);
  return error.exitCode;
}

/// The exit code for mpirun's status; what nobody has said yet is said here.
int interpret(int status, const RankBoard &board) {
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == 127)
    return failWith({runtime::kExitFile,
                     "mpirun cannot be started, and the run is for several devices",
                     "no-mpi",
                     {"install Open MPI: apt-get install openmpi-bin; or run with --devices 1"}});
  if (code <= 128)
    return code;
  if (code == 128 + SIGUSR1) // the request came before the ranks listened for it
    return failWith({runtime::kExitRunFailed, "stopped before the first step; nothing was saved", "stopped"});
  std::string who;
  for (int rank : board.find(RankBoard::Running))
    who += (who.empty() ? "rank " : ", rank ") + std::to_string(rank);
  if (who.empty())
    who = "a rank";
  return failWith({runtime::kExitRunFailed,
                   who + " died (" + strsignal(code - 128) + "); the others were ended and nothing was saved",
                   "rank-died"});
}

} // namespace

Status checkLaunched(const Options &options, int processes, int64_t devices) {
  if (processes == devices)
    return {};
  std::string line = devices == 1 ? "accum-run" : "mpirun -n " + std::to_string(devices) + " accum-run";
  for (const std::string &word : options.words)
    line += " " + word;
  return Error{runtime::kExitUsage,
               "--devices " + std::to_string(devices) + ", but the launcher started " +
                   std::to_string(processes) + (processes == 1 ? " process" : " processes"),
               "wrong-ranks",
               {"use: " + line}};
}

int launchLocally(const Options &options, int devices) {
  if (devices > kMostLocal)
    return failWith({runtime::kExitUsage,
                     "the run is for " + std::to_string(devices) + " devices, but no launcher started " +
                         "its processes; at most " + std::to_string(kMostLocal) + " are started here",
                     "wrong-ranks",
                     {"start them on their machines, with mpirun or srun"}});
  RankBoard board(devices);
  auto held = std::make_optional<SignalsHeld>();
  pid_t launcher = getpid(), child = fork();
  if (child == 0) {
    for (int number : kRequests) // mpirun takes SIGUSR1 when it is ready for it
      std::signal(number, number == SIGUSR1 ? SIG_IGN : SIG_DFL);
    held.reset();
    becomeMpirun(mpirunWords(options, devices), launcher);
  }
  if (child < 0)
    return failWith({runtime::kExitRunFailed,
                     std::string("no process can be started: ") + std::strerror(errno), "launch"});
  childToTell = child;
  struct sigaction action = {};
  action.sa_handler = passOn;
  for (int number : kRequests)
    sigaction(number, &action, nullptr);
  action.sa_handler = repeatRequest;
  sigaction(SIGALRM, &action, nullptr);
  held.reset();
  if (stopRequested())
    passOn(SIGTERM);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    continue;
  alarm(0);
  childToTell = 0;
  if (atOnce) { // as it ends without ranks
    std::signal(SIGINT, SIG_DFL);
    raise(SIGINT);
  }
  return interpret(status, board);
}

} // namespace accum::run
