// A flipped byte anywhere in a closed log is detected when the log is opened or read, and nothing
// is served from it; or it is harmless, and every record is intact.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/fixtures/file_content.h"
#include "tests/fixtures/random_seed.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/log_directory.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

enum class Found { at_opening, at_reading, harmless };

class Damage : public testing::Test {
 protected:
  static constexpr std::size_t flips_max = 400;  // per file

  void SetUp() override {
    // Records of the first opening end up in tables, those of the second in the write-ahead log.
    { append_commits(*open_log(closed_.path()), 3); }
    { append_commits(*open_log(closed_.path()), 2); }
    records_ = sample_commit(1, 15);
  }

  // Flips bits of a byte, opens the log and reads everything. Whatever is served must be what was
  // written.
  Found flip(const std::filesystem::path& file, std::size_t offset, char mask) {
    // Opening for writing syncs a lot; opening for reading makes the same checks.
    return flip(file, offset, mask, /*read_only=*/offset % 5 != 0);
  }
  Found flip(const std::filesystem::path& file, std::size_t offset, char mask, bool read_only) {
    const std::filesystem::path name = std::filesystem::relative(file, closed_.path());
    copy_directory(closed_.path(), damaged_.path());
    std::string bytes = content_of(file);
    bytes[offset] = static_cast<char>(bytes[offset] ^ mask);
    write_text(damaged_.path() / name, bytes);

    const std::string where = name.string() + " byte " + std::to_string(offset);
    const auto before = files();
    const auto log = RocksEventLog::open(damaged_.path(), {.read_only = read_only});
    if (!log) {
      EXPECT_EQ(log.error().kind, StoreError::Kind::damaged) << where << log.error().message;
      EXPECT_FALSE(log.error().file.empty()) << where;
      EXPECT_TRUE(files() == before)
          << where << " was changed before this: " << log.error().message;
      return Found::at_opening;
    }
    // What nobody reads at the start is found by reading the files.
    const auto checked = (*log)->check_files([] { return true; });
    EXPECT_EQ(checked.has_value(), file.extension() != ".sst") << where;
    if (!checked) {
      EXPECT_EQ(checked.error().kind, StoreError::Kind::damaged) << checked.error().message;
      EXPECT_EQ(checked.error().file, (damaged_.path() / name).string());
    }
    const auto records = all_records(**log);
    if (!records) {
      EXPECT_EQ(records.error().kind, StoreError::Kind::damaged) << where;
      return Found::at_reading;
    }
    EXPECT_EQ(*records, records_) << where;
    return Found::harmless;
  }

  // Returns the names and contents of the damaged log's files.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> files() const {
    std::vector<std::pair<std::string, std::string>> found;
    for (const char* kind : {".log", ".sst", "MANIFEST"}) {
      for (const auto& file : database_files(damaged_.path(), kind)) {
        found.emplace_back(file.filename().string(), content_of(file));
      }
    }
    return found;
  }

  struct Counts {
    std::size_t flips = 0;
    std::size_t harmless = 0;
  };
  Counts flip_all(const std::filesystem::path& file) {
    Counts counts;
    const std::size_t size = std::filesystem::file_size(file);
    const std::size_t step = std::max<std::size_t>(1, size / flips_max);
    const bool small = step == 1;
    for (std::size_t offset = small ? 0 : rotation_.first * step; offset < size;
         offset += small ? 1 : rotation_.stride * step) {
      // A different bit each time, so that every bit is covered.
      const char mask = static_cast<char>(1 << (counts.flips % 8));
      if (flip(file, offset, mask) == Found::harmless) ++counts.harmless;
      ++counts.flips;
    }
    return counts;
  }

  const FaultRotation rotation_{4};
  TemporaryDirectory closed_;
  TemporaryDirectory damaged_;
  std::vector<Record> records_;
};

TEST_F(Damage, InTheWriteAheadLogIsAlwaysFound) {  // P5
  std::size_t flips = 0;
  for (const auto& file : database_files(closed_.path(), ".log")) {
    const Counts counts = flip_all(file);
    EXPECT_EQ(counts.harmless, 0U) << file;
    flips += counts.flips;
  }
  EXPECT_GT(flips, 100U);
}

