// The socket of a service manager for sd_notify(3): a datagram socket that NOTIFY_SOCKET names.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace signalbox::test {

// Sets NOTIFY_SOCKET in this process's environment, which children inherit, until it is destroyed.
class NotifySocket {
 public:
  explicit NotifySocket(const std::filesystem::path& path) {
    descriptor_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      std::abort();
    }
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~NotifySocket() {
    ::unsetenv("NOTIFY_SOCKET");
    ::close(descriptor_);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  // Returns the next message; nullopt if none arrives in time.
  std::optional<std::string> next(std::chrono::milliseconds at_most = std::chrono::seconds(30)) {
    pollfd waiting{descriptor_, POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(at_most.count())) != 1) return std::nullopt;
    char text[4096];
    const ssize_t got = ::recv(descriptor_, text, sizeof text, 0);
    return got < 0 ? std::nullopt
                   : std::optional<std::string>(std::string(text, static_cast<std::size_t>(got)));
  }
  // Returns whether no message arrives for `time`, after those already on their way.
  bool falls_silent_for(std::chrono::milliseconds time) {
    const auto give_up = std::chrono::steady_clock::now() + 3 * time;
    while (std::chrono::steady_clock::now() < give_up) {
      if (!next(time)) return true;
    }
    return false;
  }
  // Returns the messages up to and including the first that contains `part`, one per line. The test
  // fails if none does.
  std::string until(const std::string& part) {
    std::string all;
    while (const auto message = next()) {
      all += *message + "\n";
      if (message->find(part) != std::string::npos) return all;
    }
    ADD_FAILURE() << "nobody said " << part << ", but: " << all;
    return all;
  }

 private:
  int descriptor_ = -1;
};

}  // namespace signalbox::test
