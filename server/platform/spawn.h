// Starting a program by its argv, with nothing inherited but what is named here: default signal
// handlers, an empty signal mask, no descriptor above 2.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace signalbox {

struct Spawn {
  std::vector<std::string> argv;  // argv[0] without a slash is looked up in the caller's PATH
  std::filesystem::path cwd;      // empty: the caller's
  const std::vector<std::string>* environment = nullptr;  // "NAME=VALUE"; null: the caller's
  bool new_session = false;
  bool new_process_group = false;
  int stdin_descriptor = -1;  // -1: /dev/null, likewise below
  int stdout_descriptor = -1;
  int stderr_descriptor = -1;
};

// The pid of the new child, or the errno of what failed: fork, chdir or exec.
tl::expected<pid_t, int> spawn(const Spawn& what);

}  // namespace signalbox
