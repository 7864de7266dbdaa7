// The shared log in PostgreSQL when the database fails: what its answers are worth then.
#include "store/postgres_log.h"

#include <atomic>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "tests/eventually.h"
#include "tests/fixtures/relay.h"
#include "tests/store/postgres_cell.h"
#include "tests/store/shared_log_conformance.h"

namespace signalbox::test {
namespace {

using AppendOutcome = SharedAppend::Status;

struct PostgresLogTest : testing::Test {
  PostgresNodes& nodes = shared_postgres_nodes();
  PostgresLog::Options options = new_postgres_cell(nodes);

  [[nodiscard]] PostgresLog::Options with_deadline(std::chrono::milliseconds deadline) const {
    PostgresLog::Options changed = options;
    changed.deadline = deadline;
    return changed;
  }
  [[nodiscard]] static std::string url_of(const Relay& network) {
    return "postgresql://signalbox@127.0.0.1:" + std::to_string(network.port()) + "/postgres";
  }
  static void begin_cell(PostgresLog& log) {
    const auto made = log.create(first_link(), "secret");
    ASSERT_TRUE(made) << made.error().message;
    const auto taken = log.take(0, {"one", "a"});
    ASSERT_TRUE(taken) << taken.error().message;
  }
  // Returns whether there is one of the `sessions`, soon.
  [[nodiscard]] bool is_waited_for(const std::string& sessions = waiting_sessions) const {
    return eventually([&] { return nodes.query("SELECT count(*) " + sessions) == "1"; });
  }
  static void run(PostgresConnection& connection, const std::string& statement) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    ASSERT_TRUE(connection.connect(deadline));
    ASSERT_TRUE(connection.run(PostgresConnection::Effect::reads, statement, {}, deadline).is_ok());
  }
};

// Fails unless the links are one chain, from the first link on.
void expect_chain(const std::vector<ChainLink>& links) {
  ASSERT_FALSE(links.empty());
  EXPECT_EQ(links.front(), first_link());
  for (std::size_t i = 1; i < links.size(); ++i) {
    EXPECT_EQ(links[i].prev, links[i - 1].last);
    EXPECT_EQ(links[i].before, links[i - 1].prev);
    EXPECT_EQ(links[i].epoch_before, links[i - 1].epoch);
    EXPECT_GE(links[i].epoch, links[i - 1].epoch);
  }
}

TEST_F(PostgresLogTest, NeverBelievesACommitWhoseWaitWasCancelled) {
  PostgresLog log(options);
  begin_cell(log);
  const ChainLink link = link_after(first_link(), 1);
  nodes.freeze_standbys();
  auto appended = std::async(std::launch::async, [&] { return log.append(link); });
  EXPECT_TRUE(is_waited_for());
  EXPECT_EQ(nodes.query(std::string("SELECT pg_cancel_backend(pid) ") + waiting_sessions), "t");
  const SharedAppend answer = appended.get();
  EXPECT_EQ(answer.status, AppendOutcome::unknown);
  EXPECT_NE(answer.message.find("synchronous replication"), std::string::npos) << answer.message;
  nodes.thaw_standbys();
  // It is there, though it was never acknowledged.
  EXPECT_EQ(log.append(link).status, AppendOutcome::conflict);
  EXPECT_EQ(*log.last(), link);
  EXPECT_TRUE(*log.beat(beat_of(1, 1)));
}

TEST_F(PostgresLogTest, TakesItFromAWriterWhoseAppendIsUnderWay) {
  PostgresLog log(options);
  begin_cell(log);
  const ChainLink link = link_after(first_link(), 1);
  PostgresLog hasty(with_deadline(std::chrono::milliseconds(500)));
  ASSERT_TRUE(hasty.state());
  nodes.freeze_standbys();
  // On a busy machine its deadline may end before anything is sent.
  ASSERT_TRUE(eventually([&] { return hasty.append(link).status == AppendOutcome::unknown; }));
  ASSERT_TRUE(is_waited_for()) << "its statement may begin later than its call ends";
  EXPECT_EQ(*log.last(), first_link()) << "a read doesn't see what is under way";
  PostgresLog impatient(with_deadline(std::chrono::milliseconds(500)));
  ASSERT_TRUE(eventually([&] {
    const auto failed = impatient.take(1, {"impatient", "b"});
    return !failed && failed.error().kind == StoreError::Kind::io;
  }));
  PostgresLog next(options);
  auto taken = std::async(std::launch::async, [&] {
    // The impatient one's epoch appears as soon as it is durable.
    auto epoch = next.take(1, {"next", "c"});
    if (!epoch) epoch = next.take(2, {"next", "c"});
    return epoch;
  });
  EXPECT_EQ(taken.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  nodes.thaw_standbys();
  const auto epoch = taken.get();
  ASSERT_TRUE(epoch) << epoch.error().message;
  EXPECT_EQ(*next.read(before_chain, 10), (std::vector{first_link(), link}));
  EXPECT_EQ(log.append(link).status, AppendOutcome::conflict);
  EXPECT_EQ(next.append(link_after(link, *epoch)).status, AppendOutcome::ok);
}

// The former writer's statement has looked at the epoch, and has inserted nothing yet: the moment
// that an insert of the same key doesn't meet.
TEST_F(PostgresLogTest, WaitsForAnAppendThatHasOnlyBegun) {
  PostgresLog log(options);
  begin_cell(log);
  const std::string cell = log.state() ? nodes.query("SELECT max(cell) FROM sb_cell") : "";
  const std::string table = "sb_entry_" + cell;
  PostgresConnection holder(options.url);
  run(holder, "SELECT pg_advisory_lock(1)");
  const std::string sessions_at = "FROM pg_stat_activity WHERE wait_event = ";
  auto slow = std::async(std::launch::async, [&] {
    return nodes.query("INSERT INTO " + table + " SELECT " + cell +
                       ", 0, 3, -1, 1, 0, 'late', '' FROM (SELECT pg_advisory_xact_lock(1)) s WHERE"
                       " (SELECT epoch FROM sb_cell WHERE cell = " +
                       cell + ") = 1 RETURNING last");
  });
  EXPECT_TRUE(is_waited_for(sessions_at + "'advisory'"));
  PostgresLog next(options);
  auto taken = std::async(std::launch::async, [&] { return next.take(1, {"next", "b"}); });
  EXPECT_TRUE(is_waited_for(sessions_at + "'relation'"));
  holder.close();
  const auto epoch = taken.get();
  ASSERT_TRUE(epoch) << epoch.error().message;
  EXPECT_EQ(next.last()->head, "late") << "nothing of the former writer comes after a take";
  EXPECT_EQ(slow.get(), "3");
}

TEST_F(PostgresLogTest, TakesNothingWithoutAQuorumUnlessToldTo) {
  PostgresLog log(options);
  begin_cell(log);
  const ChainLink link = link_after(first_link(), 1);
  const auto set_names = [&](const std::string& change) {
    nodes.query("ALTER SYSTEM " + change);
    nodes.query("SELECT pg_reload_conf()");
  };
  set_names("SET synchronous_standby_names = ''");
  ASSERT_TRUE(eventually([&] { return !log.durability()->is_quorum; }));
  // It was checked a moment ago: the append itself notices.
  const SharedAppend refused = log.append(link);
  EXPECT_EQ(refused.status, AppendOutcome::away);
  EXPECT_NE(refused.message.find("synchronous_standby_names"), std::string::npos)
      << refused.message;
  EXPECT_EQ(log.take(1, {"one", "a"}).error().kind, StoreError::Kind::away);
  PostgresLog::Options degraded = options;
  degraded.durability = PostgresLog::Durability::degraded_ok;
  PostgresLog other(degraded);
  EXPECT_EQ(other.append(link).status, AppendOutcome::ok);
  EXPECT_FALSE(other.durability()->is_quorum);
  degraded.durability = PostgresLog::Durability::attested;
  PostgresLog attested(degraded);
  EXPECT_EQ(attested.append(link_after(link, 1)).status, AppendOutcome::ok);
  EXPECT_TRUE(attested.durability()->is_quorum);
  set_names("RESET synchronous_standby_names");
  nodes.await_standbys(2);
  ASSERT_TRUE(eventually([&] { return log.durability()->is_quorum; }));
  EXPECT_EQ(log.append(link_after(link_after(link, 1), 1)).status, AppendOutcome::ok);
}

// What an orchestrator does that loses the standbys: PostgreSQL then answers whoever waits as if
// one had acknowledged, without a warning.
TEST_F(PostgresLogTest, NeverBelievesACommitWhoseStandbysWereTakenOffTheList) {  // K2
  PostgresLog log(options);
  begin_cell(log);
  const ChainLink link = link_after(first_link(), 1);
  nodes.freeze_standbys();
  auto appended = std::async(std::launch::async, [&] { return log.append(link); });
  EXPECT_TRUE(is_waited_for());
  nodes.query("ALTER SYSTEM SET synchronous_standby_names = ''");
  nodes.query("SELECT pg_reload_conf()");
  const SharedAppend answer = appended.get();
  nodes.thaw_standbys();
  nodes.query("ALTER SYSTEM RESET synchronous_standby_names");
  nodes.query("SELECT pg_reload_conf()");
  nodes.await_standbys(2);
  EXPECT_EQ(answer.status, AppendOutcome::unknown) << answer.message;
}

TEST_F(PostgresLogTest, GrowsByOneChainUnderTwoWriters) {
  PostgresLog first(options);
  begin_cell(first);
  std::atomic<int> appended = 0;
  const auto write = [&](const std::string& name) {
    PostgresLog log(options);
    for (int i = 0; i < 20; ++i) {
      const auto state = log.state();
      if (!state) return;
      const auto epoch = log.take(state->epoch, {name, "a"});
      for (int links = 0; epoch && links < 5; ++links) {
        const auto end = log.last();
        if (!end || log.append(link_after(*end, *epoch)).status != AppendOutcome::ok) break;
        ++appended;
      }
    }
  };
  std::thread other([&] { write("other"); });
  write("one");
  other.join();
  const auto links = first.read(before_chain, 1000);
  ASSERT_TRUE(links) << links.error().message;
  expect_chain(*links);
  EXPECT_EQ(links->size(), 1 + static_cast<std::size_t>(appended.load()));
  EXPECT_GT(appended.load(), 5);
}

TEST_F(PostgresLogTest, GoesOnAtTheNextPrimary) {
  PostgresNodes own(2);
  PostgresLog::Options there = new_postgres_cell(own);
  there.deadline = std::chrono::seconds(10);
  PostgresLog log(there);
  begin_cell(log);
  std::vector<ChainLink> acknowledged = {first_link()};
  std::atomic<std::size_t> count = 0;
  std::atomic<bool> ends = false;
  std::thread writer([&] {
    while (!ends) {
      const ChainLink link = link_after(acknowledged.back(), 1);
      for (SharedAppend answer = log.append(link); answer.status != AppendOutcome::ok;
           answer = log.append(link)) {
        // Its own link is there, and a beat behind it proves that it is durable.
        if (answer.status != AppendOutcome::conflict) continue;
        const auto seen = log.read(link.prev, 1);
        if (seen && *seen == std::vector{link} && log.beat(beat_of(1, 1)).value_or(false)) break;
        if (seen && !seen->empty() && seen->front() != link) return;
      }
      acknowledged.push_back(link);
      ++count;
    }
  });
  EXPECT_TRUE(eventually([&] { return count > 50; }));
  own.kill(own.primary());
  own.promote();
  const std::size_t before = count;
  EXPECT_TRUE(eventually([&] { return count > before + 20; })) << "nothing is appended any more";
  ends = true;
  writer.join();
  const auto links = log.read(before_chain, 100'000);
  ASSERT_TRUE(links) << links.error().message;
  EXPECT_TRUE(*links == acknowledged) << links->size() << " of " << acknowledged.size();
}

TEST_F(PostgresLogTest, RefusesTablesOfANewerVersion) {
  PostgresLog log(options);
  begin_cell(log);
  nodes.query("COMMENT ON TABLE sb_cell IS 'signalbox shared log, version 2'");
  EXPECT_EQ(PostgresLog(options).state().error().kind, StoreError::Kind::unsupported);
  EXPECT_EQ(PostgresLog(options).create(first_link(), "secret").error().kind,
            StoreError::Kind::unsupported);
  nodes.query("COMMENT ON TABLE sb_cell IS 'signalbox shared log, version 1'");
  EXPECT_TRUE(PostgresLog(options).state());
}

TEST_F(PostgresLogTest, GoesOnWithTablesOfEarlierPrograms) {  // K9
  PostgresLog log(options);
  begin_cell(log);
  for (const char* missing : {"DROP COLUMN erased_through, DROP COLUMN redacted_at",
                              "DROP COLUMN feature_level, DROP COLUMN level_seen",
                              "DROP COLUMN identity, DROP COLUMN feature_level,"
                              " DROP COLUMN level_seen"}) {
    nodes.query(std::string("ALTER TABLE sb_replica ") + missing);
    PostgresLog later(options);
    ASSERT_TRUE(later.report({{"one", "a", "an identity"}, "active", "1.2", 9, "", 0, 2, 0, 7}));
    EXPECT_EQ(later.replicas()->at(0).server.identity, "an identity");
    EXPECT_EQ(later.replicas()->at(0).erased_through, 7U);
    EXPECT_EQ(later.replicas()->at(0).feature_level, 2);
  }
  nodes.query("UPDATE sb_cell SET feature_level = 1 WHERE name = '" + options.cell + "'");
  EXPECT_EQ(log.state()->feature_level, 1) << "as in a cell that such a program made";
}

// It reports over its own row of before, after somebody installed it again.
TEST_F(PostgresLogTest, TakesAReportWithoutALevelForTheFirst) {  // K9
  PostgresLog log(options);
  begin_cell(log);
  const ReplicaReport report{{"one", "a", "an identity"}, "standby", "1.2", 9, "", 0, 2};
  ASSERT_TRUE(log.report(report));
  EXPECT_EQ(log.replicas()->at(0).feature_level, 2);
  EXPECT_EQ(nodes.query("INSERT INTO sb_replica (cell, name, address, role, version, applied, root,"
                        " seen, identity) SELECT cell, 'one', 'a', 'standby', '1.1', 9, '',"
                        " clock_timestamp(), 'an identity' FROM sb_cell WHERE name = '" +
                        options.cell +
                        "' ON CONFLICT (cell, name) DO UPDATE SET version = excluded.version,"
                        " seen = excluded.seen, identity = excluded.identity RETURNING version"),
            "1.1");
  EXPECT_EQ(log.replicas()->at(0).version, "1.1");
  EXPECT_EQ(log.replicas()->at(0).feature_level, feature_level_min);
  ASSERT_TRUE(log.report(report));
  EXPECT_EQ(log.replicas()->at(0).feature_level, 2);
}

// A dump, or a transaction that somebody forgot, keeps the table from being changed, for hours
// perhaps: nobody stands in a line behind whoever would change it.
TEST_F(PostgresLogTest, ReportsWithoutAnIdentityWhileTheTableIsRead) {
  PostgresLog log(options);
  begin_cell(log);
  nodes.query("ALTER TABLE sb_replica DROP COLUMN identity");
  PostgresConnection reader(options.url);
  run(reader, "BEGIN");
  run(reader, "SELECT FROM sb_replica");

  PostgresLog later(options);
  const ReplicaReport report{{"one", "a", "an identity"}, "active", "1.2", 9, "", 0, 2};
  const auto told = later.report(report);
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(later.replicas()->at(0).server.identity, "");
  EXPECT_EQ(later.replicas()->at(0).feature_level, 2);
  PostgresLog another(options);
  EXPECT_EQ(another.replicas()->at(0).server.identity, "");
  EXPECT_TRUE(*later.beat(beat_of(1, 1)));
  EXPECT_EQ(nodes.query("SELECT count(*) FROM pg_locks WHERE NOT granted"), "0");

  reader.close();
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(later.report(report));
    return later.replicas()->at(0).server.identity == "an identity";
  }));
  EXPECT_EQ(another.replicas()->at(0).server.identity, "an identity") << "on the same connection";
}

