// The versions of a table: each equals the table as it was after that write, and rows that are
// written over one of them change no other.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

#include "projections/memory_table.h"
#include "projections/versioned_table.h"

namespace signalbox {
namespace {

using Rows = std::map<std::string, std::string>;

// Some keys are the beginning of others, and some have zero bytes.
std::string some_key() {
  return *rc::gen::element<std::string>("a", "ab", std::string("a\0", 2), std::string("a\0b", 3),
                                        std::string("a\0\1", 3), "b", "bb", std::string(1, '\xFF'));
}

Rows rows_of(const Table& table, std::string_view prefix, std::string_view from, ScanOrder order) {
  Rows rows;
  std::string before;
  bool sorted = true;
  const auto scanned =
      table.scan(prefix, from, order, [&](std::string_view key, std::string_view value) {
        const bool follows = order == ScanOrder::ascending ? before < key : before > key;
        sorted = sorted && (rows.empty() || follows);
        before = key;
        rows.emplace(key, value);
        return true;
      });
  RC_ASSERT(scanned.has_value());
  RC_ASSERT(sorted);
  return rows;
}

void expect_rows(const Table& table, const Rows& expected) {
  for (const char* key : {"a", "ab", "b", "bb", "c"}) {
    const auto place = expected.find(key);
    const auto value = table.get(key).value();
    RC_ASSERT(value.has_value() == (place != expected.end()));
    if (value) RC_ASSERT(*value == place->second);
  }
  RC_ASSERT(rows_of(table, "", "", ScanOrder::ascending) == expected);
  Rows of_a;
  for (const auto& [key, value] : expected) {
    if (key.starts_with("a")) of_a.emplace(key, value);
  }
  RC_ASSERT(rows_of(table, "a", "a", ScanOrder::ascending) == of_a);
  RC_ASSERT(rows_of(table, "a", "a\xFF", ScanOrder::descending) == of_a);
  Rows until_ab;
  for (const auto& [key, value] : of_a) {
    if (key <= "ab") until_ab.emplace(key, value);
  }
  RC_ASSERT(rows_of(table, "a", "ab", ScanOrder::descending) == until_ab);
}

RC_GTEST_PROP(VersionedTableTest, EachVersionIsTheTableAsItWasThen, ()) {  // O4
  MemoryTable stored;
  VersionedTable table(stored);
  std::map<Position, Rows> versions{{0, {}}};
  Position applied = 0;
  const auto change = [](TableBatch& batch, Rows& rows) {
    for (int each = *rc::gen::inRange(0, 5); each > 0; --each) {
      const std::string key = some_key();
      if (*rc::gen::inRange(0, 3) == 0) {
        batch.erase(key);
        rows.erase(key);
      } else {
        const std::string value = std::to_string(*rc::gen::inRange(0, 100));
        batch.put(key, value);
        rows[key] = value;
      }
    }
  };
  for (int writes = *rc::gen::inRange(1, 10); writes > 0; --writes) {
    Rows rows = versions.rbegin()->second;
    TableBatch batch;
    change(batch, rows);
    applied += static_cast<Position>(*rc::gen::inRange(1, 300));
    RC_ASSERT(table.write(batch, applied).has_value());
    RC_ASSERT(table.applied() == applied);
    expect_rows(table, rows);
    versions[applied] = std::move(rows);
  }
  for (const auto& [version, rows] : versions) {
    const auto view = table.at(version);
    RC_ASSERT(view->applied() == version);
    expect_rows(*view, rows);
    Rows changed = rows;
    TableBatch batch;
    change(batch, changed);
    RC_ASSERT(view->write(batch, version + 1).has_value());
    RC_ASSERT(view->applied() == version + 1);
    expect_rows(*view, changed);
    expect_rows(*table.at(version), rows);
  }
  expect_rows(table, versions.rbegin()->second);
}

}  // namespace
}  // namespace signalbox
