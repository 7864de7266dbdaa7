// Ticks with the real binary: the guard, a hung tick, a halt, and the command that clears it.
#include <algorithm>
#include <sstream>

#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class TickScenario : public CliTest {
 protected:
  std::string begin(const std::string& loop, const std::string& lease_ms = "60000") const {
    const Output output = server_.cli(
        {"tick", "begin", loop, "--stage", "plan", "--reason", "cron", "--lease-ms", lease_ms});
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return output.out.substr(0, output.out.find('\n'));
  }
  json::object refused(std::vector<std::string> words, int exit_code) const {
    words.emplace_back("--json");
    const Output output = server_.cli(std::move(words));
    EXPECT_EQ(output.exit_code, exit_code) << output.out << output.err;
    const json::object object = one_object(output);
    return object.contains("error") ? object.at("error").at("data").as_object() : json::object{};
  }
  // Blocks until there are events of this type. Returns them.
  json::array events_of(const std::string& type) const {
    json::array found;
    EXPECT_TRUE(eventually([&] {
      found = all_events(type);
      return !found.empty();
    })) << type;
    return found;
  }
};

TEST_F(TickScenario, BeginsEndsAndIsInTheLedger) {  // T1, T3, T6
  const std::string token = begin("nightly");
  EXPECT_EQ(text(refused({"tick", "begin", "nightly"}, 75), "code"), "TICK_IN_PROGRESS");
  const auto under_way = result({"tick", "list", "--loop", "nightly"});
  ASSERT_EQ(under_way.at("open").as_array().size(), 1U);
  EXPECT_EQ(under_way.at("open").at(0).at("status"), "running");
  EXPECT_EQ(server_
                .cli({"tick", "end", "nightly", "--token", token, "--outcome", "failed", "--error",
                      "no network"})
                .out,
            "failed\n");
  const std::string second = begin("nightly");
  EXPECT_EQ(server_.cli({"tick", "end", "nightly", "--token", second, "--outcome", "succeeded"})
                .exit_code,
            0);
  EXPECT_EQ(text(refused({"tick", "end", "nightly", "--token", token, "--outcome", "succeeded"}, 1),
                 "code"),
            "STALE_TOKEN");
  const auto ledger = result({"tick", "list", "--loop", "nightly", "--limit", "2", "--all"});
  std::string rows;
  for (const json::value& row : ledger.at("rows").as_array()) {
    EXPECT_EQ(row.at("schema_version"), "tick_ledger.v1");
    rows += std::string(row.at("kind").as_string());
    if (!row.at("outcome").is_null()) rows += " " + std::string(row.at("outcome").as_string());
    rows += ", ";
  }
  EXPECT_EQ(rows, "finish succeeded, start, finish failed, skipped, start, ");
  EXPECT_TRUE(ledger.at("open").as_array().empty());
  const std::string table = server_.cli({"tick", "list"}).out;
  EXPECT_NE(table.find("no network"), std::string::npos) << table;
  EXPECT_EQ(table.find("FAILED"), std::string::npos) << "the tick's column says it\n" << table;
  EXPECT_NE(table.find("TICK_IN_PROGRESS"), std::string::npos) << table;
  EXPECT_EQ(table.find("tick_in_progress"), std::string::npos) << "said already\n" << table;
  EXPECT_EQ(events_of("TickSkipped").at(0).at("data").at("reason"), "tick_in_progress");
}

TEST_F(TickScenario, AHungTickHaltsItsLoopUntilThePrintedCommandIsPasted) {  // T4, T5, W4
  begin("nightly", "30");
  const auto timed_out = events_of("TickTimedOut");
  EXPECT_EQ(timed_out.at(0).at("actor"), "signalbox") << "from outside of it";
  const auto halt = refused({"tick", "begin", "nightly"}, 1);
  EXPECT_EQ(text(halt, "code"), "PREVIOUS_TICK_INCOMPLETE");
  EXPECT_EQ(halt.at("details").at("evidence"), "lease_over");
  EXPECT_EQ(halt.at("details").at("stale_after_ms"), 30);
  EXPECT_EQ(result({"tick", "list"}).at("open").at(0).at("status"), "halted");
  ASSERT_GE(halt.at("next_commands").as_array().size(), 2U);
  for (const json::value& command : halt.at("next_commands").as_array()) {
    const Output pasted = paste(std::string(command.as_string()));
    EXPECT_EQ(pasted.exit_code, 0) << command << pasted.err;
  }
  const auto recovered = events_of("TickRecovered").at(0).as_object();
  EXPECT_TRUE(std::string(recovered.at("actor").as_string()).starts_with("uid:")) << "recorded";
  EXPECT_FALSE(begin("nightly").empty());
  // Once more, it doesn't end the tick that is under way by now.
  const std::string printed(halt.at("next_commands").as_array().back().as_string());
  const Output again = paste(printed + " --force");
  EXPECT_EQ(again.exit_code, 1) << again.out;
  EXPECT_NE(again.err.find("STALE_TOKEN"), std::string::npos) << again.err;
  EXPECT_EQ(result({"tick", "list"}).at("open").at(0).at("status"), "running");
}

