// The conformance suite of Table, which every implementation passes; and tests of the one on disk.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rocksdb/sst_file_reader.h>

#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <thread>

#include "projections/buffering_table.h"
#include "projections/memory_table.h"
#include "projections/rocks_table.h"
#include "tests/eventually.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/projections/refusing_table.h"

namespace signalbox {
namespace {

using Keys = std::vector<std::string>;

class TableConformanceTest : public ::testing::TestWithParam<const char*> {
 protected:
  TableConformanceTest() {
    if (GetParam() == std::string("rocks")) {
      table = std::move(RocksTable::open_or_recreate(directory.path() / "t", 1)->table);
    } else if (GetParam() == std::string("holding")) {
      table = std::make_unique<BufferingTable>(below);
    } else if (GetParam() == std::string("holding_in_place")) {
      table = std::make_unique<BufferingTable>(below, BufferingTable::held_bytes_max,
                                               BufferingTable::Readers::writers_thread);
    } else {
      table = std::make_unique<MemoryTable>();
    }
  }

  // Makes the disk of a buffering table refuse some batches, which it writes between others.
  Stored<void> write(const TableBatch& batch, Position applied) {
    below.refusal = std::nullopt;
    if (applied % 3 == 0) {
      EXPECT_TRUE(table->reopen().has_value());
    }
    if (applied % 5 != 0) below.refusal = StoreError::Kind::full;
    return table->write(batch, applied);
  }

  Keys scan(std::string_view prefix, std::string_view from, ScanOrder order,
            std::size_t limit = 100) const {
    Keys keys;
    const auto scanned = table->scan(prefix, from, order, [&](std::string_view key, auto) {
      keys.emplace_back(key);
      return keys.size() < limit;
    });
    EXPECT_TRUE(scanned.has_value());
    return keys;
  }
  std::optional<std::string> get(std::string_view key) const { return table->get(key).value(); }

