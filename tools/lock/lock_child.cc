#include "tools/lock/lock_child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "domain/check.h"

namespace signalbox {
namespace {

constexpr std::int64_t poll_pause_ms = 10;

using Pipe = std::array<FileDescriptor, 2>;  // read end, write end

Pipe make_pipe() {
  std::array<int, 2> ends{};
  SIGNALBOX_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> variables = added;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string variable = *each;
    const std::string name = variable.substr(0, variable.find('=') + 1);
    bool replaced = false;
    for (const std::string& own : added) replaced = replaced || own.starts_with(name);
    if (!replaced) variables.push_back(variable);
  }
  return variables;
}

void default_signals() {
  for (int signal = 1; signal < SIGRTMIN; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Returns the controlling terminal, which standard input needn't be; invalid if there is none.
FileDescriptor open_terminal() { return FileDescriptor(::open("/dev/tty", O_RDWR | O_CLOEXEC)); }

// Makes `group` the terminal's foreground process group. A background process may do this while
// SIGTTOU is ignored.
void give_terminal_to(pid_t group) {
  const FileDescriptor terminal = open_terminal();
  const auto before = ::signal(SIGTTOU, SIG_IGN);
  if (terminal) ::tcsetpgrp(terminal.get(), group);
  ::signal(SIGTTOU, before);
}

// Runs in the child up to exec; calls only async-signal-safe functions.
[[noreturn]] void exec_command(char** argv, char** environment, pid_t parent, bool has_terminal,
                               int go_descriptor, int failure_descriptor) {
  ::setpgid(0, 0);
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(go_descriptor, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(0);  // the parent died before there was a guardian
  if (has_terminal) give_terminal_to(::getpid());
  default_signals();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(0);  // it died before PR_SET_PDEATHSIG took effect
  ::execvpe(argv[0], argv, environment);
  const int error = errno;
  (void)!::write(failure_descriptor, &error, sizeof error);
  ::_exit(127);
}

// Returns the errno that exec_command() wrote, or 0 if exec succeeded.
int read_exec_error(int descriptor) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(descriptor, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

void pause_ms(std::int64_t ms) {
  const timespec time{ms / 1000, ms % 1000 * 1'000'000};
  ::nanosleep(&time, nullptr);
}

// Runs in the guardian: waits until the write end of the life line is closed, then ends the group
// with TERM, the grace period and KILL.
[[noreturn]] void guard(pid_t group, int life_line, std::int64_t grace_ms) {
  ::setsid();
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(descriptor);
  char byte = 0;
  while (::read(life_line, &byte, 1) < 0 && errno == EINTR) {
  }
  if (::kill(-group, SIGTERM) == 0) {
    ::kill(-group, SIGCONT);
    for (std::int64_t waited_ms = 0; waited_ms < grace_ms && ::kill(-group, 0) == 0;
         waited_ms += poll_pause_ms) {
      pause_ms(poll_pause_ms);
    }
    ::kill(-group, SIGKILL);
  }
  ::_exit(0);
}

}  // namespace

tl::expected<LockChild, int> LockChild::start(const Settings& settings) {
  std::vector<std::string> arguments = settings.argv;
  std::vector<std::string> variables = environment_with(settings.environment);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> environment = pointers_to(variables);
  const bool has_terminal = ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
  Pipe life_line = make_pipe();
  Pipe failure = make_pipe();
  Pipe go = make_pipe();  // the command starts only after its guardian

  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return tl::unexpected(errno);
  if (pid == 0) {
    ::close(go[1].get());
    exec_command(const_cast<char**>(argv.data()), const_cast<char**>(environment.data()), parent,
                 has_terminal, go[0].get(), failure[1].get());
  }
  ::setpgid(pid, pid);  // parent and child both do, since either may run first
  failure[1] = FileDescriptor();
  const pid_t guardian = ::fork();
  if (guardian == 0) {
    ::close(life_line[1].get());
    ::close(failure[0].get());
    ::close(go[1].get());
    guard(pid, life_line[0].get(), settings.kill_grace_ms);
  }
  const int no_guardian = guardian < 0 ? errno : 0;
  if (no_guardian == 0) (void)!::write(go[1].get(), "", 1);
  go[1] = FileDescriptor();
  LockChild child(pid, guardian, std::move(life_line[1]), has_terminal);
  const int error = no_guardian != 0 ? no_guardian : read_exec_error(failure[0].get());
  if (error == 0) return child;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  child.ended_ = true;
  return tl::unexpected(error);
}

LockChild::LockChild(LockChild&& other) noexcept
    : pid_(other.pid_),
      guardian_(std::exchange(other.guardian_, -1)),
      life_line_(std::move(other.life_line_)),
      has_terminal_(std::exchange(other.has_terminal_, false)),
      ended_(other.ended_),
      status_(other.status_) {}

LockChild::~LockChild() {
  if (guardian_ > 0) {
    ::kill(guardian_, SIGKILL);
    while (::waitpid(guardian_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (has_terminal_) give_terminal_to(::getpgrp());
}

void LockChild::send(int signal) const {
  ::kill(-pid_, signal);
  // A stopped process handles the signal only after SIGCONT.
  const bool may_end = signal == SIGTERM || signal == SIGHUP || signal == SIGINT;
  if (may_end || signal == SIGQUIT) ::kill(-pid_, SIGCONT);
}

bool LockChild::has_ended() {
  int status = 0;
  while (!ended_ && ::waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_) {
    if (WIFSTOPPED(status)) {
      // After ^Z nothing could continue the command, and its lock would stay held: continue it.
      const int signal = WSTOPSIG(status);
      const bool goes_on = signal == SIGTSTP
                               ? has_terminal_
                               : (signal == SIGTTIN || signal == SIGTTOU) && hand_over_terminal();
      if (goes_on) ::kill(-pid_, SIGCONT);
      continue;
    }
    ended_ = true;
    status_ = status;
  }
  return ended_;
}

// A command without a terminal as its input may ask for something on it all the same, such as a
// passphrase.
bool LockChild::hand_over_terminal() {
  const FileDescriptor terminal = open_terminal();
  if (!terminal || ::tcgetpgrp(terminal.get()) != ::getpgrp()) return false;
  has_terminal_ = true;
  give_terminal_to(pid_);
  return true;
}

int LockChild::exit_code() const {
  SIGNALBOX_CHECK(ended_);
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

bool LockChild::group_is_left() const { return ::kill(-pid_, 0) == 0; }

}  // namespace signalbox
