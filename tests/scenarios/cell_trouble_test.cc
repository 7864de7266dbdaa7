// Servers of a cell over a real database, on machines and a database that misbehave: full disks,
// wrong clocks, rights that are taken away, sessions that are ended, tables that are locked, rows
// that were changed (BEHAVIOURS, chapter K).
#include <atomic>
#include <set>
#include <thread>

#include "store/postgres_connection.h"
#include "tests/crash/fake_wall_clock.h"
#include "tests/crash/raw_connection.h"
#include "tests/crash/small_disk.h"
#include "tests/fixtures/needed_ability.h"
#include "tests/scenarios/cell_fixture.h"

namespace signalbox {
namespace {

class CellTrouble : public CellTest {
 protected:
  // Ends the sessions of all servers at the database, as an administrator does.
  void end_sessions() const {
    (void)nodes_.query(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = "
        "'signalbox'");
  }
  static std::string trouble_of(const CellPeer& peer) {
    return text_at(peer.rpc("cell.get"), "trouble");
  }
  static void await_trouble(CellPeer& peer, const std::string& text) {
    EXPECT_TRUE(eventually([&] { return trouble_of(peer).find(text) != std::string::npos; }))
        << peer.name() << ": " << trouble_of(peer) << '\n'
        << peer.server().messages();
  }
  static std::uint64_t position_of(const CellPeer& peer) {
    const auto cell = peer.rpc("cell.get");
    return cell.contains("position") ? cell.at("position").to_number<std::uint64_t>() : 0;
  }
  // Waits until both have the same.
  void await_step() {
    EXPECT_TRUE(eventually([&] {
      const std::uint64_t position = position_of(a_);
      return position != 0 && position == position_of(b_);
    })) << a_.server().messages()
        << b_.server().messages();
  }
  // Returns the goals of the runs that a server shows, each as often as it is there.
  static std::multiset<std::string> goals(const CellPeer& peer) {
    std::multiset<std::string> found;
    const auto list = peer.rpc("run.list", {{"limit", 500}});
    if (!list.contains("runs")) return found;
    for (const boost::json::value& run : list.at("runs").as_array()) {
      found.emplace(run.at("goal").as_string());
    }
    return found;
  }
};

using Goals = std::multiset<std::string>;

TEST_F(CellTrouble, AWriterWhoseDiskIsFullLetsGoOfTheCellAtOnce) {  // K11
  constexpr std::uint64_t disk_bytes = 160 * 1024 * 1024;
  test::SmallDisk disk;
  if (const std::string why = disk.mount(a_.server().data(), disk_bytes); !why.empty()) {
    SIGNALBOX_CANNOT_RUN("no disk of our own can be mounted here (" + why +
                         "): run it as root, or where user namespaces are permitted");
  }
  a_.configure(a_.settings(nodes_.url()));
  start_both();
  (void)start_run("before", "1");
  ASSERT_TRUE(disk.fill());
  Goals acknowledged = {"before"};
  // Some bytes may still fit into files that are there.
  for (int number = 0; b_.role() != "active"; ++number) {
    ASSERT_LT(number, 1000) << a_.server().messages();
    const std::string goal = "while it fills " + std::to_string(number);
    (void)start_run(goal, goal);
    acknowledged.insert(goal);
  }
  (void)start_run("after", "2");
  acknowledged.insert("after");
  EXPECT_EQ(goals(b_), acknowledged);
  EXPECT_TRUE(a_.server().running()) << a_.server().messages();
  EXPECT_NE(a_.server().messages().find("no longer the writer of the cell main"), std::string::npos)
      << a_.server().messages();
  disk.make_space();
  await_role(a_, "standby");
  await_step();
  EXPECT_EQ(goals(a_), acknowledged);
}

TEST_F(CellTrouble, AServerWhoseClockIsWrongStandsByAndSaysNoTimeToCome) {  // K11
  const test::FakeWallClock clock(scratch_.path());
  if (!clock.available()) SIGNALBOX_CANNOT_RUN("libfaketime is missing: tools/packages faketime");
  clock.set("+1h");
  a_.server().start();
  await_role(a_, "active");
  clock.over([&] { b_.server().start(); });
  await_trouble(b_, "s ahead of the database's: have NTP set whichever is wrong");
  (void)start_run("g", "1");
  await_step();
  // `Z` ends both, so that the earlier text is the earlier time.
  const std::string shown = text_at(b_.rpc("run.list"), "as_of");
  const auto created = a_.rpc("run.list").at("runs").as_array()[0].at("created_at").as_string();
  EXPECT_FALSE(shown.empty());
  EXPECT_EQ(shown.substr(0, 11), std::string(created).substr(0, 11));
  a_.server().kill();
  await_trouble(b_, "this server doesn't take the cell");
  EXPECT_EQ(code_of(b_.ask({"rpc", "run.start", R"({"goal":"g"})"})), "NOT_ACTIVE");
  clock.set("-1h");
  await_trouble(b_, "s behind the database's");
  clock.set("+0s");
  await_role(b_, "active");
  EXPECT_EQ(goals(b_), Goals{"g"});
}

TEST_F(CellTrouble, SaysWhichRightIsMissingAndGoesOnOnceItIsBack) {  // K12
  (void)nodes_.query("create role limited login");
  (void)nodes_.query("grant pg_read_all_stats to limited");
  (void)nodes_.query("grant create on schema public to limited");
  std::string url = nodes_.url();
  url.replace(url.find("signalbox@"), std::string("signalbox").size(), "limited");
  for (const CellPeer* peer : {&a_, &b_}) peer->configure(peer->settings(url));
  start_both();
  (void)start_run("before", "1");
  const auto is_standing_by = [&] { return b_.role() == "standby"; };
  // Beats are still taken, and nothing else.
  (void)nodes_.query("revoke insert on sb_entry_1 from limited");
  std::thread asks([&] { (void)start_run("meanwhile", "2"); });
  await_trouble(a_, "permission denied for table sb_entry_1");
  EXPECT_TRUE(eventually([&] {
    const Output refused = a_.ask({"rpc", "run.start", R"({"goal":"refused"})"});
    return code_of(refused) == "STORAGE_AWAY" &&
           refused.out.find("permission denied for table sb_entry_1") != std::string::npos;
  }));
  EXPECT_TRUE(is_standing_by());
  (void)nodes_.query("grant insert on sb_entry_1 to limited");
  asks.join();
  EXPECT_TRUE(eventually([&] { return trouble_of(a_).empty(); })) << trouble_of(a_);
  // They look for tables that they can't see any more, which aren't lost for that.
  (void)nodes_.query("revoke usage on schema public from public, limited");
  end_sessions();
  for (CellPeer* peer : {&a_, &b_}) await_trouble(*peer, "grant it USAGE on that");
  (void)nodes_.query("grant usage on schema public to public");
  (void)start_run("after", "3");
  await_step();
  EXPECT_EQ(goals(a_), (Goals{"before", "meanwhile", "after"}));
  EXPECT_EQ(goals(b_), goals(a_));
}

// Whichever of them is ended first, the other server may take the cell.
TEST_F(CellTrouble, LosesNothingWhileItsSessionsAreEndedAgainAndAgain) {  // K3
  start_both();
  std::atomic<bool> over = false;
  std::thread ends([&] {
    while (!over) end_sessions();
  });
  Goals acknowledged;
  for (int number = 0; number < 20; ++number) {
    const std::string goal = "g" + std::to_string(number);
    (void)start_run(goal, goal);
    acknowledged.insert(goal);
  }
  over = true;
  ends.join();
  EXPECT_TRUE(eventually([&] {
    const std::string roles = a_.role() + b_.role();
    return roles == "activestandby" || roles == "standbyactive";
  })) << a_.server().messages()
      << b_.server().messages();
  await_step();
  EXPECT_EQ(goals(a_), acknowledged);
  EXPECT_EQ(goals(b_), acknowledged);
}

// As while somebody changes a table. What waits for the lock and is given up takes up no
// connection.
TEST_F(CellTrouble, WaitsForTablesThatAreLocked) {  // K3
  start_both();
  (void)start_run("before", "1");
  PostgresConnection holder(nodes_.url() + "?application_name=holder");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  const auto hold = [&](const std::string& statement) {
    return holder.run(PostgresConnection::Effect::reads, statement, {}, deadline).is_ok();
  };
  ASSERT_TRUE(holder.connect(deadline));
  ASSERT_TRUE(hold("BEGIN"));
  ASSERT_TRUE(hold("LOCK TABLE sb_entry_1, sb_beat, sb_replica IN ACCESS EXCLUSIVE MODE"));
  for (CellPeer* peer : {&a_, &b_}) await_trouble(*peer, "doesn't answer in time");
  EXPECT_EQ(code_of(a_.ask({"rpc", "run.start", R"({"goal":"refused"})"})), "STORAGE_AWAY");
  for (const CellPeer* peer : {&a_, &b_}) {
    const auto list = peer->rpc("run.list");
    EXPECT_FALSE(text_at(list, "as_of").empty());
    EXPECT_EQ(goals(*peer), Goals{"before"});
  }
  const auto sessions = [&] {
    return std::stoi(
        nodes_.query("select count(*) from pg_stat_activity where application_name = 'signalbox'"));
  };
  // Each server has three connections, and each of these may have one that was just given up.
  std::thread asks([&] { (void)start_run("meanwhile", "2"); });
  for (int look = 0; look < 20; ++look) EXPECT_LE(sessions(), 12);
  ASSERT_TRUE(hold("ROLLBACK"));
  asks.join();
  EXPECT_TRUE(eventually([&] {
    return a_.role() == "active" && b_.role() == "standby" && trouble_of(a_).empty() &&
           trouble_of(b_).empty();
  })) << a_.server().messages()
      << b_.server().messages();
  await_step();
  EXPECT_EQ(goals(b_), (Goals{"before", "meanwhile"}));
}

TEST_F(CellTrouble, KeepsNothingOfARowThatWasChanged) {  // K5
  start_both();
  (void)start_run("before", "1");
  await_step();
  EXPECT_EQ(b_.server().stop(), 0);
  (void)start_run("changed", "2");
  const std::string of_the_last = " where prev = (select max(prev) from sb_entry)";
  const std::string prev = nodes_.query("select max(prev) from sb_entry");
  (void)nodes_.query(
      "update sb_entry set bytes = set_byte(bytes, octet_length(bytes) - 3, get_byte(bytes, "
      "octet_length(bytes) - 3) # 1)" +
      of_the_last);
  b_.server().launch();
  EXPECT_TRUE(eventually([&] { return !b_.server().running(); }));
  EXPECT_EQ(b_.server().stop(), 78);  // how it has ended
  EXPECT_NE(b_.server().messages().find("has after " + prev + " isn't what its writer wrote"),
            std::string::npos)
      << b_.server().messages();
  // The one that wrote it goes on; what the message says puts the row right.
  (void)start_run("after", "3");
  EXPECT_EQ(a_.server().stop(), 0);
  (void)nodes_.query("delete from sb_entry where prev >= " + prev);
  const Output repaired = a_.server().cli({"cell", "repair"});
  EXPECT_EQ(repaired.exit_code, 0) << repaired.out << repaired.err;
  b_.server().start();
  await_role(b_, "active");
  EXPECT_EQ(goals(b_), (Goals{"before", "changed", "after"}));
}

TEST_F(CellTrouble, AServerThatJoinsGoesOnWhereItWasKilled) {  // K5
  constexpr int runs = 3'000;
  a_.server().start();
  await_role(a_, "active");
  test::RawConnection client(static_cast<std::uint16_t>(std::stoi(a_.address().substr(16))));
  ASSERT_TRUE(client.connected());
  constexpr int at_once = 250;
  for (int sent = 0; sent < runs; sent += at_once) {
    std::string requests;
    for (int number = sent; number < sent + at_once; ++number) {
      requests += R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":"g)" +
                  std::to_string(number) +
                  R"(","pipeline":{"name":"one","station":[{"name":"work"}]}}})" + "\n";
    }
    ASSERT_TRUE(client.send(requests));
    for (int answer = 0; answer < at_once; ++answer) {
      ASSERT_NE(client.line().find("\"result\""), std::string::npos);
    }
  }
  const std::uint64_t end = position_of(a_);
  std::uint64_t reached = 0;
  for (int kill = 0; kill < 3; ++kill) {
    b_.server().start();
    std::uint64_t begun = 0;
    EXPECT_TRUE(eventually([&] {
      begun = position_of(b_);
      return begun > reached || begun == end;
    })) << b_.server().messages();
    // What it shows is of the time of what it has.
    const std::string shown = text_at(b_.rpc("run.list"), "as_of");
    EXPECT_GT(shown, "2020") << b_.server().messages();
    reached = begun;
    b_.server().kill();
  }
  b_.server().start();
  await_position(b_, end);
  EXPECT_EQ(a_.server().stop(), 0);
  await_role(b_, "active");
  EXPECT_EQ(b_.rpc("run.list", {{"limit", 1}}).at("runs").as_array().size(), 1U);
  EXPECT_EQ(b_.server().stop(), 0);
  const Output verified = b_.server().cli({"replay", "--verify", "--json"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
}

// Compare-and-sets that are sent one after the other without waiting gain nothing: each commit
// waits for its standby alone. So whatever comes while an append is under way is the next one.
TEST_F(CellTrouble, NeverHasTwoAppendsUnderWay) {  // K2: trap 7
  constexpr int commands = 20;
  a_.server().start();
  await_role(a_, "active");
  (void)start_run("before", "1");
  test::RawConnection client(static_cast<std::uint16_t>(std::stoi(a_.address().substr(16))));
  ASSERT_TRUE(client.connected());
  const auto links = [&] { return std::stoi(nodes_.query("select count(*) from sb_entry")); };
  const auto is_appending = [&] {
    return nodes_.query(
               "select count(*) from pg_stat_activity where query like 'INSERT INTO sb_entry%' and "
               "wait_event = 'SyncRep'") == "1";
  };
  int round = 0;
  // On a busy machine its lease may be over before it takes them: then they are refused.
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(eventually([&] { return !a_.rpc("server.limits").contains("as_of"); }));
    const int before = links();
    ++round;
    nodes_.freeze_standbys();
    for (int number = 0; number < commands; ++number) {
      EXPECT_TRUE(client.send(
          R"({"jsonrpc":"2.0","id":1,"method":"run.start","params":{"goal":"g","command_id":")" +
          std::to_string(round) + "." + std::to_string(number) +
          R"(","pipeline":{"name":"one","station":[{"name":"work"}]}}})" + "\n"));
    }
    EXPECT_TRUE(
        eventually([&] { return is_appending() || a_.rpc("server.limits").contains("as_of"); }));
    nodes_.thaw_standbys();
    int refused = 0;
    for (int answer = 0; answer < commands; ++answer) {
      if (client.line().find("\"result\"") == std::string::npos) ++refused;
    }
    if (refused > 0) return false;
    EXPECT_LT(links() - before, commands / 2) << "each was an append of its own";
    return true;
  }));
}

}  // namespace
}  // namespace signalbox
