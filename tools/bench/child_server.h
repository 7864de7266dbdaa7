// A server process to measure: the `signalbox` beside this program, or its bare path, on its own
// data directory.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tools/cli/call_error.h"

namespace signalbox {

// Returns the anonymous resident memory of a process (RssAnon), which excludes mapped files.
// `process` is its directory in /proc. Returns nothing if it has ended.
std::optional<std::uint64_t> anonymous_bytes(const std::filesystem::path& process);

class ChildServer {
 public:
  // Starts a server and blocks until it has answered server.status, for at most two minutes. Its
  // output goes to <data>/server.log.
  static Called<std::unique_ptr<ChildServer>> start(const std::filesystem::path& data,
                                                    const std::vector<std::string>& more_options);
  // Does the same with the bare path (tools/bench/bare_service.h).
  static Called<std::unique_ptr<ChildServer>> start_bare_path(const std::filesystem::path& data);

  ChildServer(const ChildServer&) = delete;
  ChildServer& operator=(const ChildServer&) = delete;
  // Ends the server with SIGTERM, and with SIGKILL after a minute. Blocks until it has ended.
  ~ChildServer();

  [[nodiscard]] const std::filesystem::path& socket() const { return socket_; }
  // Returns the time from its start to its first answer.
  [[nodiscard]] std::chrono::nanoseconds time_to_answer() const { return time_to_answer_; }
  // Returns anonymous_bytes() of the server; 0 if it has ended.
  [[nodiscard]] std::uint64_t resident_bytes() const;
  // Returns the clock ticks of processor time of all its threads of this name.
  [[nodiscard]] std::uint64_t thread_ticks(const std::string& name) const;
  // Ends the server with SIGKILL. Blocks until it has ended.
  void kill();

 private:
  ChildServer(pid_t pid, std::filesystem::path socket) : pid_(pid), socket_(std::move(socket)) {}
  static Called<std::unique_ptr<ChildServer>> spawn_on(const std::filesystem::path& data,
                                                       std::vector<std::string> words);
  Called<void> wait_until_ready(const std::filesystem::path& log);

  pid_t pid_;
  std::filesystem::path socket_;
  std::chrono::nanoseconds time_to_answer_{};
};

}  // namespace signalbox
