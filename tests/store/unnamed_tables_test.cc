// A log whose files don't fit together is opened with all its records or refused as it is: opening
// it never deletes a record.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/fixtures/file_content.h"
#include "tests/fixtures/random_seed.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/log_directory.h"

namespace signalbox::test {
namespace {

// Memory is flushed to a table after every few commits.
constexpr std::size_t small_buffer_bytes = 16 * 1024;

class UnnamedTables : public testing::Test {
 protected:
  enum class Outcome { whole, refused };

  // Makes a log with a dozen tables of which some were compacted, and copies it: after a clean
  // stop, or as a kill leaves it.
  void make_log(bool killed) {
    const TemporaryDirectory live(fast_directory());
    for (int life = 0; life < 4; ++life) {
      auto log = open_log(live.path(), {.buffer_bytes = small_buffer_bytes});
      append_commits(*log, 40);
      records_ = *all_records(*log);
      checkpoint_ = {log->tail(), log->frontier()};
      if (life < 3) continue;
      if (!killed) {
        ASSERT_TRUE(log->close());
      }
      copy_directory(live.path(), good_.path());
    }
  }

  // Opens the log again, which writes to a table what the opening before has appended.
  void lengthen_log() {
    const auto log = open_log(good_.path(), {.buffer_bytes = small_buffer_bytes});
    append_commits(*log, 1);
    records_ = *all_records(*log);
    checkpoint_ = {log->tail(), log->frontier()};
    ASSERT_TRUE(log->close());
  }

  [[nodiscard]] std::filesystem::path manifest() const {
    return database_files(good_.path(), "MANIFEST-").back().filename();
  }

  static std::map<std::string, std::string> contents(const std::filesystem::path& data) {
    std::map<std::string, std::string> files;
    for (const auto& file : std::filesystem::recursive_directory_iterator(data / "log")) {
      files[file.path().filename().string()] = content_of(file.path());
    }
    return files;
  }

  // Opens the copy for writing, as a start with a snapshot of the whole log does, which reads
  // nothing before it. Every record is there, or the log is refused and none of its files changed.
  Outcome open_copy(const std::string& about) {
    const auto before = contents(copy_.path());
    const auto log = RocksEventLog::open(
        copy_.path(), {.verified = checkpoint_, .buffer_bytes = small_buffer_bytes});
    if (log) {
      const auto records = all_records(**log);
      EXPECT_TRUE(records.has_value()) << about;
      if (records) {
        EXPECT_TRUE(*records == records_) << about << ": records were lost";
      }
      EXPECT_TRUE((*log)->verify((*log)->tail()).has_value()) << about;
      return Outcome::whole;
    }
    EXPECT_EQ(log.error().kind, StoreError::Kind::damaged) << about << log.error().message;
    EXPECT_FALSE(log.error().file.empty()) << about;
    EXPECT_TRUE(contents(copy_.path()) == before) << about << ": a file was changed";
    message_ = log.error().message;
    return Outcome::refused;
  }

  void cut_manifest_everywhere() {
    const std::string bytes = content_of(good_ / ("log" / manifest()));
    ASSERT_GT(bytes.size(), 1000U);
    const FaultRotation rotation(16);
    std::size_t whole = 0;
    std::size_t refused = 0;
    for (std::size_t cut = rotation.first; cut <= bytes.size() && !HasFailure();
         cut += rotation.stride) {
      const std::size_t size = bytes.size() - cut;
      copy_directory(good_.path(), copy_.path());
      write_text(copy_ / ("log" / manifest()), bytes.substr(0, size));
      ++(open_copy("cut to " + std::to_string(size)) == Outcome::whole ? whole : refused);
    }
    EXPECT_GE(whole, rotation.first == 0 ? 1U : 0U);  // when nothing is cut off
    EXPECT_GT(refused, bytes.size() / 2 / rotation.stride);
    std::cout << whole << " lengths opened, " << refused << " refused" << std::endl;
  }

