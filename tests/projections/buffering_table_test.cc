// The buffering table holds rows that the disk refuses, up to a bound, and writes them later.
// table_conformance_test.cc tests that it behaves like any other table meanwhile.
#include <gtest/gtest.h>

#include <string>

#include "projections/buffering_table.h"
#include "tests/projections/refusing_table.h"

namespace signalbox {
namespace {

using Kind = StoreError::Kind;

class BufferingTableTest : public ::testing::Test {
 protected:
  static constexpr std::size_t bytes_max = 1000;

  Stored<void> put(const char* key, const std::string& value, Position applied) {
    TableBatch batch;
    batch.put(key, value);
    return table.write(batch, applied);
  }

  RefusingTable below;
  BufferingTable table{below, bytes_max};
};

TEST_F(BufferingTableTest, WhatTheDiskRefusesIsHeldAndWrittenDownLater) {
  ASSERT_TRUE(put("a", "1", 1).has_value());
  ASSERT_EQ(below.applied(), 1U);
  EXPECT_EQ(table.held(), std::nullopt);
  for (const Kind kind : {Kind::full, Kind::io}) {
    const Position first = table.applied() + 1;
    below.refusal = kind;
    ASSERT_TRUE(put("b", "2", first).has_value());
    ASSERT_TRUE(put("b", "3", first + 1).has_value());
    EXPECT_EQ(table.held(), "refused, as the test wishes");
    EXPECT_EQ(table.applied(), first + 1);
    EXPECT_EQ(below.applied(), first - 1);
    EXPECT_EQ(table.get("b").value(), "3");
    EXPECT_FALSE(table.reopen().has_value());
    EXPECT_TRUE(table.held().has_value());

    below.refusal = std::nullopt;
    ASSERT_TRUE(put("c", "4", first + 2).has_value());
    EXPECT_EQ(below.get("c").value(), kind == Kind::full ? std::nullopt : std::optional("4"))
        << "nothing overtakes what is held";
    EXPECT_EQ(below.applied(), first - 1);
    ASSERT_TRUE(table.reopen().has_value());
    EXPECT_EQ(table.held(), std::nullopt);
    EXPECT_EQ(below.applied(), first + 2);
    EXPECT_EQ(below.get("b").value(), "3");
    EXPECT_EQ(below.get("c").value(), "4");
  }
}

TEST_F(BufferingTableTest, AnErasedRowIsGoneAboveAndBelow) {
  ASSERT_TRUE(put("a", "1", 1).has_value());
  below.refusal = Kind::full;
  TableBatch batch;
  batch.erase("a");
  ASSERT_TRUE(table.write(batch, 2).has_value());
  EXPECT_EQ(table.get("a").value(), std::nullopt);
  EXPECT_EQ(below.get("a").value(), "1");
  below.refusal = std::nullopt;
  ASSERT_TRUE(table.reopen().has_value());
  EXPECT_EQ(below.get("a").value(), std::nullopt);
}

TEST_F(BufferingTableTest, PastItsBoundItRefusesAndKeepsWhatItHas) {
  below.refusal = Kind::full;
  ASSERT_TRUE(put("a", std::string(bytes_max / 2, 'x'), 1).has_value());
  const auto refused = put("b", std::string(bytes_max / 2, 'x'), 2);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, Kind::full);
  EXPECT_EQ(table.applied(), 1U);
  EXPECT_EQ(table.get("b").value(), std::nullopt);
  // A new value of a held row replaces the old one and takes no further space.
  for (Position position = 2; position < 20; ++position) {
    ASSERT_TRUE(put("a", std::string(bytes_max / 2, 'y'), position).has_value());
  }
  below.refusal = std::nullopt;
  ASSERT_TRUE(table.reopen().has_value());
  ASSERT_TRUE(put("b", std::string(bytes_max, 'x'), 20).has_value());
  EXPECT_EQ(below.applied(), 20U);
}

TEST_F(BufferingTableTest, RowsChangedInPlaceStayAsTheyAreIfABatchDoesNotFit) {
  RefusingTable disk;
  disk.refusal = Kind::full;
  BufferingTable in_place(disk, bytes_max, BufferingTable::Readers::writers_thread);
  for (Position position = 1; position <= 3; ++position) {
    TableBatch batch;
    batch.put("a", std::string(bytes_max / 2, static_cast<char>('a' + position)));
    ASSERT_TRUE(in_place.write(batch, position).has_value()) << "a row that replaces itself fits";
  }
  TableBatch batch;
  batch.put("a", "changed");
  batch.put("b", std::string(bytes_max, 'x'));
  EXPECT_FALSE(in_place.write(batch, 4).has_value());
  EXPECT_EQ(in_place.applied(), 3U);
  EXPECT_EQ(in_place.get("a").value(), std::string(bytes_max / 2, 'd'));
  EXPECT_EQ(in_place.get("b").value(), std::nullopt);
}

TEST_F(BufferingTableTest, WhatDoesNotFollowOnTheDiskIsDropped) {
  ASSERT_TRUE(put("a", "1", 1).has_value());
  ASSERT_TRUE(put("b", "2", 2).has_value());
  below.refusal = Kind::io;
  ASSERT_TRUE(put("c", "3", 3).has_value());
  below.refusal = std::nullopt;
  below.reopened_position = 1;  // reopened without its latest write
  ASSERT_TRUE(table.reopen().has_value());
  EXPECT_EQ(table.applied(), 1U);
  EXPECT_EQ(table.get("c").value(), std::nullopt);
  EXPECT_EQ(table.held(), std::nullopt);
}

TEST_F(BufferingTableTest, DamageIsNotHeld) {
  below.refusal = Kind::damaged;
  EXPECT_FALSE(put("a", "1", 1).has_value());
  EXPECT_EQ(table.applied(), 0U);
  EXPECT_EQ(table.held(), std::nullopt);
}

// The held rows, and newer ones, are written while a scan is under way.
TEST_F(BufferingTableTest, AScanSeesOneMomentOnly) {
  below.refusal = Kind::full;
  ASSERT_TRUE(put("a", "old", 1).has_value());
  std::string seen;
  bool first = true;
  ASSERT_TRUE(table
                  .scan("a", "a", ScanOrder::ascending,
                        [&](std::string_view, std::string_view value) {
                          seen += value;
                          if (!std::exchange(first, false)) return true;
                          below.refusal = std::nullopt;
                          EXPECT_TRUE(table.reopen().has_value());
                          EXPECT_TRUE(put("a", "new", 2).has_value());
                          EXPECT_TRUE(put("ab", "new", 3).has_value());
                          return true;
                        })
                  .has_value());
  EXPECT_EQ(seen, "old");
}

}  // namespace
}  // namespace signalbox
