// Fixture for runs that wait: one real server with one place for jobs, its answers to `run why`,
// and what its workers do.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "tests/scenarios/cli_fixture.h"

namespace signalbox {

class RunWhyTest : public CliTest {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(server_.data());
    std::ofstream(server_.data() / "signalbox.toml") << "jobs_max = 1\n";
    CliTest::SetUp();
  }
  void TearDown() override { std::ofstream(gate()) << "open"; }

  // A job of held_job() waits for this file.
  [[nodiscard]] std::string gate() const { return (scratch_.path() / "gate").string(); }

  std::string start(const std::string& name, const std::string& stations,
                    const std::vector<std::string>& more = {}) {
    return start_run_of("name = \"" + name + "\"\n" + stations, name, more);
  }
  // Returns a station that a job of the service holds until gate() exists. The job ignores TERM.
  [[nodiscard]] std::string held_job() const {
    return "[[station]]\nname = \"job\"\nexecutor = \"process\"\ncancel_grace = \"1m\"\n"
           "command = [\"sh\", \"-c\", \"trap '' TERM; until test -e " +
           gate() + "; do sleep 0.02; done\"]\n";
  }
  // Completes the attempt under way, with these params.
  void end_attempt(const std::string& run, const std::string& station, boost::json::object more) {
    more["run_id"] = run;
    more["station"] = station;
    more["token"] = boost::json::parse(token_);
    more["outcome"] = more.contains("outcome") ? more["outcome"] : "failed";
    EXPECT_TRUE(rpc("station.complete", more).contains("run_status"));
  }
  // Claims the run's station and keeps its token.
  void take(const std::string& run) { token_ = claim(run); }

  boost::json::object why(const std::string& run) { return result({"run", "why", run}); }
  // Returns the first reason. Expects its cause to be in the log.
  boost::json::object reason(const std::string& run) {
    const auto answer = why(run);
    EXPECT_FALSE(answer.at("reasons").as_array().empty()) << boost::json::serialize(answer);
    if (answer.at("reasons").as_array().empty()) return {};
    const auto found = answer.at("reasons").at(0).as_object();
    const auto page = result(
        {"events", "--from", boost::json::serialize(found.at("cause_position")), "--limit", "1"});
    EXPECT_EQ(page.at("events").at(0).at("type"), found.at("cause_event"))
        << boost::json::serialize(found);
    EXPECT_FALSE(text(found, "text").empty());
    return found;
  }
  // Runs the reason's command number `index` as a person would paste it.
  [[nodiscard]] Output paste(const boost::json::object& found, std::size_t index) const {
    return CliTest::paste(std::string(found.at("next_commands").at(index).as_string()));
  }
  static bool has(const boost::json::object& found, const std::string& part) {
    return text(found, "text").find(part) != std::string::npos;
  }

  const std::string worker = "[[station]]\nname = \"work\"\n";
  std::string token_;
};

}  // namespace signalbox
