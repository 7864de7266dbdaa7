// The real server, as its own process on a data directory of its own: started, killed, stopped and
// started again.
#pragma once

#include <chrono>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/scenarios/child_process.h"

namespace signalbox {

class RealServer {
 public:
  // Nothing runs until start().
  explicit RealServer(std::vector<std::string> options = {}) : options_(std::move(options)) {}
  RealServer(const RealServer&) = delete;
  RealServer& operator=(const RealServer&) = delete;
  ~RealServer() {
    if (running()) kill();
  }

  [[nodiscard]] std::filesystem::path data() const { return directory_.path() / "data"; }
  [[nodiscard]] std::filesystem::path socket() const { return data() / "signalbox.sock"; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool running() const { return pid_ > 0; }
  // What it has said so far, over all its lives.
  [[nodiscard]] std::string messages() const { return read_whole_file(log()); }

  // Returns when it answers; throws with its messages if it ends instead.
  void start() {
    std::filesystem::create_directories(data());
    std::vector<std::string> argv = {SIGNALBOX_BINARY, "serve", "--data", data().string()};
    argv.insert(argv.end(), options_.begin(), options_.end());
    pid_ = spawn_process(std::move(argv), log(), log());
    while (!answers()) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        throw std::runtime_error("the server ended: " + messages());
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  // SIGKILL, and waits until it is gone.
  void kill() {
    ::kill(pid_, SIGKILL);
    wait_for_exit(std::exchange(pid_, -1));
  }

  // SIGTERM; gives its exit code.
  int stop() {
    ::kill(pid_, SIGTERM);
    return wait_for_exit(std::exchange(pid_, -1));
  }

  // For one that ends by itself.
  int wait() { return wait_for_exit(std::exchange(pid_, -1)); }

  // A connected socket, or -1.
  [[nodiscard]] int connect() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket().string();
    if (path.size() >= sizeof address.sun_path) throw std::runtime_error("socket path too long");
    std::memcpy(address.sun_path, path.data(), path.size());
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      return descriptor;
    }
    ::close(descriptor);
    return -1;
  }

  // Runs `signalbox WORDS… --data <its data>`.
  [[nodiscard]] Output cli(std::vector<std::string> words,
                           const std::vector<std::string>& environment = {}) const {
    words.insert(words.begin(), SIGNALBOX_BINARY);
    words.insert(words.end(), {"--data", data().string()});
    return run_process(std::move(words), environment);
  }

 private:
  [[nodiscard]] std::filesystem::path log() const { return directory_.path() / "messages"; }

  [[nodiscard]] bool answers() const {
    const int descriptor = connect();
    if (descriptor < 0) return false;
    constexpr char question[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server.status\"}\n";
    char answer = 0;
    const bool answered =
        ::send(descriptor, question, sizeof question - 1, MSG_NOSIGNAL) == sizeof question - 1 &&
        ::recv(descriptor, &answer, 1, 0) == 1;
    ::close(descriptor);
    return answered;
  }

  ScratchDirectory directory_;
  std::vector<std::string> options_;
  pid_t pid_ = -1;
};

}  // namespace signalbox
