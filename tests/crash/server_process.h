// Runs the real binary as a child process that can be killed by its process id. tests/scenarios
// starts its servers with it, too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "tests/fixtures/temporary_directory.h"

namespace signalbox::test {

inline constexpr std::uint64_t mib = 1024 * 1024;

// The unit of memory growth that a test allows, and the factor for its time limits. A sanitizer
// retains freed memory for a while and slows the server down, so a sanitized one is given more of
// both. Unbounded growth and a stalled server exceed these limits, too.
#ifdef SIGNALBOX_SANITIZED
inline constexpr std::uint64_t memory_mib = 8 * 1024 * 1024;
inline constexpr int slowness = 20;
#else
inline constexpr std::uint64_t memory_mib = 1024 * 1024;
inline constexpr int slowness = 1;
#endif

// How a process ended: with an exit code or by a signal.
struct ProcessEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
};

// Runs a program to its end, at most two minutes. The text is stdout and stderr together.
struct ProcessOutput {
  ProcessEnd end;
  std::string text;
};
ProcessOutput run_program(const std::vector<std::string>& argv);

class ServerProcess {
 public:
  // Uses the data directory `data`, with additional options for `signalbox serve`; without
  // --default-pipeline, outside workers do the runs that name no pipeline. Starts nothing yet.
  explicit ServerProcess(std::filesystem::path data, std::vector<std::string> options = {});
  // Kills the server if it still runs.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Starts the server without waiting for it.
  void launch();
  // Does the same under strace with these options, e.g. to make system calls fail. The process id
  // is the server's own. Fails the test and returns false if tracing isn't possible.
  bool launch_traced(const std::vector<std::string>& strace_options);
  // Waits until the server answers; returns false if it ended, or didn't answer within two minutes.
  bool wait_until_ready();
  bool start() {
    launch();
    return wait_until_ready();
  }
  // Sends SIGKILL and waits for the end.
  void kill();
  // Sends SIGTERM and waits for the end.
  ProcessEnd stop();
  // Waits until the server ends by itself; kills it after two minutes.
  ProcessEnd wait();

  [[nodiscard]] bool running();
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::filesystem::path& data() const { return data_; }
  [[nodiscard]] std::filesystem::path socket() const { return data_ / "signalbox.sock"; }
  // Returns the server's resident anonymous memory.
  [[nodiscard]] std::uint64_t resident_bytes() const;
  // Returns what all server processes on this data directory wrote to stdout and stderr.
  [[nodiscard]] std::string log() const;
  // Returns true once that has the text, or false after `eventually_at_most`: a line may be written
  // after the answer or the state that a test waited for.
  [[nodiscard]] bool logs(std::string_view text) const;

 private:
  [[nodiscard]] std::vector<std::string> command() const;
  // Beside the data directory, whose disk a test may have filled.
  [[nodiscard]] std::filesystem::path log_file() const { return data_.string() + ".log"; }
  [[nodiscard]] pid_t tracer() const;

  std::filesystem::path data_;
  std::vector<std::string> options_;
  pid_t pid_ = -1;
};

}  // namespace signalbox::test
