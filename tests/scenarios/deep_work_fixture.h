// Fixture for deep work with the real server, the station's real worker, and real commands.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "tests/scenarios/lock_fixture.h"

namespace signalbox {

class DeepWorkTest : public LockCliTest {
 protected:
  // Cancels the runs that were started: their workers are made to outlive the server.
  void TearDown() override {
    LockCliTest::TearDown();
    if (!server_.running()) server_.start();
    for (const std::string& run_id : started_) {
      (void)server_.cli({"run", "cancel", run_id});
      EXPECT_TRUE(eventually([&] { return is_terminal(status_of(run_id)); })) << run_id;
    }
  }

  // Starts a run of one deep_work station with these tables. Returns its id.
  [[nodiscard]] std::string start_deep(const std::string& work,
                                       const std::string& retry = "backoff = \"10ms\"",
                                       const std::vector<std::string>& options = {}) const {
    std::ofstream(pipeline()) << "name = \"deep\"\n[[station]]\nname = \"work\"\n"
                              << "executor = \"deep_work\"\ncancel_grace = \"100ms\"\n"
                              << "heartbeat_timeout = \"30s\"\n[station.retry]\n"
                              << retry << "\n[station.deep_work]\n"
                              << work << "\n";
    if (options.empty()) {
      started_.push_back(start_run_in(pipeline(), "make it so"));
      return started_.back();
    }
    std::vector<std::string> words = {"run", "start", "make it so", "--pipeline", pipeline()};
    words.insert(words.end(), options.begin(), options.end());
    started_.push_back(text(result(words), "run_id"));
    return started_.back();
  }

  // Returns the setting of a phase that runs a shell script. $DIR in the script is the test's
  // directory.
  [[nodiscard]] std::string phase(const std::string& name, std::string script) const {
    for (std::size_t at = 0; (at = script.find("$DIR")) != std::string::npos;) {
      script.replace(at, 4, scratch_.path().string());
    }
    std::ofstream(path_of(name + ".sh")) << script << "\n";
    return name + " = { command = [\"sh\", \"" + path_of(name + ".sh") + "\"] }\n";
  }
  // Returns the setting of a plan command that prints these steps.
  [[nodiscard]] std::string plan(const std::string& steps) const {
    return phase("plan", "cat <<'END'\n{\"steps\": [" + steps + "]}\nEND");
  }
  // Returns a step of a plan as JSON.
  [[nodiscard]] static std::string step(const std::string& id, const std::string& needs = "") {
    return "{\"id\": \"" + id + "\", \"description\": \"do " + id + "\", \"title\": \"ignored\"" +
           (needs.empty() ? "" : ", \"dependencies\": [\"" + needs + "\"]") + "}";
  }

  [[nodiscard]] std::string status_of(const std::string& run_id) const {
    return text(run(run_id), "status");
  }
  [[nodiscard]] static bool is_terminal(const std::string& status) {
    return status == "succeeded" || status == "failed" || status == "canceled";
  }
  // Blocks until the run ends. Expects it to end with this status.
  [[nodiscard]] bool ends_as(const std::string& run_id, const std::string& status) const {
    std::string seen;
    const bool ended = eventually([&] {
      seen = status_of(run_id);
      return is_terminal(seen);
    });
    EXPECT_EQ(seen, status) << server_.messages();
    return ended && seen == status;
  }

  [[nodiscard]] std::vector<boost::json::object> events_of(const std::string& run_id) const {
    std::vector<boost::json::object> events;
    const auto page = rpc("events.read", {{"run_id", run_id}, {"limit", 1000}});
    for (const auto& each : page.at("events").as_array()) events.push_back(each.as_object());
    return events;
  }
  // Returns the types of the run's events about its plan and steps, each with the step's id.
  [[nodiscard]] std::vector<std::string> deep_events(const std::string& run_id) const {
    std::vector<std::string> types;
    for (const auto& event : events_of(run_id)) {
      const std::string type = text(event, "type");
      const auto& data = event.at("data").as_object();
      if (data.contains("step")) types.push_back(type + " " + text(data, "step"));
      if (type.starts_with("Plan") || type.starts_with("Exploration")) types.push_back(type);
    }
    return types;
  }
  [[nodiscard]] std::size_t count(const std::string& run_id, const std::string& event) const {
    const auto types = deep_events(run_id);
    return static_cast<std::size_t>(std::count(types.begin(), types.end(), event));
  }

  [[nodiscard]] std::string said(const std::string& file) const {
    return content_of(path_of(file));
  }
  void make(const std::string& file) const { std::ofstream(path_of(file)) << "\n"; }

  [[nodiscard]] boost::json::object result_artifact(const std::string& run_id) const {
    const Output output = server_.cli({"run", "artifact", run_id, "deep_work_result.json"});
    EXPECT_EQ(output.exit_code, 0) << output.err;
    boost::json::error_code error;
    const auto value = boost::json::parse(output.out, error);
    return value.is_object() ? value.get_object() : boost::json::object{};
  }

 private:
  mutable std::vector<std::string> started_;
};

}  // namespace signalbox