  TemporaryDirectory directory;
  RefusingTable below;
  std::unique_ptr<Table> table;
};

INSTANTIATE_TEST_SUITE_P(Tables, TableConformanceTest,
                         ::testing::Values("memory", "rocks", "holding", "holding_in_place"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(TableConformanceTest, ABatchPutsErasesAndSetsThePosition) {
  EXPECT_EQ(table->applied(), 0u);
  TableBatch batch;
  batch.put("a", "1");
  batch.put("b", "2");
  batch.put("b", "3");
  batch.erase("a");
  batch.put("", "empty key");
  ASSERT_TRUE(write(batch, 7).has_value());
  EXPECT_EQ(get("a"), std::nullopt);
  EXPECT_EQ(get("b"), "3");
  EXPECT_EQ(get(""), "empty key");
  EXPECT_EQ(table->applied(), 7u);
  batch.clear();
  EXPECT_TRUE(batch.empty());
  batch.erase("not there");
  ASSERT_TRUE(write(batch, 8).has_value());
  EXPECT_EQ(get("b"), "3");
  EXPECT_EQ(table->applied(), 8u);
}

TEST_P(TableConformanceTest, ScansAPrefixBothWays) {
  TableBatch batch;
  for (const char* key : {"a", "b", "b1", "b3", "b\xFF", "c"}) batch.put(key, "");
  ASSERT_TRUE(write(batch, 1).has_value());
  EXPECT_EQ(scan("b", "b", ScanOrder::ascending), (Keys{"b", "b1", "b3", "b\xFF"}));
  EXPECT_EQ(scan("b", "b2", ScanOrder::ascending), (Keys{"b3", "b\xFF"}));
  EXPECT_EQ(scan("b", "b2", ScanOrder::descending), (Keys{"b1", "b"}));
  EXPECT_EQ(scan("b", "b3", ScanOrder::descending, 1), (Keys{"b3"}));
  EXPECT_EQ(scan("b", "b\xFF\xFF", ScanOrder::descending, 2), (Keys{"b\xFF", "b3"}));
  EXPECT_EQ(scan("x", "x", ScanOrder::ascending), Keys{});
}

TEST_P(TableConformanceTest, AVisitorMayReadTheTable) {
  TableBatch batch;
  for (const char* key : {"a1", "a2"}) batch.put(key, key);
  ASSERT_TRUE(write(batch, 1).has_value());
  Keys values;
  ASSERT_TRUE(table
                  ->scan("a", "a", ScanOrder::ascending,
                         [&](std::string_view key, auto) {
                           values.push_back(*get(key));
                           return true;
                         })
                  .has_value());
  EXPECT_EQ(values, (Keys{"a1", "a2"}));
}

// Compares the table after random batches with a std::map.
TEST_P(TableConformanceTest, BehavesAsAnOrderedMap) {
  std::map<std::string, std::string> model;
  Position applied = 0;
  const bool ok = rc::check([&] {
    const auto key_of = [](int number) {
      return std::string(1 + number % 3, char('a' + number % 5));
    };
    TableBatch batch;
    for (const auto& [number, value] :
         *rc::gen::arbitrary<std::vector<std::pair<std::uint8_t, int>>>()) {
      const std::string key = key_of(number);
      if (value % 3 == 0) {
        batch.erase(key);
        model.erase(key);
      } else {
        batch.put(key, std::to_string(value));
        model[key] = std::to_string(value);
      }
    }
    RC_ASSERT(write(batch, ++applied).has_value());
    const std::string prefix(1, *rc::gen::inRange('a', 'f'));
    Keys expected;
    for (const auto& [key, value] : model) {
      RC_ASSERT(get(key) == value);
      if (key.starts_with(prefix)) expected.push_back(key);
    }
    RC_ASSERT(scan(prefix, prefix, ScanOrder::ascending) == expected);
    std::reverse(expected.begin(), expected.end());
    RC_ASSERT(scan(prefix, prefix + "\xFF", ScanOrder::descending) == expected);
  });
  EXPECT_TRUE(ok);
}

TEST(AfterPrefixTest, IsTheNextOne) {
  EXPECT_EQ(after_prefix("ab"), "ac");
  EXPECT_EQ(after_prefix("a\xFF"), "b");
  EXPECT_EQ(after_prefix("\xFF\xFF"), std::nullopt);
}

class RocksTableTest : public ::testing::Test {
 protected:
  RocksTable::Opened open(std::uint32_t format = 1) {
    auto opened = RocksTable::open_or_recreate(directory.path() / "t", format);
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return std::move(*opened);
  }
  void fill() {
    TableBatch batch;
    batch.put("key", "value");
    ASSERT_TRUE(open().table->write(batch, 5).has_value());
  }

  TemporaryDirectory directory;
};

TEST_F(RocksTableTest, IsThereAgainAfterAReopen) {
  fill();
  const auto again = open();
  EXPECT_EQ(again.recreated_because, "");
  EXPECT_EQ(again.table->applied(), 5u);
  EXPECT_EQ(again.table->get("key").value(), "value");
}

TEST_F(RocksTableTest, AnotherFormatIsMadeAnew) {
  fill();
  const auto again = open(2);
  EXPECT_NE(again.recreated_because, "");
  EXPECT_EQ(again.table->applied(), 0u);
  EXPECT_EQ(again.table->get("key").value(), std::nullopt);
}

TEST_F(RocksTableTest, ADamagedOneIsMadeAnew) {
  fill();
  for (const auto& entry : std::filesystem::directory_iterator(directory.path() / "t")) {
    if (!entry.path().filename().string().starts_with("MANIFEST")) continue;
    std::ofstream(entry.path(), std::ios::trunc) << "not a manifest";
  }
  const auto again = open();
  EXPECT_NE(again.recreated_because, "");
  EXPECT_EQ(again.table->applied(), 0u);
}

TEST_F(RocksTableTest, AMissingFileMakesItAnew) {
  fill();
  std::filesystem::remove(directory.path() / "t" / "CURRENT");
  EXPECT_EQ(open().table->applied(), 0u);
}

TEST_F(RocksTableTest, TakesOverTheRowsOfAnother) {
  fill();
  const auto table = open().table;
  auto other = RocksTable::open_or_recreate(directory.path() / "t.next", 1);
  ASSERT_TRUE(other);
  TableBatch batch;
  batch.put("another key", "another value");
  ASSERT_TRUE(other->table->write(batch, 7));
  table->replace(std::move(other->table));
  EXPECT_EQ(table->damage(), std::nullopt);
  EXPECT_EQ(table->applied(), 7U);
  EXPECT_EQ(table->get("key").value(), std::nullopt);
  EXPECT_EQ(table->get("another key").value(), "another value");
  batch.clear();
  batch.put("key", "newer");
  ASSERT_TRUE(table->write(batch, 8));
  EXPECT_EQ(table->get("key").value(), "newer");
  const auto directories = std::filesystem::directory_iterator(directory.path());
  EXPECT_EQ(std::distance(begin(directories), end(directories)), 1);
}

TEST_F(RocksTableTest, AnOpenRemovesWhatACrashLeftOfATakeOver) {
  fill();
  const auto left = directory.path() / "t.replaced";
  for (const bool is_before_second_rename : {false, true}) {
    std::filesystem::copy(directory.path() / "t", left, std::filesystem::copy_options::recursive);
    if (is_before_second_rename) std::filesystem::remove_all(directory.path() / "t");
    EXPECT_EQ(open().table->applied() == 0, is_before_second_rename);
    EXPECT_FALSE(std::filesystem::exists(left));
  }
}

// Whoever reads the note of a table's MANIFEST from this FIFO waits until it is let go.
class HeldNote {
 public:
  explicit HeldNote(const std::filesystem::path& table) : file_(table / "manifest-length") {
    std::ifstream note(file_);
    text_.assign(std::istreambuf_iterator<char>(note), {});
    std::filesystem::remove(file_);
    EXPECT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  }
  // Blocks until it is being read.
  void await_reader(const std::filesystem::path& table) {
    writing_.open(table / "manifest-length");
  }
  void let_go() {
    writing_ << text_;
    writing_.close();
  }

 private:
  std::filesystem::path file_;
  std::string text_;
  std::ofstream writing_;
};

// Whole, those of a large file don't fit into the cache, and each lookup reads them again.
TEST_F(RocksTableTest, HasFiltersAndIndexesInParts) {
  fill();
  open();  // writes what was logged to a file
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory.path() / "t")) {
    if (file.path().extension() != ".sst") continue;
    ++files;
    rocksdb::SstFileReader reader{rocksdb::Options()};
    ASSERT_TRUE(reader.Open(file.path().string()).ok());
    const auto properties = reader.GetTableProperties();
    EXPECT_GT(properties->index_partitions, 0U);
    EXPECT_GT(properties->filter_size, 0U);
  }
  EXPECT_GT(files, 0);
}

// Opening the database takes long: reads go on meanwhile, from the former rows or the new ones.
TEST_F(RocksTableTest, IsReadWhileItTakesOverTheRowsOfAnother) {
  fill();
  const auto table = open().table;
  const auto fresh = directory.path() / "t.next";
  auto other = RocksTable::open_or_recreate(fresh, 1);
  ASSERT_TRUE(other);
  TableBatch batch;
  batch.put("key", "another value");
  ASSERT_TRUE(other->table->write(batch, 7));
  HeldNote note(fresh);
  const auto read = [&table] {
    auto answer = std::async(std::launch::async, [&table] { return table->get("key"); });
    EXPECT_EQ(answer.wait_for(std::chrono::minutes(1)), std::future_status::ready);
    return answer;
  };
  std::thread replacing([&] { table->replace(std::move(other->table)); });
  note.await_reader(fresh);  // the new rows are being opened for reading
  auto before = read();
  note.let_go();
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(fresh); }));
  note.await_reader(directory.path() / "t");  // and now for writing
  auto after = read();
  note.let_go();
  replacing.join();
  EXPECT_EQ(before.get().value(), "value");
  EXPECT_EQ(after.get().value(), "another value");
  EXPECT_EQ(table->damage(), std::nullopt);
  EXPECT_EQ(table->applied(), 7U);
  batch.put("key", "newer");
  ASSERT_TRUE(table->write(batch, 8));
  EXPECT_EQ(table->get("key").value(), "newer");
}

// The rows that were to be taken over are gone: the table has none, and says so.
TEST_F(RocksTableTest, IsDamagedIfTheOtherIsGone) {
  fill();
  const auto table = open().table;
  auto other = RocksTable::open_or_recreate(directory.path() / "t.next", 1);
  ASSERT_TRUE(other);
  std::filesystem::remove_all(directory.path() / "t.next");
  table->replace(std::move(other->table));
  EXPECT_NE(table->damage(), std::nullopt);
  EXPECT_EQ(table->get("key").error().kind, StoreError::Kind::rebuilding);
}

TEST_F(RocksTableTest, OneThatIsOpenElsewhereIsLeftAlone) {
  const auto first = open();
  const auto second = RocksTable::open_or_recreate(directory.path() / "t", 1);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().kind, StoreError::Kind::in_use);
}

}  // namespace
}  // namespace signalbox