TEST_F(TickScenario, ATickThatTheServerDidntOutliveIsIncomplete) {  // T4
  const std::string token = begin("nightly");
  server_.kill();
  server_.start();
  const auto halt = refused({"tick", "begin", "nightly"}, 1);
  EXPECT_EQ(text(halt, "code"), "PREVIOUS_TICK_INCOMPLETE");
  EXPECT_EQ(halt.at("details").at("evidence"), "earlier_incarnation");
  EXPECT_EQ(json::serialize(halt.at("details").at("token")), token);
  EXPECT_EQ(events_of("TickIncompleteDetected").size(), 1U);
  EXPECT_EQ(server_.cli({"tick", "recover", "nightly", "--reason", "checked"}).out, "recovered\n");
  const std::string next = begin("nightly");
  EXPECT_GT(std::stoull(next), std::stoull(token));
}

TEST_F(TickScenario, AMistypedLoopIsNotSaidToBeRecovered) {  // T5
  const auto recover = [this](const std::string& loop) {
    return server_.cli({"tick", "recover", loop, "--reason", "checked"});
  };
  const std::string token = begin("nightly");
  server_.kill();
  server_.start();
  refused({"tick", "begin", "nightly"}, 1);
  const Output mistyped = recover("nigthly");
  EXPECT_EQ(mistyped.exit_code, 2) << mistyped.out;
  EXPECT_NE(mistyped.err.find("the log has no tick of a loop nigthly; did you mean nightly?"),
            std::string::npos)
      << mistyped.err;
  EXPECT_NE(mistyped.err.find("try: signalbox tick list --loop 'nightly'"), std::string::npos);
  const Output other = recover("deploy");
  EXPECT_EQ(other.exit_code, 2) << other.out;
  EXPECT_NE(other.err.find("; there are "), std::string::npos) << other.err;
  EXPECT_EQ(recover("nightly").out, "recovered\n");
  // There is nothing more to do, nor for a loop of the service that never ticked.
  for (const char* known : {"nightly", "retention"}) {
    const Output again = recover(known);
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.out, "nothing to recover\n");
  }
}

TEST_F(TickScenario, TheMarkerOfSomebodyElseIsHeeded) {  // T4
  const auto logs = scratch_.path() / "root" / "logs";
  std::filesystem::create_directories(logs);
  std::ofstream(logs / "tick-in-progress.json") << "{\n";
  const std::string root = (scratch_.path() / "root").string();
  const auto halt = refused({"tick", "begin", "nightly", "--run-root", root}, 1);
  EXPECT_EQ(halt.at("details").at("evidence"), "unreadable_marker");
  EXPECT_EQ(halt.at("details").at("marker"), "{\n");
  EXPECT_EQ(halt.at("details").at("marker_path"),
            json::value((logs / "tick-in-progress.json").string()));
}

TEST_F(TickScenario, WhatItsRunRootSaysIsWhatTheLogSays) {  // T2, T4, T6
  const std::string run = start_run("be driven");
  const auto logs = server_.data() / "runs" / run / "logs";
  const auto marker = logs / "tick-in-progress.json";
  const std::vector<std::string> begin_words = {"tick",     "begin", "nightly", "--stage", "plan",
                                                "--reason", "cron",  "--run",   run};
  ASSERT_EQ(server_.cli(begin_words).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(marker)) << "there when the answer is";
  server_.kill();
  server_.start();
  const auto halt = refused(begin_words, 1);
  EXPECT_EQ(halt.at("details").at("evidence"), "earlier_incarnation");
  EXPECT_EQ(halt.at("details").at("marker_path"), json::value(marker.string()));
  ASSERT_TRUE(halt.at("details").at("marker").is_object());
  EXPECT_EQ(halt.at("details").at("marker").at("schema_version"), "tick_in_progress.v1");
  EXPECT_EQ(halt.at("details").at("marker").at("reason"), "cron");
  EXPECT_EQ(server_.cli({"tick", "recover", "nightly", "--reason", "checked"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(marker)) << "gone when the answer is there";
  const Output begun = server_.cli(begin_words);
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  ASSERT_EQ(server_
                .cli({"tick", "end", "nightly", "--token",
                      begun.out.substr(0, begun.out.find('\n')), "--outcome", "failed"})
                .exit_code,
            0);
  EXPECT_FALSE(std::filesystem::exists(marker));

  json::array listed = result({"tick", "list", "--run", run}).at("rows").as_array();
  std::reverse(listed.begin(), listed.end());
  json::array in_file;
  std::istringstream lines(content_of(logs / "ticks.jsonl"));
  for (std::string line; std::getline(lines, line);) in_file.push_back(json::parse(line));
  for (json::value& row : listed) {
    for (const char* key : {"run_id", "run_root", "lease_ms", "duration_ms"}) {
      row.as_object().erase(key);
    }
  }
  EXPECT_EQ(listed.size(), 5U);
  EXPECT_EQ(listed, in_file) << json::serialize(listed) << "\n" << json::serialize(in_file);
}

}  // namespace
}  // namespace signalbox
