// Old records of a cell: its active server archives and drops them while it serves, and each other
// one drops the same by itself (BEHAVIOURS, chapter K).
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "tests/scenarios/cell_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class CellRetentionTest : public CellTest {
 protected:
  CellRetentionTest() {
    const Output made = run_process({SIGNALBOX_BINARY, "audit", "keygen", "-o", at("audit.key"),
                                     "--name", "example.com/box", "--json"});
    EXPECT_EQ(made.exit_code, 0) << made.out << made.err;
    verifier_key_ = text_at(json::parse(made.out).at("result").as_object(), "verifier_key");
    for (const CellPeer* peer : {&a_, &b_, &c_}) peer->add_settings(retention());
  }
  void TearDown() override {
    CellTest::TearDown();
    if (c_.server().running()) c_.go_on();
  }

  [[nodiscard]] std::string at(const std::string& name) const {
    return (scratch_.path() / name).string();
  }
  // Nothing is due by itself: the tests trigger it.
  [[nodiscard]] std::string retention() const {
    return "[retention]\nolder_than = \"1s\"\nfailed_runs = \"1s\"\narchive = \"" + at("archive") +
           "\"\nkey = \"" + at("audit.key") + "\"\nschedule = \"0 0 29 2 *\"\n";
  }
  // Starts both servers, with the key adopted by their log.
  void start_with_key() {
    start_both();
    (void)result({"audit", "adopt", verifier_key_});
  }
  // Runs work to its end, and lets it become old enough to go.
  void make_history(const std::string& goal, int runs = 5) const {
    for (int count = 0; count < runs; ++count) {
      const std::string run_id = start_run(goal, goal + std::to_string(count));
      (void)result({"run", "cancel", run_id});
    }
    // By the clock that judges it: the servers are on this machine.
    using Clock = std::chrono::system_clock;
    const auto old_at = Clock::now() + std::chrono::milliseconds(1'001);
    EXPECT_TRUE(eventually([&] { return Clock::now() > old_at; }));
  }
  // Has the active server drop what is old. Returns the HistoryDropped's horizon.
  [[nodiscard]] std::uint64_t drop_at(const CellPeer& active) const {
    const auto before = horizon_of(active);
    (void)result({"loop", "trigger", "retention"});
    EXPECT_TRUE(eventually([&] { return horizon_of(active) > before; }))
        << json::serialize(active.rpc("server.status")) << peer_messages(active);
    return horizon_of(active);
  }
  static std::string peer_messages(const CellPeer& peer) {
    return const_cast<CellPeer&>(peer).server().messages();
  }
  // Returns up to which position the server has dropped records; 0 if it has dropped none, or
  // doesn't answer.
  [[nodiscard]] static std::uint64_t horizon_of(const CellPeer& peer) {
    const auto answer = peer.answer("events.read", {{"from", 1}, {"limit", 1}});
    if (!answer || test::error_code_of(*answer) != "HISTORY_DROPPED") return 0;
    return answer->at("error").at("data").at("details").at("horizon").to_number<std::uint64_t>();
  }
  static void await_horizon(CellPeer& peer, std::uint64_t horizon) {
    EXPECT_TRUE(eventually([&] { return horizon_of(peer) == horizon; }))
        << peer.name() << " has dropped up to " << horizon_of(peer) << ": "
        << peer.server().messages();
  }
  [[nodiscard]] std::vector<std::string> archives() const {
    std::vector<std::string> all;
    std::error_code none;
    for (const auto& each : fs::directory_iterator(at("archive"), none)) {
      all.push_back(each.path().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  void expect_verified(const std::string& archive) const {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{SIGNALBOX_BINARY, "audit", "verify"},
          std::vector<std::string>{SIGNALBOX_PYTHON,
                                   SIGNALBOX_SOURCE_DIR "/tools/verify_export"}}) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {archive, "--key", verifier_key_});
      const Output verified = run_process(all);
      EXPECT_EQ(verified.exit_code, 0) << archive << verified.out << verified.err;
    }
  }

  std::string verifier_key_;
  CellPeer c_{"c", nodes_.url()};
};

TEST_F(CellRetentionTest, EachServerDropsTheSame) {  // K7
  start_with_key();
  const std::string open = start_run("open", "open");
  make_history("old");
  const std::uint64_t horizon = drop_at(a_);
  await_horizon(b_, horizon);
  ASSERT_EQ(archives().size(), 1U);
  EXPECT_TRUE(archives()[0].ends_with("-a")) << archives()[0];
  expect_verified(archives()[0]);
  // What is open is there at both, and what was dropped at neither.
  for (const CellPeer* peer : {&a_, &b_}) {
    EXPECT_EQ(text_at(peer->rpc("run.get", {{"run_id", open}}).at("run").as_object(), "goal"),
              "open");
    EXPECT_TRUE(eventually([&] { return peer->rpc("run.list").at("runs").as_array().size() == 1; }))
        << peer->name();
  }
  // The next one goes on where it ended, as does its archive.
  make_history("newer");
  EXPECT_TRUE(eventually([&] { return a_.ask({"cell", "switch", "--to", "b"}).exit_code == 0; }));
  await_role(b_, "active");
  await_role(a_, "standby");
  const std::uint64_t next = drop_at(b_);
  EXPECT_GT(next, horizon);
  await_horizon(a_, next);
  ASSERT_EQ(archives().size(), 2U);
  for (const std::string& archive : archives()) expect_verified(archive);
  EXPECT_EQ(text_at(result({"run", "get", open}).at("run").as_object(), "status"), "queued");
  await_position(a_, position_of(b_));
  expect_same({&a_, &b_});
}

