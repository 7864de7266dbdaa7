// The command that `lock exec` runs, in its own process group. A guardian process ends the group
// when this process ends for any reason, SIGKILL included.
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
    std::vector<std::string> environment;  // "NAME=VALUE", added to ours or replacing it
    std::int64_t kill_grace_ms = 0;
  };

  // Starts the command with our standard descriptors, default signal dispositions and no blocked
  // signals; with a terminal as its input, in the foreground, else once it asks for that. Fails
  // with the errno of fork or exec. Must be called before the process has other threads.
  static tl::expected<LockChild, int> start(const Settings& settings);

  LockChild(LockChild&& other) noexcept;
  LockChild& operator=(LockChild&&) = delete;
  // Takes the terminal's foreground back. Processes left in the group keep running.
  ~LockChild();

  // Sends the signal to the whole process group.
  void send(int signal) const;
  // Returns whether the command has ended. Doesn't block.
  bool has_ended();
  // Returns the exit code, or 128 + the signal, as shells do. The command must have ended.
  [[nodiscard]] int exit_code() const;
  // Returns whether the group still has a process.
  [[nodiscard]] bool group_is_left() const;

 private:
  // Makes the command's group the foreground one, if that is ours. Returns whether it is.
  bool hand_over_terminal();
  LockChild(pid_t pid, pid_t guardian, FileDescriptor life_line, bool has_terminal)
      : pid_(pid),
        guardian_(guardian),
        life_line_(std::move(life_line)),
        has_terminal_(has_terminal) {}

  pid_t pid_;
  pid_t guardian_;            // ends the group when life_line_ is closed
  FileDescriptor life_line_;  // write end; the kernel closes it if this process is killed
  bool has_terminal_;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace signalbox
