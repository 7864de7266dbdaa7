// Replay computes the same state from the log alone, without a server and beside a running one.
#include <boost/json/serialize.hpp>

#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

TEST_F(CliTest, ReplayOfALiveDirectoryGivesTheServersDigest) {  // P6, R1
  const std::string run = start_run("be replayed");
  ASSERT_EQ(complete(run, "plan", claim(run), "succeeded").exit_code, 0);
  const auto status = result({"status"});
  // The watchdog may have ticked since, so replay stops at the position that the server reported.
  const std::string position = boost::json::serialize(status.at("position"));
  const auto replayed = result({"replay", "--to", position});
  EXPECT_EQ(status.at("position"), replayed.at("position"));
  EXPECT_EQ(status.at("state_digest"), replayed.at("state_digest"));
  EXPECT_EQ(replayed.at("open_runs").to_number<int>(), 1);
  EXPECT_GT(replayed.at("events_per_second").to_number<double>(), 0);
}

TEST_F(CliTest, ReplayStopsWhereItIsToldTo) {  // R1
  const auto before = result({"status"});
  start_run("later");
  const std::string position = boost::json::serialize(before.at("position"));
  const auto replayed = result({"replay", "--to", position});
  EXPECT_EQ(before.at("state_digest"), replayed.at("state_digest"));
  EXPECT_EQ(replayed.at("open_runs").to_number<int>(), 0);
  const Output beyond = server_.cli({"replay", "--to", "1000000", "--json"});
  EXPECT_EQ(beyond.exit_code, 1);
  EXPECT_EQ(text(one_object(beyond).at("error").at("data").as_object(), "code"),
            "POSITION_NOT_FOUND");
}

// --to understands the same moments as --at and `diff`.
TEST_F(CliTest, ReplayStopsAtATimeOrAnAge) {
  start_run("earlier");
  const auto page = result({"events", "--limit", "1000"}).at("events").as_array();
  const auto& last = page.back().as_object();
  start_run("later");
  EXPECT_EQ(result({"replay", "--to", text(last, "recorded_at")}).at("position"),
            last.at("position"));
  EXPECT_GT(result({"replay", "--to", "0s"}).at("position").to_number<int>(),
            last.at("position").to_number<int>());
  for (const char* wrong : {"1000h", "2001-01-01T00:00:00Z"}) {
    const Output before = server_.cli({"replay", "--to", wrong});
    EXPECT_EQ(before.exit_code, 2) << wrong;
    EXPECT_NE(before.err.find(std::string("--to ") + wrong + " is before the log's first record"),
              std::string::npos)
        << before.err;
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"replay", "--to", "2199-01-01T00:00:00Z"},
        {"run", "list", "--at", "2199-01-01T00:00:00Z"}}) {
    const Output later = server_.cli(words);
    EXPECT_NE(later.exit_code, 0) << words.front();
    EXPECT_NE(later.err.find("is in the future"), std::string::npos) << later.err;
  }
  for (const char* wrong : {"soon", "-1", "18446744073709551616", "1 2"}) {
    const Output refused = server_.cli({"replay", std::string("--to=") + wrong});
    EXPECT_EQ(refused.exit_code, 2) << wrong;
    EXPECT_NE(refused.err.find("is not a position, a time like"), std::string::npos) << refused.err;
  }
}

// The error quotes the position exactly as it was given.
TEST_F(CliTest, APositionBeyondAllNumbersIsShownAsItWasGiven) {
  const std::string greatest = "18446744073709551615";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"replay", "--to", greatest},
        {"audit", "redact", greatest, "--reason", "x", "--dry-run"}}) {
    auto asked = words;
    asked.emplace_back("--json");
    const Output refused = server_.cli(asked);
    EXPECT_EQ(refused.exit_code, 1) << refused.out;
    EXPECT_EQ(refused.out.find("-1"), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("\"" + greatest + "\""), std::string::npos) << refused.out;
  }
}

// Invariants that hold between commands needn't hold between the events of one command.
TEST_F(CliTest, ReplayStopsWithinACommandToo) {
  const std::string run = start_run("to succeed");
  ASSERT_EQ(complete(run, "plan", claim(run), "succeeded").exit_code, 0);
  ASSERT_EQ(complete(run, "implement", claim(run), "succeeded").exit_code, 0);
  const auto tail = result({"status"}).at("position").to_number<int>();
  for (int position = 0; position <= tail; ++position) {
    EXPECT_EQ(server_.cli({"replay", "--to", std::to_string(position)}).exit_code, 0) << position;
  }
}

TEST_F(CliTest, ReplayTakesNoOptionThatItWouldPassOver) {
  const std::string policy = (scratch_.path() / "policy.toml").string();
  std::ofstream(policy) << "";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"replay", "--what-if", policy, "--verify"},
                                             {"replay", "--what-if", policy, "--step"},
                                             {"replay", "--from", "1"},
                                             {"replay", "--seed", "2"}}) {
    EXPECT_EQ(server_.cli(words).exit_code, 2) << words[1];
  }
}

TEST_F(CliTest, ReplayShowsOneRunsRecords) {  // R1
  const std::string run = start_run("mine");
  start_run("another");
  ASSERT_EQ(server_.cli({"run", "cancel", run}).exit_code, 0);
  const auto records = result({"replay", "--run", run}).at("records").as_array();
  ASSERT_GE(records.size(), 2U);
  for (const auto& record : records) {
    EXPECT_EQ(text(record.as_object(), "stream"), "run/" + run);
  }
}

TEST_F(CliTest, ReplayOfADamagedLogExitsWith78AndSaysWhere) {
  for (int number = 0; number < 20; ++number) start_run("run " + std::to_string(number));
  ASSERT_EQ(server_.stop(), 0);
  ASSERT_EQ(server_.cli({"replay", "--verify"}).exit_code, 0);
  // After a clean stop the records are in the write-ahead log or in a table file: the largest file
  // holds them.
  std::filesystem::path largest;
  for (const auto& each : std::filesystem::directory_iterator(server_.data() / "log")) {
    const auto extension = each.path().extension();
    if (extension != ".log" && extension != ".sst") continue;
    if (largest.empty() || each.file_size() > std::filesystem::file_size(largest)) {
      largest = each.path();
    }
  }
  std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(200);
  const char before = static_cast<char>(file.get());
  file.seekp(200);
  file.put(static_cast<char>(before ^ 0x40));
  file.close();

  const Output plain = server_.cli({"replay"});
  EXPECT_EQ(plain.exit_code, 78) << plain.out << plain.err;
  const Output json = server_.cli({"replay", "--json"});
  EXPECT_EQ(json.exit_code, 78);
  EXPECT_EQ(text(one_object(json).at("error").at("data").as_object(), "code"), "STORAGE_DAMAGED");
}

TEST(CliWithoutServer, ReplayOfNothingIsAUsageError) {
  const TemporaryDirectory nothing;
  const Output output =
      run_process({SIGNALBOX_BINARY, "replay", "--data", nothing.path().string()});
  EXPECT_EQ(output.exit_code, 2) << output.err;
}

}  // namespace
}  // namespace signalbox
