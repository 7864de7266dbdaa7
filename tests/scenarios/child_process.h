// Runs the real binary and other commands: to their end, with their whole output, or in the
// background.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/crash/server_process.h"
#include "tests/fixtures/file_content.h"

namespace signalbox {

// Starts argv[0], found in PATH, with the test's environment and `environment` on top. Appends its
// output to the two files, which are created. Returns its pid; throws if it can't be started.
inline pid_t spawn_process(std::vector<std::string> argv, const std::filesystem::path& out,
                           const std::filesystem::path& err,
                           const std::vector<std::string>& environment = {}) {
  std::vector<std::string> variables = environment;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string variable = *each;
    const std::string name = variable.substr(0, variable.find('=') + 1);
    bool replaced = false;
    for (const std::string& own : environment) replaced = replaced || own.starts_with(name);
    if (!replaced) variables.push_back(variable);
  }
  std::vector<char*> words;
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  std::vector<char*> variable_words;
  for (std::string& variable : variables) variable_words.push_back(variable.data());
  variable_words.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), variable_words.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("can't start " + argv[0]);
  return pid;
}

// Blocks until the process ends. Returns its exit code, or 128 + the signal that ended it.
inline int wait_for_exit(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Output {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// Runs a command to its end, and blocks until then. Returns its exit code and output.
inline Output run_process(std::vector<std::string> argv,
                          const std::vector<std::string>& environment = {}) {
  const TemporaryDirectory scratch;
  const auto out = scratch.path() / "out";
  const auto err = scratch.path() / "err";
  const pid_t pid = spawn_process(std::move(argv), out, err, environment);
  Output output;
  output.exit_code = wait_for_exit(pid);
  output.out = content_of(out);
  output.err = content_of(err);
  return output;
}

}  // namespace signalbox