// A network on which the link takes longer than a call may otherwise.
TEST_F(PostgresLogTest, CarriesALargeLinkOverASlowNetwork) {
  PostgresLog maker(options);
  begin_cell(maker);
  const Relay network(nodes.primary_port(), 4 * 1024 * 1024);
  PostgresLog::Options slow = with_deadline(std::chrono::seconds(3));
  slow.url = url_of(network);
  PostgresLog log(slow);
  ASSERT_TRUE(eventually([&] { return log.state().has_value(); }));
  ChainLink link = link_after(first_link(), 1);
  append_link_entry(std::string(16 * 1024 * 1024, 'x'), link.bytes);
  const SharedAppend appended = log.append(link);
  ASSERT_EQ(appended.status, AppendOutcome::ok) << appended.message;
  const auto read = log.read(link.prev, 16);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(*read == std::vector{link});
}

// A server that is slow to let anybody in is reached by calls that have less time each.
TEST_F(PostgresLogTest, GoesOnWithAConnectionThatWasBegun) {
  const Relay network(nodes.primary_port(), 2 * 1024 * 1024);
  PostgresConnection connection(url_of(network));
  const auto connect = [&](std::chrono::milliseconds time) {
    return connection.connect(std::chrono::steady_clock::now() + time);
  };
  nodes.freeze(nodes.primary());
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(connect(std::chrono::milliseconds(50)).error().kind, StoreError::Kind::away);
  }
  nodes.thaw(nodes.primary());
  const auto connected = connect(std::chrono::seconds(60));
  ASSERT_TRUE(connected) << connected.error().message;
  EXPECT_TRUE(*connected) << "a new one to whoever asks";
  EXPECT_EQ(network.connections(), 1);
}

