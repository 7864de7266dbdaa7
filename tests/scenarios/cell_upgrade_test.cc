// A cell whose servers are upgraded one by one. What an older program would have left is put into
// the database.
#include "tests/scenarios/cell_fixture.h"

namespace signalbox {
namespace {

TEST_F(CellTest, IsUpgradedOnceAllItsServersKnowTheNewerEvents) {  // K9
  const auto file = b_.server().data() / "runners.json";
  write_text(file, R"({"schema":"runner_decisions.v1","drained":[],"evicted":)"
                   R"(["runner:gone-0123456789abcdef"]})");
  start_both();
  EXPECT_EQ(a_.rpc("cell.get").at("feature_level"), a_.rpc("cell.get").at("feature_level_newest"));
  (void)nodes_.query("update sb_cell set feature_level = 1");
  EXPECT_TRUE(eventually([&] { return a_.ask({"cell", "switch", "--to", "b"}).exit_code == 0; }));
  await_role(b_, "active");
  await_role(a_, "standby");
  EXPECT_EQ(b_.rpc("cell.get").at("feature_level").to_number<int>(), 1);
  const auto is_measured = [this](const std::string& line) {
    return boost::json::serialize(b_.rpc("server.metrics")).find(line + "\\n") != std::string::npos;
  };
  EXPECT_TRUE(is_measured("signalbox_cell_feature_level 1"));
  EXPECT_TRUE(eventually([&] { return is_measured("signalbox_cell_versions 1"); }));
  const auto idle = b_.rpc("runner.register", {{"name", "idle"}});
  ASSERT_EQ(b_.ask({"rpc", "runner.exchange", report_of(idle, 1)}).exit_code, 0);
  const std::vector<std::string> drain = {"runner", "drain", text_at(idle, "runner")};
  const Output refused = b_.ask(drain);
  EXPECT_EQ(code_of(refused), "CELL_UPGRADE_NEEDED") << refused.out;
  EXPECT_NE(text_at(error_of(refused), "message").find("signalbox cell upgrade"), std::string::npos)
      << refused.out;
  EXPECT_FALSE(start_run("what an older server can read", "one").empty());
  EXPECT_TRUE(std::filesystem::exists(file)) << "what it says needs the newer level, too";

  (void)nodes_.query(
      "insert into sb_replica select cell, 'old', 'tcp://127.0.0.1:1', 'standby', '1.0', 0, '', "
      "clock_timestamp() from sb_cell");
  EXPECT_TRUE(eventually([&] { return is_measured("signalbox_cell_versions 2"); }));
  EXPECT_EQ(code_of(a_.ask({"cell", "upgrade"})), "NOT_ACTIVE");
  const Output too_early = b_.ask({"cell", "upgrade"});
  EXPECT_EQ(code_of(too_early), "NOT_ALLOWED") << too_early.out;
  EXPECT_NE(text_at(error_of(too_early), "message").find("old (version 1.0"), std::string::npos)
      << too_early.out;
  EXPECT_EQ(nodes_.query("select feature_level from sb_cell"), "1");
  (void)nodes_.query("update sb_replica set seen = seen - interval '2 minutes' where name = 'old'");
  const auto upgraded = result({"cell", "upgrade"});
  EXPECT_EQ(upgraded.at("from").to_number<int>(), 1);
  EXPECT_EQ(upgraded.at("feature_level"), b_.rpc("cell.get").at("feature_level_newest"));
  EXPECT_FALSE(result({"cell", "upgrade"}).at("changed").as_bool());
  EXPECT_TRUE(result(drain).at("changed").as_bool());
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(file); })) << b_.server().messages();
  const auto decided =
      b_.rpc("events.read", {{"types", boost::json::array{"RunnerEvicted", "RunnerDrained"}}});
  EXPECT_EQ(decided.at("events").as_array().size(), 2U) << boost::json::serialize(decided);

  // The next server has it from the database.
  EXPECT_TRUE(eventually([&] { return b_.ask({"cell", "switch", "--to", "a"}).exit_code == 0; }));
  await_role(a_, "active");
  await_role(b_, "standby");
  EXPECT_TRUE(
      result({"runner", "drain", "--off", text_at(idle, "runner")}).at("changed").as_bool());
}

TEST_F(CellTest, AServerThatIsTooOldForItsCellEnds) {  // K9
  start_both();
  const auto expect_end = [this] {
    EXPECT_TRUE(eventually([&] { return !b_.server().running(); }));
    EXPECT_EQ(b_.server().stop(), 78);  // how it has ended
    EXPECT_TRUE(b_.server().logs("install the version that the cell's other servers have"))
        << b_.server().messages();
  };
  (void)nodes_.query("update sb_cell set feature_level = 1000");
  expect_end();
  b_.server().launch();
  expect_end();
  EXPECT_FALSE(start_run("g", "one").empty());
}

}  // namespace
}  // namespace signalbox