// G2: the refusal comes before what a kill left is written to tables.
TEST_F(Damage, AMissingAnchorIsRefusedBeforeAnythingIsWritten) {
  const TemporaryDirectory living;
  const auto log = open_log(living.path());
  append_commits(*log, 3);
  copy_directory(living.path(), damaged_.path());
  std::filesystem::remove(damaged_ / "anchor");
  const auto before = files();
  const auto opened = RocksEventLog::open(damaged_.path(), {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, StoreError::Kind::damaged);
  EXPECT_NE(opened.error().message.find("anchor"), std::string::npos) << opened.error().message;
  EXPECT_EQ(files(), before);
}

// G2: its records are in no table, and no file that is left speaks of them but the anchor.
TEST_F(Damage, AMissingWriteAheadLogIsFoundHoweverSoonAfterAnOpening) {
  const TemporaryDirectory living;
  const auto log = open_log(living.path());
  append_commits(*log, 1);
  copy_directory(living.path(), damaged_.path());
  for (const auto& file : database_files(damaged_.path(), ".log")) {
    ASSERT_TRUE(std::filesystem::remove(file));
  }
  const auto opened = RocksEventLog::open(damaged_.path(), {});
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().kind, StoreError::Kind::damaged) << opened.error().message;
}

TEST_F(Damage, InTheAnchorIsAlwaysFound) { EXPECT_EQ(flip_all(closed_ / "anchor").harmless, 0U); }

TEST_F(Damage, InATableIsFoundWhereARecordLies) {  // P5
  const auto files = database_files(closed_.path(), ".sst");
  ASSERT_GE(files.size(), 2U);  // entries and head
  for (const auto& file : files) {
    const Counts counts = flip_all(file);
    EXPECT_LT(counts.harmless, counts.flips) << file;
  }
}

// RocksDB looks at one bit of a table before it has verified it, and would end the process.
TEST_F(Damage, InTheHighestBitOfAByteOfATableEndsNoProcess) {  // P5
  constexpr std::size_t tail_bytes = 512;  // the last of the properties, and what leads to them
  for (const auto& file : database_files(closed_.path(), ".sst")) {
    const std::size_t size = std::filesystem::file_size(file);
    const std::size_t first = size - std::min(size, tail_bytes);
    std::size_t found = 0;
    for (std::size_t offset = first + rotation_.first; offset < size; offset += rotation_.stride) {
      const Found what = flip(file, offset, static_cast<char>(0x80), /*read_only=*/true);
      found += what == Found::harmless ? 0 : 1;
    }
    EXPECT_GT(found, (size - first) / 4 / rotation_.stride) << file;
  }
}

TEST_F(Damage, InTheManifestNeverChangesARecord) {
  for (const auto& file : database_files(closed_.path(), "MANIFEST-")) {
    EXPECT_LT(flip_all(file).harmless, flips_max);
  }
}

TEST_F(Damage, InCurrentIsAlwaysFound) {
  EXPECT_EQ(flip_all(closed_ / "log" / "CURRENT").harmless, 0U);
}

TEST_F(Damage, InWhatIsNotTheLogIsHarmless) {
  for (const char* name : {"LOG", "IDENTITY", "OPTIONS-"}) {
    for (const auto& file : database_files(closed_.path(), name)) {
      for (std::size_t offset = 0; offset < std::filesystem::file_size(file); offset += 997) {
        EXPECT_EQ(flip(file, offset, 0x20), Found::harmless) << file;
      }
    }
  }
}

TEST_F(Damage, AsAMissingFileIsFound) {
  std::vector<std::filesystem::path> files = database_files(closed_.path(), ".sst");
  for (const char* kind : {".log", "MANIFEST-", "CURRENT"}) {
    std::ranges::copy(database_files(closed_.path(), kind), std::back_inserter(files));
  }
  ASSERT_GE(files.size(), 5U);
  for (const auto& file : files) {
    copy_directory(closed_.path(), damaged_.path());
    std::filesystem::remove(damaged_.path() / "log" / file.filename());
    const auto log = RocksEventLog::open(damaged_.path(), {});
    ASSERT_FALSE(log) << file;
    EXPECT_EQ(log.error().kind, StoreError::Kind::damaged) << file;
  }
}

TEST_F(Damage, AsACutFileIsFound) {
  std::vector<std::filesystem::path> files = database_files(closed_.path(), ".sst");
  std::ranges::copy(database_files(closed_.path(), ".log"), std::back_inserter(files));
  for (const auto& file : files) {
    const std::string bytes = content_of(file);
    if (bytes.empty()) continue;
    for (const std::size_t size : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
      copy_directory(closed_.path(), damaged_.path());
      write_text(damaged_.path() / "log" / file.filename(), bytes.substr(0, size));
      const auto log = RocksEventLog::open(damaged_.path(), {});
      ASSERT_FALSE(log) << file << " cut to " << size;
      EXPECT_EQ(log.error().kind, StoreError::Kind::damaged) << file;
    }
  }
}

}  // namespace
}  // namespace signalbox::test
