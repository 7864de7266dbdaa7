// The shared log in PostgreSQL under settings, rights and locks that others have put there: what is
// set for the role or the database, and who holds its tables.
#include <future>
#include <string>

#include "tests/eventually.h"
#include "tests/store/postgres_cell.h"
#include "tests/store/shared_log_conformance.h"

namespace signalbox::test {
namespace {

using Effect = PostgresConnection::Effect;

struct PostgresSettingsTest : testing::Test {
  PostgresNodes& nodes = shared_postgres_nodes();
  PostgresLog::Options options = new_postgres_cell(nodes);

  void SetUp() override {
    PostgresLog log(options);
    const auto made = log.create(first_link(), "secret");
    ASSERT_TRUE(made) << made.error().message;
    const auto taken = log.take(0, {"one", "a"});
    ASSERT_TRUE(taken) << taken.error().message;
  }
  // Returns of how many sessions of the log that are as described `what` isn't null.
  [[nodiscard]] std::string sessions(const std::string& description,
                                     const std::string& what = "pid") const {
    return nodes.query("SELECT count(" + what +
                       ") FROM pg_stat_activity WHERE application_name = 'signalbox' AND " +
                       description);
  }
};

// Its bytes would be read as another number, or another text.
TEST_F(PostgresSettingsTest, ReadNoColumnThatWasGivenAnotherType) {  // K12
  PostgresLog log(options);
  ASSERT_TRUE(log.state());
  ReplicaReport own;
  own.server = {"one", "a"};
  ASSERT_TRUE(log.report(own));
  const auto change = [&](const std::string& table, const std::string& column,
                          const std::string& type) {
    nodes.query("ALTER TABLE " + table + " ALTER " + column + " TYPE " + type + " USING " + column +
                "::" + type);
  };
  const auto expect_named = [](const auto& answer, const std::string& column) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, StoreError::Kind::away);
    EXPECT_NE(answer.error().message.find("the column " + column + " is of the type text"),
              std::string::npos)
        << answer.error().message;
  };
  change("sb_beat", "acked", "text");
  expect_named(log.state(), "sb_beat.acked");
  change("sb_beat", "acked", "bigint");
  change("sb_entry", "epoch_before", "text");
  expect_named(log.last(), "sb_entry.epoch_before");
  expect_named(log.read(0, 1), "sb_entry.epoch_before");
  change("sb_entry", "epoch_before", "bigint");
  change("sb_replica", "redacted_at", "text");
  expect_named(log.replicas(), "sb_replica.redacted_at");
  nodes.query("ALTER TABLE sb_replica ALTER redacted_at DROP DEFAULT");
  change("sb_replica", "redacted_at", "bigint");
  nodes.query("ALTER TABLE sb_replica ALTER redacted_at SET DEFAULT 0");
  // Another size of an integer, and a length, change nothing.
  change("sb_cell", "feature_level", "bigint");
  change("sb_cell", "holder", "varchar(100)");
  EXPECT_TRUE(log.state());
  change("sb_cell", "feature_level", "int");
  change("sb_cell", "holder", "text");
  EXPECT_TRUE(log.state());
  EXPECT_TRUE(log.last());
  EXPECT_TRUE(log.replicas());
}

// Without the warning its answer is that of a commit which a standby has.
TEST_F(PostgresSettingsTest, NeverBelieveACommitWhoseWarningIsKeptBack) {  // K2: trap 1
  options.url += "?options=-cclient_min_messages%3Derror";
  PostgresLog log(options);
  ASSERT_TRUE(log.state());
  nodes.freeze_standbys();
  auto appended =
      std::async(std::launch::async, [&] { return log.append(link_after(first_link(), 1)); });
  const std::string waits = "wait_event = 'SyncRep'";
  EXPECT_TRUE(eventually([&] { return sessions(waits) == "1"; }));
  EXPECT_EQ(sessions(waits, "pg_cancel_backend(pid)"), "1");
  EXPECT_EQ(appended.get().status, SharedAppend::Status::unknown);
  nodes.thaw_standbys();
}

