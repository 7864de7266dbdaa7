// Servers of a cell over a real database, on machines and a database that misbehave: full disks,
// wrong clocks, rights that are taken away, sessions that are ended, tables that are locked, rows
// that were changed (BEHAVIOURS, chapter K).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "store/postgres_connection.h"
#include "tests/crash/fake_wall_clock.h"
#include "tests/crash/raw_connection.h"
#include "tests/crash/small_disk.h"
#include "tests/fixtures/needed_ability.h"
#include "tests/scenarios/cell_trouble_fixture.h"

namespace signalbox {
namespace {

TEST_F(CellTrouble, AWriterWhoseDiskIsFullLetsGoOfTheCellAtOnce) {  // K11
  // Less than RocksDB would like to reserve, and more than a server needs to take the cell.
  constexpr std::uint64_t disk_bytes = 112 * 1024 * 1024;
  test::SmallDisk disk;
  if (const std::string why = disk.mount(a_.server().data(), disk_bytes); !why.empty()) {
    SIGNALBOX_CANNOT_RUN("no disk of our own can be mounted here (" + why +
                         "): run it as root, or where user namespaces are permitted");
  }
  a_.configure(a_.settings(nodes_.url()));
  start_both();
  (void)start_run("before", "before");
  ASSERT_TRUE(disk.fill());
  Goals acknowledged = {"before"};
  // Some bytes may still fit into files that have their space. What isn't answered for may be
  // there.
  constexpr int at_once = 250;
  for (int first = 0; a_.role() == "active"; first += at_once) {
    ASSERT_LT(first, 100'000) << a_.server().messages();
    acknowledged.merge(start_many(a_, first, at_once));
  }
  await_role(b_, "active");
  (void)start_run("after", "after");
  acknowledged.insert("after");
  const Goals there = goals(b_);
  EXPECT_TRUE(std::ranges::includes(there, acknowledged));
  EXPECT_TRUE(a_.server().running()) << a_.server().messages();
  EXPECT_TRUE(a_.server().logs("no longer the writer of the cell main")) << a_.server().messages();
  disk.make_space();
  await_role(a_, "standby");
  await_step();
  EXPECT_EQ(goals(a_), there);
}

// It shows what it has, and doesn't take the cell when its turn comes.
TEST_F(CellTrouble, AStandbyWhoseDiskIsFullSaysSoAndFollowsOnceThereIsSpace) {  // K11
  constexpr std::uint64_t disk_bytes = 112 * 1024 * 1024;
  test::SmallDisk disk;
  if (const std::string why = disk.mount(b_.server().data(), disk_bytes); !why.empty()) {
    SIGNALBOX_CANNOT_RUN("no disk of our own can be mounted here (" + why +
                         "): run it as root, or where user namespaces are permitted");
  }
  b_.configure(b_.settings(nodes_.url()));
  start_both();
  (void)start_run("before", "before");
  await_step();
  ASSERT_TRUE(disk.fill());
  Goals acknowledged = {"before"};
  constexpr int at_once = 250;
  for (int first = 0; trouble_of(b_).find("No space left") == std::string::npos; first += at_once) {
    ASSERT_LT(first, 100'000) << b_.server().messages();
    acknowledged.merge(start_many(a_, first, at_once));
  }
  EXPECT_EQ(goals(b_).count("before"), 1U);
  EXPECT_FALSE(text_at(b_.rpc("run.list"), "as_of").empty());
  // On a busy machine some were refused, and are there all the same.
  Goals all;
  ASSERT_TRUE(eventually([&] {
    all = goals(a_);
    return std::ranges::includes(all, acknowledged);
  }));
  a_.server().kill();
  EXPECT_EQ(code_of(b_.ask({"rpc", "run.start", R"({"goal":"g"})"})), "NOT_ACTIVE");
  disk.make_space();
  await_role(b_, "active");
  EXPECT_EQ(goals(b_), all);
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
  // Both are of the same length, so that the earlier text is the earlier time.
  const std::string shown = text_at(b_.rpc("run.list"), "as_of");
  const std::string later = start_run("later", "2");
  const auto run = a_.rpc("run.get", {{"run_id", later}}).at("run").as_object();
  EXPECT_FALSE(shown.empty());
  EXPECT_LT(shown, text_at(run, "started_at"));
  a_.server().kill();
  await_trouble(b_, "this server doesn't take the cell");
  EXPECT_EQ(code_of(b_.ask({"rpc", "run.start", R"({"goal":"g"})"})), "NOT_ACTIVE");
  clock.set("-1h");
  await_trouble(b_, "s behind the database's");
  clock.set("+0s");
  await_role(b_, "active");
  EXPECT_EQ(goals(b_), (Goals{"g", "later"}));
}

TEST_F(CellTrouble, SaysWhichRightIsMissingAndGoesOnOnceItIsBack) {  // K12
  use_limited_role();
  start_both();
  (void)start_run("before", "1");
  // Beats are still taken, and nothing else.
  (void)nodes_.query("revoke insert on sb_entry_1 from limited");
  std::thread asks([&] { (void)start_run("meanwhile", "2"); });
  await_trouble(a_, "permission denied for table sb_entry_1");
  // Until its lease is over it takes what waits for the log then, and whoever asked for it.
  ASSERT_TRUE(a_.server().logs("ms (the shared log's database: permission denied for"));
  const Output refused = a_.ask({"rpc", "run.start", R"({"goal":"refused"})"});
  EXPECT_EQ(code_of(refused), "STORAGE_AWAY") << refused.out;
  EXPECT_NE(refused.out.find("permission denied for table sb_entry_1"), std::string::npos)
      << refused.out;
  EXPECT_EQ(b_.role(), "standby");
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
  // So many times only, since on a busy machine no server gets as far as an append between two.
  std::thread ends([&] {
    for (int times = 0; !over && times < 200; ++times) {
      end_sessions();
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
  });
  Goals acknowledged;
  for (int number = 0; number < 8; ++number) {
    const std::string goal = "g" + std::to_string(number);
    (void)start_run(goal, goal);
    acknowledged.insert(goal);
  }
  over = true;
  ends.join();
  await_roles();
  await_step();
  EXPECT_EQ(goals(a_), acknowledged);
  EXPECT_EQ(goals(b_), acknowledged);
}

// As while somebody changes a table. What waits for the lock and is given up takes up no
// connection.
TEST_F(CellTrouble, WaitsForTablesThatAreLocked) {  // K3
  start_both();
  (void)start_run("before", "1");
  await_step();
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
  // A connection that was given up may have been that of the active one's session.
  await_roles();
  for (const CellPeer* peer : {&a_, &b_}) {
    EXPECT_TRUE(eventually([&] { return trouble_of(*peer).empty(); })) << trouble_of(*peer);
  }
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
  EXPECT_TRUE(b_.server().logs("has after " + prev + " isn't what its writer wrote"))
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
  constexpr int runs = 2'000;
  a_.server().start();
  await_role(a_, "active");
  constexpr int at_once = 250;
  Goals acknowledged;
  // Some are refused if the database is slow for a second.
  for (int first = 0; first < 10 * runs && acknowledged.size() < runs; first += at_once) {
    acknowledged.merge(start_many(a_, first, at_once));
  }
  ASSERT_GE(acknowledged.size(), runs) << a_.server().messages();
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
  const Goals there = goals(b_);
  EXPECT_TRUE(std::ranges::includes(there, acknowledged));
  EXPECT_EQ(std::set<std::string>(there.begin(), there.end()).size(), there.size())
      << "one is there twice";
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

// Its holder can't renew it meanwhile. The whole outage of a minute: SIGNALBOX_OUTAGE_SECONDS=60.
TEST_F(CellTrouble, AnOutageEndsNoLease) {  // K3
  const char* const asked = std::getenv("SIGNALBOX_OUTAGE_SECONDS");
  const std::chrono::seconds outage(asked != nullptr ? std::atoi(asked) : 6);
  start_both();
  const auto held = a_.rpc("lock.acquire", {{"key", "k"}, {"owner", "o"}, {"lease_ms", 5000}});
  ASSERT_TRUE(held.contains("token"));
  const std::size_t primary = nodes_.primary();
  nodes_.freeze(primary);
  std::this_thread::sleep_for(outage);
  EXPECT_TRUE(eventually([&] { return a_.rpc("server.limits").contains("as_of"); }));
  const boost::json::object refresh{{"key", "k"}, {"token", held.at("token")}};
  EXPECT_EQ(code_of(a_.ask({"rpc", "lock.refresh", boost::json::serialize(refresh)})),
            "STORAGE_AWAY");
  nodes_.thaw(primary);
  EXPECT_TRUE(eventually([&] {
    return a_.rpc("lock.refresh", refresh).contains("token") ||
           b_.rpc("lock.refresh", refresh).contains("token");
  })) << a_.server().messages();
  await_roles();
  await_step();
  const CellPeer& writer = a_.role() == "active" ? a_ : b_;
  const boost::json::object ends{{"types", {"LockExpired", "LockAcquired"}}};
  EXPECT_EQ(writer.rpc("events.read", ends).at("events").as_array().size(), 1U);
}

}  // namespace
}  // namespace signalbox
