// What a trim of the shared log in PostgreSQL does to its tables, and to those who use them.
#include <string>
#include <thread>

#include "tests/eventually.h"
#include "tests/store/postgres_cell.h"
#include "tests/store/shared_log_conformance.h"

namespace signalbox::test {
namespace {

// A dump holds a lock on the cell's table for as long as it takes: neither the trim nor an append
// waits for it.
TEST(PostgresTrim, DropsEmptyPartitionsAndHoldsUpNobody) {  // K7
  PostgresNodes& nodes = shared_postgres_nodes();
  const PostgresLog::Options options = new_postgres_cell(nodes);
  PostgresLog log(options);
  ASSERT_TRUE(log.create(first_link(), "secret"));
  ASSERT_TRUE(log.take(0, {"one", "a"}));
  ChainLink last = first_link();
  for (int i = 0; i < 12; ++i) {  // up to 36: five partitions of 8, and the first link's
    last = link_after(last, 1);
    ASSERT_EQ(log.append(last).status, SharedAppend::Status::ok);
  }
  const std::string table =
      "sb_entry_" + nodes.query("SELECT cell FROM sb_cell WHERE name = '" + options.cell + "'");
  const auto partitions = [&] {
    return std::stoi(nodes.query("SELECT count(*) FROM pg_inherits WHERE inhparent = '" + table +
                                 "'::regclass"));
  };
  const int before = partitions();
  EXPECT_TRUE(eventually([&] { return log.trim(1, 20, 100)->begin == 18; }));
  EXPECT_EQ(partitions(), before - 3) << "the first link's, 0 to 7 and 8 to 15";
  std::thread dump([&] {
    (void)nodes.query("BEGIN; LOCK TABLE " + table +
                      " IN ACCESS SHARE MODE; SELECT pg_sleep(3); COMMIT");
  });
  EXPECT_TRUE(eventually([&] {
    return nodes.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1";
  }));
  EXPECT_TRUE(eventually([&] { return log.trim(1, 30, 100)->begin >= 27; }));
  EXPECT_EQ(log.append(link_after(last, 1)).status, SharedAppend::Status::ok);
  EXPECT_EQ(nodes.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"), "1")
      << "neither has waited for it";
  dump.join();
}

}  // namespace
}  // namespace signalbox::test