TEST_F(PostgresSettingsTest, LeaveNoSessionThatWaitsForALockAfterItsDeadline) {  // K3
  options.deadline = std::chrono::milliseconds(500);
  PostgresLog log(options);
  ASSERT_TRUE(eventually([&] { return log.state().has_value(); }));
  PostgresConnection holder(options.url + "?application_name=holder");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  const auto hold = [&](const char* statement) {
    return holder.run(Effect::reads, statement, {}, deadline).is_ok();
  };
  ASSERT_TRUE(holder.connect(deadline));
  ASSERT_TRUE(hold("BEGIN"));
  ASSERT_TRUE(hold("LOCK TABLE sb_beat IN ACCESS EXCLUSIVE MODE"));
  for (int attempt = 0; attempt < 3; ++attempt) EXPECT_FALSE(log.state());
  EXPECT_TRUE(eventually([&] { return sessions("wait_event_type = 'Lock'") == "0"; }));
  ASSERT_TRUE(hold("ROLLBACK"));
  EXPECT_TRUE(eventually([&] { return log.state().has_value(); }));
}

// As behind a pooler that gives each transaction whichever session is free: what was set for
// another one doesn't hold there, and the role's setting doesn't wait for a standby.
TEST_F(PostgresSettingsTest, WriteNothingInASessionThatIsNotSetUp) {  // K2
  nodes.query("CREATE SCHEMA pooled");
  nodes.query(
      "CREATE FUNCTION pooled.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS"
      " 'SELECT $2'");
  options.url +=
      "?options=-csearch_path%3Dpooled%2Cpg_catalog%2Cpublic%20-csynchronous_commit%3Doff";
  PostgresLog log(options);
  ASSERT_TRUE(log.state());
  const SharedAppend appended = log.append(link_after(first_link(), 1));
  EXPECT_EQ(appended.status, SharedAppend::Status::away);
  EXPECT_NE(appended.message.find("pool_mode = session"), std::string::npos) << appended.message;
  Beat beat;
  beat.epoch = 1;
  beat.beat = 1;
  const auto beaten = log.beat(beat);
  ASSERT_FALSE(beaten) << "it would prove what no standby has";
  EXPECT_EQ(beaten.error().kind, StoreError::Kind::away);
  EXPECT_FALSE(log.take(1, {"two", "b"}));
  EXPECT_FALSE(log.raise_level(1, feature_level_newest));
  EXPECT_EQ(log.last()->last, first_link().last);
  EXPECT_EQ(log.state()->epoch, 1U);
  nodes.query("DROP SCHEMA pooled CASCADE");
}

// The process that answers isn't the one that the server named, and is another one each time.
TEST_F(PostgresSettingsTest, LetNobodyConnectToAPoolerThatChangesSessions) {  // K12
  nodes.query("CREATE SCHEMA changing");
  nodes.query("CREATE SEQUENCE changing.calls");
  nodes.query(
      "CREATE FUNCTION changing.pg_backend_pid() RETURNS int LANGUAGE sql AS"
      " 'SELECT nextval(''changing.calls'')::int'");
  options.url += "?options=-csearch_path%3Dchanging%2Cpg_catalog%2Cpublic";
  PostgresLog log(options);
  const auto state = log.state();
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().kind, StoreError::Kind::away);
  EXPECT_NE(state.error().message.find("connect to the database itself"), std::string::npos)
      << state.error().message;
  nodes.query("DROP SCHEMA changing CASCADE");
}

