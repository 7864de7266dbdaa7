// The real server and its command line: a ServerProcess on a data directory of its own, and
// `signalbox WORDS…` against it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "tests/crash/server_process.h"
#include "tests/fixtures/connected_socket.h"
#include "tests/scenarios/child_process.h"

namespace signalbox {

class RealServer {
 public:
  // Takes options of `serve`. Starts nothing.
  explicit RealServer(std::vector<std::string> options = {})
      : process_(directory_.path() / "data", std::move(options)) {}

  [[nodiscard]] std::filesystem::path data() const { return process_.data(); }
  [[nodiscard]] std::filesystem::path socket() const { return process_.socket(); }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  [[nodiscard]] bool running() { return process_.running(); }

  // Returns what all its lives wrote to stderr.
  [[nodiscard]] std::string messages() const { return process_.log(); }
  // Returns true once that has the text, or false after `eventually_at_most`.
  [[nodiscard]] bool logs(std::string_view text) const { return process_.logs(text); }

  // Starts the server. Blocks until it answers; throws with its messages if it ends instead.
  void start() {
    if (!process_.start()) throw std::runtime_error("the server ended: " + process_.log());
  }
  // Starts the server without waiting.
  void launch() { process_.launch(); }
  // Sends SIGKILL and blocks until the process is gone.
  void kill() { process_.kill(); }
  // Sends SIGTERM and blocks until it ends. Returns its exit code, or -1 if a signal ended it.
  int stop() { return process_.stop().exit_code.value_or(-1); }

  // Returns a connected socket, which the caller closes, or -1.
  [[nodiscard]] int connect() const { return test::connected_socket(socket()).release(); }

  // Runs `signalbox WORDS…` to its end, for somebody whose environment names its data directory:
  // the commands that it shows are without --data.
  [[nodiscard]] Output cli(std::vector<std::string> words,
                           std::vector<std::string> environment = {}) const {
    words.insert(words.begin(), SIGNALBOX_BINARY);
    environment.insert(environment.end(), {"SIGNALBOX_DATA=" + data().string(),
                                           "SIGNALBOX_SOCKET=", "SIGNALBOX_SERVER="});
    return run_process(std::move(words), environment);
  }
  // Runs a printed command unchanged, in a shell that finds the binary and the server.
  [[nodiscard]] Output paste(const std::string& command) const {
    const std::string path = std::filesystem::path(SIGNALBOX_BINARY).parent_path().string();
    return run_process({"sh", "-c", command}, {"PATH=" + path + ":" + std::getenv("PATH"),
                                               "SIGNALBOX_DATA=" + data().string()});
  }

 private:
  TemporaryDirectory directory_;
  test::ServerProcess process_;
};

}  // namespace signalbox
