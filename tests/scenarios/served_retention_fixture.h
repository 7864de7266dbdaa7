// Fixture for the service's own retention, with the real binary.
#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/scenarios/held_calls.h"
#include "tests/scenarios/retention_fixture.h"

namespace signalbox {

// No due time comes: the tests trigger the retention.
inline constexpr const char* never_due = "0 0 29 2 *";

class ServedRetentionTest : public RetentionTest {
 protected:
  // Writes the settings that the next start uses.
  void set_policy(const std::string& older_than, const std::string& schedule = never_due) const {
    write_text(server_.data() / "signalbox.toml",
               "[retention]\nolder_than = \"" + older_than + "\"\narchive = \"" + at("archive") +
                   "\"\nkey = \"" + at("audit.key") + "\"\nschedule = \"" + schedule +
                   "\"\ntime_zone = \"UTC\"\n");
  }
  void serve_under(const std::string& older_than, const std::string& schedule = never_due) {
    server_.stop();
    set_policy(older_than, schedule);
    server_.start();
  }
  // Makes everything that exists older than a second.
  static void pass_a_second() { std::this_thread::sleep_for(std::chrono::milliseconds(1100)); }

  // Returns the incarnation, or 0 if the server can't be reached.
  [[nodiscard]] std::int64_t incarnation() const {
    const auto answer = test::answer_of(server_.socket(), "server.status", {});
    return answer && answer->contains("result")
               ? number(answer->at("result").as_object(), "incarnation")
               : 0;
  }
  // Returns whether a tick of the retention is under way.
  [[nodiscard]] bool is_retaining() const {
    const boost::json::object loops = rpc("loop.list");
    for (const boost::json::value& each : loops.at("loops").as_array()) {
      if (each.at("loop") == "retention") return !each.at("tick").as_object().empty();
    }
    return false;
  }
  // Triggers a retention and blocks until it has ended. The service is the same before and after.
  void trigger_and_await() const {
    const std::int64_t before = incarnation();
    result({"loop", "trigger", "retention"});
    await([&] { return !is_retaining(); });
    EXPECT_EQ(incarnation(), before);
  }
  [[nodiscard]] boost::json::object last() const {
    const boost::json::value report = rpc("server.status").at("retention").at("last");
    return report.is_object() ? report.as_object() : boost::json::object{};
  }
  [[nodiscard]] boost::json::array of_type(const std::string& type) const {
    return all_events(type);
  }
  [[nodiscard]] std::size_t count(const std::string& type) const { return of_type(type).size(); }
  [[nodiscard]] boost::json::array retention_ticks() const {
    return result({"tick", "list", "--loop", "retention"}).at("rows").as_array();
  }
  [[nodiscard]] std::string metric(const std::string& name) const {
    std::istringstream lines(text(rpc("server.metrics"), "text"));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(name + " ")) return line.substr(name.size() + 1);
    }
    return "";
  }
  // Delays or kills the server at each system call of this name, as strace's `inject` says. Returns
  // the pid of the tracer.
  [[nodiscard]] pid_t hold(const std::string& call, const std::string& how) const {
    return hold_calls(server_.pid(), call, how, scratch_.path());
  }
  [[nodiscard]] std::vector<std::filesystem::path> archives() const {
    std::vector<std::filesystem::path> all;
    std::error_code ignored;
    for (const auto& each : std::filesystem::directory_iterator(at("archive"), ignored)) {
      if (std::filesystem::exists(each.path() / "manifest") &&
          !std::filesystem::exists(each.path() / "incomplete")) {
        all.push_back(each.path());
      }
    }
    return all;
  }
};

}  // namespace signalbox