// Until a session has its encoding, what the database says has another one; this role's name is in
// none. An answer that quotes it has to be one that clients can read.
TEST_F(PostgresSettingsTest, AreToldInUtf8) {  // K12
  options.url.replace(options.url.find("signalbox@"), std::string("signalbox").size(), "%FC");
  const auto state = PostgresLog(options).state();
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().kind, StoreError::Kind::denied) << state.error().message;
  EXPECT_EQ(state.error().message.find('\xFC'), std::string::npos);
  EXPECT_NE(state.error().message.find("role \"?\" does not exist"), std::string::npos)
      << state.error().message;
  EXPECT_NE(state.error().message.find("correct the role"), std::string::npos);
}

TEST_F(PostgresSettingsTest, DoNotMatterForStatements) {  // K12
  const std::string url = options.url;
  for (const char* setting : {"statement_timeout%3D1ms", "standard_conforming_strings%3Doff"}) {
    options.url = url + "?options=-c" + setting;
    PostgresLog log(options);
    EXPECT_TRUE(eventually([&] { return log.state().has_value(); })) << setting;
    const auto trimmed = log.trim(1, 0, 10);
    EXPECT_TRUE(trimmed) << setting << ": " << trimmed.error().message;
  }
}

TEST_F(PostgresSettingsTest, AreNamedWhenTheyHaveToBeChanged) {  // K12
  nodes.query("ALTER TABLE sb_beat RENAME TO sb_beaten");
  const auto renamed = PostgresLog(options).state();
  nodes.query("ALTER TABLE sb_beaten RENAME TO sb_beat");
  ASSERT_FALSE(renamed);
  EXPECT_NE(renamed.error().message.find("put back what was there"), std::string::npos)
      << renamed.error().message;
  options.url += "?options=-cdefault_transaction_read_only%3Don";
  const auto read_only = PostgresLog(options).state();
  ASSERT_FALSE(read_only);
  EXPECT_NE(read_only.error().message.find("default_transaction_read_only is set"),
            std::string::npos)
      << read_only.error().message;
}

// A server that took them for lost would say how to make the cell anew.
TEST_F(PostgresSettingsTest, DoNotHideThatTheTablesAreThere) {  // K12
  options.url += "?options=-csearch_path%3Dpg_catalog";
  PostgresLog log(options);
  const auto state = log.state();
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().kind, StoreError::Kind::away);
  EXPECT_NE(state.error().message.find("in the schema public: grant it USAGE"), std::string::npos)
      << state.error().message;
  const auto made = log.create(first_link(), "secret");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, StoreError::Kind::away);
}

// As while a database is restored in its place.
TEST_F(PostgresSettingsTest, SayThatACellWasThereBefore) {  // K5
  PostgresLog log(options);
  ASSERT_TRUE(log.state());
  nodes.query("ALTER TABLE sb_cell RENAME TO sb_cell_of_before");
  (void)log.state();
  const auto gone = log.state();
  nodes.query("ALTER TABLE sb_cell_of_before RENAME TO sb_cell");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, StoreError::Kind::not_found);
  EXPECT_NE(gone.error().message.find("was there before"), std::string::npos)
      << gone.error().message;
  EXPECT_TRUE(log.state());
}

// Whoever takes the cell raises the epoch of sb_cell first: with one below it nobody could.
TEST_F(PostgresSettingsTest, DoNotMakeUpForAnEpochThatWasChanged) {  // K12
  PostgresLog log(options);
  ASSERT_TRUE(log.state());
  const std::string of_this_cell =
      " WHERE cell = (SELECT cell FROM sb_cell WHERE name = '" + options.cell + "')";
  nodes.query("UPDATE sb_beat SET epoch = epoch + 100" + of_this_cell);
  const auto state = log.state();
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().kind, StoreError::Kind::damaged);
  EXPECT_NE(state.error().message.find("set it to 0"), std::string::npos) << state.error().message;
  nodes.query("UPDATE sb_beat SET epoch = 0" + of_this_cell);
  EXPECT_TRUE(log.state());
  EXPECT_TRUE(log.take(1, {"two", "b"}));
}

}  // namespace
}  // namespace signalbox::test
