// A service with runners, each a process with a work directory of its own. Jobs count themselves in
// a file.
#pragma once

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/wait.h>

#include "tests/eventually.h"
#include "tests/fixtures/file_content.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {

// A runner's process, which is killed at the end of the test.
class RunnerProcess {
 public:
  // `where` are the words that lead to the service; `options` those of the runner.
  RunnerProcess(std::filesystem::path work, std::vector<std::string> where,
                const std::vector<std::string>& options)
      : work_(std::move(work)), words_(std::move(where)) {
    words_.insert(words_.begin(), SIGNALBOX_BINARY);
    words_.insert(words_.end(), {"runner", "--work", work_.string()});
    words_.insert(words_.end(), options.begin(), options.end());
  }
  ~RunnerProcess() { kill(); }
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;

  void start() { pid_ = spawn_process(words_, log_path(), log_path()); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  void send(int signal) const { ::kill(pid_, signal); }
  // Blocks until it ends; returns its exit code, or -1 if a signal ended it.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] std::string log() const { return content_of(log_path()); }
  // Returns true once its log has the text, or false after `eventually_at_most`.
  [[nodiscard]] bool logs(std::string_view text) const {
    return contains_eventually(log_path(), text);
  }
  [[nodiscard]] const std::filesystem::path& work() const { return work_; }

 private:
  [[nodiscard]] std::filesystem::path log_path() const { return work_.string() + ".log"; }

  std::filesystem::path work_;
  std::vector<std::string> words_;
  pid_t pid_ = -1;
};

class RunnerTest : public CliTest {
 protected:
  // Whatever still waits for the file `go` ends.
  void TearDown() override { let_go(); }

  [[nodiscard]] std::string at(const std::string& name) const {
    return (scratch_.path() / name).string();
  }
  // Its lease is longer than any machine is slow, unless the test is about its end.
  RunnerProcess& start_runner(const std::string& name, const std::vector<std::string>& options = {},
                              const std::string& lease = "10m") {
    std::vector<std::string> words{"--name", name, "--lease", lease};
    words.insert(words.end(), options.begin(), options.end());
    runners_.push_back(std::make_unique<RunnerProcess>(
        scratch_.path() / name, std::vector<std::string>{"--data", server_.data().string()},
        words));
    runners_.back()->start();
    EXPECT_TRUE(eventually([&] { return !id_of(name).empty(); })) << runners_.back()->log();
    return *runners_.back();
  }
  // Returns the id of the runner that is called so and in this state; else "".
  [[nodiscard]] std::string id_of(const std::string& name,
                                  const std::string& state = "connected") const {
    const boost::json::object listed = rpc("runner.list");
    for (const boost::json::value& each : listed.at("runners").as_array()) {
      const std::string id(each.at("runner").as_string());
      if (id.starts_with("runner:" + name + "-") && each.at("state").as_string() == state)
        return id;
    }
    return {};
  }

  // Returns the id of a run with one station that executes `script` at a runner with the labels.
  [[nodiscard]] std::string start_run(const std::string& script,
                                      const std::string& labels = "\"gpu\"",
                                      const std::string& more = "",
                                      const std::string& grace = "200ms") const {
    const std::string file = at("pipeline.toml");
    write_text(file, "name = \"p\"\nruns_on = [" + labels +
                         "]\n[[station]]\nname = \"a\"\nexecutor = \"process\"\n"
                         "cancel_grace = \"" +
                         grace + "\"\ncommand = [\"sh\", \"-c\", '''D=\"" +
                         scratch_.path().string() + "\"; " + script + "''']\n" + more);
    return start_run_in(file, "work");
  }
  // A script that notes its attempt, and waits for let_go().
  static std::string counted() {
    return R"(echo "$SIGNALBOX_RUN_ID $SIGNALBOX_STATION $SIGNALBOX_ATTEMPT" >> "$D/executions"; )"
           R"(while [ -d "$D" ] && [ ! -e "$D/go" ]; do sleep 0.02; done)";
  }
  void let_go() const { std::ofstream(scratch_.path() / "go").put('\n'); }
  [[nodiscard]] std::size_t executions() const { return lines_of(at("executions")).size(); }
  void expect_each_once() const {
    std::map<std::string, int> counts;
    for (const std::string& line : lines_of(at("executions"))) ++counts[line];
    for (const auto& [line, count] : counts) EXPECT_EQ(count, 1) << line;
  }

  [[nodiscard]] boost::json::object detail(const std::string& id) const {
    return rpc("run.get", {{"run_id", id}});
  }
  [[nodiscard]] std::string status(const std::string& id) const {
    return std::string(detail(id).at("run").at("status").as_string());
  }
  void expect_success(const std::string& id) const {
    EXPECT_TRUE(eventually([&] {
      const std::string now = status(id);
      return now != "queued" && now != "running";
    })) << boost::json::serialize(detail(id));
    EXPECT_EQ(status(id), "succeeded") << boost::json::serialize(detail(id));
  }
  [[nodiscard]] std::string why(const std::string& id) const {
    return server_.cli({"run", "why", id}).out;
  }
  [[nodiscard]] std::string events_of(const std::string& id) const {
    return server_.cli({"events", "--run", id, "--full"}).out;
  }

  static constexpr const char* quick_retry = "[station.retry]\nbackoff = \"10ms\"\n";

  std::vector<std::unique_ptr<RunnerProcess>> runners_;
};

}  // namespace signalbox
