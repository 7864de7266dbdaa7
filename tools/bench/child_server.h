// A server of our own to measure: this very binary, on a data directory of its own.
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

// Resident memory of a process without what is mapped from files; `process` is its directory in
// /proc. Nothing if it has ended.
std::optional<std::uint64_t> anonymous_bytes(const std::filesystem::path& process);

class ChildServer {
 public:
  // Returns once it has answered server.status. Its messages go to <data>/server.log.
  static Called<std::unique_ptr<ChildServer>> start(const std::filesystem::path& data,
                                                    const std::vector<std::string>& more_options);

  ChildServer(const ChildServer&) = delete;
  ChildServer& operator=(const ChildServer&) = delete;
  // Ends it (TERM, and KILL if that takes too long).
  ~ChildServer();

  [[nodiscard]] const std::filesystem::path& socket() const { return socket_; }
  // From its start to its first answer.
  [[nodiscard]] std::chrono::nanoseconds time_to_answer() const { return time_to_answer_; }
  // As anonymous_bytes() gives it; 0 if it has ended.
  [[nodiscard]] std::uint64_t resident_bytes() const;

 private:
  ChildServer(pid_t pid, std::filesystem::path socket) : pid_(pid), socket_(std::move(socket)) {}
  Called<void> wait_until_ready(const std::filesystem::path& log);

  pid_t pid_;
  std::filesystem::path socket_;
  std::chrono::nanoseconds time_to_answer_{};
};

}  // namespace signalbox
