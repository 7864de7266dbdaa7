// What a trim of the shared log in PostgreSQL does to its tables, and to those who use them.
#include <string>

#include "tests/eventually.h"
#include "tests/store/postgres_cell.h"
#include "tests/store/shared_log_conformance.h"

namespace signalbox::test {
namespace {

class PostgresTrim : public testing::Test {
 protected:
  PostgresTrim() {
    EXPECT_TRUE(log_.create(first_link(), "secret"));
    EXPECT_TRUE(log_.take(0, {"one", "a"}));
    table_ =
        "sb_entry_" + nodes_.query("SELECT cell FROM sb_cell WHERE name = '" + options_.cell + "'");
  }

  // Appends a link with an entry of that size.
  void append(std::size_t bytes = 0) {
    ChainLink link = link_after(last_, 1);
    if (bytes > 0) append_link_entry(std::string(bytes, 'x'), link.bytes);
    ASSERT_EQ(log_.append(link).status, SharedAppend::Status::ok);
    last_ = link;
  }
  // Returns where the log began before a trim.
  Position trim(Position through) {
    const auto trimmed = log_.trim(1, through, 100);
    EXPECT_TRUE(trimmed) << trimmed.error().message;
    return trimmed ? trimmed->begin : before_chain;
  }
  [[nodiscard]] int partitions() {
    return std::stoi(nodes_.query("SELECT count(*) FROM pg_inherits WHERE inhparent = '" + table_ +
                                  "'::regclass"));
  }

  PostgresNodes& nodes_ = shared_postgres_nodes();
  const PostgresLog::Options options_ = new_postgres_cell(nodes_);
  PostgresLog log_{options_};
  ChainLink last_ = first_link();
  std::string table_;
};

// A dump holds a lock on the cell's table for as long as it takes: neither the trim nor an append
// waits for it, and what it kept from being dropped is dropped afterwards.
TEST_F(PostgresTrim, DropsEmptyPartitionsAndHoldsUpNobody) {  // K7
  for (int i = 0; i < 12; ++i) append();  // up to 36: five partitions of 8, and the first link's
  const int before = partitions();
  EXPECT_TRUE(eventually([&] { return trim(20) == 18; }));
  EXPECT_EQ(partitions(), before - 3) << "the first link's, 0 to 7 and 8 to 15";
  PostgresConnection dump(options_.url);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  ASSERT_TRUE(dump.connect(deadline));
  ASSERT_TRUE(dump.run(PostgresConnection::Effect::reads, "BEGIN", {}, deadline).is_ok());
  ASSERT_TRUE(
      dump.run(PostgresConnection::Effect::reads, "SELECT FROM " + table_, {}, deadline).is_ok());
  EXPECT_TRUE(eventually([&] { return trim(30) == 30; }));
  append();  // up to 39
  EXPECT_EQ(partitions(), before - 3) << "the dump still has them";
  dump.close();
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(trim(30), 30U);
    return partitions() == before - 4;
  })) << partitions();
}

// The next trim may be days later.
TEST_F(PostgresTrim, DropsAPartitionWithTheTrimThatEmptiesIt) {  // K7
  for (int i = 0; i < 12; ++i) append();
  const int before = partitions();
  std::size_t links = 0;
  while (links < 9) {  // the first one, and those up to 24
    const auto trimmed = log_.trim(1, 24, 100);
    ASSERT_TRUE(trimmed) << trimmed.error().message;
    ASSERT_GT(trimmed->links, 0U);
    links += trimmed->links;
  }
  EXPECT_EQ(partitions(), before - 4) << "the first link's, 0 to 7, 8 to 15 and 16 to 23";
  EXPECT_EQ(*log_.last(), last_);
}

// A call has little time between two beats.
TEST_F(PostgresTrim, RemovesSomeMegabytesAtOnce) {  // K7
  constexpr std::size_t bytes = 5 * 1024 * 1024;
  for (int i = 0; i < 4; ++i) append(bytes);
  append();
  const auto removed = [&] {
    const auto trimmed = log_.trim(1, last_.prev, 100);
    EXPECT_TRUE(trimmed) << trimmed.error().message;
    return trimmed ? trimmed->links : 0;
  };
  std::size_t links = removed();  // the cell's first one has a partition of its own
  EXPECT_EQ(links, 1U);
  while (const std::size_t more = removed()) {
    EXPECT_LE(more, 2U);
    links += more;
  }
  EXPECT_EQ(links, 5U);
  EXPECT_EQ(*log_.last(), last_);
}

}  // namespace
}  // namespace signalbox::test
