// Which idempotency keys outlast the runs that a retention drops.
#include "projections/kept_rows.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "projections/memory_table.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

// Writes the rows of the keys of so many dropped runs: "key-1" is that of the oldest one.
void put_dropped_keys(MemoryTable& table, std::size_t count) {
  TableBatch batch;
  for (std::size_t number = 1; number <= count; ++number) {
    batch.put(keys::idempotency_key("key-" + std::to_string(number)), keys::number_bytes(number));
  }
  ASSERT_TRUE(table.write(batch, count));
}

// Returns the rows that are kept of a table with nothing else, while the world remembers `key`.
std::map<std::string, std::string> kept_keys(const Table& table, const std::string& key = "") {
  std::map<std::string, std::string> rows;
  const auto is_remembered = [&key](const std::string& asked) { return asked == key; };
  EXPECT_TRUE(for_each_kept_row(
      table, {}, is_remembered,
      [&rows](std::string_view row, std::string_view value) { rows.emplace(row, value); }));
  return rows;
}

TEST(KeptRows, AKeyOutlastsItsRunUnlessTheWorldHasItAnyway) {  // P3
  MemoryTable table;
  put_dropped_keys(table, 3);
  EXPECT_EQ(kept_keys(table).at("kkey-2"), keys::number_bytes(2));
  EXPECT_EQ(kept_keys(table).size(), 3U);
  EXPECT_FALSE(kept_keys(table, "key-2").contains("kkey-2"));
  EXPECT_EQ(kept_keys(table, "key-2").size(), 2U);
}

TEST(KeptRows, TheNewestKeysStay) {  // P3, P8
  for (const std::size_t beyond : {0U, 1U}) {
    MemoryTable table;
    put_dropped_keys(table, limits::dropped_run_keys_max + beyond);
    const auto rows = kept_keys(table);
    EXPECT_EQ(rows.size(), limits::dropped_run_keys_max);
    EXPECT_EQ(rows.contains("kkey-1"), beyond == 0);
    EXPECT_TRUE(rows.contains("kkey-2"));
  }
}

}  // namespace
}  // namespace signalbox
