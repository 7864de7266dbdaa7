#include "tests/crash/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "domain/check.h"
#include "tests/crash/connection.h"
#include "tests/fixtures/file_content.h"

namespace signalbox::test {
namespace {

constexpr std::chrono::seconds patience{120};

// Starts a child that is killed when the test dies, so that a crashing test leaves no process
// behind.
pid_t spawn(const std::vector<std::string>& argv, const std::filesystem::path& output) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  SIGNALBOX_CHECK(file >= 0 && nothing >= 0);
  // The test's memory isn't copied, which would take ten milliseconds: until its exec the child
  // only makes system calls.
  const pid_t pid = ::vfork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(nothing, 0);
    ::dup2(file, 1);
    ::dup2(file, 2);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  ::close(file);
  ::close(nothing);
  SIGNALBOX_CHECK(pid > 0);
  return pid;
}

ProcessEnd end_of(int status) {
  ProcessEnd end;
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

// Waits for the end of a process, and kills it after `patience`, so that a test can't hang longer.
ProcessEnd wait_for_end(pid_t pid) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return end_of(status);
}

}  // namespace

ProcessOutput run_program(const std::vector<std::string>& argv) {
  const TemporaryDirectory scratch;
  ProcessOutput output;
  output.end = wait_for_end(spawn(argv, scratch.path() / "output"));
  output.text = content_of(scratch.path() / "output");
  return output;
}

ServerProcess::ServerProcess(std::filesystem::path data, std::vector<std::string> options)
    : data_(std::move(data)), options_(std::move(options)) {
  std::filesystem::create_directories(data_);
}

ServerProcess::~ServerProcess() { kill(); }

std::vector<std::string> ServerProcess::command() const {
  std::vector<std::string> argv{SIGNALBOX_BINARY, "serve", "--data", data_.string()};
  argv.insert(argv.end(), options_.begin(), options_.end());
  // Runs without a pipeline wait for the tests' own workers, unless a test says otherwise.
  if (std::find(options_.begin(), options_.end(), "--default-pipeline") == options_.end()) {
    argv.emplace_back("--default-pipeline");
    argv.emplace_back("workers");
  }
  return argv;
}

void ServerProcess::launch() {
  SIGNALBOX_CHECK(pid_ < 0);
  pid_ = spawn(command(), log_file());
}

bool ServerProcess::launch_traced(const std::vector<std::string>& strace_options) {
  SIGNALBOX_CHECK(pid_ < 0);
  // -D makes strace the grandchild, so that the pid is the server's. --seccomp-bpf isn't used,
  // because signals aren't delivered at its stops. Leak detection doesn't work under a tracer.
  std::vector<std::string> argv{"strace", "-D",
                                "-f",     "-qq",
                                "-E",     "ASAN_OPTIONS=detect_leaks=0",
                                "-o",     data_.string() + ".strace"};
  argv.insert(argv.end(), strace_options.begin(), strace_options.end());
  const auto own = command();
  argv.insert(argv.end(), own.begin(), own.end());
  pid_ = spawn(argv, log_file());
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (running() && std::chrono::steady_clock::now() < deadline) {
    if (tracer() > 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ADD_FAILURE() << "strace can't trace here: it isn't installed (tools/check does that), or ptrace "
                   "isn't permitted (in a container: --cap-add=SYS_PTRACE). It says: "
                << log();
  return false;
}

pid_t ServerProcess::tracer() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("TracerPid:")) return std::stoi(line.substr(10));
  }
  return 0;
}

bool ServerProcess::wait_until_ready() {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (running() && std::chrono::steady_clock::now() < deadline) {
    if (auto connection = Connection::open(socket())) {
      if (connection->call("server.status", {})) return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

void ServerProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  wait();
}

ProcessEnd ServerProcess::stop() {
  SIGNALBOX_CHECK(pid_ > 0);
  ::kill(pid_, SIGTERM);
  return wait();
}

ProcessEnd ServerProcess::wait() {
  SIGNALBOX_CHECK(pid_ > 0);
  return wait_for_end(std::exchange(pid_, -1));
}

bool ServerProcess::running() {
  if (pid_ < 0) return false;
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

std::uint64_t ServerProcess::resident_bytes() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
  }
  return 0;
}

std::string ServerProcess::log() const { return content_of(log_file()); }

bool ServerProcess::logs(std::string_view text) const {
  return contains_eventually(log_file(), text);
}

}  // namespace signalbox::test
