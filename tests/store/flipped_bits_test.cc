// Each bit of a log of 200 KB, flipped alone: it is detected when the log is opened or read, or
// every record is intact. As a test, bits all over the log are sampled; the campaign flips all of
// them:
//
//   SIGNALBOX_FIRST_BIT=0 SIGNALBOX_BITS=4000 test_store --gtest_filter='FlippedBits.*'
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "tests/fixtures/file_content.h"
#include "tests/fixtures/random_seed.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/log_directory.h"

namespace signalbox::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t log_bytes = 200'000;
constexpr std::uint64_t bits_sampled = 250;

class FlippedBits : public testing::Test {
 protected:
  // Half of the records are in tables and half in the write-ahead log.
  void SetUp() override {
    for (std::uint64_t half = 0; half < 2; ++half) {
      const auto log = open_log(scratch_.path());
      while (bytes_of(half == 0 ? ".log" : "") < log_bytes * (half + 1) / 2) {
        append_commits(*log, 10);
      }
    }
    {
      const auto log = open_log(scratch_.path(), {.read_only = true});
      const auto all = all_records(*log);
      ASSERT_TRUE(all);
      records_ = *all;
    }
    good_ = contents();
    for (const auto& file : files("")) bytes_ += fs::file_size(file);
  }

  // Returns the tables and the write-ahead logs, or only the files with this extension.
  [[nodiscard]] std::vector<fs::path> files(const std::string& extension) const {
    std::vector<fs::path> found;
    for (const std::string each : {".sst", ".log"}) {
      if (!extension.empty() && extension != each) continue;
      std::ranges::copy(database_files(scratch_.path(), each), std::back_inserter(found));
    }
    return found;
  }
  [[nodiscard]] std::uint64_t bytes_of(const std::string& extension) const {
    std::uint64_t bytes = 0;
    for (const auto& file : files(extension)) {
      std::error_code gone;  // RocksDB deletes files that it replaced
      const std::uint64_t size = fs::file_size(file, gone);
      if (!gone) bytes += size;
    }
    return bytes;
  }
  [[nodiscard]] std::map<fs::path, std::string> contents() const {
    std::map<fs::path, std::string> all;
    for (const auto& file : files("")) all[file] = content_of(file);
    return all;
  }

  // Flips one bit of the log where it lies; the log's opening for reading must leave it so.
  void flip_in_file(std::uint64_t bit) const {
    std::uint64_t offset = bit / 8;
    for (const auto& file : files("")) {
      const std::uint64_t size = fs::file_size(file);
      if (offset >= size) {
        offset -= size;
        continue;
      }
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(static_cast<std::streamoff>(offset));
      const int byte = stream.get() ^ (1 << (bit % 8));
      stream.seekp(static_cast<std::streamoff>(offset));
      stream.put(static_cast<char>(byte));
      return;
    }
  }

  enum class Outcome { refused, unaffected, wrong };
  [[nodiscard]] Outcome outcome() const {
    const auto log = RocksEventLog::open(scratch_.path(), {.read_only = true});
    if (!log) {
      return log.error().kind == StoreError::Kind::damaged ? Outcome::refused : Outcome::wrong;
    }
    const auto served = all_records(**log);
    if (!served) {
      return served.error().kind == StoreError::Kind::damaged ? Outcome::refused : Outcome::wrong;
    }
    return *served == records_ ? Outcome::unaffected : Outcome::wrong;
  }

  TemporaryDirectory scratch_;
  std::vector<Record> records_;
  std::map<fs::path, std::string> good_;
  std::uint64_t bytes_ = 0;
};

TEST_F(FlippedBits, AreFoundOrHarmless) {  // P5
  const std::uint64_t all_bits = bytes_ * 8;
  const auto wanted = number_from_environment("SIGNALBOX_BITS");
  const std::uint64_t first = number_from_environment("SIGNALBOX_FIRST_BIT").value_or(0);
  // An odd step reaches each place within a byte.
  const std::uint64_t step = wanted ? 1 : ((all_bits / bits_sampled) | 1);
  const std::uint64_t end = wanted ? std::min(first + *wanted, all_bits) : all_bits;
  std::map<Outcome, std::uint64_t> counts;
  for (std::uint64_t bit = first; bit < end; bit += step) {
    flip_in_file(bit);
    const Outcome found = outcome();
    ++counts[found];
    EXPECT_NE(found, Outcome::wrong)
        << "again with: SIGNALBOX_FIRST_BIT=" << bit << " SIGNALBOX_BITS=1";
    flip_in_file(bit);
  }
  EXPECT_TRUE(contents() == good_) << "opening a damaged log for reading changed it";
  EXPECT_TRUE(outcome() == Outcome::unaffected);
  std::cout << "bits " << all_bits << " refused " << counts[Outcome::refused] << " unaffected "
            << counts[Outcome::unaffected] << " wrong " << counts[Outcome::wrong] << std::endl;
}

}  // namespace
}  // namespace signalbox::test
