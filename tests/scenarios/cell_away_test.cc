// What a server of a cell answers while the database is away and a command waits for it
// (BEHAVIOURS, chapter K).
#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/crash/small_disk.h"
#include "tests/fixtures/needed_ability.h"
#include "tests/scenarios/cell_trouble_fixture.h"

namespace signalbox {
namespace {

class CellAway : public CellTrouble {};

// An operator asks just then. Nothing is shown that isn't acknowledged.
TEST_F(CellAway, SaysHowItIsWhileAnAppendWaitsForAFrozenDatabase) {  // K3
  use_limited_role();
  start_both();
  (void)start_run("before", "1");
  const std::uint64_t acknowledged = position_of(a_);
  // Beats are still taken, so its lease isn't over before it has taken the command.
  (void)nodes_.query("revoke insert on sb_entry_1 from limited");
  test::RawConnection client(static_cast<std::uint16_t>(std::stoi(a_.address().substr(16))));
  ASSERT_TRUE(client.send(
      R"({"jsonrpc":"2.0","id":"command","method":"run.start","params":{"goal":"meanwhile",)"
      R"("pipeline":{"name":"one","station":[{"name":"work"}]}}})"
      "\n"
      R"({"jsonrpc":"2.0","id":"list","method":"run.list"})"
      "\n"));
  EXPECT_TRUE(eventually([&] { return a_.rpc("cell.get").at("waiting_append").is_object(); }));
  // On a connection of its own, since one query of a connection is answered after another.
  test::RawConnection other(static_cast<std::uint16_t>(std::stoi(a_.address().substr(16))));
  ASSERT_TRUE(other.send(R"({"jsonrpc":"2.0","id":"status","method":"server.status"})"
                         "\n"));
  const auto answered = boost::json::parse(other.line()).as_object();
  const auto list = boost::json::parse(client.line()).as_object();
  EXPECT_TRUE(list.contains("error"));
  const std::size_t primary = nodes_.primary();
  nodes_.freeze(primary);
  const auto status = a_.rpc("server.status");
  ASSERT_TRUE(status.contains("cell")) << a_.server().messages();
  for (const boost::json::object& shown : {status, answered.at("result").as_object()}) {
    EXPECT_EQ(shown.at("position").to_number<std::uint64_t>(), acknowledged);
    EXPECT_FALSE(text_at(shown, "as_of").empty());
    EXPECT_FALSE(shown.contains("open_runs"));
  }
  const auto cell = a_.rpc("cell.get");
  for (const boost::json::object& shown : {status.at("cell").as_object(), cell}) {
    ASSERT_TRUE(shown.at("waiting_append").is_object()) << boost::json::serialize(shown);
    const auto& append = shown.at("waiting_append").as_object();
    EXPECT_EQ(append.at("acknowledged").to_number<std::uint64_t>(), acknowledged);
    EXPECT_GT(text_at(append, "since"), text_at(status, "started_at"));
    EXPECT_NE(text_at(append, "reason"), "");
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"status"}, {"cell", "status"}}) {
    const Output shown = a_.server().cli(words);
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_NE(shown.out.find("an append waits for the log"), std::string::npos) << shown.out;
  }
  const auto get = [&](const std::string& path) {
    return run_process({"curl", "-sS", "-w", "%{http_code}",
                        "http://127.0.0.1:" + a_.address().substr(16) + path})
        .out;
  };
  EXPECT_TRUE(get("/healthz").ends_with("200"));
  const std::string metrics = get("/metrics");
  EXPECT_TRUE(metrics.ends_with("200")) << metrics;
  EXPECT_NE(metrics.find("\nsignalbox_cell_log_failing 1\n"), std::string::npos);
  EXPECT_EQ(metrics.find("\nsignalbox_cell_append_waiting_seconds 0\n"), std::string::npos);
  EXPECT_NE(metrics.find("\nsignalbox_log_position " + std::to_string(acknowledged) + "\n"),
            std::string::npos);
  EXPECT_EQ(metrics.find("\nsignalbox_open_runs"), std::string::npos);
  nodes_.thaw(primary);
  (void)nodes_.query("grant insert on sb_entry_1 to limited");
  const auto started = boost::json::parse(client.line()).as_object();
  EXPECT_EQ(text_at(started, "id"), "command");
  EXPECT_TRUE(started.contains("result")) << boost::json::serialize(started);
  EXPECT_TRUE(eventually([&] { return a_.rpc("server.status").contains("open_runs"); }));
  EXPECT_EQ(goals(a_), (Goals{"before", "meanwhile"}));
}

// Not only what it was asked first: all that it has acknowledged is there, once each.
TEST_F(CellAway, LosesNothingWhileTheDiskOfTheDatabaseIsFull) {  // K3
  constexpr std::uint64_t disk_bytes = 256 * 1024 * 1024;
  test::SmallDisk disk;
  const std::size_t primary = nodes_.primary();
  nodes_.kill(primary);
  const std::string why = nodes_.move_to_disk(primary, [&](const std::filesystem::path& directory) {
    return disk.mount(directory, disk_bytes);
  });
  if (!why.empty()) {
    SIGNALBOX_CANNOT_RUN("no disk of our own can be mounted here (" + why +
                         "): run it as root, or where user namespaces are permitted");
  }
  nodes_.await_standbys(nodes_.count() - 1);
  start_both();
  (void)start_run("before", "before");
  ASSERT_TRUE(disk.fill());
  Goals acknowledged = {"before"};
  // Pages that are there have room for some. What is sent then waits for the log, or is refused.
  std::atomic<bool> is_full = false;
  std::thread load([&] {
    constexpr int at_once = 20;
    for (int first = 0; !is_full; first += at_once) {
      acknowledged.merge(start_many(a_, first, at_once));
    }
  });
  await_trouble(a_, "free space on the database's disk");
  is_full = true;
  // Until then a command is taken, and waits with the others.
  ASSERT_TRUE(a_.server().logs("commands are refused")) << a_.server().messages();
  Output refused;
  EXPECT_TRUE(eventually([&] {
    refused = a_.ask({"rpc", "run.start", R"({"goal":"refused"})"});
    return code_of(refused) == "STORAGE_AWAY";
  })) << refused.out;
  EXPECT_NE(refused.out.find("No space left on device"), std::string::npos) << refused.out;
  const auto status = a_.rpc("server.status");
  EXPECT_TRUE(status.contains("cell")) << a_.server().messages();
  disk.make_space();
  load.join();
  (void)start_run("after", "after");
  acknowledged.insert("after");
  await_step();
  const Goals there = goals(a_);
  EXPECT_TRUE(std::ranges::includes(there, acknowledged));
  EXPECT_EQ(std::set<std::string>(there.begin(), there.end()).size(), there.size())
      << "one is there twice";
  EXPECT_EQ(goals(b_), there);
  expect_same({&b_, &a_});
  nodes_.kill(primary);  // before its disk goes
}

}  // namespace
}  // namespace signalbox