TEST_F(PostgresLogTest, SaysThatAllHostsRefuseIt) {
  const std::string url = nodes.url();
  const std::size_t database = url.rfind('/');
  ASSERT_NE(database, std::string::npos) << url;
  PostgresLog::Options wrong = options;
  wrong.url = url.substr(0, database) + "/no_such_database" +
              url.substr(std::min(url.size(), url.find('?', database)));
  const auto refused = PostgresLog(wrong).state();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::denied) << refused.error().message;
  EXPECT_NE(refused.error().message.find("no_such_database"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("LOCATION"), std::string::npos) << refused.error().message;
  // One of them may be away, and know it.
  wrong.url = "postgresql://nobody@127.0.0.1:1/none";
  EXPECT_EQ(PostgresLog(wrong).state().error().kind, StoreError::Kind::away);
}

TEST_F(PostgresLogTest, KeepsPasswordsToItself) {
  for (const auto& [url, kind] :
       {std::pair{"postgresql://me:sesame@[broken/db", StoreError::Kind::unsupported},
        std::pair{"postgresql://me:sesame@127.0.0.1:1/db", StoreError::Kind::away},
        std::pair{"host=127.0.0.1 port=1 password=sesame nonsense",
                  StoreError::Kind::unsupported}}) {
    PostgresLog::Options wrong = options;
    wrong.url = url;
    const auto state = PostgresLog(wrong).state();
    ASSERT_FALSE(state);
    EXPECT_EQ(state.error().kind, kind) << url;
    EXPECT_EQ(state.error().message.find("sesame"), std::string::npos) << state.error().message;
  }
}

}  // namespace
}  // namespace signalbox::test