  TemporaryDirectory good_{fast_directory()};
  TemporaryDirectory copy_{fast_directory()};
  std::vector<Record> records_;
  Checkpoint checkpoint_;
  std::string message_;  // of the last refusal
};

TEST_F(UnnamedTables, AreNotDeletedWhereverTheManifestOfAStoppedLogIsCut) {  // G2
  make_log(/*killed=*/false);
  cut_manifest_everywhere();
}

TEST_F(UnnamedTables, AreNotDeletedWhereverTheManifestOfAKilledLogIsCut) {  // G2
  make_log(/*killed=*/true);
  cut_manifest_everywhere();
}

TEST_F(UnnamedTables, AreNamedInTheRefusal) {  // G2
  std::size_t named = 0;
  make_log(/*killed=*/false);
  // A log that ends with a compaction has no such table: what that merged is gone. Each opening
  // adds a table, and only every fourth one is followed by a compaction.
  for (int openings = 0; openings < 8 && named == 0 && !HasFailure(); ++openings) {
    if (openings > 0) lengthen_log();
    const std::string bytes = content_of(good_ / ("log" / manifest()));
    for (std::size_t size = 0; size < bytes.size(); size += 23) {
      copy_directory(good_.path(), copy_.path());
      write_text(copy_ / ("log" / manifest()), bytes.substr(0, size));
      if (open_copy("cut to " + std::to_string(size)) != Outcome::refused) continue;
      EXPECT_NE(message_.find(manifest().string()), std::string::npos) << message_;
      EXPECT_NE(message_.find("Nothing was deleted"), std::string::npos) << message_;
      if (message_.find(".sst has ") != std::string::npos) ++named;
    }
  }
  EXPECT_GT(named, 0U) << message_;
}

TEST_F(UnnamedTables, OfAnInterruptedFlushOrCompactionAreNoDamage) {  // G2
  make_log(/*killed=*/true);
  const auto tables = database_files(good_.path(), ".sst");
  ASSERT_GT(tables.size(), 4U);
  int number = 900'000;
  for (const auto& table : tables) {
    const std::string bytes = content_of(table);
    // Whole, as one that wasn't recorded or not yet deleted; in parts, as one that wasn't finished.
    for (const std::size_t size :
         {bytes.size(), bytes.size() - 1, bytes.size() / 2, std::size_t{0}}) {
      copy_directory(good_.path(), copy_.path());
      write_text(copy_ / ("log/" + std::to_string(++number) + ".sst"), bytes.substr(0, size));
      EXPECT_EQ(open_copy("a copy of " + table.string() + " cut to " + std::to_string(size)),
                Outcome::whole)
          << message_;
    }
  }
}

TEST_F(UnnamedTables, OfAnotherLogAreRefused) {  // G2
  make_log(/*killed=*/false);
  const TemporaryDirectory other(fast_directory());
  { append_commits(*open_log(other.path()), 200); }
  { static_cast<void>(open_log(other.path())); }  // puts the records into tables
  for (const auto& table : database_files(other.path(), ".sst")) {
    copy_directory(good_.path(), copy_.path());
    std::filesystem::copy_file(table, copy_ / "log/900001.sst");
    EXPECT_EQ(open_copy(table.string()), Outcome::refused) << table;
    EXPECT_NE(message_.find("900001.sst"), std::string::npos) << message_;
  }
}

TEST_F(UnnamedTables, AreNotTheOnlyFilesThatAreChecked) {  // G2
  make_log(/*killed=*/false);
  for (const auto& file : contents(good_.path())) {
    copy_directory(good_.path(), copy_.path());
    std::filesystem::remove(copy_ / ("log/" + file.first));
    const bool needed = file.first.ends_with(".sst") || file.first.starts_with("MANIFEST-") ||
                        file.first == "CURRENT";
    const Outcome outcome = open_copy("without " + file.first);
    if (needed) {
      EXPECT_EQ(outcome, Outcome::refused) << file.first;
    }
  }
  for (const std::string current : {"", "MANIFEST-000001\n", "MANIFEST-999999\n", "LOG\n", "/\n"}) {
    copy_directory(good_.path(), copy_.path());
    write_text(copy_ / "log/CURRENT", current);
    EXPECT_EQ(open_copy("CURRENT: " + current), Outcome::refused);
  }
  for (const auto& options : database_files(good_.path(), "OPTIONS-")) {
    copy_directory(good_.path(), copy_.path());
    write_text(copy_ / ("log" / options.filename()), "not options");
    EXPECT_EQ(open_copy("OPTIONS damaged"), Outcome::whole) << message_;
  }
  for (const char* alien : {"900001.sst", "MANIFEST-900001", "900001.log", "notes.txt", "x.sst"}) {
    copy_directory(good_.path(), copy_.path());
    write_text(copy_ / (std::string("log/") + alien), "alien");
    open_copy(std::string("with ") + alien);
  }
}

}  // namespace
}  // namespace signalbox::test
