// Fixture for locks against one real server, with real holders.
#pragma once

#include <chrono>
#include <thread>

#include "tests/eventually.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {

// A command in the background and its output. The destructor kills it.
class BackgroundCommand {
 public:
  BackgroundCommand(std::vector<std::string> argv, const std::filesystem::path& files)
      : out_(files.string() + ".out"),
        err_(files.string() + ".err"),
        pid_(spawn_process(std::move(argv), out_, err_)) {}
  BackgroundCommand(const BackgroundCommand&) = delete;
  BackgroundCommand& operator=(const BackgroundCommand&) = delete;
  ~BackgroundCommand() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait_for_exit(pid_);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string out() const { return content_of(out_); }
  [[nodiscard]] std::string err() const { return content_of(err_); }
  void send(int signal) const { ::kill(pid_, signal); }
  int wait() { return wait_for_exit(std::exchange(pid_, -1)); }

 private:
  std::filesystem::path out_;
  std::filesystem::path err_;
  pid_t pid_;
};

class LockCliTest : public CliTest {
 protected:
  // Long enough for a holder to refresh in time on any machine, and short enough to wait for its
  // end.
  static constexpr std::int64_t short_lease_ms = test::slowness > 1 ? 5000 : 1200;

  void TearDown() override {
    // A stopped server could not be waited for.
    if (server_.running()) ::kill(server_.pid(), SIGCONT);
  }

  // Returns `signalbox lock exec deploy OPTIONS… --data … -- COMMAND…`.
  [[nodiscard]] std::vector<std::string> exec_words(std::vector<std::string> options,
                                                    std::vector<std::string> command) const {
    std::vector<std::string> words = {SIGNALBOX_BINARY, "lock",   "exec",
                                      "deploy",         "--data", server_.data().string()};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  [[nodiscard]] Output exec(std::vector<std::string> options,
                            std::vector<std::string> command) const {
    return run_process(exec_words(std::move(options), std::move(command)));
  }
  [[nodiscard]] std::unique_ptr<BackgroundCommand> start_exec(
      const std::string& name, std::vector<std::string> options,
      std::vector<std::string> command) const {
    return std::make_unique<BackgroundCommand>(exec_words(std::move(options), std::move(command)),
                                               scratch_.path() / name);
  }

  // Returns a command that runs for long; await_noted_sleep() blocks until its holder has begun it:
  // then that has its lock's answer, which no server can keep back any more.
  [[nodiscard]] std::vector<std::string> noted_sleep() const {
    return {"sh", "-c", "touch '" + path_of("begun") + "'; exec sleep 600"};
  }
  void await_noted_sleep() const {
    await([this] { return std::filesystem::exists(path_of("begun")); });
  }
  // Returns a command that runs until go().
  [[nodiscard]] std::vector<std::string> until_go() const {
    return {"sh", "-c", "while [ ! -e '" + path_of("go") + "' ]; do sleep 0.02; done"};
  }
  void go() const { std::ofstream(path_of("go")) << "\n"; }

  // Returns the owner of the lock, or "" if it is free.
  [[nodiscard]] std::string holder(const std::string& key = "deploy") const {
    const auto state = rpc("lock.get", {{"key", key}});
    if (!state.at("lock").is_object()) return {};
    const auto& lock = state.at("lock").get_object();
    return lock.at("status") == "held" ? text(lock, "owner") : std::string();
  }
  // Returns how many wait for the lock "deploy".
  [[nodiscard]] std::int64_t waiters() const {
    return rpc("lock.get", {{"key", "deploy"}}).at("waiting").to_number<std::int64_t>();
  }
  [[nodiscard]] std::string token_of(const boost::json::object& granted) const {
    return boost::json::serialize(granted.at("token"));
  }
  // Returns the types of all events of the lock "deploy", in order.
  [[nodiscard]] std::vector<std::string> events_of_lock() const {
    std::vector<std::string> types;
    const auto page = rpc("events.read", {{"limit", 1000}});
    for (const auto& each : page.at("events").as_array()) {
      if (each.at("stream") == "lock/deploy") types.emplace_back(each.at("type").as_string());
    }
    return types;
  }
  // Returns the failures reported on stderr, as JSON lines.
  static std::vector<boost::json::object> failures(const std::string& err) {
    std::vector<boost::json::object> reported;
    std::istringstream lines(err);
    for (std::string line; std::getline(lines, line);) {
      boost::json::error_code error;
      const auto value = boost::json::parse(line, error);
      EXPECT_FALSE(error) << line;
      if (value.is_object()) reported.push_back(value.get_object());
    }
    return reported;
  }
  [[nodiscard]] static bool is_alive(pid_t pid) {
    // A process that has ended and isn't reaped yet (a zombie) still has a pid.
    const std::string status = content_of("/proc/" + std::to_string(pid) + "/status");
    return !status.empty() && status.find("State:\tZ") == std::string::npos;
  }
  // Blocks until the command has written this file. Returns the pid in it.
  [[nodiscard]] pid_t pid_in(const std::string& name) const {
    const auto file = scratch_.path() / name;
    EXPECT_TRUE(eventually([&] { return content_of(file).ends_with('\n'); })) << file;
    return static_cast<pid_t>(std::stol("0" + content_of(file)));
  }
  [[nodiscard]] std::string path_of(const std::string& name) const {
    return (scratch_.path() / name).string();
  }
};

}  // namespace signalbox
