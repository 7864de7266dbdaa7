// The command that `lock exec` runs: in a process group of its own, which ends with us, whatever
// ends us.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>
#include <tl/expected.hpp>

#include "store/file_descriptor.h"

namespace signalbox {

class LockChild {
 public:
  struct Settings {
    std::vector<std::string> argv;
    std::vector<std::string> environment;  // "NAME=VALUE", on top of ours
    std::int64_t kill_grace_ms = 0;
  };

  // Starts it with our input and output, default signal handlers and nothing blocked. On a terminal
  // it is in the foreground. Gives the errno of what failed: fork or exec. Before other threads.
  static tl::expected<LockChild, int> start(const Settings& settings);

  LockChild(LockChild&& other) noexcept;
  LockChild& operator=(LockChild&&) = delete;
  // Gives the terminal back. What is left of the process group stays as it is.
  ~LockChild();

  // To the whole process group.
  void send(int signal) const;
  // Whether the command has ended, as far as waitpid() knows by now.
  bool has_ended();
  // As a shell gives it: the exit code, or 128 + the signal. Only once it has ended.
  [[nodiscard]] int exit_code() const;
  // Whether a process of the group is left.
  [[nodiscard]] bool group_is_left() const;

 private:
  LockChild(pid_t pid, pid_t guardian, FileDescriptor life_line, bool has_terminal)
      : pid_(pid),
        guardian_(guardian),
        life_line_(std::move(life_line)),
        has_terminal_(has_terminal) {}

  pid_t pid_;
  pid_t guardian_;            // ends the group when life_line_ breaks
  FileDescriptor life_line_;  // closed by the kernel, if by nobody else
  bool has_terminal_;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace signalbox