TEST_F(CellRetentionTest, AStandbyThatWasKilledDropsAfterItsNextStart) {  // K7
  start_with_key();
  make_history("old");
  std::uint64_t horizon = 0;
  for (int round = 0; round < 3; ++round) {
    make_history("round-" + std::to_string(round), 2);
    // Before it has the event, as soon as it is told of an archive that is about to be dropped, and
    // once the other one has dropped it: while it drops, or afterwards.
    if (round == 0) b_.server().kill();
    if (round == 1) {
      const std::size_t before = archives().size();
      (void)result({"loop", "trigger", "retention"});
      EXPECT_TRUE(eventually([&] { return archives().size() > before; }));
      b_.server().kill();
      EXPECT_TRUE(eventually([&] { return horizon_of(a_) > horizon; }));
      horizon = horizon_of(a_);
    } else {
      horizon = drop_at(a_);
    }
    if (round == 2) b_.server().kill();
    b_.server().start();
    await_role(b_, "standby");
    await_horizon(b_, horizon);
  }
  // The one that drops is killed, too: whichever takes over goes on, and both end with the same.
  make_history("last", 3);
  (void)result({"loop", "trigger", "retention"});
  a_.server().kill();
  await_role(b_, "active");
  a_.server().start();
  await_role(a_, "standby");
  const std::uint64_t seen = horizon_of(b_);
  if (seen == horizon) {
    EXPECT_GT(drop_at(b_), horizon);
  }
  await_horizon(a_, horizon_of(b_));
  EXPECT_EQ(a_.server().messages().find("damaged"), std::string::npos);
  expect_same({&a_, &b_});
  for (const std::string& archive : archives()) {
    if (!fs::exists(fs::path(archive) / "incomplete")) expect_verified(archive);
  }
}

TEST_F(CellRetentionTest, ASeededServerJoinsAfterADrop) {  // K7
  start_with_key();
  make_history("old");
  const std::uint64_t horizon = drop_at(a_);
  await_horizon(b_, horizon);
  seed(b_, c_);
  c_.server().start();
  await_role(c_, "standby");
  await_horizon(c_, horizon);
  expect_same({&c_, &b_, &a_});
}

// What all servers have leaves the database; a server that lacks it is told what to copy.
TEST_F(CellRetentionTest, WhatAllServersHaveIsRemovedFromTheDatabase) {  // K7
  for (const CellPeer* peer : {&a_, &b_, &c_}) {
    peer->add_settings("keep = \"1s\"\nkeep_absent = \"8s\"\n");
  }
  start_both();
  make_history("first");
  const auto begins_after = [this] {
    return std::stoll(nodes_.query("select min(prev) from sb_entry"));
  };
  // A server notes what it has on its disk as it appends.
  int appended = 0;
  const auto is_trimmed_after = [&](std::uint64_t position) {
    EXPECT_TRUE(eventually([&] {
      (void)start_run("more", "more-" + std::to_string(++appended));
      return begins_after() >= static_cast<std::int64_t>(position);
    })) << begins_after()
        << a_.server().messages();
  };
  const auto expect_refused = [](CellPeer& late) {
    late.server().launch();
    EXPECT_TRUE(eventually([&] { return !late.server().running(); }));
    EXPECT_EQ(late.server().stop(), 78);  // how it has ended
    EXPECT_TRUE(late.server().logs("signalbox cell seed")) << late.server().messages();
  };
  is_trimmed_after(5);
  EXPECT_TRUE(eventually([&] {
    const json::value shown = a_.rpc("cell.get").at("database_log");
    return shown.is_object() && shown.at("begins_after").to_number<std::uint64_t>() >= 5;
  })) << json::serialize(a_.rpc("cell.get"));
  EXPECT_TRUE(b_.rpc("cell.get").at("database_log").is_null());
  const std::string shown = a_.server().cli({"cell", "status"}).out;
  EXPECT_NE(shown.find("database: has the log after "), std::string::npos) << shown;
  EXPECT_NE(shown.find("\nserver "), std::string::npos) << shown;  // O6: its header as all others
  expect_refused(c_);
  EXPECT_EQ(b_.server().stop(), 0);
  seed(b_, c_);
  c_.server().start();
  await_role(c_, "standby");
  await_position(c_, position_of(a_));
  // One that isn't there holds what it lacks, for a while.
  const std::uint64_t left_at = position_of(a_);
  make_history("second");
  is_trimmed_after(left_at + 5);
  expect_refused(b_);
  // A repair needs the end of the database's log only.
  EXPECT_EQ(c_.server().stop(), 0);
  const std::string last_run = start_run("last", "last");
  EXPECT_EQ(a_.server().stop(), 0);
  (void)nodes_.query("delete from sb_entry where prev = (select max(prev) from sb_entry)");
  const Output repaired = a_.server().cli({"cell", "repair", "--json"});
  EXPECT_EQ(repaired.exit_code, 0) << repaired.out << repaired.err;
  a_.server().start();
  await_role(a_, "active");
  c_.server().start();
  await_role(c_, "standby");
  await_position(c_, position_of(a_));
  EXPECT_EQ(text_at(c_.rpc("run.get", {{"run_id", last_run}}).at("run").as_object(), "goal"),
            "last");
}

}  // namespace
}  // namespace signalbox
