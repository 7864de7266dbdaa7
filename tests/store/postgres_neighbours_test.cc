// The shared log in PostgreSQL beside others who use the same instance: what they do, or hold,
// slows no append.
#include <functional>
#include <future>
#include <string>

#include "tests/eventually.h"
#include "tests/store/postgres_cell.h"
#include "tests/store/shared_log_conformance.h"

namespace signalbox::test {
namespace {

using Effect = PostgresConnection::Effect;

struct PostgresNeighboursTest : testing::Test {
  PostgresNodes& nodes = shared_postgres_nodes();

  static void begin_cell(PostgresLog& log) {
    const auto made = log.create(first_link(), "secret");
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_TRUE(log.take(0, {"one", "a"}));
  }
  // Waits until so many sessions are as described.
  [[nodiscard]] bool are_sessions(const std::string& count, const std::string& description) const {
    return eventually([&] {
      return nodes.query("SELECT count(*) FROM pg_stat_activity WHERE " + description) == count;
    });
  }
  // Runs a statement again and again on a connection of its own, with no wait for standbys.
  static void repeat(const std::string& url, int count, const std::string& statement) {
    PostgresConnection connection(url);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    ASSERT_TRUE(connection.connect(deadline));
    ASSERT_TRUE(
        connection.run(Effect::reads, "SET synchronous_commit = off", {}, deadline).is_ok());
    for (int each = 0; each < count; ++each) {
      ASSERT_TRUE(connection.run(Effect::writes, statement, {}, deadline).is_ok());
    }
  }
  // Returns how many pages of the tables whose names begin so `work` looks at. Its connections end
  // with it, which is when the database counts what they did.
  [[nodiscard]] std::int64_t pages(const std::string& tables,
                                   const std::function<void()>& work) const {
    const auto count = [&] {
      EXPECT_TRUE(are_sessions("0", "application_name = 'signalbox'"));
      return std::stoll(
          nodes.query("SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read, 0) +"
                      " coalesce(idx_blks_hit, 0)) FROM pg_statio_user_tables"
                      " WHERE starts_with(relname, '" +
                      tables + "')"));
    };
    const std::int64_t before = count();
    work();
    return count() - before;
  }
};

// A commit that notifies holds a lock of the whole instance until a standby has answered: were an
// append one, the logs of all cells would stand in one line.
TEST_F(PostgresNeighboursTest, AppendsWhileACommitWithANotificationWaits) {  // K2
  PostgresLog one(new_postgres_cell(nodes));
  begin_cell(one);
  PostgresLog other(new_postgres_cell(nodes));
  begin_cell(other);
  nodes.query("CREATE TABLE notified (number int)");
  nodes.freeze_standbys();
  const auto notify = [&] {
    return nodes.query("INSERT INTO notified SELECT 1 FROM pg_notify('anybody', '')");
  };
  const std::string notifying = "query LIKE 'INSERT INTO notified%' AND ";
  auto notified = std::async(std::launch::async, notify);
  EXPECT_TRUE(are_sessions("1", notifying + "wait_event = 'SyncRep'"));
  auto notified_next = std::async(std::launch::async, notify);
  EXPECT_TRUE(are_sessions("1", notifying + "wait_event_type = 'Lock'"))
      << "notifications no longer wait for one another: this test shows nothing";
  const auto append = [](PostgresLog& log) { return log.append(link_after(first_link(), 1)); };
  auto appended = std::async(std::launch::async, [&] { return append(one); });
  auto appended_other = std::async(std::launch::async, [&] { return append(other); });
  EXPECT_TRUE(are_sessions("2", "application_name = 'signalbox' AND wait_event = 'SyncRep'"))
      << "an append waits for something else than its own standby";
  nodes.thaw_standbys();
  EXPECT_EQ(appended.get().status, SharedAppend::Status::ok);
  EXPECT_EQ(appended_other.get().status, SharedAppend::Status::ok);
  EXPECT_EQ(notified.get() + notified_next.get(), "");
  nodes.query("DROP TABLE notified");
}

// While any session holds a snapshot, all versions of a row are kept that came after it, and
// whoever looks for the row walks past them. An append looks at no row that changes.
TEST_F(PostgresNeighboursTest, LooksAtAsManyPagesForAnAppendWhileASnapshotIsHeld) {  // K2
  constexpr int some = 100;
  constexpr int many = 2000;
  PostgresLog::Options options = new_postgres_cell(nodes);
  options.partition_positions = Position{1} << 20;  // a new partition has pages of its own
  {
    PostgresLog log(options);
    begin_cell(log);
  }
  nodes.query("CREATE TABLE one_row (cell int PRIMARY KEY, tail bigint NOT NULL)");
  nodes.query("INSERT INTO one_row VALUES (1, 0)");

  PostgresConnection holder(options.url + "?application_name=holder");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  ASSERT_TRUE(holder.connect(deadline));
  ASSERT_TRUE(
      holder.run(Effect::reads, "BEGIN ISOLATION LEVEL REPEATABLE READ", {}, deadline).is_ok());
  ASSERT_TRUE(holder.run(Effect::reads, "SELECT count(*) FROM sb_cell", {}, deadline).is_ok());

  ChainLink link = first_link();
  const auto append = [&](PostgresLog& log, int count) {
    for (int each = 0; each < count; ++each) {
      link = link_after(link, 1);
      ASSERT_EQ(log.append(link).status, SharedAppend::Status::ok);
    }
  };
  const auto update = [&](int count) {
    repeat(options.url, count, "UPDATE one_row SET tail = tail + 1 WHERE cell = 1");
  };
  const auto pages_of_append = [&] {
    return pages("sb_", [&] {
      PostgresLog log(options);
      append(log, some);
    });
  };
  const auto pages_of_update = [&] { return pages("one_row", [&] { update(some); }); };
  const std::int64_t first_append = pages_of_append();
  const std::int64_t first_update = pages_of_update();
  {
    PostgresLog log(options);
    for (int beat = 1; beat <= many / 4; ++beat) {
      append(log, 4);
      ASSERT_TRUE(*log.beat(beat_of(1, static_cast<std::uint64_t>(beat))));
    }
  }
  update(many);
  const std::int64_t last_append = pages_of_append();
  const std::int64_t last_update = pages_of_update();
  // An index of 2,000 entries is one level deeper than one of a hundred.
  EXPECT_LE(last_append, first_append + 4 * some) << "of " << first_append;
  EXPECT_GE(last_update, 3 * first_update)
      << "a row that is updated costs no more, so this test shows nothing";
  nodes.query("DROP TABLE one_row");
}

}  // namespace
}  // namespace signalbox::test
