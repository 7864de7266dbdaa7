// The real binary as a child process, to be killed: started, waited for, ended by its own id. Also
// what tests/scenarios begins its servers with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/fixtures/temporary_directory.h"

namespace signalbox::test {

// What memory may grow by in a test. A sanitizer keeps what was freed for a while, so a sanitized
// server is given more; what is unbounded exceeds that as well. And it is slow: a stalled one would
// exceed that, too.
#ifdef __SANITIZE_ADDRESS__
inline constexpr std::uint64_t memory_mib = 8 * 1024 * 1024;
inline constexpr int slowness = 20;
#else
inline constexpr std::uint64_t memory_mib = 1024 * 1024;
inline constexpr int slowness = 1;
#endif

// How a process ended.
struct ProcessEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
};

// Runs a program to its end, at most two minutes; stdout and stderr together.
struct ProcessOutput {
  ProcessEnd end;
  std::string text;
};
ProcessOutput run_program(const std::vector<std::string>& argv);

class ServerProcess {
 public:
  // On <data>, with more options for `signalbox serve`. Starts nothing yet.
  explicit ServerProcess(std::filesystem::path data, std::vector<std::string> options = {});
  // Kills it if it still runs.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Starts it and doesn't wait for anything.
  void launch();
  // The same under strace with these options, e.g. to let system calls fail. The process id is the
  // server's own. Fails the test, and gives false, where tracing isn't possible.
  bool launch_traced(const std::vector<std::string>& strace_options);
  // Waits until it answers; false if it ended or didn't within two minutes.
  bool wait_until_ready();
  bool start() {
    launch();
    return wait_until_ready();
  }
  // SIGKILL, and waits for the end.
  void kill();
  // SIGTERM, and waits for the end.
  ProcessEnd stop();
  // Waits for an end that comes by itself.
  ProcessEnd wait();

  [[nodiscard]] bool running();
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::filesystem::path& data() const { return data_; }
  [[nodiscard]] std::filesystem::path socket() const { return data_ / "signalbox.sock"; }
  [[nodiscard]] std::uint64_t resident_bytes() const;
  // What all its lives wrote to stderr.
  [[nodiscard]] std::string log() const;

 private:
  [[nodiscard]] std::vector<std::string> command() const;
  [[nodiscard]] pid_t tracer() const;

  std::filesystem::path data_;
  std::vector<std::string> options_;
  pid_t pid_ = -1;
};

}  // namespace signalbox::test
